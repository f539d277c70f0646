"""What the environment can change: declared with a default and a meaning, read as text."""

from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What every recipe has beside its own.
SHARED = {
    "ARMS": ("", "which arms, in order of priority (default: all)"),
    "SEEDS": ("1", "one run of every arm for each"),
    "KIND": (
        "arm",
        "tuning: runs that a setting is chosen by, known by their validation perplexity",
    ),
    "TIME_BUDGET": ("", "seconds; no new arm starts after them"),
    "FORCE": ("0", "1: run what the ledger holds again, measure again what was measured"),
}
# Those that the shell needs before it can ask; common.sh reads them.
SHELL = {
    "OUTLAYERS_PYTHON": ("", "a Python with fairseq"),
    "OUTLAYERS_DATA": ("", "mirror of the data sets; without it they are downloaded"),
    "OUTLAYERS_WORK": ("", "folder for data and runs (default: work/RECIPE)"),
    "OUTLAYERS_RESULTS": ("", "folder for what is found (default: results/PAPER)"),
    "THREADS": ("", "of torch (default: as many as cores)"),
}

Declared = Mapping[str, tuple[str, str]]


class UserError(ValueError):
    """A mistake of the user's, said in one line: what, where, which value, what to do."""


class Settings(dict):
    """Settings by name, read as attributes: ``settings.DIM``. An empty value is the default.

    Args:
        declared: default and meaning by name.
        environment: what the user has set.
    """

    def __init__(self, declared: Declared, environment: Mapping[str, str]):
        super().__init__({n: environment.get(n) or default for n, (default, _) in declared.items()})

    def __getattr__(self, name: str) -> str:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no setting {name}") from None

    def defaults(self, **more: object) -> None:
        """Defaults that depend on other settings: they fill what is still empty."""
        for name, value in more.items():
            self[name] = self.get(name) or str(value)

    def choice(self, name: str, known: Mapping | tuple[str, ...]) -> str:
        """One of the known values.

        Raises:
            UserError: if it is none of them.
        """
        if self[name] not in known:
            *others, last = known
            raise UserError(f"{name}={self[name]}: known are {', '.join(others)} and {last}")
        return self[name]

    def whole(self, name: str) -> int:
        """A whole number.

        Raises:
            UserError: if it is none.
        """
        try:
            return int(self[name])
        except ValueError:
            raise UserError(f"{name}={self[name]}: expected a whole number") from None

    def wholes(self, name: str) -> list[int]:
        """The whole numbers of a list.

        Raises:
            UserError: if something else is in it.
        """
        try:
            return [int(word) for word in self.words(name)]
        except ValueError:
            raise UserError(f"{name}={self[name]}: expected whole numbers") from None

    def words(self, name: str) -> list[str]:
        """The words of a list."""
        return self[name].split()
