"""Segmentation of words into characters, syllables (Pyphen) or morphs (Morfessor 2).

The units of a word concatenate to the word.
"""

import argparse
import itertools
import logging
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import MOST_DIGITS
from fairseq_outlayers.formats.text import read_lines

Cutter = Callable[[str], list[str]]


def characters(words: Sequence[str], options: argparse.Namespace) -> Cutter:
    """Every character is a unit."""
    return list


def syllables(words: Sequence[str], options: argparse.Namespace) -> Cutter:
    """Hyphenation by Liang's algorithm, an approximation of syllables (Assylbekov et al. 2018).

    Raises:
        UserError: if ``--language`` is missing or Pyphen has no patterns for it.
    """
    import pyphen

    name = options.language
    if name not in pyphen.LANGUAGES:
        problem = f"--language {name}: no hyphenation patterns" if name else "no --language"
        known = ", ".join(sorted(pyphen.LANGUAGES))
        raise UserError(f"{problem}; --units syllables needs one of: {known}")
    hyphenation = pyphen.Pyphen(lang=name)

    def cut(word: str) -> list[str]:
        # Positions instead of a hyphenated string, because words like "well-known" have hyphens.
        borders = [0, *hyphenation.positions(same_length_in_lower_case(word)), len(word)]
        return [word[start:end] for start, end in itertools.pairwise(borders)]

    return cut


def same_length_in_lower_case(word: str) -> str:
    """The word, lower-cased letter by letter if lower case changes its length (Turkish I-dot).

    Pyphen's positions refer to the word in lower case.
    """
    if len(word.lower()) == len(word):
        return word
    return "".join(letter.lower()[0] for letter in word)


def morphs(words: Sequence[str], options: argparse.Namespace) -> Cutter:
    """Morfessor 2 Baseline in its default configuration, trained on word types; Viterbi.

    Raises:
        UserError: if the segmentations to load are malformed.
    """
    import morfessor

    logging.getLogger("morfessor").setLevel(logging.ERROR)
    morfessor.utils.show_progress_bar = False  # it prints dots without a line end
    model = morfessor.BaselineModel(forcesplit_list=["-"])  # as in morfessor-train
    if options.segmentations:
        model.load_segmentations(read_segmentations(options.segmentations))
    else:
        random.seed(options.seed)  # determines the order of words in training
        model.load_data([(1, word) for word in words])
        model.train_batch()
    return lambda word: model.viterbi_segment(word)[0]


def read_segmentations(path: Path) -> list[tuple[int, str, tuple[str, ...]]]:
    """Counts, words and their morphs, from a file of ``morfessor-train -S FILE``.

    Morfessor's binary models are not supported: they are pickles, which can run code.
    """
    segmentations = []
    for number, line in enumerate(read_lines(path), start=1):
        if line.startswith("#"):
            continue
        count, _, rest = line.partition(" ")
        parts = tuple(rest.split(" + "))
        if not count.isdecimal() or len(count) > MOST_DIGITS or not all(parts):
            raise UserError(
                f"{path}:{number}: {line[:60]!r} is not 'COUNT morph + morph ...'; write the file "
                "with morfessor-train -S"
            )
        segmentations.append((int(count), "".join(parts), parts))
    if not segmentations:
        raise UserError(f"{path}: holds no segmentations; write it with morfessor-train -S")
    return segmentations


UNITS: dict[str, Callable[[Sequence[str], argparse.Namespace], Cutter]] = {
    "characters": characters,
    "syllables": syllables,
    "morphs": morphs,
}
