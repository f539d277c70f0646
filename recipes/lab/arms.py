"""Arms and recipes.

An arm is declared in the ``arms.py`` of its recipe; the shell gets it by name
(``python -m recipes.lab``).
"""

import difflib
import importlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from recipes.lab.scores import schedules
from recipes.lab.settings import ROOT, SHARED, Declared, Settings, UserError

# Of fairseq-generate: without a limit, weak models repeat themselves up to fairseq's 200 tokens.
LIMIT = "--max-len-a 1.2 --max-len-b 5"
LIMITED = f"--max-tokens 4000 {LIMIT}"


@dataclass(frozen=True)
class TranslationTest:
    """How translations are made and scored.

    Attributes:
        generate: options for fairseq-generate; ``{subset}`` becomes test or valid.
        reference: tokenized, in the form of the model's output.
        raw_reference: plain text; adds BLEU of detokenized translations.
        valid_reference: of the validation set, if it is scored too (``valid_...``).
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
    """An arm that decodes trained models and trains nothing.

    Attributes:
        of: the trained arms; several form an ensemble.
        checkpoints: file name pattern of each arm's checkpoints.
        files: other files that affect the output.
        seeds: of these arms, several form an ensemble; default: the seed of the run.
    """

    of: tuple[str, ...]
    checkpoints: str = "checkpoint_best.pt"
    files: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()


@dataclass(frozen=True)
class Arm:
    """One arm of an experiment, for any seed.

    Attributes:
        description: in tables.
        data: output folder of fairseq-preprocess.
        train: options for fairseq-train.
        stock: whether fairseq runs without this package and its patches.
        goes_on_from: an arm whose best checkpoint initializes it.
        tuning: whether it is a run for choosing a setting.
    """

    name: str
    description: str
    data: str
    test: TranslationTest | PerplexityTest
    train: tuple[str, ...] = ()
    decoding: Decoding | None = None
    stock: bool = False
    goes_on_from: str = ""
    tuning: bool = False

    def tuned(self, name: str, rate: str, *options: str) -> "Arm":
        """A run of this arm, with further options, that a learning rate is chosen by."""
        return replace(
            self,
            name=name,
            description=f"{self.description}, learning rate {rate}",
            train=(*self.train, "--lr", rate, *options),
            tuning=True,
        )


@dataclass(frozen=True)
class Table:
    """A table of a recipe's report.

    Attributes:
        name: of its files, without .md and .json.
        arms: its rows in order; the first is the baseline. Other arms of the ledger follow, unless
            ``only``.
        compare: whether differences in BLEU are tested.
    """

    name: str
    title: str
    arms: Sequence[str]
    only: bool = False
    compare: bool = True


def names(text: str) -> tuple[str, ...]:
    """The words of a text of one or more lines."""
    return tuple(text.split())


class Recipe:
    """An experiment; a subclass declares its settings and arms.

    Attributes:
        declared: default and meaning of each of its own settings.
        folder: in results/, if not the name of the recipe.
        schedule: options that must be equal for arms to be compared.
        stock: arms that run fairseq without this package and its patches.
        without: settings of other recipes that it ignores.
        after_interrupt: what the same command does after an interrupt.
    """

    declared: ClassVar[Declared] = {}
    folder = ""
    title = ""
    speed_file = "speed.json"
    schedule: ClassVar[tuple[str, ...]] = schedules.OPTIONS
    stock: ClassVar[tuple[str, ...]] = ()
    without: ClassVar[tuple[str, ...]] = ()
    after_interrupt = "goes on"

    def __init__(self, environment: Mapping[str, str] | None = None):
        environment = os.environ if environment is None else environment
        environment = {name: environment[name] for name in environment if name not in self.without}
        self.settings = Settings({**SHARED, **self.declared}, environment)
        self.name = type(self).__module__.split(".")[-2]
        self.work = str(Path(environment.get("OUTLAYERS_WORK") or f"work/{self.name}"))
        self.own_results = f"results/{self.folder or self.name}"
        self.results = environment.get("OUTLAYERS_RESULTS") or self.own_results
        self._is_own = self.results == self.own_results
        self.prepare()
        if self.settings.get("EPOCHS"):
            self.settings.whole("EPOCHS", least=1)

    def prepare(self) -> None:
        """Set dependent settings, and reject invalid ones."""

    def separate_results(self, given: str, usual: str) -> None:
        """Give settings, units, words or languages that are not usual a subfolder of the results.

        Their arms have the usual names, but neither their perplexities nor their BLEU compare.

        Args:
            given: the name of the subfolder.
        """
        if given != usual:
            self.results = f"{self.results}/{given}"

    def separate_sizes(self, *names: str, usual: Mapping[str, str] | None = None) -> None:
        """Give models of other sizes, which have the usual names, a subfolder of the results.

        Results in a folder of ``OUTLAYERS_RESULTS`` stay there: it may be for one size.

        Args:
            names: of settings, such as DIM.
            usual: their values; default: as declared.
        """
        usual = usual or {name: default for name, (default, _) in self.declared.items()}
        for name in names if self._is_own else ():
            size = name.lower()
            self.separate_results(f"{size}{self.settings[name]}", f"{size}{usual[name]}")

    @property
    def preparation(self) -> str:
        """What to do where prepared data is missing; empty if no step of its own prepares it."""
        step = f"recipes/{self.name}/00_prepare.sh"
        return f"run {step} first" if Path(ROOT, step).exists() else ""

    @property
    def has_own_results(self) -> bool:
        """Whether results go to the recipe's own folder of the checkout, not to a trial's."""
        return Path(ROOT, self.results).resolve() == Path(ROOT, self.own_results).resolve()

    @property
    def ledger(self) -> Path:
        """The ledger file."""
        return Path(self.results, "ledger.jsonl")

    @property
    def seeds(self) -> list[int]:
        """The seeds in SEEDS."""
        return self.settings.wholes("SEEDS", least=0)

    def all_arms(self) -> list[str]:
        """Names of the arms to train, by priority."""
        raise NotImplementedError

    def label(self, name: str) -> str:
        """A short name of an arm, for charts."""
        return name

    def arms(self) -> list[str]:
        """The arms in ARMS, or all."""
        return self.settings.words("ARMS") or self.all_arms()

    def arm(self, name: str, seed: int = 1) -> Arm:
        """The arm with a name.

        Raises:
            UserError: if the name is invalid.
        """
        raise NotImplementedError

    @staticmethod
    def tuned_arm(name: str) -> tuple[str, str]:
        """Arm and learning rate of tune-ARM-RATE."""
        arm, _, rate = name.removeprefix("tune-").rpartition("-")
        return arm, rate

    def tuning_run(self, name: str, *options: str) -> Arm:
        """tune-ARM-RATE: a run that the learning rate of an arm is chosen by.

        Args:
            options: further ones for fairseq-train.
        """
        arm, rate = self.tuned_arm(name)
        return self.arm(arm).tuned(name, rate, *options)

    def shell(self) -> dict[str, str]:
        """Further shell variables for the steps, by name."""
        return {}

    def tables(self) -> Iterable[Table]:
        """The tables of the report."""
        return [Table("report", self.title, self.all_arms())]

    def speed_arms(self) -> tuple[str, list[str]]:
        """Binarized data, and the arms whose training speed is compared."""
        raise UserError(f"{self.name} measures no speed")

    def speed_groups(self) -> tuple[str, dict[str, list[str]]]:
        """The same with the options of each; a folder in front of them replaces the data."""
        data, names = self.speed_arms()
        return data, {name: list(self.arm(name).train) for name in names}

    def measured(self, output: Path) -> bool:
        """Whether a measurement exists and need not be repeated; prints that."""
        there = output.exists() and not self.settings.flag("FORCE")
        if there:
            print(f"  {output} (exists; FORCE=1 measures again)")
        return there

    def report_arms(self) -> list[str]:
        """The arms that the report lists if they were not run."""
        return self.all_arms()

    def unknown(self, name: str) -> UserError:
        """The error for an invalid name."""
        return UserError(f"no arm '{name}'; known are {' '.join(self.all_arms())}")


def load(name: str, environment: Mapping[str, str] | None = None) -> Recipe:
    """Load the recipe of a folder.

    Raises:
        UserError: if it does not exist, or is incomplete.
    """
    here = Path(__file__).resolve().parents[1]
    known = sorted({path.parent.name for path in here.glob("*/arms.py")} - {"lab"})
    if name not in known:
        close = difflib.get_close_matches(name, known, 1)  # without importing PyTorch
        hint = f"; did you mean {close[0]}?" if close else ""
        raise UserError(f"no recipe '{name}'; known are {', '.join(known)}{hint}")
    kind = getattr(importlib.import_module(f"recipes.{name}.arms"), "RECIPE", None)
    if not (isinstance(kind, type) and issubclass(kind, Recipe)):
        raise UserError(
            f"recipes/{name}/arms.py: has no recipe: end it with RECIPE = your subclass of Recipe"
        )
    for method in ("all_arms", "arm"):
        if getattr(kind, method) is getattr(Recipe, method):
            raise UserError(f"recipes/{name}/arms.py: {kind.__name__} does not define {method}")
    return kind(environment)
