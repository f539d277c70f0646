"""What an arm is, and what a recipe declares: its settings, and the meaning of its arms' names.

An arm is declared once, in the ``arms.py`` of its recipe; the shell asks for it by name
(``python -m recipes.lab``).
"""

import importlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from recipes.lab import schedules
from recipes.lab.settings import SHARED, Declared, Settings, UserError


@dataclass(frozen=True)
class TranslationTest:
    """How translations are made and scored.

    Attributes:
        generate: options for fairseq-generate; ``{subset}`` becomes test or valid.
        reference: tokenised, as the model should write it.
        raw_reference: plain text; adds BLEU of detokenised translations.
        valid_reference: of the validation set, if that is scored as well (``valid_...``).
    """

    generate: str
    reference: str
    language: str = "en"
    raw_reference: str = ""
    lowercase: bool = False
    valid_reference: str = ""


@dataclass(frozen=True)
class PerplexityTest:
    """How a language model is scored: options for fairseq-eval-lm."""

    evaluate: str


@dataclass(frozen=True)
class Decoding:
    """What an arm decodes that trains nothing.

    Attributes:
        of: arms trained before; several are an ensemble.
        seeds: of these arms, an ensemble as well; that of the run if none.
        checkpoints: pattern of each arm's.
        files: that decide what is decoded, beside the models.
    """

    of: tuple[str, ...]
    checkpoints: str = "checkpoint_best.pt"
    files: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()


@dataclass(frozen=True)
class Arm:
    """One arm of an experiment, whatever its seed.

    Attributes:
        words: what it is, for the tables.
        data: folder of fairseq-preprocess.
        train: options for fairseq-train.
        goes_on_from: an arm whose best checkpoint it starts from.
        tuning: one of the runs that a setting is chosen by.
    """

    name: str
    words: str
    data: str
    test: TranslationTest | PerplexityTest
    train: tuple[str, ...] = ()
    decoding: Decoding | None = None
    goes_on_from: str = ""
    tuning: bool = False


@dataclass(frozen=True)
class Table:
    """A table of a recipe's report.

    Attributes:
        name: of its files, without .md and .json.
        arms: its rows in order; the first is compared with. Others of the ledger follow them,
            unless ``only``.
        compare: whether differences in BLEU are tested.
    """

    name: str
    title: str
    arms: Sequence[str]
    only: bool = False
    compare: bool = True


def names(text: str) -> tuple[str, ...]:
    """The words of a text that may have several lines."""
    return tuple(text.split())


class Recipe:
    """An experiment: a subclass declares its settings and what the names of its arms mean.

    Attributes:
        declared: default and meaning of each setting of its own.
        folder: in results/, where it is not called like the recipe.
        schedule: options that arms which are compared have in common.
    """

    declared: ClassVar[Declared] = {}
    folder = ""
    title = ""
    speed_file = "speed.json"
    schedule: ClassVar[tuple[str, ...]] = schedules.OPTIONS

    def __init__(self, environment: Mapping[str, str] | None = None):
        environment = os.environ if environment is None else environment
        self.settings = Settings({**SHARED, **self.declared}, environment)
        self.name = type(self).__module__.split(".")[-2]
        self.work = environment.get("OUTLAYERS_WORK") or f"work/{self.name}"
        self.results = environment.get("OUTLAYERS_RESULTS") or f"results/{self.folder or self.name}"
        self.prepare()

    def prepare(self) -> None:
        """Settings that depend on others; wrong ones are refused here."""

    @property
    def ledger(self) -> Path:
        """The file of its runs."""
        return Path(self.results, "ledger.jsonl")

    @property
    def seeds(self) -> list[int]:
        """Of SEEDS."""
        return self.settings.wholes("SEEDS")

    def all_arms(self) -> list[str]:
        """Names of the arms to train, by priority."""
        raise NotImplementedError

    def arms(self) -> list[str]:
        """Those of ARMS, else all."""
        return self.settings.words("ARMS") or self.all_arms()

    def arm(self, name: str, seed: int = 1) -> Arm:
        """What a name means.

        Raises:
            UserError: if it means nothing.
        """
        raise NotImplementedError

    def shell(self) -> dict[str, str]:
        """What the steps in shell need beside the settings, by the name of the variable."""
        return {}

    def tables(self) -> Iterable[Table]:
        """Of the report."""
        return [Table("report", self.title, self.all_arms())]

    def speed_arms(self) -> tuple[str, list[str]]:
        """Binarized data, and the arms whose training speed is measured in turns."""
        raise UserError(f"{self.name} measures no speed")

    def speed_groups(self) -> tuple[str, dict[str, list[str]]]:
        """The same with the options of each; a folder before them takes the data's place."""
        data, names = self.speed_arms()
        return data, {name: list(self.arm(name).train) for name in names}

    def measured(self, output: Path) -> bool:
        """Is it there already, and wanted no more? Says so."""
        there = output.exists() and self.settings.FORCE != "1"
        if there:
            print(f"  {output} (there already; FORCE=1 measures again)")
        return there

    def report_arms(self) -> list[str]:
        """Those that the report names if they were not run."""
        return self.all_arms()

    def unknown(self, name: str) -> UserError:
        """What to raise for a name without meaning."""
        return UserError(f"no arm '{name}'; known are {' '.join(self.all_arms())}")


def load(name: str, environment: Mapping[str, str] | None = None) -> Recipe:
    """The recipe in a folder.

    Raises:
        UserError: if there is none.
    """
    here = Path(__file__).resolve().parents[1]
    known = sorted({path.parent.name for path in here.glob("*/arms.py")} - {"lab"})
    if name not in known:
        raise UserError(f"no recipe '{name}'; known are {', '.join(known)}")
    return importlib.import_module(f"recipes.{name}.arms").RECIPE(environment)
