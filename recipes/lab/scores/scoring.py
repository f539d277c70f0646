"""BLEU and chrF of the output of fairseq-generate."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sacrebleu.metrics import BLEU


# D- lines are H- lines without BPE or tokenization, if fairseq removes them.
HYPOTHESIS = re.compile(r"^D-(\d+)\t\S+\t(.*)$")
# The next line has the log-probability of each token, including the end of the sentence.
TOKEN_SCORES = re.compile(r"^P-(\d+)\t(.*)$")


class Hypothesis(NamedTuple):
    """A translation and the log-probabilities of its tokens, with the end of the sentence."""

    text: str
    scores: list[float]


class Incomplete(ValueError):
    """fairseq did not score all sentences."""


def read_lines(path: Path) -> list[str]:
    """The lines of a text file, split at line feeds only (not at U+2028 etc.)."""
    # Not read_text, which also splits at a carriage return within a line.
    text = path.read_bytes().decode("utf-8")
    lines = text.removesuffix("\n").split("\n") if text else []
    return [line.removesuffix("\r") for line in lines]


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """Write a text file atomically."""
    temporary = path.with_name(path.name + ".partial")
    temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    temporary.replace(path)


def read_json(path: Path) -> dict:
    """The object in a JSON file; empty if there is no file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write_json(path: Path, facts: object, ascii_only: bool = False) -> None:
    """Write a JSON file atomically."""
    text = json.dumps(facts, indent=2, ensure_ascii=ascii_only)
    write_lines(path, text.split("\n"))


def hypotheses_in_corpus_order(output: Path, expected: int) -> list[str]:
    """The best hypothesis of each sentence, which fairseq-generate sorts by length.

    Args:
        output: of fairseq-generate.
        expected: number of sentences in the test set.
    Raises:
        Incomplete: if a sentence is missing or there are more than expected.
    """
    # With --nbest, the best is the first.
    return [hypotheses[0].text for hypotheses in _in_order(output, expected)]


def most_probable(output: Path, expected: int) -> list[str]:
    """The hypothesis of each n-best list with the largest sum of log-probabilities.

    These are the translations of ``--lenpen 0``: in fairseq's beam search the length penalty
    affects only the order of finished hypotheses, so one search with ``--nbest`` equal to the beam
    serves both.

    Args:
        output: of fairseq-generate.
        expected: number of sentences in the test set.
    Raises:
        Incomplete: if a sentence is missing or there are more than expected.
    """
    found = _in_order(output, expected)
    return [max(hypotheses, key=lambda one: sum(one.scores)).text for hypotheses in found]


def token_counts(output: Path, expected: int) -> list[int]:
    """The number of target tokens of each best hypothesis, without the end of the sentence.

    Args:
        output: of fairseq-generate.
        expected: number of sentences in the test set.
    Raises:
        Incomplete: if a sentence is missing or there are more than expected.
    """
    return [len(hypotheses[0].scores) - 1 for hypotheses in _in_order(output, expected)]


def _in_order(output: Path, expected: int) -> list[list[Hypothesis]]:
    """The hypotheses of each sentence in corpus order; raises Incomplete if one has none."""
    found: dict[int, list[Hypothesis]] = {}
    text = ""
    for line in read_lines(output):
        if match := HYPOTHESIS.match(line):
            text = match[2]
        elif match := TOKEN_SCORES.match(line):
            scores = [float(score) for score in match[2].split()]
            found.setdefault(int(match[1]), []).append(Hypothesis(text, scores))
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


def detokenize(lines: Sequence[str], language: str) -> list[str]:
    """Undo the Moses tokenization of data_prep/tokenize_corpus.py."""
    from sacremoses import MosesDetokenizer

    undo = MosesDetokenizer(lang=language)
    return [undo.detokenize(line.split()) for line in lines]


def bleu_metric(tokenised: bool, lowercase: bool = False) -> "BLEU":
    """sacreBLEU for tokenized text, or for plain text (tokenized by 13a)."""
    from sacrebleu.metrics import BLEU

    # force suppresses the warning about tokenized text.
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
        tokenised: the text is tokenized and scored as it is. Such BLEU does not compare with that
            of another tokenization, and is reported under another name.
        lowercase: ignore case.
    Raises:
        ValueError: if there are no hypotheses, or not as many as references.
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
