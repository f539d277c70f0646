"""Time of composed word vectors in a language model, compared with a vector per word.

    python benchmarks/subword_lm.py --size small

Three comparisons with alternating arms: a training step of the softmax only (relative to the word
model, with the ratio of their operations), a training step of the whole model (relative to
fairseq's lstm_lm with the same sizes and batch), and a batch in evaluation (relative to the word
model). Prints the median, minimum and maximum of the ratios over the rounds.
"""

import tempfile
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import torch
import turns
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.data import Dictionary
from fairseq.models import ARCH_CONFIG_REGISTRY, MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY

import fairseq_outlayers  # noqa: F401  (registers architectures and criterions)
from fairseq_outlayers.losses import full_nll

HIDDEN_SIZES = {"small": 200, "medium": 650}  # LSTM units
# About as on the Penn Treebank: units, different ones at the first and at the second place.
MORPHS, SYLLABLES = (3_400, 3_400, 3_400), (5_900, 4_500, 2_200)
MOST_SYLLABLES = 8
ROWS, WINDOW = 20, 35
ARMS = {
    "word": ("word_lm", "original"),
    "word, tied": ("word_lm", "re"),
    "MorphSum, all tied": ("morphsum_lm", "re_rw"),
    "SylConcat, all tied": ("sylconcat_lm", "re_rw"),
}


def make_dictionary(folder: Path, num_words: int) -> Dictionary:
    """Synthetic words of two units; the first one has the maximum number of syllables."""
    words = [f"w{number}" for number in range(num_words - 4)]
    (folder / "dict.txt").write_text("".join(f"{word} 1\n" for word in words))
    for kind, (types, first, second) in (("morphs", MORPHS), ("syllables", SYLLABLES)):
        lines = []
        for number, word in enumerate(words):
            units = [f"u{number % first}", f"u{types - 1 - number % second}"]
            if kind == "syllables" and number == 0:
                units += units[:1] * (MOST_SYLLABLES - 2)
            lines.append(f"{word}\t{' '.join(units)}\n")
        (folder / f"{kind}.txt").write_text("".join(lines))
    return Dictionary.load(str(folder / "dict.txt"))


def make_task(dictionary: Dictionary) -> Any:
    return SimpleNamespace(
        dictionary=dictionary, source_dictionary=dictionary, target_dictionary=dictionary
    )


def make_ours(dictionary: Dictionary, arch: str, tie: str, size: str) -> Any:
    name = arch + ("_medium" if size == "medium" else "")
    config = MODEL_DATACLASS_REGISTRY[name](tie=tie)
    return MODEL_REGISTRY[name].build_model(config, make_task(dictionary))


def make_stock(dictionary: Dictionary, size: str) -> Any:
    """fairseq's lstm_lm with the sizes of the word model."""
    units = HIDDEN_SIZES[size]
    args = Namespace(
        decoder_embed_dim=units, decoder_hidden_size=units, decoder_out_embed_dim=units,
        decoder_layers=2, decoder_attention="0", dropout=0.3, tokens_per_sample=WINDOW,
        max_target_positions=WINDOW, criterion="cross_entropy",
    )  # fmt: skip
    ARCH_CONFIG_REGISTRY["lstm_lm"](args)
    return MODEL_REGISTRY["lstm_lm"].build_model(args, make_task(dictionary))


def arithmetic(model: Any, positions: int) -> float:
    """Multiplications of the softmax per class, including composition."""
    layer = model.decoder.output_projection
    size = model.decoder.lstm.layers[0].hidden_size
    if not hasattr(layer, "words"):
        return positions * size
    composition = layer.words.composition
    composed = 2 * 2 * composition.output_size**2  # two highway layers with two maps each
    parts = layer.layers()
    if "proj" in parts:  # once for each distinct syllable of a place
        syllables = len(composition.prepare_all(layer.words.ids).units)
        composed += composition.unit_size * composition.output_size * syllables / layer.num_classes
    if layer.projection is not None:
        composed += layer.projection.weight.numel()
    return positions * size + composed


def softmax_step(model: Any, hidden: torch.Tensor, targets: torch.Tensor) -> Callable[[], None]:
    layer = model.decoder.output_projection

    def step() -> None:
        model.zero_grad()
        full_nll(hidden, targets, layer.class_embeddings(), layer.class_bias()).backward()

    return step


def training_step(model: Any, criterion: Any, sample: dict) -> Callable[[], None]:
    def step() -> None:
        model.zero_grad()
        criterion(model, sample)[0].backward()

    return step


def evaluation(model: Any, criterion: Any, sample: dict) -> Callable[[], None]:
    def step() -> None:
        with torch.no_grad():
            criterion(model, sample)

    return step


def report(title: str, times: dict[str, list[float]], extra: dict[str, str]) -> list[dict]:
    """Print a table of ratios to the first arm, and return its rows."""
    first = next(iter(times))
    print(f"\n{title}\n")
    turns.print_headings(f"arm | seconds | time / {first} (min to max) | ")
    rows = []
    for name, taken in times.items():
        ratios = turns.ratios(taken, times[first])
        turns.print_row(name, f"{median(taken):.3f}", turns.spread(ratios), extra.get(name, ""))
        rows.append({"comparison": title, "arm": name, "seconds": taken, "ratios": ratios})
    return rows


def compare(size: str, num_words: int, rounds: int, device: str) -> list[dict]:
    """All three comparisons."""
    with tempfile.TemporaryDirectory() as folder:
        dictionary = make_dictionary(Path(folder), num_words)
        models = {name: make_ours(dictionary, *arm, size).to(device) for name, arm in ARMS.items()}
    stock = make_stock(dictionary, size).to(device)
    task = make_task(dictionary)
    ours = CRITERION_REGISTRY["full_softmax"](task, 0.0, False, 0, True)
    theirs = CRITERION_REGISTRY["cross_entropy"](task, True)
    words = torch.randint(4, num_words, (ROWS, WINDOW + 1)).to(device)
    sample = {
        "net_input": {
            "src_tokens": words[:, :-1],
            "src_lengths": torch.full((ROWS,), WINDOW, device=device),
        },
        "target": words[:, 1:].contiguous(),
        "ntokens": ROWS * WINDOW,
    }
    hidden = torch.randn(ROWS * WINDOW, HIDDEN_SIZES[size], device=device).requires_grad_()
    targets = words[:, 1:].flatten()
    steps = {name: softmax_step(model, hidden, targets) for name, model in models.items()}
    needed = {name: arithmetic(model, len(targets)) for name, model in models.items()}
    said = {name: f"arithmetic {n / needed['word']:.2f}" for name, n in needed.items()}
    rows = report("training step of the softmax", turns.take_turns(steps, rounds), said)
    steps = {"fairseq's lstm_lm": training_step(stock, theirs, sample)}
    steps |= {name: training_step(model, ours, sample) for name, model in models.items()}
    rows += report("training step of the model", turns.take_turns(steps, rounds), {})
    steps = {name: evaluation(model.eval(), ours, sample) for name, model in models.items()}
    return rows + report("a batch at evaluation", turns.take_turns(steps, rounds), {})


def main() -> None:
    """Measure, print the tables, write the results."""
    parser = turns.parser(__doc__, None, rounds=7)
    parser.add_argument("--size", choices=HIDDEN_SIZES, default="small")
    parser.add_argument("--words", type=int, default=10_000)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows = compare(options.size, options.words, options.rounds, options.device)
    output = options.output or Path(f"results/benchmarks/subword_lm_{options.size}.json")
    print()
    turns.write(output, vars(options), rows)


if __name__ == "__main__":
    main()
