"""Files of measurements with their settings, commit and machine."""

from pathlib import Path
from typing import Any

from recipes.lab import ledger, scoring

# At start, because the checkout may change while measuring.
COMMIT = ledger.commit()


def write(output: Path, rows: list[dict], **settings: Any) -> None:
    """Write settings, commit, machine, versions and rows as JSON, atomically; prints the path."""
    origin = {"commit": COMMIT, "machine": ledger.machine(), "versions": ledger.versions()}
    output.parent.mkdir(parents=True, exist_ok=True)
    scoring.write_json(output, {**settings, **origin, "rows": rows}, ascii_only=True)
    print(output)
