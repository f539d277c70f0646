"""Runs among which a setting is chosen, by their validation perplexity alone."""

import argparse
from collections.abc import Sequence
from pathlib import Path

KIND = "tuning"


class Tuning:
    """What makes an arm that is trained and neither translates nor sees the test set.

    Args:
        arguments: the command line of arm.py.
    """

    def __init__(self, arguments: argparse.Namespace):
        pass

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """None of its own."""

    def setting(self) -> dict:
        """What of it decides what an arm is."""
        return {"kind": KIND}

    def commands(self, common: list[str]) -> dict[str, list[str]]:
        """None beside that which trains."""
        return {}

    def figures(self, commands: dict[str, list[str]], folder: Path) -> dict:
        """None beside those of the training log."""
        return {}

    def keep(self, results: Path, entry: dict, folder: Path) -> None:
        """Nothing."""


def without(entries: Sequence[dict]) -> list[dict]:
    """The lines of a ledger that are results."""
    return [entry for entry in entries if entry.get("kind") != KIND]


def rows(entries: Sequence[dict]) -> list[dict]:
    """The newest tuning run of every arm, setting and seed, in the order of the ledger."""
    newest = {
        (entry["arm"], entry["key"], entry["seed"]): entry
        for entry in entries
        if entry.get("kind") == KIND
    }
    return list(newest.values())


def markdown(entries: Sequence[dict]) -> str:
    """A table of tuning runs with their validation perplexity; nothing if there are none."""
    if not entries:
        return ""
    lines = ["## Settings chosen on the validation set", ""]
    lines += ["| run | | valid ppl | updates | seed | commit |", "|---|---|---|---|---|---|"]
    for entry in entries:
        figures = entry["figures"]
        cells = (entry["arm"], entry.get("words", ""), figures.get("best_valid_ppl"),
                 figures.get("updates"), entry["seed"], entry["commit"])  # fmt: skip
        lines.append("| " + " | ".join("-" if c is None else str(c) for c in cells) + " |")
    return "\n".join([*lines, ""])
