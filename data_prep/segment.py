"""Segment words into subword units: learn a segmentation, or apply it.

fairseq removes the segmentation with --post-process subword_nmt (or --remove-bpe) or
--post-process sentencepiece.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from lib.common import (
    CommandParser,
    add_corpus_arguments,
    input_files,
    language_files,
    positive_int,
    progress,
    run,
)
from lib.segmentation_methods import METHODS, Segmentation, load_segmentation

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.output_file import report_written, write_together
from fairseq_outlayers.formats.text import count_lines, count_parallel_lines, read_lines

EXAMPLE = """example:
  python data_prep/segment.py learn --inputs train.en train.de --merges 8000 --output codes
  python data_prep/segment.py apply --codes codes --input train --output train.bpe \\
      --languages en de
"""


def normalized(line: str) -> str:
    """The words of a line, separated by single spaces, as fairseq reads them."""
    return " ".join(line.split())


def learn(options: argparse.Namespace) -> None:
    """Learn one segmentation from all inputs."""
    total = sum(count_lines(path) for path in options.inputs)
    with write_together([options.output], options.inputs) as outputs:
        lines = (normalized(line) for path in options.inputs for line in read_lines(path))
        counted = progress(lines, total, "reading")
        method = METHODS[options.method]
        data, description = method.learn(counted, options.merges, options.vocabulary_size)
        outputs[0].write(data)
    print(f"wrote {options.output} ({description}, from {total:,} lines)")


def segmented_lines(segmentation: Segmentation, path: Path) -> Iterator[str]:
    """Segment each line; raises UserError if that would not be reversible."""
    for number, line in enumerate(read_lines(path), start=1):
        words = normalized(line)
        if segmentation.has_mark(words):
            raise UserError(
                f"{path}:{number}: contains a segmentation marker ('@@' at the end of a word, "
                f"or U+2581): {words[:60]!r}; is it already segmented? Remove the marker"
            )
        yield segmentation.segment(words)


def apply(options: argparse.Namespace) -> None:
    """Apply a learned segmentation to PREFIX.LANGUAGE."""
    inputs = input_files(options.input, options.languages)
    segmentation = load_segmentation(options.codes)
    total = count_parallel_lines(inputs)
    output_paths = language_files(options.output, options.languages)
    with write_together(output_paths, [*inputs, options.codes]) as outputs:
        for path, output in zip(inputs, outputs, strict=True):
            lines = segmented_lines(segmentation, path)
            for line in progress(lines, total, f"segmenting {path.name}"):
                output.write_line(line)
    report_written(outputs)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = CommandParser(description=__doc__, epilog=EXAMPLE)
    commands = parser.add_subparsers(required=True, metavar="learn|apply")

    learner = commands.add_parser("learn", help="learn codes from text", epilog=EXAMPLE)
    learner.set_defaults(command=learn)
    learner.add_argument(
        "--method", choices=METHODS, default="subword-nmt", help="default: %(default)s"
    )
    learner.add_argument("--inputs", required=True, nargs="+", type=Path, metavar="FILE")
    learner.add_argument("--output", required=True, type=Path, metavar="CODES")
    size = learner.add_mutually_exclusive_group(required=True)
    size.add_argument("--merges", type=positive_int, metavar="N", help="for subword-nmt")
    size.add_argument(
        "--vocabulary-size",
        type=positive_int,
        metavar="N",
        help="number of units, including single characters",
    )

    applier = commands.add_parser("apply", help="apply codes to a corpus", epilog=EXAMPLE)
    applier.set_defaults(command=apply)
    applier.add_argument("--codes", required=True, type=Path, metavar="CODES")
    add_corpus_arguments(applier)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the subcommand."""
    options = parse_arguments(arguments)
    options.command(options)


if __name__ == "__main__":
    run(main)
