"""Run one arm: train, score on the test set, add a line to the ledger.

An arm that is in the ledger is skipped; an interrupted one resumes from its checkpoint. The run
folder is RUNS/NAME/seedN-KEY, where KEY is the hash of the setting. Translations are also copied to
the ledger's folder (kept_translations.py).
"""

import json
import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from itertools import pairwise
from pathlib import Path

from recipes.lab import ledger
from recipes.lab.arms import Arm, PerplexityTest, TranslationTest
from recipes.lab.ledger import ARM, TUNING
from recipes.lab.running import process, training_log
from recipes.lab.running.perplexity import Perplexity
from recipes.lab.running.translation import Translation
from recipes.lab.runs import Runs

SCORES = {TranslationTest: Translation, PerplexityTest: lambda test, _: Perplexity(test)}
LAST, BEST = "checkpoint_last.pt", "checkpoint_best.pt"
USER_DIR = ledger.ROOT / "fairseq_outlayers"


class Tuning:
    """Scores a tuning run, by its validation perplexity only."""

    def setting(self) -> dict:
        """The part of the setting that belongs to scoring."""
        return {"kind": TUNING}

    def commands(self, begin: process.Begin) -> dict[str, list[str]]:
        """No commands except training."""
        return {}

    def figures(self, commands: dict[str, list[str]], folder: Path) -> dict:
        """No figures except those of the training log."""
        return {}

    def keep(self, results: Path, entry: dict, folder: Path) -> None:
        """Nothing."""


class MissingRun(Exception):
    """An arm cannot run now: one that it depends on was not run here, or it runs elsewhere."""


@dataclass(frozen=True)
class Place:
    """Paths of the ledger and the run folders."""

    ledger: Path
    runs: Path


def find_fairseq_commands() -> None:
    """Add the folder of this Python, which has the commands, to the PATH."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def fairseq(command: str, data: str, stock: bool = False) -> list[str]:
    """The beginning of a command: fairseq with this package, or stock fairseq.

    PyTorch 2.6 and later load the checkpoints of stock fairseq, which are pickles, only with the
    environment variable.
    """
    if stock:
        return ["env", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1", command, data]
    return [command, data, "--user-dir", str(USER_DIR)]


def relative(text: str) -> str:
    """A command line or a path, with paths relative to the checkout."""
    return text.replace(f"{ledger.ROOT}/", "")


class State(Enum):
    """What a run folder holds."""

    EMPTY = "nothing"
    BEGUN = "a log of a training that has saved nothing"
    UNFINISHED = "a checkpoint to resume from"
    ABORTED = "a model of a training that was killed between its first two checkpoints"
    FINISHED = "a model of a training that came to its end, or one that was put there"

    @property
    def is_half_done(self) -> bool:
        """Whether a training has begun and not come to its end."""
        return self not in (State.EMPTY, State.FINISHED)


def state_of(folder: Path) -> State:
    """The state of a run folder."""
    checkpoints, log = folder / "checkpoints", folder / "train.log"
    if (checkpoints / LAST).exists():
        return State.UNFINISHED
    at_its_end = not log.exists() or training_log.summarize(log)["finished"]
    if not (checkpoints / BEST).exists():
        return State.EMPTY if at_its_end else State.BEGUN
    return State.FINISHED if at_its_end else State.ABORTED


def is_begun_anew(file: Path) -> bool:
    """Whether it is a checkpoint of a training that has begun and not come to its end."""
    return file.parent.name == "checkpoints" and state_of(file.parents[1]).is_half_done


class Run:
    """One arm with one seed in its run folder.

    Args:
        kind: "tuning" for a run that chooses a setting.
    Raises:
        MissingRun: if a model that it decodes was not trained here.
    """

    def __init__(self, arm: Arm, seed: int, place: Place, kind: str = ARM):
        self.arm, self.seed, self.place = arm, seed, place
        self.kind = TUNING if arm.tuning else kind
        self.score = (
            Tuning() if self.kind == TUNING else SCORES[type(arm.test)](arm.test, arm.train)
        )
        self.parents = self._parents()
        self.setting = {**self._made_from(), **self.score.setting()}
        self.key = ledger.setting_key(self.setting)
        self.folder = place.runs / arm.name / f"seed{seed}-{self.key}"
        self.checkpoints = self.folder / "checkpoints"
        if self.parents:
            # The training command of the decoded model, of an ensemble that of the first.
            self.train_command = shlex.split(self.parents[0]["command"])
        else:
            saved = ["--save-dir", str(self.checkpoints), "--no-epoch-checkpoints"]
            logged = ["--log-format", "json"]
            self.train_command = [*self._begin("fairseq-train"), *saved, *logged, *arm.train]
        best = ["--path", ":".join(self._models()), "--no-progress-bar"]
        self.scoring_commands = self.score.commands(lambda name: [*self._begin(name), *best])

    def _begin(self, command: str) -> list[str]:
        return [*fairseq(command, self.arm.data, self.arm.stock), "--seed", str(self.seed)]

    def _parents(self) -> list[dict]:
        """Ledger lines of the arms that this one decodes."""
        decoding = self.arm.decoding
        if decoding is None:
            return []
        seeds = decoding.seeds or (self.seed,)
        if self.seed != seeds[0] and decoding.seeds:
            raise MissingRun(f"decoded once, with seed {seeds[0]}: {self.arm.name}")
        runs = Runs(ledger.read(self.place.ledger))
        pairs = [(name, seed) for name in decoding.of for seed in seeds]
        missing = [
            f"{name} (seed {seed})" if decoding.seeds else name
            for name, seed in pairs
            if seed not in runs.seeds([name])
        ]
        if missing:
            raise MissingRun(
                f"not decoded, because {', '.join(missing)} was not run: {self.arm.name}"
            )
        return [runs.entry(name, seed) for name, seed in pairs]

    def _made_from(self) -> dict:
        """The setting except for test and seed."""
        decoding = self.arm.decoding
        if decoding is None:
            folder = Path(self.arm.data)
            data = [*folder.glob("*.txt"), *folder.glob("*.bin")]
            train, more = self.arm.train, {"stock": True} if self.arm.stock else {}
            if self.arm.goes_on_from:
                # The path of the checkpoint has the seed; the key of its run is the same for all.
                train, checkpoint = train[:-1], Path(train[-1])
                more["goes_on_from"] = checkpoint.parent.parent.name.partition("-")[2]
            return {"data": ledger.fingerprint(data), "train": shlex.join(train), **more}
        return {
            "of": {entry["arm"]: entry["key"] for entry in self.parents},
            "checkpoints": decoding.checkpoints,
            "files": ledger.fingerprint([Path(file) for file in decoding.files]),
            **({"seeds": list(decoding.seeds)} if decoding.seeds else {}),
        }

    def _models(self) -> list[str]:
        """Checkpoints to score."""
        if self.arm.decoding is None:
            return [str(self.checkpoints / BEST)]
        found = []
        for entry in self.parents:
            folder = ledger.ROOT / entry["run"] / "checkpoints"
            paths = sorted(folder.glob(self.arm.decoding.checkpoints))
            if state_of(folder.parent).is_half_done:
                raise MissingRun(
                    f"not decoded: {self.arm.name}: the repeat of {entry['arm']} in {folder} is "
                    "unfinished: run that arm again"
                )
            if not paths:
                raise MissingRun(
                    f"not decoded: {self.arm.name}: {folder} has no "
                    f"{self.arm.decoding.checkpoints}: {entry['arm']} ran elsewhere"
                )
            found += map(str, paths)
        return found

    def train(self) -> dict:
        """Train to the end, resuming from a checkpoint if there is one."""
        if self.parents:
            return {}
        self.checkpoints.mkdir(parents=True, exist_ok=True)
        (self.folder / "setting.json").write_text(json.dumps(self.setting, indent=2) + "\n")
        log = self.folder / "train.log"
        resume = state_of(self.folder) is State.UNFINISHED
        with process.Progress(f"training {self.arm.name}", self._epochs()) as progress:
            usage = process.run(self.train_command, log=log, resume=resume, on_line=progress.feed)
        print(f"  {log}")
        figures = training_log.summarize(log)
        if not figures["finished"]:
            raise process.CommandFailed(f"{log} does not end with 'done training'")
        return {
            **figures,
            "train_wall_seconds": round(usage.wall_seconds, 1),
            "train_peak_rss_mb": round(usage.peak_rss_mb),
        }

    def set_aside(self) -> None:
        """Rename checkpoints and log of a training that cannot be resumed to ``.old``.

        An aborted one takes no finished one's place.
        """
        state = state_of(self.folder)
        if state not in (State.ABORTED, State.FINISHED):
            return
        for path in (self.checkpoints, self.folder / "train.log"):
            old = path.with_name(f"{path.name}.old")
            if old.exists() and state is State.ABORTED:
                shutil.rmtree(path, ignore_errors=True)
                path.unlink(missing_ok=True)
            elif path.exists():
                shutil.rmtree(old, ignore_errors=True)
                old.unlink(missing_ok=True)
                path.rename(old)

    def entry(self, commit: str, figures: dict) -> dict:
        """The line for the ledger."""
        return {
            "arm": self.arm.name,
            **({} if self.kind == ARM else {"kind": self.kind}),
            "words": self.arm.description,
            "seed": self.seed,
            "key": self.key,
            "setting": self.setting,
            **({"files": files} if (files := self._files()) else {}),
            **({"target_words": words} if (words := self._target_words()) else {}),
            "command": relative(shlex.join(self.train_command)),
            **{
                name: relative(shlex.join(command))
                for name, command in self.scoring_commands.items()
            },
            "commit": commit,
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": ledger.machine(),
            "versions": ledger.versions(),
            "run": relative(str(self.folder)),
            "figures": figures,
        }

    def known(self) -> dict | None:
        """Its line in the ledger, unless a model that it decodes was trained again."""
        found = ledger.find(self.place.ledger, self.arm.name, self.setting, self.seed, self.kind)
        if found and any(found["date"] < parent["date"] for parent in self.parents):
            return None
        return found

    def _files(self) -> dict[str, str]:
        """Hashes of files that training options name, such as tables of vectors."""
        named = [Path(word) for word in self.arm.train if Path(word).is_file()]
        return {str(path): ledger.fingerprint([path]) for path in named}

    def _target_words(self) -> str:
        """A hash of the target words, over which perplexities compare; "" of a decoding.

        It is no part of the setting, where it would make another key of arms in the ledger.
        """
        if self.parents:
            return ""
        language = dict(pairwise(self.arm.train)).get("--target-lang")
        dictionaries = sorted(Path(self.arm.data).glob(f"dict.{language or '*'}.txt"))
        dictionaries = dictionaries or sorted(Path(self.arm.data).glob("dict.txt"))
        return ledger.words_fingerprint(dictionaries[0]) if len(dictionaries) == 1 else ""

    def files_changed_since(self, entry: dict) -> list[str]:
        """Those of these files that are not what a line of the same setting was trained with.

        Trained vectors differ between machines, so they are no part of the setting.
        """
        then, now = entry.get("files", {}), self._files()
        return [path for path in then if now.get(path, then[path]) != then[path]]

    def _epochs(self) -> int | None:
        last = dict(pairwise(self.arm.train)).get("--max-epoch")
        return None if last is None else int(last)


def execute(run: Run, force: bool = False) -> None:
    """Run it unless it is in the ledger.

    A repeat (``force``) that was interrupted goes on. A decoding is repeated if its model was.

    Raises:
        CommandFailed: if a fairseq command fails.
        Incomplete: if it cannot be scored.
        MissingRun: if another process is running it or has just run it, or a finished run's line is
            not in the ledger.
    """
    path, name = run.place.ledger, run.arm.name
    known = run.known()
    state = state_of(run.folder)
    if known and not (force or state.is_half_done):
        run.score.keep(path.parent, known, run.folder)
        print(f"  in the ledger since {known['date'][:10]}: {name}, seed {run.seed}")
        for file in run.files_changed_since(known):
            print(f"  trained with another {file} than today's; repeat it with FORCE=1")
        return
    if known is None and not force and state is State.FINISHED:
        raise MissingRun(
            f"{run.folder} is finished, but {path} has no line of it: restore the line, or repeat "
            f"the run with FORCE=1: {name}, seed {run.seed}"
        )
    find_fairseq_commands()
    commit = ledger.commit()  # before training, during which the tree may change
    try:
        with ledger.locked(run.folder, wait=False):
            if run.known() != known:
                raise MissingRun(
                    f"its line in {path} has changed since this command began: another process may "
                    "have run it; start the command again"
                )
            run.set_aside()
            figures = run.train() | run.score.figures(run.scoring_commands, run.folder)
            entry = run.entry(commit, figures)
            run.score.keep(path.parent, entry, run.folder)
            ledger.append(path, entry)
            # Only needed for resuming.
            (run.checkpoints / LAST).unlink(missing_ok=True)
    except BlockingIOError:
        raise MissingRun(f"another process is running it, in {run.folder}") from None
    print(f"  {path}")
