"""Settings of recipes from environment variables, declared with default and meaning."""

import contextlib
import math
import re
from collections.abc import Mapping, MutableMapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Settings of every recipe, which may declare another default.
SHARED = {
    "ARMS": ("", "arms to run, in order of priority (default: all)"),
    "SEEDS": ("1", "every arm is run once per seed"),
    "KIND": (
        "arm",
        "tuning: runs for choosing a setting, by validation perplexity only",
    ),
    "TIME_BUDGET": ("", "seconds after which no new arm is started"),
    "FORCE": ("0", "1: repeat runs that are in the ledger, and measurements"),
    "SPEED_UPDATES": ("40", "updates per arm and round in step 80"),
    "SPEED_ROUNDS": ("5", "rounds of step 80"),
}
# Read by common.sh before it can call Python.
SHELL = {
    "OUTLAYERS_PYTHON": ("", "Python interpreter with fairseq"),
    "OUTLAYERS_DATA": ("", "local mirror of the data sets (default: download them)"),
    "OUTLAYERS_WORK": ("", "folder for data and runs (default: work/RECIPE)"),
    "OUTLAYERS_RESULTS": ("", "folder for results (default: results/PAPER)"),
    "THREADS": ("", "threads of torch (default: number of cores)"),
}

Declared = Mapping[str, tuple[str, str]]


class UserError(ValueError):
    """A user error in one line: what, where, which value, what to do."""


def set_threads(environment: MutableMapping[str, str]) -> None:
    """Limit torch to THREADS threads, if that is set, here and in commands started from here.

    Threads do not wait busily, which made training four times slower with two other programs on a
    2-core machine. common.sh does the same for the commands of a step.

    Raises:
        UserError: if THREADS is not a number from 1.
    """
    environment.setdefault("OMP_WAIT_POLICY", "passive")
    threads = environment.get("THREADS")
    if not threads:
        return
    if not threads.isascii() or not threads.isdecimal() or int(threads) < 1:
        raise UserError(f"THREADS={threads}: expected a whole number from 1")
    environment["OMP_NUM_THREADS"] = threads


class Settings(dict):
    """Settings with attribute access: ``settings.DIM``. An empty value means the default.

    Args:
        declared: default and meaning by name.
        environment: the environment variables.
    """

    def __init__(self, declared: Declared, environment: Mapping[str, str]):
        given = {name: environment.get(name, "").strip() for name in declared}
        super().__init__({name: given[name] or default for name, (default, _) in declared.items()})

    def __getattr__(self, name: str) -> str:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no setting {name}") from None

    def defaults(self, **more: object) -> None:
        """Set defaults that depend on other settings, where the value is empty."""
        for name, value in more.items():
            self[name] = self.get(name) or str(value)

    def choice(self, name: str, known: Mapping | tuple[str, ...]) -> str:
        """A value out of ``known``.

        Raises:
            UserError: if it is another one.
        """
        if self[name] not in known:
            *others, last = known
            raise UserError(f"{name}={self[name]}: known are {', '.join(others)} and {last}")
        return self[name]

    def flag(self, name: str) -> bool:
        """Whether a setting is 1.

        Raises:
            UserError: if it is neither 0 nor 1.
        """
        return self.choice(name, ("0", "1")) == "1"

    def whole(self, name: str, least: int | None = None) -> int:
        """An integer.

        Raises:
            UserError: if it is not an integer, or less than ``least``.
        """
        return self._numbers(name, [self[name]], "a whole number", least)[0]

    def real(self, name: str) -> float:
        """A number.

        Raises:
            UserError: if it is none, or not finite.
        """
        with contextlib.suppress(ValueError):
            if math.isfinite(value := float(self[name])):
                return value
        raise UserError(f"{name}={self[name]}: expected a number")

    def wholes(self, name: str, least: int | None = None) -> list[int]:
        """A list of integers.

        Raises:
            UserError: if an item is not an integer, or less than ``least``.
        """
        return self._numbers(name, self.words(name), "whole numbers", least)

    def _numbers(self, name: str, words: list[str], expected: str, least: int | None) -> list[int]:
        # int() also takes 1_000 and digits of other scripts.
        if all(re.fullmatch(r"[-+]?[0-9]+", word) for word in words):
            numbers = [int(word) for word in words]
            if least is None or min(numbers, default=least) >= least:
                return numbers
        limit = "" if least is None else f" from {least}"
        raise UserError(f"{name}={self[name]}: expected {expected}{limit}")

    def words(self, name: str) -> list[str]:
        """A list of words."""
        return self[name].split()
