"""Translations that do not come to an end: at the limit of their length, or going in circles."""

import argparse
from collections.abc import Sequence
from pathlib import Path

PHRASE, REPEATS = 4, 3  # a loop: up to so many words, so many times in a row
NONE = "200 (fairseq's)"  # what old ledger lines were decoded with


def _parsed(options: Sequence[str]) -> argparse.Namespace:
    """What of the options of fairseq-generate or fairseq-train is needed here."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--max-len-a", type=float, default=0.0)
    parser.add_argument("--max-len-b", type=int, default=200)
    parser.add_argument("--gen-subset", default="test")
    parser.add_argument("--source-lang", "-s")
    return parser.parse_known_args(options)[0]


def in_words(generate: Sequence[str]) -> str:
    """The limit of these options of fairseq-generate, ``1.2 S + 5``."""
    found = _parsed(generate)
    if (found.max_len_a, found.max_len_b) == (0.0, 200):
        return NONE
    return f"{found.max_len_a:g} S + {found.max_len_b}" if found.max_len_a else f"{found.max_len_b}"


def limits(data: Path, train: Sequence[str], generate: Sequence[str]) -> list[int] | None:
    """The most tokens that fairseq-generate grants each sentence of the set it translates.

    Args:
        data: from fairseq-preprocess.
        train: options of fairseq-train, which may name the source language.
        generate: options of fairseq-generate.
    Returns:
        By the order of the corpus, the end of the sentence left out; None if the binarized source
        is not there. Among longer sentences of its batch a sentence is granted more.
    """
    from fairseq.data import data_utils  # slow to import

    found = _parsed(generate)
    language = _parsed(train).source_lang
    pattern = f"{found.gen_subset}.*-*.{language or '*'}.idx"
    # Without an option the first language of the pair is the source, as fairseq has it.
    files = [
        path
        for path in sorted(data.glob(pattern))
        if language or path.name.split(".")[-2] == path.name.split(".")[-3].split("-")[0]
    ]
    if not files:
        return None
    sentences = data_utils.load_indexed_dataset(str(files[0].with_suffix("")))
    # The sizes are memory that goes with `sentences`.
    return [int(found.max_len_a * int(size) + found.max_len_b) for size in sentences.sizes]


def repeats_itself(words: Sequence[str]) -> bool:
    """Whether somewhere a phrase of 1 to 4 words stands three times in a row."""
    for size in range(1, PHRASE + 1):
        run = 0  # of words that are what they were `size` words before
        for now, before in zip(words[size:], words, strict=False):
            run = run + 1 if now == before else 0
            if run == size * (REPEATS - 1):
                return True
    return False


def figures(
    hypotheses: Sequence[str],
    references: Sequence[str],
    counts: Sequence[int],
    limits: Sequence[int] | None,
) -> dict:
    """Loops and the length ratio, for the ledger.

    Args:
        hypotheses: tokenised, BPE undone.
        references: likewise.
        counts: tokens of each hypothesis as the model wrote them.
        limits: of these counts; None if unknown.
    Returns:
        at_length_limit, repeating (see `repeats_itself`): how many; None if not known.
        loops: those that are either.
        length_ratio: words of all hypotheses over words of all references.
    """
    known = limits if limits is not None and len(limits) == len(counts) else None
    cut = [count >= limit for count, limit in zip(counts, known, strict=True)] if known else None
    circling = [repeats_itself(line.split()) for line in hypotheses]
    either = [a or b for a, b in zip(cut, circling, strict=True)] if cut else circling
    words = [sum(len(line.split()) for line in lines) for lines in (hypotheses, references)]
    return {
        "at_length_limit": sum(cut) if cut is not None else None,
        "repeating": sum(circling),
        "loops": sum(either),
        "length_ratio": round(words[0] / words[1], 4) if words[1] else None,
    }
