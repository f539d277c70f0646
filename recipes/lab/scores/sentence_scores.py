"""Log-probabilities of a test text by sentence, stored with the ledger for intervals.

    results/mine/scores/ARM.seed1.KEY.txt    a line per sentence: nats, number of words

The number of words includes the end of the sentence, as in the perplexity.
"""

import math
import re
from pathlib import Path

import numpy as np

from recipes.lab import ledger
from recipes.lab.scores import scoring
from recipes.lab.scores.resampling import Metric

FOLDER = "scores"
END = "</s>"
# A window of fairseq-eval-lm --output-word-probs: its number, then words with log-probabilities.
WINDOW = re.compile(r"(?m)^.*?fairseq_cli\.eval_lm\W+(\d+) (\S.* \[-?(?:[\d.]+|inf|nan)\])$")


def _perplexity(sums: list) -> float:
    nats, words = sums
    return math.exp(nats / words) if words else math.nan


# Computed from stored scores, not from translations.
PERPLEXITY = Metric("perplexity", FOLDER, lambda hypotheses, references: np.empty(0), _perplexity)


def of_log(log: Path) -> np.ndarray:
    """Negative log-probability and number of words of every sentence, ``(sentences, 2)``.

    Args:
        log: of fairseq-eval-lm with ``--output-word-probs``; windows may be in any order.
    """
    windows = WINDOW.findall(log.read_text(encoding="utf-8", errors="replace"))
    rows, nats, words = [], 0.0, 0
    for _, window in sorted(windows, key=lambda found: int(found[0])):
        for item in window.split("\t"):
            word, _, score = item.rpartition(" [")
            nats, words = nats - float(score.rstrip("]")), words + 1
            if word == END:
                rows.append((nats, words))
                nats, words = 0.0, 0
    rows += [(nats, words)] if words else []  # the text ends within a sentence
    return np.array(rows).reshape(-1, 2)


def kept_file(results: Path, entry: dict) -> Path:
    """The path of the stored scores of a ledger line.

    Args:
        results: the ledger's folder.
    """
    return results / FOLDER / f"{ledger.name_of(entry)}.txt"


def keep(results: Path, entry: dict, log: Path) -> None:
    """Store the scores of a run, if they have the perplexity of the ledger line."""
    path = kept_file(results, entry)
    if find(entry | {"results": str(results)}) is not None or not log.exists():
        return
    rows = of_log(log)
    if not _fits(rows, entry):
        print(f"  not stored, because their perplexity is not that of the ledger: {log}")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    scoring.write_lines(path, [f"{nats:.4f} {words:.0f}" for nats, words in rows.tolist()])
    print(f"  {path}")


def _fits(rows: np.ndarray, entry: dict) -> bool:
    """Whether scores have the perplexity of a ledger line; those of an earlier run may not."""
    found = _perplexity(rows.sum(axis=0).tolist())
    return math.isclose(found, entry["figures"]["test_ppl"], rel_tol=1e-4)


def find(entry: dict) -> np.ndarray | None:
    """The scores of a ledger line, ``(sentences, 2)``; None if none are stored.

    Those of an earlier run of the same setting and seed do not count.
    """
    path = kept_file(Path(entry.get("results", "/nowhere")), entry)
    rows = np.loadtxt(path, ndmin=2) if path.exists() else None
    return rows if rows is not None and _fits(rows, entry) else None
