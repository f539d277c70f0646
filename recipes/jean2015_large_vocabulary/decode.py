"""Decodes one trained arm, or several together, in one way; adds a line to the ledger.

    python recipes/jean2015_large_vocabulary/decode.py lv.k2000.kp10 --of lv \\
        --ledger results/mine/ledger.jsonl --runs work/mine/runs --data work/mine/bin \\
        --reference work/mine/test.de --dev-reference work/mine/valid.de --files candidates.npz \\
        --generate "--beam 12 --candidates candidates.npz --candidate-frequent 2000"

A row of its own, as an arm is: skipped if the ledger holds it, its figures those of the test set,
and with the prefix valid_ those of the dev set. In --generate, {subset} becomes test or valid.
Checkpoints are those of the newest run of each arm of --of with the same seed.
"""

import argparse
import shlex
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import arm
import ledger
from recorded_runs import Runs
from translation import Translation


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """The command line; a ``--`` at its end, after which an arm has options, is left out."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arm.add_arguments(parser)
    Translation.add_arguments(parser)
    parser.add_argument("--of", nargs="+", required=True, metavar="ARM", help="trained before")
    parser.add_argument(
        "--checkpoints", default="checkpoint_best.pt", help="pattern of each arm's (an ensemble)"
    )
    parser.add_argument("--dev-reference", type=Path, help="also decode the dev set")
    parser.add_argument(
        "--files", type=Path, action="append", default=[], help="that --generate names"
    )
    return parser.parse_args([argument for argument in arguments if argument != "--"])


class BothSets:
    """Scores translations of the test set and, if there is a reference, of the dev set.

    Args:
        arguments: the command line.
    """

    def __init__(self, arguments: argparse.Namespace):
        self.parts = {"": Translation(_for_subset(arguments, "test"))}
        if arguments.dev_reference:
            self.parts["valid_"] = Translation(_for_subset(arguments, "valid"))

    def setting(self) -> dict:
        """What of it decides what a decoding is."""
        settings = {prefix: part.setting() for prefix, part in self.parts.items()}
        return {
            f"{prefix}{name}": value
            for prefix, setting in settings.items()
            for name, value in setting.items()
        }

    def commands(self, common: list[str]) -> dict[str, list[str]]:
        """The commands to run, by the name that they have in the ledger."""
        return {
            f"{prefix}{name}": command
            for prefix, part in self.parts.items()
            for name, command in part.commands(common).items()
        }

    def figures(self, commands: dict[str, list[str]], folder: Path) -> dict:
        """Translate and score; the dev set in a folder below."""
        figures: dict = {}
        for prefix, part in self.parts.items():
            place = folder / prefix.rstrip("_")
            place.mkdir(parents=True, exist_ok=True)
            own = {"generate_command": commands[f"{prefix}generate_command"]}
            figures |= {f"{prefix}{k}": value for k, value in part.figures(own, place).items()}
        return figures

    def keep(self, results: Path, entry: dict, folder: Path) -> None:
        """Keep beside the ledger what comparisons need: the translations of the test set."""
        self.parts[""].keep(results, entry, folder)


def _for_subset(arguments: argparse.Namespace, subset: str) -> argparse.Namespace:
    """The arguments that `Translation` reads, of one set."""
    changed = argparse.Namespace(**vars(arguments))
    changed.generate = arguments.generate.replace("{subset}", subset)
    if subset == "valid":
        changed.generate += " --gen-subset valid"
        changed.reference, changed.raw_reference = arguments.dev_reference, None
    return changed


class Decoding(arm.Arm):
    """One way to decode, in a run folder of its own.

    Args:
        arguments: the command line.
        parents: the ledger lines of the arms that it decodes.
    Raises:
        FileNotFoundError: if a checkpoint is not on this machine.
    """

    def __init__(self, arguments: argparse.Namespace, parents: list[dict]):
        self.arguments = arguments
        self.score = BothSets(arguments)
        self.setting = {
            "of": {entry["arm"]: entry["key"] for entry in parents},
            "checkpoints": arguments.checkpoints,
            "files": ledger.fingerprint(arguments.files),
            **self.score.setting(),
        }
        key = ledger.setting_key(self.setting)
        self.folder = arguments.runs / arguments.name / f"seed{arguments.seed}-{key}"
        self.checkpoints = self.folder / "checkpoints"
        # A row says how its model came about, an ensemble how its first one did.
        self.train_command = shlex.split(parents[0]["command"])
        paths = [path for entry in parents for path in _checkpoints(entry, arguments.checkpoints)]
        common = [str(arguments.data), "--user-dir", str(arm.USER_DIR)]
        common += ["--seed", str(arguments.seed), "--path", ":".join(map(str, paths))]
        self.scoring_commands = self.score.commands([*common, "--no-progress-bar"])

    def train(self) -> dict:
        """Nothing: it was trained before."""
        return {}


def _checkpoints(entry: dict, pattern: str) -> list[Path]:
    folder = ledger.ROOT / entry["run"] / "checkpoints"
    found = sorted(folder.glob(pattern))
    if not found:
        raise FileNotFoundError(f"{folder} has no {pattern}: {entry['arm']} ran elsewhere")
    return found


def main(arguments: list[str]) -> int:
    """Decode, if the arms were trained and this was not done before."""
    options = parse_arguments(arguments)
    runs = Runs(ledger.read(options.ledger))
    missing = [name for name in options.of if options.seed not in runs.seeds([name])]
    if missing:
        print(f"  not decoded, for {', '.join(missing)} was not run: {options.name}")
        return 0
    try:
        return arm.run(Decoding(options, [runs.entry(name, options.seed) for name in options.of]))
    except FileNotFoundError as error:
        print(f"  not decoded: {options.name}: {error}")
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
