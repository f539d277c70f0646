"""Build candidate lists of target words for decoding.

A list of Jean et al. (2015) has the K most frequent target words and the K' best translations of
each source word. The file holds the translations; K and K' (at most --per-word) are chosen when
decoding. With --dev-source and --dev-target, reports the coverage of a reference.
"""

import argparse
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lib.candidate_coverage import CoverageReport
from lib.candidate_files import RankedTranslations
from lib.common import CommandParser, positive_int, refuse_unless, run

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import DictionaryFile
from fairseq_outlayers.formats.lexicon import Lexicon, read_lexicon
from fairseq_outlayers.formats.output_file import write_together
from fairseq_outlayers.formats.text import count_parallel_lines, read_lines, read_parallel
from fairseq_outlayers.formats.units import segmentation_of

FREQUENT, REPORT_FREQUENT, REPORT_PER_WORD = 100, [1000, 2000, 4000], [0, 1, 10, 20]
EXAMPLE = """example:
  python data_prep/build_candidates.py --lexicon lexicon.en-de --output candidates.npz \\
      --source-dictionary data-bin/dict.en.txt --target-dictionary data-bin/dict.de.txt \\
      --dev-source tokenized/valid.en --dev-target tokenized/valid.de
"""


def read_blocked(path: Path | None, target: DictionaryFile) -> np.ndarray:
    """Ids of the words in a file, one per line; prints how many are not in the dictionary."""
    if path is None:
        return np.empty(0, dtype=np.int64)
    index, words = target.ids(), {line.strip() for line in read_lines(path)} - {""}
    known = sorted(index[word] for word in words if word in index)
    print(f"blocked {len(known):,} words; {len(words) - len(known):,} are not in the dictionary")
    return np.array(known, dtype=np.int64)


def describe(
    lexicon: Lexicon,
    source: DictionaryFile,
    target: DictionaryFile,
    translations: RankedTranslations,
) -> str:
    """One line about the contents of the file and the dropped words."""
    unknown = [
        len({words[number] for number in set(ids.tolist())} - dictionary.ids().keys())
        for words, ids, dictionary in (
            (lexicon.source_words, lexicon.sources, source),
            (lexicon.target_words, lexicon.targets, target),
        )
    ]
    listed = int((np.diff(translations.offsets) > 0).sum())
    return (
        f"{listed:,} of {len(source.words()):,} source words have translations, "
        f"{len(translations.targets) / max(listed, 1):.1f} on average; of the lexicon's words, "
        f"{unknown[0]:,} source and {unknown[1]:,} target words are not in the dictionaries"
    )


def refuse_exchanged(
    options: argparse.Namespace, lexicon: Lexicon, source: DictionaryFile, target: DictionaryFile
) -> None:
    """Refuse dictionaries that know more of the lexicon's words the other way round.

    Raises:
        UserError: with the numbers of words.
    """

    def known(first: DictionaryFile, second: DictionaryFile) -> int:
        sides = (set(lexicon.source_words), first), (set(lexicon.target_words), second)
        return sum(len(words & dictionary.ids().keys()) for words, dictionary in sides)

    as_given, exchanged = known(source, target), known(target, source)
    if exchanged > as_given:
        raise UserError(
            f"--source-dictionary {options.source_dictionary} and --target-dictionary "
            f"{options.target_dictionary} know {as_given:,} words of {options.lexicon}, exchanged "
            f"{exchanged:,}: exchange them, or build a lexicon of the other direction"
        )


def warn_of_words(options: argparse.Namespace, lexicon: Lexicon, source: DictionaryFile) -> None:
    """Warn about a lexicon of words beside a dictionary of subword units, or the reverse."""
    kinds = [segmentation_of(words) for words in (source.words(), lexicon.source_words)]
    if kinds[0] != kinds[1]:
        names = [kind or "whole words" for kind in kinds]
        print(
            f"warning: {options.source_dictionary} has {names[0]}, {options.lexicon} {names[1]}: "
            "build the lexicon from the text that was binarized",
            file=sys.stderr,
        )


def report_coverage(
    options: argparse.Namespace,
    source: DictionaryFile,
    target: DictionaryFile,
    translations: RankedTranslations,
) -> None:
    """Print the coverage for every pair of K and K'."""
    listed = options.report_per_word or [n for n in REPORT_PER_WORD if n <= options.per_word]
    for per_word in listed:
        if per_word > options.per_word:
            raise UserError(
                f"--report-per-word {per_word}: the file holds {options.per_word} translations per "
                "word; raise --per-word"
            )
    choices = list(itertools.product(options.report_frequent or REPORT_FREQUENT, listed))
    report = CoverageReport(translations, source, target, choices)
    for pair in read_parallel([options.dev_source, options.dev_target]):
        report.add(*pair)
    print("\n".join(report.lines()))


def write(
    options: argparse.Namespace,
    source: DictionaryFile,
    target: DictionaryFile,
    translations: RankedTranslations,
) -> None:
    """Write the candidate file and the exports.

    Raises:
        UserError: if two of them, or one and an input, are the same file.
    """
    frequent = target.by_frequency()
    frequent = frequent[~np.isin(frequent, translations.blocked)][: options.frequent or FREQUENT]
    everything = [
        (options.output, lambda *arguments: translations.write(*arguments, options.per_word)),
        (options.marian, translations.write_marian),
        (
            options.ctranslate2,
            lambda *arguments: translations.write_ctranslate2(*arguments, frequent),
        ),
    ]
    asked = [(path, writer) for path, writer in everything if path is not None]
    paths = [path for path, _ in asked]
    if len({path.resolve() for path in paths}) < len(paths):
        raise UserError(
            "--output, --marian and --ctranslate2 need different files, but two of "
            f"{', '.join(map(str, paths))} are equal; change one"
        )
    inputs = [options.lexicon, options.source_dictionary, options.target_dictionary]
    inputs += [p for p in (options.block, options.dev_source, options.dev_target) if p is not None]
    with write_together(paths, inputs) as outputs:
        for output, (_, writer) in zip(outputs, asked, strict=True):
            writer(output, source, target)
    print("wrote " + ", ".join(str(path) for path in paths))


def whole_number(text: str) -> int:
    """An argparse type: a whole number from 0."""
    return 0 if text == "0" else positive_int(text)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = CommandParser(description=__doc__, epilog=EXAMPLE)
    for name, what in (
        ("lexicon", "table of build_lexicon.py"),
        ("source-dictionary", "dict.SOURCE.txt of the binarized data"),
        ("target-dictionary", "dict.TARGET.txt of the binarized data"),
        ("output", "the candidate file"),
    ):
        parser.add_argument(f"--{name}", required=True, type=Path, metavar="FILE", help=what)
    parser.add_argument(
        "--per-word",
        type=positive_int,
        default=20,
        metavar="N",
        help="number of translations per source word, the largest K' (default: 20)",
    )
    for name, what in (
        ("block", "words that are never produced, one per line"),
        ("dev-source", "tokenized source text for the coverage report"),
        ("dev-target", "its reference"),
        ("marian", "also write Marian's lexical shortlist"),
        ("ctranslate2", "also write CTranslate2's vmap.txt"),
    ):
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help=what)
    parser.add_argument(
        "--frequent",
        type=positive_int,
        metavar="N",
        help=f"words that the vmap.txt always allows (default: {FREQUENT})",
    )
    for name, default, what, limit in (
        ("frequent", REPORT_FREQUENT, "K, including </s> and <unk>", ""),
        ("per-word", REPORT_PER_WORD, "K'", ", up to --per-word"),
    ):
        parser.add_argument(
            f"--report-{name}",
            type=whole_number,
            nargs="+",
            metavar="N",
            help=f"{what} of the coverage report (default: {' '.join(map(str, default))}{limit})",
        )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the candidate file named by ``--output``."""
    options = parse_arguments(arguments)
    if (options.dev_source is None) != (options.dev_target is None):
        raise UserError("--dev-source and --dev-target go together; give both or neither")
    refuse_unless(options, options.ctranslate2 is not None, "without --ctranslate2", "frequent")
    reports = "report-frequent", "report-per-word"
    refuse_unless(options, options.dev_source is not None, "without --dev-source", *reports)
    for frequent in options.report_frequent or ():
        if frequent < 2:
            raise UserError(
                f"--report-frequent {frequent}: must be at least 2, because every list has </s> "
                "and <unk>"
            )
    if options.dev_source is not None:
        count_parallel_lines([options.dev_source, options.dev_target])
    source = DictionaryFile.read(options.source_dictionary)
    target = DictionaryFile.read(options.target_dictionary)
    lexicon = read_lexicon(options.lexicon, "fast_align")
    refuse_exchanged(options, lexicon, source, target)
    blocked = read_blocked(options.block, target)
    translations = RankedTranslations.select(lexicon, source, target, options.per_word, blocked)
    print(describe(lexicon, source, target, translations))
    if not len(translations.targets):
        raise UserError(
            f"{options.lexicon}: no entry is in both dictionaries; build it from the text of the "
            "dictionaries"
        )
    warn_of_words(options, lexicon, source)
    if options.dev_source is not None:
        report_coverage(options, source, target, translations)
    write(options, source, target, translations)


if __name__ == "__main__":
    run(main)
