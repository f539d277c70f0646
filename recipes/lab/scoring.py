"""From the output of fairseq-generate to BLEU and chrF."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from sacrebleu.metrics import BLEU


# D- lines are H- lines after fairseq's own undoing of BPE or tokenisation, if it was asked for.
HYPOTHESIS = re.compile(r"^D-(\d+)\t\S+\t(.*)$")
# The log-probability of each of its tokens, in the line after it; the end of the sentence counts.
TOKEN_SCORES = re.compile(r"^P-(\d+)\t(.*)$")


Found = TypeVar("Found")


class Incomplete(ValueError):
    """fairseq did not score everything that it was given."""


def read_lines(path: Path) -> list[str]:
    """The lines of a text file. Only a line feed ends one (U+2028 and its like do not)."""
    text = path.read_text(encoding="utf-8")
    return text.removesuffix("\n").split("\n") if text else []


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """Write a text file, whole or not at all."""
    temporary = path.with_name(path.name + ".partial")
    temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    temporary.replace(path)


def write_json(path: Path, facts: object, ascii_only: bool = False) -> None:
    """Write facts for programs, whole or not at all."""
    text = json.dumps(facts, indent=2, ensure_ascii=ascii_only)
    write_lines(path, text.split("\n"))


def hypotheses_in_corpus_order(output: Path, expected: int) -> list[str]:
    """The best hypothesis of each sentence; fairseq-generate writes them sorted by length.

    Args:
        output: what fairseq-generate printed.
        expected: how many sentences the test set has.
    Raises:
        Incomplete: if a sentence is missing or there are more than expected.
    """
    best: dict[int, str] = {}
    for line in read_lines(output):
        if match := HYPOTHESIS.match(line):
            # With --nbest the best comes first.
            best.setdefault(int(match[1]), match[2])
    return _in_order(best, output, expected)


def most_probable(output: Path, expected: int) -> list[str]:
    """Of each sentence's n best the one with the largest summed log-probability.

    These are the translations of ``--lenpen 0``: the length penalty only orders what fairseq's beam
    search has finished, so one search with ``--nbest`` as large as the beam serves both.

    Args:
        output: what fairseq-generate printed.
        expected: how many sentences the test set has.
    Raises:
        Incomplete: if a sentence is missing or there are more than expected.
    """
    best: dict[int, tuple[float, str]] = {}
    hypothesis = ""
    for line in read_lines(output):
        if match := HYPOTHESIS.match(line):
            hypothesis = match[2]
        elif match := TOKEN_SCORES.match(line):
            number, score = int(match[1]), sum(map(float, match[2].split()))
            if number not in best or score > best[number][0]:
                best[number] = (score, hypothesis)
    return [text for _, text in _in_order(best, output, expected)]


def _in_order(found: Mapping[int, Found], output: Path, expected: int) -> list[Found]:
    """What was found of each sentence; raises Incomplete unless it is that of all of them."""
    missing = [number for number in range(expected) if number not in found]
    if missing or len(found) != expected:
        examples = ", ".join(map(str, missing[:5])) or "none"
        raise Incomplete(
            f"{output} holds {len(found)} hypotheses for {expected} references "
            f"({len(missing)} sentences missing, the first: {examples}; numbers count from 0). "
            "Sentences over --max-source-positions are skipped, and without our --user-dir "
            "fairseq drops the last ones where the size is not a multiple of 8."
        )
    return [found[number] for number in range(expected)]


def token_counts(output: Path, expected: int) -> list[int]:
    """How many target tokens each best hypothesis has, the end of the sentence left out.

    Args:
        output: what fairseq-generate printed.
        expected: how many sentences the test set has.
    Raises:
        Incomplete: if a sentence is missing or there are more than expected.
    """
    counts: dict[int, int] = {}
    for line in read_lines(output):
        if match := TOKEN_SCORES.match(line):
            counts.setdefault(int(match[1]), len(match[2].split()) - 1)
    return _in_order(counts, output, expected)


def detokenize(lines: Sequence[str], language: str) -> list[str]:
    """Undo the Moses tokenisation of data_prep/tokenize_corpus.py."""
    from sacremoses import MosesDetokenizer

    undo = MosesDetokenizer(lang=language)
    return [undo.detokenize(line.split()) for line in lines]


def bleu_metric(tokenised: bool, lowercase: bool = False) -> "BLEU":
    """sacreBLEU for text that is tokenised already, or for plain text (tokenised as 13a)."""
    from sacrebleu.metrics import BLEU

    # force silences the warning that the text looks tokenised: it is, and we say so.
    return BLEU(tokenize="none" if tokenised else "13a", lowercase=lowercase, force=True)


def score(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    tokenised: bool,
    lowercase: bool = False,
) -> dict:
    """Corpus BLEU and chrF with sacreBLEU's signatures.

    Args:
        tokenised: the text is tokenised: count its words as they stand. Such BLEU does not
            compare with that of another tokenisation, and is reported under another name.
        lowercase: ignore case.
    Raises:
        ValueError: if there are not as many hypotheses as references, or none.
    """
    from sacrebleu.metrics import CHRF

    if len(hypotheses) != len(references) or not references:
        raise ValueError(f"{len(hypotheses)} hypotheses, {len(references)} references")
    bleu, chrf = bleu_metric(tokenised, lowercase), CHRF(lowercase=lowercase)
    name = "bleu_tokenised" if tokenised else "bleu"
    figures = {}
    for key, metric in ((name, bleu), ("chrf_tokenised" if tokenised else "chrf", chrf)):
        figures[key] = metric.corpus_score(list(hypotheses), [list(references)]).score
        figures[f"{key}_signature"] = metric.get_signature().format()
    return figures
