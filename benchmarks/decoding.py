"""Beam search of a trained model: over all words, with 8-bit integers, over candidates.

    python benchmarks/decoding.py --checkpoint work/.../checkpoint_best.pt --source test.de \\
        --candidates candidates.npz

A turn translates the same sentences by one method, in batches of one size. ``CTranslate2`` is
included if it is installed and the checkpoint is a Transformer. Prints sentences per second of one
processor (on a GPU: of wall-clock time), the ratio to exact search over all words in batches of the
same size, and the number of translations that differ from it. 8-bit integers are for CPUs alone.
"""

import argparse
import functools
import hashlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
import turns

from fairseq_outlayers import load
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.export.ctranslate2_model import export_ctranslate2

ALL_WORDS = "all words"
LIMITS = {"max_len_a": 1.2, "max_len_b": 5}
Way = Callable[[int], list[list[str]]]


def ours(translator: Any, sentences: list[str], beam: int, batch_size: int) -> list[list[str]]:
    """Units of the best translations."""
    found = translator.translate(sentences, beam=beam, batch_size=batch_size, **LIMITS)
    return [translation.target for translation in found]


def by_ctranslate2(options: argparse.Namespace, folder: str, sentences: list[str]) -> Way | None:
    """The exported model, or None if CTranslate2 does not support it."""
    output = Path(folder) / "model"
    try:
        export_ctranslate2(str(options.checkpoint), output, options.data)
    except UserError as error:
        print(f"without CTranslate2: {error}")
        return None
    import ctranslate2

    model = ctranslate2.Translator(
        str(output), options.device, inter_threads=1, intra_threads=options.threads
    )

    def translate(batch_size: int) -> list[list[str]]:
        found = model.translate_batch(
            [sentence.split() for sentence in sentences],
            beam_size=options.beam,
            max_batch_size=batch_size,
            max_decoding_length=256,
        )
        return [result.hypotheses[0] for result in found]

    return translate


def make_ways(options: argparse.Namespace, folder: str, sentences: list[str]) -> dict[str, Way]:
    """Functions that translate all sentences in batches of a given size, by name."""
    files = {"data": options.data, "device": options.device}
    translators = {ALL_WORDS: load(options.checkpoint, **files)}
    if options.device == "cpu":
        translators["all words, 8-bit integers"] = load(
            options.checkpoint, **files, int8_projection=True
        )
    if options.candidates:
        translators[f"candidates, K = {options.frequent}"] = load(
            options.checkpoint, **files, candidates=options.candidates,
            candidate_frequent=options.frequent, candidate_per_word=options.per_word,
        )  # fmt: skip
    ways: dict[str, Way] = {
        name: functools.partial(ours, translator, sentences, options.beam)
        for name, translator in translators.items()
    }
    elsewhere = by_ctranslate2(options, folder, sentences)
    return {**ways, "CTranslate2": elsewhere} if elsewhere else ways


def sha256_of_inputs(options: argparse.Namespace) -> dict[str, str]:
    """SHA-256 of the model, the text and the candidates, by which a result names its inputs."""
    found = {}
    for name in ("checkpoint", "source", "candidates"):
        path = getattr(options, name)
        if path is not None:
            with path.open("rb") as file:
                found[f"{name}_sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def main() -> None:
    """Measure, print a table, write the results."""
    options = parse_arguments()
    torch.set_num_threads(options.threads)
    checksums = sha256_of_inputs(options)
    sentences = options.source.read_text(encoding="utf-8").splitlines()[: options.sentences]
    found: dict[tuple[str, int], list[list[str]]] = {}
    seconds: dict[tuple[str, int], list[float]] = {}
    clock = time.process_time if options.device == "cpu" else time.perf_counter

    def turn(way: Way, name: str, size: int) -> None:
        start = clock()
        found[name, size] = way(size)
        turns.synchronize()
        seconds.setdefault((name, size), []).append(clock() - start)

    with tempfile.TemporaryDirectory() as folder:
        arms = {
            (name, size): functools.partial(turn, way, name, size)
            for name, way in make_ways(options, folder, sentences).items()
            for size in options.batch_sizes
        }
        turns.take_turns(arms, options.rounds)
    rows = []
    turns.print_headings(
        "decoded over | batch | sentences/s | speed / exact (min to max) | other translations"
    )
    for name, size in arms:
        exact, own = seconds[ALL_WORDS, size][1:], seconds[name, size][1:]
        others = zip(found[name, size], found[ALL_WORDS, size], strict=True)
        row = {
            "decoded_over": name,
            "batch": size,
            "sentences_per_second": len(sentences) / median(own),
            "speed_by_exact": turns.ratios(exact, own),
            "other_translations": sum(one != other for one, other in others),
            "sentences": len(sentences),
        }
        rows.append(row)
        speed, ratio = f"{row['sentences_per_second']:.1f}", turns.spread(row["speed_by_exact"])
        turns.print_row(name, size, speed, ratio, row["other_translations"])
    # Local folders are not recorded.
    paths = {name: value.name for name, value in vars(options).items() if isinstance(value, Path)}
    settings = {**vars(options), **paths, **checksums, "output": options.output}
    turns.write(options.output, settings, rows)


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = turns.parser(__doc__, "decoding.json")
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument(
        "--data", type=Path, help="folder of its dictionaries (default: the training data)"
    )
    parser.add_argument("--source", type=Path, required=True, help="text, segmented as in training")
    parser.add_argument("--candidates", type=Path, help="a file of build_candidates.py")
    parser.add_argument("--frequent", type=int, default=2000, help="K")
    parser.add_argument("--per-word", type=int, default=10, help="K'")
    parser.add_argument("--sentences", type=int, default=200, help="number of source sentences")
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[1, 64])
    parser.add_argument("--beam", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    main()
