"""Detection of loops: translations at the length limit or with repeated phrases."""

import argparse
from collections.abc import Sequence
from functools import cache
from pathlib import Path

PHRASE, REPEATS = 4, 3  # a loop: a phrase of up to 4 words, 3 times in a row
NONE = "200 (fairseq's)"  # of old ledger lines


def _parsed(options: Sequence[str]) -> argparse.Namespace:
    """Parse the relevant options of fairseq-generate or fairseq-train."""
    return _parsed_once(tuple(options))


@cache  # a report asks for the limit of each line many times
def _parsed_once(options: tuple[str, ...]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--max-len-a", type=float, default=0.0)
    parser.add_argument("--max-len-b", type=int, default=200)
    parser.add_argument("--gen-subset", default="test")
    parser.add_argument("--source-lang", "-s")
    parser.add_argument("--target-lang", "-t")
    return parser.parse_known_args(options)[0]


def direction(train: Sequence[str]) -> list[str]:
    """The languages in options of fairseq-train, as options of fairseq-generate.

    Without them it would translate data of both directions from the alphabetically first language.
    """
    found = _parsed(train)
    given = {"--source-lang": found.source_lang, "--target-lang": found.target_lang}
    return [word for option, language in given.items() if language for word in (option, language)]


def in_words(generate: Sequence[str]) -> str:
    """The limit in options of fairseq-generate, e.g. ``1.2 S + 5``."""
    found = _parsed(generate)
    if (found.max_len_a, found.max_len_b) == (0.0, 200):
        return NONE
    return f"{found.max_len_a:g} S + {found.max_len_b}" if found.max_len_a else f"{found.max_len_b}"


def limits(data: Path, train: Sequence[str], generate: Sequence[str]) -> list[int] | None:
    """The length limit of each translated sentence.

    Args:
        data: output folder of fairseq-preprocess.
        train: options of fairseq-train, which may include the source language.
        generate: options of fairseq-generate.
    Returns:
        Limits in corpus order, without the end of the sentence; None if the binarized source is
        missing. With longer sentences in its batch, the limit of a sentence is higher.
    """
    from fairseq.data import data_utils  # slow to import

    found = _parsed(generate)
    language = _parsed(train).source_lang
    pattern = f"{found.gen_subset}.*-*.{language or '*'}.idx"
    # As in fairseq, the first language of the pair is the default source.
    files = [
        path
        for path in sorted(data.glob(pattern))
        if language or path.name.split(".")[-2] == path.name.split(".")[-3].split("-")[0]
    ]
    if not files:
        return None
    sentences = data_utils.load_indexed_dataset(str(files[0].with_suffix("")))
    # The sizes are a view of `sentences`' memory.
    return [int(found.max_len_a * int(size) + found.max_len_b) for size in sentences.sizes]


def repeats_itself(words: Sequence[str]) -> bool:
    """Whether a phrase of 1 to 4 words occurs three times in a row."""
    for size in range(1, PHRASE + 1):
        run = 0  # words that equal the word `size` positions before
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
        hypotheses: tokenized, without BPE.
        references: likewise.
        counts: tokens of each hypothesis in the model's output.
        limits: of these counts; None if unknown.
    Returns:
        at_length_limit, repeating (see `repeats_itself`): counts; None if unknown.
        loops: number of hypotheses that are either.
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
