"""Build a lexical table, t(target word | source word), from a tokenized parallel corpus.

By default with IBM Model 1, which is built in and deterministic. Alternatively from word alignments
(--alignments, Pharaoh format), by another aligner (--aligner eflomal: pip install eflomal; not
deterministic), or by converting a table (--table: of fast_align -p, or a lex.s2t). Model 1 keeps
all co-occurring word pairs in memory: for more than some million sentence pairs, convert a table.
The table is the input of build_candidates.py, and a dictionary for replacing unknown words.
"""

import argparse
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from lib.common import CommandParser, positive_int, refuse_unless, run
from lib.ibm_model1 import Corpus, ibm_model1

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.lexicon import TABLE_FORMATS, Lexicon, count_links, read_lexicon
from fairseq_outlayers.formats.output_file import report_written, write_together
from fairseq_outlayers.formats.text import (
    OTHER_SPACE_BUT_TAB,
    count_parallel_lines,
    read_lines,
    read_parallel,
)
from fairseq_outlayers.suggestions import between

TABLE_FORMAT = "fast_align"
ITERATIONS = 5
EXAMPLE = """example:
  python data_prep/build_lexicon.py --source tokenized/train.en --target tokenized/train.de \\
      --output lexicon.en-de
"""


def by_ibm_model1(options: argparse.Namespace) -> Lexicon:
    """The built-in aligner."""
    count_parallel_lines([options.source, options.target])
    source, target = (Corpus.read(read_lines(path)) for path in (options.source, options.target))
    return ibm_model1(source, target, options.iterations or ITERATIONS)


def by_eflomal(options: argparse.Namespace) -> Lexicon:
    """Align with the program ``eflomal-align``, then count links.

    Raises:
        UserError: if the program is missing or fails.
    """
    count_parallel_lines([options.source, options.target])
    with tempfile.TemporaryDirectory() as folder:
        links = Path(folder) / "links"
        files = ["-s", str(options.source), "-t", str(options.target), "-f", str(links)]
        try:
            done = subprocess.run(
                ["eflomal-align", *files, "--overwrite"], capture_output=True, text=True
            )
        except FileNotFoundError:
            raise UserError(
                "--aligner eflomal: no program eflomal-align; pip install eflomal (GPL), or leave "
                "the option out"
            ) from None
        if done.returncode or not links.exists():
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise UserError(f"--aligner eflomal: exit code {done.returncode}: {last}")
        return from_alignments(options, links)


ALIGNERS = {"ibm1": by_ibm_model1, "eflomal": by_eflomal}


def from_alignments(options: argparse.Namespace, links: Path) -> Lexicon:
    """Relative frequencies of the links in a Pharaoh file."""
    texts = [options.source, options.target]
    # All three are counted, because an empty file of links is an error, too.
    count_parallel_lines([*texts, links])
    return count_links(read_parallel(texts), read_lines(links), links)


def refuse_other_spaces(texts: Sequence[Path]) -> None:
    """Refuse white space that fast_align takes for a part of a word, which shifts the links.

    Raises:
        UserError: for the first character of a text that divides words here, but not there.
    """
    for path in texts:
        for number, line in enumerate(read_lines(path), start=1):
            if (other := OTHER_SPACE_BUT_TAB.search(line)) is not None:
                raise UserError(
                    f"{path}:{number}: has U+{ord(other[0]):04X}, which divides words here, but "
                    "not for every aligner, so links would be of other words: replace it by a "
                    "space, and align again"
                )


def build(options: argparse.Namespace) -> Lexicon:
    """Build the table according to the options."""
    if options.table is not None:
        return read_lexicon(options.table, options.table_format or TABLE_FORMAT)
    if options.source is None or options.target is None:
        raise UserError("--source and --target are needed unless --table is given")
    if options.alignments is not None:
        refuse_other_spaces([options.source, options.target])
        return from_alignments(options, options.alignments)
    return ALIGNERS[options.aligner](options)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = CommandParser(description=__doc__, epilog=EXAMPLE)
    parser.add_argument("--source", type=Path, metavar="FILE", help="tokenized source text")
    parser.add_argument("--target", type=Path, metavar="FILE", help="its translation, line by line")
    parser.add_argument("--output", required=True, type=Path, metavar="FILE", help="the table")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--aligner", choices=sorted(ALIGNERS), default="ibm1", help="default: ibm1 (built in)"
    )
    kind.add_argument(
        "--alignments",
        type=Path,
        metavar="FILE",
        help="count the links of this file, lines of 0-0 1-2 ...",
    )
    kind.add_argument("--table", type=Path, metavar="FILE", help="convert this table")
    parser.add_argument(
        "--table-format",
        choices=sorted(TABLE_FORMATS),
        help=f"format of --table (default: {TABLE_FORMAT})",
    )
    parser.add_argument(
        "--iterations",
        type=between(1, 10_000),
        metavar="N",
        help=f"iterations of EM for --aligner ibm1 (default: {ITERATIONS})",
    )
    parser.add_argument(
        "--per-word",
        type=positive_int,
        default=100,
        metavar="N",
        help="keep the N best translations per word (default: 100)",
    )
    options = parser.parse_args(arguments)
    model1 = options.aligner == "ibm1" and options.alignments is None and options.table is None
    refuse_unless(options, model1, "unless IBM Model 1 is trained", "iterations")
    refuse_unless(options, options.table is not None, "without --table", "table-format")
    refuse_unless(options, options.table is None, "beside --table", "source", "target")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Build and write the table."""
    options = parse_arguments(arguments)
    inputs = [options.source, options.target, options.alignments, options.table]
    given = [path for path in inputs if path is not None]
    lexicon = build(options).best(options.per_word)
    if not lexicon.probabilities.any():
        raise UserError("no source word has a translation: are the texts empty?")
    with write_together([options.output], given) as outputs:
        lexicon.write(outputs[0])
    print(
        f"{len(set(lexicon.sources.tolist())):,} source words with "
        f"{len(lexicon.sources):,} translations, at most {options.per_word} each"
    )
    report_written(outputs)


if __name__ == "__main__":
    run(main)
