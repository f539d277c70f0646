"""Runs one arm of a recipe: train, translate the test set, score, add a line to the ledger.

    python recipes/arm.py luong_tied --ledger results/mine/ledger.jsonl --runs work/mine \\
        --data work/mine/bin --reference work/mine/tok.test.de --seed 1 \\
        -- --arch luong_lstm --output-layer tied --optimizer adam --lr 0.001 --max-epoch 10

An arm that the ledger holds is skipped; one that was interrupted goes on from its checkpoint.
Everything that it makes is kept in RUNS/NAME/seedN-KEY, where KEY stands for the setting.
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

USER_DIR = ledger.ROOT / "fairseq_outlayers"


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """The command line; what follows ``--`` goes to fairseq-train."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", help="of the arm")
    parser.add_argument("--ledger", type=Path, required=True, help="file of JSON lines to add to")
    parser.add_argument("--runs", type=Path, required=True, help="folder for the run folders")
    parser.add_argument("--data", type=Path, required=True, help="from fairseq-preprocess")
    parser.add_argument(
        "--reference", type=Path, required=True, help="tokenised, as the model should write it"
    )
    parser.add_argument(
        "--raw-reference", type=Path, help="the plain text; adds BLEU of detokenised hypotheses"
    )
    parser.add_argument("--language", default="en", help="of the target, for detokenising")
    parser.add_argument("--lowercase", action="store_true", help="ignore case against plain text")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--generate", default="--beam 5", help="options for fairseq-generate")
    parser.add_argument("--words", default="", help="what the arm is, for the tables")
    parser.add_argument("--force", action="store_true", help="run it although the ledger holds it")
    parsed = parser.parse_args(arguments[:split])
    parsed.train = arguments[split + 1 :]
    parsed.generate = shlex.split(parsed.generate)
    return parsed


def setting_of(arguments: argparse.Namespace) -> dict:
    """Everything that decides what an arm is, its seed excepted."""
    data = [*arguments.data.glob("dict.*.txt"), *arguments.data.glob("*.bin")]
    references = [arguments.reference]
    if arguments.raw_reference:
        references.append(arguments.raw_reference)
    return {
        "data": ledger.fingerprint(data),
        "references": ledger.fingerprint(references),
        "train": shlex.join(arguments.train),
        "generate": shlex.join(arguments.generate),
    }


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
        self.setting = setting_of(arguments)
        key = ledger.setting_key(self.setting)
        self.folder = arguments.runs / arguments.name / f"seed{arguments.seed}-{key}"
        self.checkpoints = self.folder / "checkpoints"
        data, seed = str(arguments.data), str(arguments.seed)
        common = ["--user-dir", str(USER_DIR), "--seed", seed]
        train = ["--save-dir", str(self.checkpoints), "--no-epoch-checkpoints"]
        train += ["--log-format", "json", *arguments.train]
        best = ["--path", str(self.checkpoints / "checkpoint_best.pt"), "--no-progress-bar"]
        self.train_command = ["fairseq-train", data, *common, *train]
        self.generate_command = ["fairseq-generate", data, *common, *best, *arguments.generate]

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

    def translate(self) -> dict:
        """Translate the test set and score the translations."""
        references = scoring.read_lines(self.arguments.reference)
        output = self.folder / "generate.out"
        with process.Progress(f"translating {len(references):,} sentences"):
            usage = process.run(
                self.generate_command, log=self.folder / "generate.log", output=output
            )
        hypotheses = scoring.hypotheses_in_corpus_order(output, len(references))
        figures = {
            "generate_wall_seconds": round(usage.wall_seconds, 1),
            "generate_peak_rss_mb": round(usage.peak_rss_mb),
            "sentences": len(references),
        }
        figures |= self._score(hypotheses, references, keep="test")
        if "--nbest" in self.arguments.generate:
            summed = scoring.most_probable(output, len(references))
            scores = self._score(summed, references, keep="test.lenpen0")
            figures |= {f"{name}_lenpen0": scores[name] for name in scores if "sig" not in name}
        return figures

    def entry(self, commit: str, figures: dict) -> dict:
        """The line for the ledger."""
        return {
            "arm": self.arguments.name,
            "words": self.arguments.words,
            "seed": self.arguments.seed,
            "key": ledger.setting_key(self.setting),
            "setting": self.setting,
            "command": relative(self.train_command),
            "generate_command": relative(self.generate_command),
            "commit": commit,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": ledger.machine(),
            "versions": ledger.versions(),
            "run": relative([str(self.folder)]),
            "figures": figures,
        }

    def _score(self, hypotheses: list[str], references: list[str], keep: str) -> dict:
        """Scores of tokens, and of plain text if there are plain references; keeps the texts."""
        figures = scoring.score(hypotheses, references, tokenised=True)
        self._keep(f"{keep}.tokenised", hypotheses, references)
        if self.arguments.raw_reference:
            plain = scoring.detokenize(hypotheses, self.arguments.language)
            raw = scoring.read_lines(self.arguments.raw_reference)
            lowercase = self.arguments.lowercase
            figures |= scoring.score(plain, raw, tokenised=False, lowercase=lowercase)
            self._keep(f"{keep}.plain", plain, raw)
        return figures

    def _keep(self, name: str, hypotheses: list[str], references: list[str]) -> None:
        for kind, lines in (("hyp", hypotheses), ("ref", references)):
            scoring.write_lines(self.folder / f"{name}.{kind}", lines)
        print(f"  {self.folder / f'{name}.hyp'}")

    def _epochs(self) -> int | None:
        options = self.arguments.train
        return int(options[options.index("--max-epoch") + 1]) if "--max-epoch" in options else None


def main(arguments: list[str]) -> int:
    """Run the arm unless it is there already."""
    arm = Arm(parse_arguments(arguments))
    options = arm.arguments
    known = ledger.find(options.ledger, options.name, arm.setting, options.seed)
    if known and not options.force:
        print(f"  in the ledger since {known['date'][:10]}: {options.name}, seed {options.seed}")
        return 0
    find_fairseq_commands()
    commit = ledger.commit()  # now: the tree may change while the arm trains
    try:
        with ledger.locked(arm.folder, wait=False):
            figures = arm.train() | arm.translate()
            ledger.append(options.ledger, arm.entry(commit, figures))
            # Only needed to go on training, and as large as the best one.
            (arm.checkpoints / "checkpoint_last.pt").unlink(missing_ok=True)
    except BlockingIOError:
        print(f"{arm.folder}: another process is running this arm", file=sys.stderr)
        return 1
    except (process.CommandFailed, scoring.IncompleteTranslation) as error:
        print(f"{options.name}: {error}", file=sys.stderr)
        return 1
    print(f"  {options.ledger}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
