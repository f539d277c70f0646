"""Writes what was measured, and what the figures depend on, into a file."""

from pathlib import Path
from typing import Any

from recipes.lab import ledger, scoring

# When a program starts: the checkout may change while it measures.
COMMIT = ledger.commit()


def write(output: Path, rows: list[dict], **settings: Any) -> None:
    """A JSON file of settings, commit, machine, versions and rows; says where it is.

    It is written whole or not at all.
    """
    origin = {"commit": COMMIT, "machine": ledger.machine(), "versions": ledger.versions()}
    output.parent.mkdir(parents=True, exist_ok=True)
    scoring.write_json(output, {**settings, **origin, "rows": rows}, ascii_only=True)
    print(output)
