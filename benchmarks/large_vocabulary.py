"""Training with a very large vocabulary by fairseq-train, on synthetic text.

    python benchmarks/large_vocabulary.py
    python benchmarks/large_vocabulary.py --vocabularies 30000 500000 --arms stock partitions
    python benchmarks/large_vocabulary.py --model transformer

Arms, for every size of both vocabularies:

    stock         fairseq's `lstm` (or `transformer`) with `cross_entropy` and Adam
    adaptive      the same with fairseq's `adaptive_loss` (adaptive softmax, its default cutoffs)
    adaptive_lazy with `lazy_adam`, which updates the rows of both input tables that a batch uses
    exact         `luong_lstm` (or `transformer_outlayers`) with `full_softmax` and Adam: what the
                  model alone changes
    sampled_adam  with `sampled_softmax` (--num-sampled classes) and Adam: what the loss changes
    sampled       with `lazy_adam`, too
    partitions    with `partition_softmax`, reshuffled, both sides limited to --partition-size; Adam

LSTMs have a layer per side, Transformers three, with four heads and feed-forward layers four times
as wide. No arm has dropout. Words follow Zipf's law. Every round trains each arm for some updates;
ratios are to the first arm of the round, with the same number of words. Memory is the peak of the
process; "beyond tables" is without the three word tables and a bias (also in fairseq's LSTM; of
adaptive arms the output's smaller tables) and their two moments. Under partitions, moments of whole
tables are allocated at the end of the first partition, so none are subtracted for a run that ends
before. The dictionaries of both sides, which are included, are also measured separately.
"""

import argparse
import tracemalloc
from itertools import pairwise
from pathlib import Path
from statistics import mean

import numpy as np
import torch
import turns
from fairseq.data import Dictionary, indexed_dataset

from recipes.lab.running import speed, training_log

SPECIALS = 4
MOMENTS = 2  # of Adam
STOCK = ("stock", "adaptive")  # trained without this package
ADAPTIVE = ("adaptive", "adaptive_lazy")
ALL_ROWS = (*STOCK, "exact", "sampled_adam")  # an update moves every row of the tables
CUTOFFS = (10_000, 50_000, 200_000)  # fairseq's default
FACTOR = 4  # each cluster's vectors have so many times fewer dimensions
MODELS = ("lstm", "transformer")


def write_corpus(folder: Path, vocabulary: int, sentences: int, length: int) -> Path:
    """Write synthetic text of two languages in the format of fairseq-preprocess."""
    data = folder / f"V{vocabulary}.{sentences}x{length}"
    if (data / "done").exists():
        return data
    data.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(0)
    weights = 1.0 / np.arange(1, vocabulary - SPECIALS + 1)
    cumulative = np.cumsum(weights / weights.sum())
    for language in ("xx", "yy"):
        (data / f"dict.{language}.txt").write_text(
            "".join(f"w{word} {vocabulary - word}\n" for word in range(vocabulary - SPECIALS))
        )
        prefix = data / f"train.xx-yy.{language}"
        builder = indexed_dataset.MMapIndexedDatasetBuilder(f"{prefix}.bin", dtype=np.int32)
        words = np.searchsorted(cumulative, generator.random((sentences, length - 1))) + SPECIALS
        for row in np.minimum(words, vocabulary - 1):
            builder.add_item(torch.from_numpy(np.append(row, 2)))
        builder.finalize(f"{prefix}.idx")
    for source in list(data.glob("train.*")):
        source.with_name(source.name.replace("train", "valid")).write_bytes(source.read_bytes())
    (data / "done").touch()
    return data


def options_of(kind: str, vocabulary: int, settings: argparse.Namespace) -> list[str]:
    """Options of fairseq-train for an arm."""
    common = f"--max-tokens {settings.max_tokens} --lr 0.001 --clip-norm 5 --dropout 0"
    common += " --num-workers 0"
    common += " --cpu" if settings.device == "cpu" else ""
    common += "" if settings.precision == "float32" else f" --{settings.precision}"
    stock, ours = models_of(settings.model, settings.dimensions)
    sampled = f"{ours} --criterion sampled_softmax --sampler log_uniform"
    sampled += f" --num-sampled {settings.num_sampled}"
    cutoffs = ",".join(map(str, cutoffs_of(vocabulary)))
    adaptive = f"{stock} --criterion adaptive_loss --adaptive-softmax-cutoff {cutoffs}"
    adaptive += " --ddp-backend legacy_ddp"
    kinds = {
        "stock": f"{stock} --optimizer adam --criterion cross_entropy",
        "adaptive": f"{adaptive} --optimizer adam",
        "adaptive_lazy": f"{adaptive} --optimizer lazy_adam",
        "exact": f"{ours} --optimizer adam --criterion full_softmax",
        "sampled_adam": f"{sampled} --optimizer adam",
        "sampled": f"{sampled} --optimizer lazy_adam",
        "partitions": f"{ours} --optimizer adam --criterion partition_softmax --task "
        f"translation_outlayers --partition-size {settings.partition_size} "
        f"--source-partition-size {settings.partition_size} --reshuffle-partitions",
    }
    return f"{common} {kinds[kind]}".split()


def models_of(model: str, size: int) -> tuple[str, str]:
    """Options of fairseq's model, and of ours of the same size."""
    layers = "--encoder-layers {0} --decoder-layers {0}"
    if model == "transformer":
        sides = " ".join(
            f"--{side}-embed-dim {size} --{side}-attention-heads 4 "
            f"--{side}-ffn-embed-dim {4 * size}"
            for side in ("encoder", "decoder")
        )
        sizes = f"{layers.format(3)} {sides}"
        return f"--arch transformer {sizes}", f"--arch transformer_outlayers {sizes}"
    sides = " ".join(
        f"--{name} {size}"
        for name in (
            "encoder-embed-dim", "encoder-hidden-size", "decoder-embed-dim",
            "decoder-hidden-size", "decoder-out-embed-dim",
        )
    )  # fmt: skip
    ours = f"--arch luong_lstm --embed-dim {size} --hidden-size {size} {layers.format(1)}"
    return f"--arch lstm {layers.format(1)} {sides}", ours


def classes_scored(logs: list[Path], vocabulary: int) -> float:
    """Mean number of distinct classes scored per update."""
    found = [line for log in logs for line in training_log.statistics_of(log)]
    shares = [line.values["sampled_share"] for line in found if "sampled_share" in line.values]
    return vocabulary * mean(shares) if shares else vocabulary


def gpu_gigabytes(logs: list[Path]) -> float | None:
    """Peak memory of a GPU in an update; fairseq logs what is free. None without a GPU."""
    found = [line for log in logs for line in training_log.statistics_of(log)]
    free = [line.values["gb_free"] for line in found if "gb_free" in line.values]
    return torch.cuda.get_device_properties(0).total_memory / 2**30 - min(free) if free else None


def cutoffs_of(vocabulary: int) -> list[int]:
    """The ends of the clusters of an adaptive softmax, without the last."""
    return [cutoff for cutoff in CUTOFFS if cutoff < vocabulary]


def output_parameters(kind: str, vocabulary: int, dimensions: int, bias: bool = True) -> int:
    """Of class vectors and biases, or of an adaptive softmax with its projections."""
    if kind not in ADAPTIVE:
        return vocabulary * (dimensions + bias)
    ends = [*cutoffs_of(vocabulary), vocabulary]
    count = (ends[0] + len(ends) - 1) * dimensions
    for number, (begin, end) in enumerate(pairwise(ends), start=1):
        smaller = dimensions // FACTOR**number
        count += (dimensions + end - begin) * smaller
    return count


def table_megabytes(
    kind: str, vocabulary: int, dimensions: int, moments: int = MOMENTS, bias: bool = True
) -> float:
    """Size of embeddings and output parameters with their moments, in float32."""
    count = 2 * vocabulary * dimensions + output_parameters(kind, vocabulary, dimensions, bias)
    return count * 4 * (1 + moments) / 1e6


def leaves_first_partition(data: Path, settings: argparse.Namespace) -> bool:
    """Whether training reaches a second partition, so that moments of whole tables exist.

    In the order of the corpus; reshuffled ones end about there.
    """
    fitting = []
    for language in ("xx", "yy"):
        words = np.fromfile(data / f"train.xx-yy.{language}.bin", dtype=np.int32)
        first_places = np.sort(np.unique(words, return_index=True)[1])
        room = settings.partition_size - SPECIALS
        is_full = len(first_places) > room
        fitting.append(first_places[room] // settings.length if is_full else settings.sentences)
    sentences_a_batch = settings.max_tokens // settings.length
    return bool(settings.updates * sentences_a_batch > min(fitting))


def dictionary_megabytes(data: Path) -> float:
    """Memory of the loaded dictionaries of both sides."""
    tracemalloc.start()
    loaded = [Dictionary.load(str(data / f"dict.{language}.txt")) for language in ("xx", "yy")]
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del loaded
    return held / 1e6


def main() -> None:
    """Measure, print a table, write the results."""
    settings = parse_arguments()
    data = {
        size: write_corpus(settings.work, size, settings.sentences, settings.length)
        for size in settings.vocabularies
    }
    dictionaries = {size: dictionary_megabytes(folder) for size, folder in data.items()}
    runs = settings.work / "runs"
    arms = {f"{kind}.V{size}": (kind, size) for kind in settings.arms for size in data}

    def measured(name: str, number: int) -> tuple[float, float]:
        kind, size = arms[name]
        slow = kind in ALL_ROWS and size > settings.slow_above
        updates = settings.slow_updates if slow else settings.updates
        options = {name: options_of(kind, size, settings)}
        stock = [name] if kind in STOCK else []
        return speed.of_training(options, str(data[size]), runs, updates, stock)(name, number)

    found = speed.take_turns(list(arms), settings.rounds, measured)
    rounds = {name: row["rounds"] for name, row in zip(arms, found, strict=True)}
    rows = []
    for row_of, (name, (kind, size)) in zip(found, arms.items(), strict=True):
        first = rounds[f"{settings.arms[0]}.V{size}"]
        is_short = kind == "partitions" and not leaves_first_partition(data[size], settings)
        moments = 0 if is_short else MOMENTS
        bias = kind != "stock" or settings.model == "lstm"  # fairseq's Transformer has none
        logs = [runs / f"{name}.round{number}.log" for number in range(1, settings.rounds + 1)]
        row = {
            "arm": name,
            "tokens_per_second": row_of["tokens_per_second"],
            "rounds": rounds[name],
            "speed_by_first": [own / other for own, other in zip(rounds[name], first, strict=True)],
            "peak_mb": row_of["peak_rss_mb"],
            "beyond_tables_mb": row_of["peak_rss_mb"]
            - table_megabytes(kind, size, settings.dimensions, moments, bias),
            "dictionaries_mb": dictionaries[size],
            # Of an adaptive softmax, the clusters that a batch needs: not logged.
            "gpu_gb": gpu_gigabytes(logs),
            "classes_scored": None if kind in ADAPTIVE else classes_scored(logs, size),
        }
        rows.append(row)
    print_table(rows)
    turns.write(settings.output, vars(settings), rows)


def print_table(rows: list[dict]) -> None:
    """A line per arm; ratios are to the first with the same number of words."""
    first = rows[0]["arm"].partition(".")[0]
    turns.print_headings(
        f"arm | target tokens/s | by {first} (min to max) | peak MB | beyond tables | dictionaries"
        " | GPU GB | classes scored"
    )
    names = ("peak_mb", "beyond_tables_mb", "dictionaries_mb", "gpu_gb", "classes_scored")
    for row in rows:
        numbers = ["" if row[name] is None else f"{row[name]:,.0f}" for name in names]
        speed = f"{row['tokens_per_second']:,.0f}"
        turns.print_row(row["arm"], speed, turns.spread(row["speed_by_first"]), *numbers)


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = turns.HelpfulParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = ["stock", *ADAPTIVE, "exact", "sampled_adam", "sampled", "partitions"]
    parser.add_argument("--vocabularies", type=int, nargs="+", default=[30_000, 100_000, 500_000])
    parser.add_argument("--arms", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--model", choices=MODELS, default="lstm", help="default: lstm")
    parser.add_argument("--partition-size", type=int, default=15_000)
    parser.add_argument("--num-sampled", type=int, default=8192)
    parser.add_argument(
        "--dimensions", type=int, default=256, help="of embeddings and hidden states"
    )
    parser.add_argument("--max-tokens", type=int, default=1000, help="of a batch")
    parser.add_argument("--sentences", type=int, default=8000)
    parser.add_argument("--length", type=int, default=25, help="tokens per sentence")
    parser.add_argument("--updates", type=int, default=120, help="updates per arm and round")
    parser.add_argument(
        "--slow-updates",
        type=int,
        default=4,
        help="updates of arms that move every row of the tables above --slow-above",
    )
    parser.add_argument("--slow-above", type=int, default=50_000, help="classes")
    parser.add_argument("--rounds", type=int, default=5)
    turns.add_device(parser)
    parser.add_argument(
        "--precision",
        choices=["float32", "amp", "fp16"],
        default="float32",
        help="of all arms; adaptive_lazy, sampled and partitions refuse fp16",
    )
    parser.add_argument("--work", type=Path, default=Path("work/large_vocabulary"))
    parser.add_argument(
        "--output", type=Path, help="default: results/benchmarks/large_vocabulary[_MODEL].json"
    )
    settings = parser.parse_args()
    of_model = "" if settings.model == "lstm" else f"_{settings.model}"
    settings.output = settings.output or turns.RESULTS / f"large_vocabulary{of_model}.json"
    refusing = {"adaptive_lazy", "sampled", "partitions"} & set(settings.arms)
    if settings.precision == "fp16" and refusing:
        parser.error(f"--precision fp16: leave out --arms {' '.join(sorted(refusing))}")
    return settings


if __name__ == "__main__":
    main()
