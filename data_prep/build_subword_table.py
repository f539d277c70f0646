"""Split the words of a fairseq dictionary into characters, syllables or morphs.

The table is written beside the dictionary, dict.de.txt -> morphs.de.txt, where models that compose
word vectors (--arch subword_lm, --output-layer subword) expect it. A line is a word, a tab, and its
units separated by single spaces. fairseq's specials (</s>, <unk>, ...) are not listed, and count as
one unit each. fairseq's padding words (madeupword0000, ...) are listed with one unit each.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean

from lib.common import CommandParser, positive_int, progress, refuse_unless, run
from lib.word_units import UNITS, Cutter

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import SPECIALS, DictionaryFile, is_padding_word
from fairseq_outlayers.formats.output_file import write_together
from fairseq_outlayers.formats.subword_table import SubwordTable, table_path, write_subword_table
from fairseq_outlayers.formats.text import read_lines

EXAMPLE = """example:
  python data_prep/build_subword_table.py data-bin/dict.txt --units morphs
  python data_prep/build_subword_table.py data-bin/dict.de.txt --units syllables --language de_DE
"""


def unseen_words(texts: Sequence[Path], known: Sequence[str]) -> list[str]:
    """Words of some texts that are not in the dictionary, in order of first occurrence."""
    found = dict.fromkeys(
        word for text in texts for line in read_lines(text) for word in line.split()
    )
    excluded = {*known, *SPECIALS}
    return [word for word in found if word not in excluded]


def cut_all(words: Iterable[str], cut: Cutter) -> SubwordTable:
    """The units of every word.

    Raises:
        UserError: if the units of a word do not concatenate to the word.
    """
    table = {}
    for word in words:
        table[word] = cut(word)
        if "".join(table[word]) != word or not all(table[word]):
            raise UserError(f"{word!r} was cut into {table[word]}, which is not the word again")
    return table


def describe(table: SubwordTable, units: str) -> list[str]:
    """Numbers of units, units per word, and words that differ only in the order of units."""
    lengths = sorted(map(len, table.values()))
    types = len({unit for parts in table.values() for unit in parts})
    percentile = lengths[min(len(lengths) - 1, round(0.99 * len(lengths)))]
    lines = [
        f"{len(table):,} words, {types:,} {units}; a word has {mean(lengths):.2f} on average, "
        f"{percentile} at the 99th percentile, {lengths[-1]} at most"
    ]
    order_lost: dict[tuple[str, ...], list[str]] = {}
    for word, parts in table.items():
        order_lost.setdefault(tuple(sorted(parts)), []).append(word)
    alike = [words for words in order_lost.values() if len(words) > 1]
    count = sum(map(len, alike))
    example = f", for example {' and '.join(alike[0][:2])}" if alike else ""
    lines.append(f"{count:,} words have the same {units} as another in another order{example}")
    return lines


def frequent(table: SubwordTable) -> str:
    """The five most frequent units, counted once per word."""
    counts = Counter(unit for parts in table.values() for unit in set(parts))
    return ", ".join(f"{unit} ({count:,})" for unit, count in counts.most_common(5))


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = CommandParser(description=__doc__, epilog=EXAMPLE)
    parser.add_argument(
        "dictionary", type=Path, metavar="DICT", help="dict.txt or dict.LANGUAGE.txt"
    )
    parser.add_argument("--units", required=True, choices=UNITS)
    parser.add_argument(
        "--language", metavar="NAME", help="of the hyphenation patterns: en_US, de_DE, fr, ru, cs"
    )
    parser.add_argument(
        "--segmentations",
        type=Path,
        metavar="FILE",
        help="morphs: use this output of morfessor-train -S instead of training on the dictionary",
    )
    parser.add_argument(
        "--also-words-of",
        nargs="+",
        default=[],
        type=Path,
        metavar="TEXT",
        help="also split words of these texts that are not in the dictionary, so that "
        "fairseq_outlayers open-vocabulary can score them; not used for training",
    )
    parser.add_argument(
        "--seed", type=positive_int, metavar="N", help="seed of Morfessor (default: 1)"
    )
    options = parser.parse_args(arguments)
    learns = options.units == "morphs" and not options.segmentations
    refuse_unless(options, learns, "unless Morfessor is trained", "seed")
    options.seed = options.seed or 1
    refuse_unless(options, options.units == "syllables", "unless --units syllables", "language")
    if options.segmentations and options.units != "morphs":
        parser.error(f"--segmentations needs --units morphs, not {options.units}")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the subword table of a dictionary."""
    options = parse_arguments(arguments)
    listed = DictionaryFile.read(options.dictionary).words()
    for word in listed:
        if word.split() != [word]:
            raise UserError(
                f"{options.dictionary}: {word!r} has white space, which no word of a text has; "
                "remove its line"
            )
    words = [word for word in listed if not is_padding_word(word)]
    unseen = unseen_words(options.also_words_of, listed)
    try:
        cut = UNITS[options.units](words, options)
    except ModuleNotFoundError as error:
        raise UserError(
            f"--units {options.units} needs the Python package {error.name}: "
            f"pip install {error.name}"
        ) from None
    all_words = words + unseen
    table = cut_all(progress(all_words, len(all_words), "cutting", " words"), cut)
    rest = {word: [word] for word in listed if word not in table}
    path = table_path(options.dictionary, options.units)
    segmentations = [] if options.segmentations is None else [options.segmentations]
    inputs = [options.dictionary, *segmentations, *options.also_words_of]
    with write_together([path], inputs) as outputs:
        write_subword_table(outputs[0], {**table, **rest})
    print("\n".join(describe(table, options.units)))
    print(f"in most words: {frequent(table)}")
    print(f"wrote {path} ({len(table) + len(rest):,} lines)")


if __name__ == "__main__":
    run(main)
