"""Tokenize a corpus in one or several languages with sacremoses (the Moses tokenizer in Python).

Words are not HTML-escaped: "&quot;" or "&apos;" would match no external word vector and would
have to be undone before scoring. Filters are off by default, so that a test set keeps every line; a
filter drops line n in all languages.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lib.common import (
    CommandParser,
    add_corpus_arguments,
    input_files,
    language_files,
    positive_int,
    progress,
    run,
    worker_count,
)
from lib.workers import ordered_map

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.output_file import OutputFile, report_written, write_together
from fairseq_outlayers.formats.text import count_parallel_lines, read_parallel
from fairseq_outlayers.formats.tokenization import tokenize

EXAMPLE = """example:
  python data_prep/tokenize_corpus.py --input raw/train --output tokenized/train \\
      --languages en de --lowercase --drop-empty --max-length 50 --max-ratio 3
"""


@dataclass(frozen=True)
class Tokenizer:
    """Tokenizes one line of each language; picklable, because it holds only options."""

    languages: tuple[str, ...]
    lowercase: bool
    normalize_punctuation: bool

    def __call__(self, lines: Sequence[str]) -> tuple[str, ...]:
        return tuple(map(self.tokenize, self.languages, lines))

    def tokenize(self, language: str, line: str) -> str:
        """The tokens of a line, separated by single spaces."""
        return tokenize(line, language, self.lowercase, self.normalize_punctuation)


@dataclass(frozen=True)
class Filter:
    """Filters of lines; ``None`` and False disable a filter."""

    drop_empty: bool
    max_length: int | None
    max_ratio: float | None

    def reason_to_drop(self, tokenized: Sequence[str]) -> str | None:
        """Why a line is dropped in all languages, or None if it is kept."""
        lengths = [len(line.split()) for line in tokenized]
        if self.drop_empty and not min(lengths):
            return "empty"
        if self.max_length is not None and max(lengths) > self.max_length:
            return f"longer than {self.max_length} tokens"
        if self.max_ratio is not None and max(lengths) > self.max_ratio * min(lengths):
            return f"length ratio above {self.max_ratio:g}"
        return None


def write_kept(
    tokenized: Iterable[Sequence[str]], line_filter: Filter, outputs: Sequence[OutputFile]
) -> Counter[str]:
    """Write lines that pass the filter; returns counts of the others by reason."""
    dropped: Counter[str] = Counter()
    for lines in tokenized:
        reason = line_filter.reason_to_drop(lines)
        if reason:
            dropped[reason] += 1
            continue
        for output, line in zip(outputs, lines, strict=True):
            output.write_line(line)
    return dropped


def describe_kept(total: int, dropped: Counter[str], what: str) -> str:
    """For example ``kept 28,997 of 29,000 pairs (dropped: 3 empty)``."""
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(dropped.items()))
    kept = f"kept {total - dropped.total():,} of {total:,} {what}"
    return f"{kept} (dropped: {reasons})" if reasons else kept


def ratio(text: str) -> float:
    """An argparse type: a number, at least 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return value


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = CommandParser(description=__doc__, epilog=EXAMPLE)
    add_corpus_arguments(parser)
    parser.add_argument("--lowercase", action="store_true", help="lower-case the text")
    parser.add_argument(
        "--no-punctuation-normalization",
        action="store_true",
        help="keep typographic quotes, dashes and spaces",
    )
    parser.add_argument(
        "--drop-empty", action="store_true", help="drop lines that are empty in any language"
    )
    parser.add_argument(
        "--max-length", type=positive_int, metavar="N", help="drop lines of more than N tokens"
    )
    parser.add_argument(
        "--max-ratio", type=ratio, metavar="R", help="drop pairs with a length ratio above R"
    )
    parser.add_argument(
        "--workers", type=worker_count, default=1, metavar="N", help="processes (default: 1)"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Tokenize the files PREFIX.LANGUAGE."""
    options = parse_arguments(arguments)
    inputs = input_files(options.input, options.languages)
    output_paths = language_files(options.output, options.languages)
    tokenizer = Tokenizer(
        tuple(options.languages), options.lowercase, not options.no_punctuation_normalization
    )
    line_filter = Filter(options.drop_empty, options.max_length, options.max_ratio)
    total = count_parallel_lines(inputs)
    with ordered_map(options.workers) as mapping, write_together(output_paths, inputs) as outputs:
        tokenized = mapping(tokenizer, read_parallel(inputs))
        dropped = write_kept(progress(tokenized, total, "tokenizing"), line_filter, outputs)
        what = "pairs" if len(inputs) > 1 else "lines"
        kept = describe_kept(total, dropped, what)
        if dropped.total() == total:
            raise UserError(f"{inputs[0]}: {kept}: nothing is left; loosen the filters")
    print(kept)
    report_written(outputs)


if __name__ == "__main__":
    run(main)
