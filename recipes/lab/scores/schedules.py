"""Schedules: runs are compared only if training schedule, length limit and references are equal.

Perplexities of language models are compared on equal data alone, which have the same vocabulary. A
ledger keeps the lines of all schedules of a recipe.
"""

import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from types import MappingProxyType

from recipes.lab.scores import length_limits

OPTIONS = ("--max-epoch", "--patience", "--max-update", "--max-tokens", "--batch-size")
Schedule = tuple[str, ...]


def of(entry: dict, options: Sequence[str] = OPTIONS) -> Schedule:
    """Of a line: the options in its training command, data (if of perplexity), length limit.

    The authors of a paper may let the rates of two models decay differently, so a decay that is set
    in advance is no part of it.
    """
    values = given(entry, options)
    setting = entry.get("setting", {})
    generate = setting.get("generate")
    limit = "" if generate is None else length_limits.in_words(shlex.split(generate))
    data = setting.get("data", "") if "evaluate" in setting else ""
    return *values, annealed_from(entry), data, limit


def references(entry: dict) -> str:
    """The fingerprint of the references of a line; "" if it has none."""
    return entry.get("setting", {}).get("references", "")


def direction(entry: dict) -> tuple[str, ...]:
    """The languages in the training command of a line."""
    return given(entry, ["--source-lang", "--target-lang"])


def given(entry: dict, options: Sequence[str]) -> tuple[str, ...]:
    """Values of options in the training command of a line, "" for those that it does not have.

    Of an option that is given twice, the last value, as in fairseq.
    """
    values = _values(entry.get("command", ""))
    return tuple(values.get(option, "") for option in options)


@cache  # a report asks for the schedule of each line many times
def _values(command: str) -> Mapping[str, str]:
    """The word after each word of a command; after the last one, if it is given twice."""
    return MappingProxyType(dict(pairwise(shlex.split(command))))


def annealed_from(entry: dict) -> str:
    """The epoch from which on a rate that waits for a rise of the loss shrinks without one, too."""
    scheduler, epoch = given(entry, ["--lr-scheduler", "--force-anneal"])
    return epoch if scheduler == "shrink_after_rise" else ""


def limit_of_epochs(entry: dict) -> int:
    """``--max-epoch`` of the training; 0 if it has none."""
    return int(given(entry, ["--max-epoch"])[0] or 0)


def has_patience(entry: dict) -> bool:
    """Whether the training may end by ``--patience``."""
    return int(given(entry, ["--patience"])[0] or 0) > 0


def in_words(entry: dict) -> str:
    """The schedule in words."""
    return ", ".join(_parts(entry))


def unlike(entry: dict, newer: dict) -> str:
    """What a schedule has that a newer one has not, in words; else what it is without."""
    own, others = _parts(entry), _parts(newer)
    lost = [part for part in own if part not in others]
    lost += ["other references"] * (references(entry) != references(newer))
    lacking = [part for part in others if part not in own]
    return ", ".join(lost) or f"without: {', '.join(lacking)}"


def _parts(entry: dict) -> list[str]:
    epochs, patience, *_, limit = of(entry)
    parts = [f"at most {epochs} epochs"] if epochs else []
    if has_patience(entry):
        parts.append(f"stopped after {patience} epochs without a lower validation loss")
    if epoch := annealed_from(entry):
        parts.append(f"learning rate halved from epoch {epoch} on in any case")
    if limit:
        none = limit == length_limits.NONE
        tokens = f"translations of at most {limit} tokens" + (
            ", S the source's" if "S" in limit else ""
        )
        parts.append("decoded without a length limit" if none else tokens)
    return parts
