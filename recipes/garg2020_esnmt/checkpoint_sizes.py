"""Size of a checkpoint of each model, with and without the optimizer's state."""

import shutil
from pathlib import Path

from recipes.garg2020_esnmt.arms import Garg2020
from recipes.lab import measurements
from recipes.lab.__main__ import step
from recipes.lab.running import process
from recipes.lab.running.run_arm import fairseq, find_fairseq_commands

FILE = "checkpoint_sizes.json"
# A model has its size from the first update on.
ONE_UPDATE = ("--max-update", "1", "--max-valid-steps", "1", "--no-epoch-checkpoints")
KINDS = {"checkpoint_mb": (), "without_optimizer_mb": ("--no-save-optimizer-state",)}
MB = 10**6


def measure(recipe: Garg2020, name: str, folder: Path) -> dict:
    """Megabytes of an arm's checkpoints.

    Args:
        folder: for the checkpoints and logs, which are removed.
    """
    data, _ = recipe.speed_arms()
    row: dict = {"arm": name}
    for kind, options in KINDS.items():
        shutil.rmtree(folder, ignore_errors=True)  # of a measurement that was interrupted
        folder.mkdir(parents=True)
        save = ["--save-dir", str(folder)]
        command = [*fairseq("fairseq-train", data), *recipe.arm(name).train, *ONE_UPDATE]
        process.run([*command, *save, *options], log=folder / "train.log")
        row[kind] = (folder / "checkpoint_last.pt").stat().st_size / MB
    shutil.rmtree(folder)
    return row


def main(recipe: Garg2020) -> None:
    """Measure, and write the JSON file."""
    output = Path(recipe.results, FILE)
    if recipe.measured(output):
        return
    find_fairseq_commands()
    _, arms = recipe.speed_arms()
    folder = Path(recipe.work, "checkpoint_sizes")
    rows = [measure(recipe, name, folder) for name in arms]
    for row in rows:
        sizes = ", ".join(f"{kind} {row[kind]:.1f}" for kind in KINDS)
        print(f"  {row['arm']}: {sizes}")
    measurements.write(output, rows)


if __name__ == "__main__":
    step("garg2020_esnmt", main)
