"""Write a synthetic parallel corpus (train, valid, test in src and tgt).

The vocabulary is Zipfian; the target side has compounds, inflection and another word order (see
toy_language.py). The text is tokenized. The same seed gives the same bytes on any platform. The
test set is drawn first, so it does not depend on the size of the training set.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lib.common import CommandParser, positive_int, progress, run
from lib.toy_language import ToyLanguage

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.output_file import write_together

EXAMPLE = """example:
  python data_prep/toy_corpus.py --output data/toy --seed 1 --train 10000 --vocabulary 3000
"""
LANGUAGES = ("src", "tgt")
SMALLEST_VOCABULARY = 20  # so that every word class has a word

Pairs = list[tuple[str, str]]


def draw_splits(language: ToyLanguage, sizes: dict[str, int]) -> dict[str, Pairs]:
    """Sentence pairs for each split; no source sentence occurs twice, within or across splits."""
    seen: set[str] = set()
    splits: dict[str, Pairs] = {split: [] for split in sizes}
    order = [split for split, size in sizes.items() for _ in range(size)]
    for split in progress(order, len(order), "drawing"):
        # Terminates: even the smallest vocabulary allows billions of sentences.
        while (pair := language.sentence_pair())[0] in seen:
            pass
        seen.add(pair[0])
        splits[split].append(pair)
    return splits


def describe(splits: dict[str, Pairs]) -> str:
    """One line with sizes, vocabularies and rare words."""
    train = [Counter(" ".join(side).split()) for side in zip(*splits["train"], strict=True)]
    test = [" ".join(side).split() for side in zip(*splits["test"], strict=True)]
    sides = []
    for name, counts, tokens in zip(LANGUAGES, train, test, strict=True):
        hapax = sum(count == 1 for count in counts.values()) / len(counts)
        unseen = sum(token not in counts for token in tokens) / len(tokens)
        sides.append(
            f"{name} {len(counts):,} types, {hapax:.0%} of them once, "
            f"{unseen:.1%} of test tokens unseen in training"
        )
    sizes = ", ".join(f"{split} {len(pairs):,} pairs" for split, pairs in splits.items())
    return f"toy corpus: {sizes}; {'; '.join(sides)}"


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = CommandParser(description=__doc__, epilog=EXAMPLE)
    parser.add_argument(
        "--output", required=True, type=Path, metavar="DIR", help="write files here"
    )
    parser.add_argument("--seed", type=positive_int, default=1, metavar="N", help="default: 1")
    for split, size in (("train", 10_000), ("valid", 500), ("test", 500)):
        parser.add_argument(
            f"--{split}",
            type=positive_int,
            default=size,
            metavar="N",
            help=f"sentence pairs in the {split} set (default: {size:,})",
        )
    parser.add_argument(
        "--vocabulary",
        type=positive_int,
        default=3000,
        metavar="N",
        help="number of source word stems (default: 3,000)",
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write DIR/{train,valid,test}.{src,tgt}."""
    options = parse_arguments(arguments)
    if options.vocabulary < SMALLEST_VOCABULARY:
        raise UserError(
            f"--vocabulary {options.vocabulary} is too small; give at least {SMALLEST_VOCABULARY}"
        )
    language = ToyLanguage(options.seed, options.vocabulary)
    sizes = {"test": options.test, "valid": options.valid, "train": options.train}
    splits = draw_splits(language, sizes)
    paths = [options.output / f"{split}.{side}" for split in sizes for side in LANGUAGES]
    with write_together(paths) as outputs:
        for number, output in enumerate(outputs):
            for pair in splits[output.path.stem]:
                output.write_line(pair[number % 2])
    print(describe(splits))
    lines, tokens = sum(o.lines for o in outputs), sum(o.tokens for o in outputs)
    print(f"wrote {len(outputs)} files to {options.output} ({lines:,} lines, {tokens:,} tokens)")


if __name__ == "__main__":
    run(main)
