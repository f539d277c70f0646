"""Runs one arm of a recipe: train, score on the test set, add a line to the ledger.

    python recipes/arm.py luong_tied --ledger results/mine/ledger.jsonl --runs work/mine \\
        --data work/mine/bin --reference work/mine/tok.test.de --seed 1 \\
        -- --arch luong_lstm --output-layer tied --optimizer adam --lr 0.001 --max-epoch 10

Translations are scored against --reference, language models (--score perplexity) on the data, and
runs among which a setting is chosen (--score tuning) by their validation perplexity alone.
An arm that the ledger holds is skipped; one that was interrupted goes on from its checkpoint.
Everything that it makes is kept in RUNS/NAME/seedN-KEY, where KEY stands for the setting; beside
the ledger, translations that lie there and not yet here are kept too (see kept_translations.py).
"""

import argparse
import json
import os
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path

import ledger
import process
import scoring
import training_log
import tuning
from perplexity import Perplexity
from translation import Translation
from tuning import Tuning

USER_DIR = ledger.ROOT / "fairseq_outlayers"
SCORES = {"translation": Translation, "perplexity": Perplexity, "tuning": Tuning}


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """The command line; what follows ``--`` goes to fairseq-train."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser)
    parser.add_argument("--score", choices=SCORES, default="translation")
    for score in SCORES.values():
        score.add_arguments(parser)
    parsed = parser.parse_args(arguments[:split])
    parsed.train = arguments[split + 1 :]
    return parsed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What every arm has, however it is scored."""
    parser.add_argument("name", help="of the arm")
    parser.add_argument("--ledger", type=Path, required=True, help="file of JSON lines to add to")
    parser.add_argument("--runs", type=Path, required=True, help="folder for the run folders")
    parser.add_argument("--data", type=Path, required=True, help="from fairseq-preprocess")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--words", default="", help="what the arm is, for the tables")
    parser.add_argument("--force", action="store_true", help="run it although the ledger holds it")


def find_fairseq_commands() -> None:
    """They lie beside the Python that runs this, whether or not its folder is on the PATH."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def relative(command: list[str]) -> str:
    """A command line to copy, with paths as seen from the checkout."""
    return shlex.join(command).replace(f"{ledger.ROOT}/", "")


class Arm:
    """One arm in its run folder."""

    def __init__(self, arguments: argparse.Namespace):
        self.arguments = arguments
        self.score = SCORES[arguments.score](arguments)
        # Everything that decides what an arm is, its seed excepted.
        data = [*arguments.data.glob("*.txt"), *arguments.data.glob("*.bin")]
        self.setting = {
            "data": ledger.fingerprint(data),
            "train": shlex.join(arguments.train),
            **self.score.setting(),
        }
        key = ledger.setting_key(self.setting)
        self.folder = arguments.runs / arguments.name / f"seed{arguments.seed}-{key}"
        self.checkpoints = self.folder / "checkpoints"
        data_folder, seed = str(arguments.data), str(arguments.seed)
        common = [data_folder, "--user-dir", str(USER_DIR), "--seed", seed]
        train = ["--save-dir", str(self.checkpoints), "--no-epoch-checkpoints"]
        train += ["--log-format", "json", *arguments.train]
        best = ["--path", str(self.checkpoints / "checkpoint_best.pt"), "--no-progress-bar"]
        self.train_command = ["fairseq-train", *common, *train]
        self.scoring_commands = self.score.commands([*common, *best])

    def train(self) -> dict:
        """Train to the end, resuming where a checkpoint lies."""
        self.checkpoints.mkdir(parents=True, exist_ok=True)
        (self.folder / "setting.json").write_text(json.dumps(self.setting, indent=2) + "\n")
        log = self.folder / "train.log"
        resume = (self.checkpoints / "checkpoint_last.pt").exists()
        with process.Progress(f"training {self.arguments.name}", self._epochs()) as progress:
            usage = process.run(self.train_command, log=log, resume=resume, on_line=progress.feed)
        print(f"  {log}")
        figures = training_log.summarise(log)
        if not figures["finished"]:
            raise process.CommandFailed(f"{log} does not end with 'done training'")
        return {
            **figures,
            "train_wall_seconds": round(usage.wall_seconds, 1),
            "train_peak_rss_mb": round(usage.peak_rss_mb),
        }

    def entry(self, commit: str, figures: dict) -> dict:
        """The line for the ledger."""
        return {
            "arm": self.arguments.name,
            "words": self.arguments.words,
            "seed": self.arguments.seed,
            "key": ledger.setting_key(self.setting),
            "setting": self.setting,
            "command": relative(self.train_command),
            **{name: relative(command) for name, command in self.scoring_commands.items()},
            "commit": commit,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": ledger.machine(),
            "versions": ledger.versions(),
            "run": relative([str(self.folder)]),
            **({"kind": tuning.KIND} if isinstance(self.score, Tuning) else {}),
            "figures": figures,
        }

    def _epochs(self) -> int | None:
        options = self.arguments.train
        return int(options[options.index("--max-epoch") + 1]) if "--max-epoch" in options else None


def run(arm: Arm) -> int:
    """Run the arm unless it is there already; the exit code."""
    options = arm.arguments
    results = options.ledger.parent
    known = ledger.find(options.ledger, options.name, arm.setting, options.seed)
    if known and not options.force:
        arm.score.keep(results, known, arm.folder)
        print(f"  in the ledger since {known['date'][:10]}: {options.name}, seed {options.seed}")
        return 0
    find_fairseq_commands()
    commit = ledger.commit()  # now: the tree may change while the arm trains
    try:
        with ledger.locked(arm.folder, wait=False):
            figures = arm.train() | arm.score.figures(arm.scoring_commands, arm.folder)
            entry = arm.entry(commit, figures)
            arm.score.keep(results, entry, arm.folder)
            ledger.append(options.ledger, entry)
            # Only needed to go on training, and as large as the best one.
            (arm.checkpoints / "checkpoint_last.pt").unlink(missing_ok=True)
    except BlockingIOError:
        print(f"{arm.folder}: another process is running this arm", file=sys.stderr)
        return 1
    except (process.CommandFailed, scoring.Incomplete) as error:
        print(f"{options.name}: {error}", file=sys.stderr)
        return 1
    print(f"  {options.ledger}")
    return 0


def main(arguments: list[str]) -> int:
    """Run the arm that the command line names."""
    return run(Arm(parse_arguments(arguments)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
