"""The arms of Pappas et al. (2018): DIRECTION.VOCABULARY.MODEL[.CHANGE...].

``de-en.words.tied.share25`` translates whole German words into English ones with tied embeddings,
trained on 25% of the classes.
"""

import re
from collections.abc import Callable

from recipes.lab.arms import LIMITED, Arm, Recipe, Table, TranslationTest
from recipes.lab.settings import UserError
from recipes.pappas2018_joint.models import layer_of, options_of

# A quarter of the authors' width and half their batch, so that an arm takes minutes but has enough
# updates to learn attention, with a higher learning rate.
PRESETS = {
    "multi30k": {
        "EPOCHS": "15", "PATIENCE": "2", "BATCH_SENTENCES": "48", "DIM": "128", "LR": "",
        "ANNEAL_FROM": "11",
        "DIRECTIONS": "de-en en-de", "VOCABULARY": "bpe4000", "SAMPLING_VOCABULARY": "words",
        "VOCABULARIES": "bpe1000 bpe4000 bpe8000", "JOINT_DIMS": "128 256",
        "SWEEP_DIMS": "32 64 128 256 512",
    },
    "paper": {
        "EPOCHS": "50", "PATIENCE": "-1", "BATCH_SENTENCES": "96", "DIM": "512", "LR": "0.001",
        "ANNEAL_FROM": "-1",
        "DIRECTIONS": "de-en en-de en-fi fi-en", "VOCABULARY": "bpe32000",
        "SAMPLING_VOCABULARY": "bpe128000", "VOCABULARIES": "bpe32000 bpe64000 bpe128000",
        "JOINT_DIMS": "512 2048", "SWEEP_DIMS": "512 2048 4096",
    },
}  # fmt: skip
# Plain text without language suffix: of Multi30k by split, of WMT (validation, test) by pair.
MULTI30K = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
WMT = {
    "de-en": {"train": "train", "valid": "newstest2014", "test": "newstest2015"},
    "en-fi": {"train": "train", "valid": "newstest2015", "test": "newstest2016"},
}
ABLATED = (
    "context_structure", "context_structure.allbias", "output_structure", "output_structure.nobias",
    "bilinear", "bilinear.allbias", "deep_residual",
)  # fmt: skip
# Of 05_tune.sh: each learning rate for every layer with subwords, some with words.
GRID = ("0.0015", "0.003", "0.006")
# The best of them where it is not RATE; models that were not tuned have RATE.
RATE = "0.003"
FASTER = {
    "de-en": ("nmt", "tied", "bilinear", "output_structure"),
    "en-de": ("nmt", "tied", "output_structure", "context_structure"),
}
CHOSEN = {f"{pair}.bpe4000.{model}": "0.006" for pair, models in FASTER.items() for model in models}
ECONOMY = "share25"  # used by the authors for the largest vocabularies


class Pappas2018(Recipe):
    """Joint input-output embeddings, in sets of arms for the paper's tables."""

    folder = "pappas2018"
    declared = {  # noqa: RUF012
        "SETTING": ("multi30k", "paper: sizes, training and data of Pappas et al."),
        "WMT_DATA": ("", "folder for SETTING=paper; see the README"),
        "SETS": ("", "sets of arms, in order of priority (default: all)"),
        "DIRECTIONS": ("", "de-en en-de; some sets use only the first"),
        "VOCABULARY": ("", "words, or bpeMERGES (joint BPE), of all sets but the next two"),
        "SAMPLING_VOCABULARY": (
            "",
            "vocabulary of the set sampling; must be much larger than the types of a batch",
        ),
        "VOCABULARIES": ("", "vocabularies of the set vocabulary, ascending"),
        "JOINT_DIMS": ("", "d_j of joint models in comparisons with others, ascending"),
        "SWEEP_DIMS": ("", "d_j of the set joint_dim"),
        "SHARES": ("50 25 5", "percentages of the classes, in addition to 100"),
        "DEPTHS": ("1 2 3 4", "layers per side in the set depth"),
        "EPOCHS": ("", "maximum number of epochs"),
        "ANNEAL_FROM": (
            "",
            "epoch from which on the learning rate is halved also without a rise; -1: none "
            "(default: 11 of 15 epochs; with other EPOCHS none)",
        ),
        "PATIENCE": ("", "stop after N epochs without a lower validation loss; -1: never"),
        "BATCH_SENTENCES": ("", "sentences per batch"),
        "DIM": ("", "width of the models"),
        "LAYERS": ("2", "layers per side in the other sets"),
        "LR": ("", "learning rate of all arms (default: chosen by 05_tune.sh, see arms.py)"),
        "TUNE_EPOCHS": ("5", "epochs of each run of 05_tune.sh"),
        "TUNE": ("", "runs of 05_tune.sh (default: all)"),
        "BEAM": ("5", "beam size"),
        "SPEED_UPDATES": ("20", "updates per arm and round in step 80"),
        "SPEED_TOKENS": ("5000", "tokens per batch in step 80: at least 4,000 target tokens"),
        "NEIGHBOURS_OF": ("walking red dog woman", "words of step 60, of the first direction"),
    }

    def prepare(self) -> None:
        s = self.settings
        preset = PRESETS[s.choice("SETTING", tuple(PRESETS))]
        if s.EPOCHS not in ("", preset["EPOCHS"]):
            s.defaults(ANNEAL_FROM="-1")
        s.defaults(**preset)
        if s.whole("ANNEAL_FROM", -1) in (0, 1):
            raise UserError(f"ANNEAL_FROM={s.ANNEAL_FROM}: expected -1, or an epoch from 2 on")
        if s.SETTING == "paper":
            self.work, self.results = f"{self.work}/paper", f"{self.results}/paper"
            if not s.WMT_DATA:
                raise UserError(
                    "SETTING=paper needs WMT_DATA, a folder with the WMT 2017 text (see the README)"
                )
        self.separate_sizes("DIM", usual=preset)
        self.separate_sizes("LAYERS")
        self.sets: dict[str, Callable[[str], list[str]]] = {
            "translation": self.translation_arms,
            "sampling": lambda direction: self.with_shares(direction, "nmt", "tied", self.small),
            "joint_dim": self.joint_dim_arms,
            "depth": self.depth_arms,
            "ablation": self.ablation_arms,
            "vocabulary": self.vocabulary_arms,
        }
        for name in s.words("SETS"):
            if name not in self.sets:
                raise UserError(f"no set '{name}'; known are {' '.join(self.sets)}")
        self.directions = s.words("DIRECTIONS")
        self.first = self.directions[0]
        self.joints = [f"joint{dim}" for dim in s.words("JOINT_DIMS")]
        self.small = self.joints[0]
        self.batch = f"--batch-size {s.BATCH_SENTENCES}"

    def shell(self) -> dict[str, str]:
        return {"FIRST_DIRECTION": self.first, "SMALL_JOINT": self.small}

    # Data.

    @staticmethod
    def pair_of(direction: str) -> str:
        """The language pair, whose directions share text, BPE and binarized data."""
        return "-".join(sorted(direction.split("-")))

    def raw_prefix(self, pair: str, split: str) -> str:
        """Path of plain text, without language suffix."""
        if self.settings.SETTING == "multi30k":
            return f"{self.work}/raw/{MULTI30K[split]}"
        if pair not in WMT:
            raise UserError(
                f"DIRECTIONS: no text of {pair} in WMT_DATA; known are {', '.join(WMT)}"
            )
        return f"{self.settings.WMT_DATA}/{pair}/{WMT[pair][split]}"

    def text_folder(self, pair: str, vocabulary: str) -> str:
        """Folder of the text in words or joint BPE."""
        if vocabulary != "words" and not re.fullmatch(r"bpe\d+", vocabulary):
            raise UserError(
                f"no vocabulary '{vocabulary}'; known are words and bpeMERGES, as in bpe4000"
            )
        return f"{self.work}/{pair}/{'tokenized' if vocabulary == 'words' else vocabulary}"

    def training_text(self, direction: str) -> str:
        """Training text of the target language in words, for any vocabulary."""
        words = self.text_folder(self.pair_of(direction), "words")
        return f"{words}/train.{direction.split('-')[1]}"

    def binary_folder(self, pair: str, vocabulary: str) -> str:
        """Folder of the binarized data."""
        return f"{self.work}/{pair}/bin.{vocabulary}"

    def data_needed(self) -> list[str]:
        """Lines for 00_prepare.sh: pair, vocabulary and folders of every arm, tab-separated."""
        for name in self.arms():
            self.arm(name)  # raises for an invalid name
        return [
            "\t".join((pair, v, self.text_folder(pair, v), self.binary_folder(pair, v)))
            for pair, v in sorted(self.data_of_arms())
        ]

    def data_of_arms(self) -> set[tuple[str, str]]:
        """Pair and vocabulary of every arm."""
        parts = (name.split(".") for name in self.arms())
        return {(self.pair_of(direction), vocabulary) for direction, vocabulary, *_ in parts}

    # Names of arms.

    def all_arms(self) -> list[str]:
        """The arms of SETS, each once, by priority."""
        names = [
            name
            for chosen in self.settings.words("SETS") or self.sets
            for direction in self.directions_of(chosen)
            for name in self.sets[chosen](direction)
        ]
        return list(dict.fromkeys(names))

    def directions_of(self, chosen: str) -> list[str]:
        """The directions of a set; some tables of the paper have only one."""
        every = ("translation", "joint_dim", "vocabulary")
        return self.directions if chosen in every else [self.first]

    def named(self, direction: str, vocabulary: str, model: str) -> str:
        """The name of an arm; as in the paper, 25% at 128k merges, or at 64k with a large d_j."""
        name = f"{direction}.{vocabulary}.{model}"
        large = ("bpe64000.joint2048", "bpe64000.joint4096")
        sampled = vocabulary == "bpe128000" or f"{vocabulary}.{model}" in large
        return f"{name}.{ECONOMY}" if self.settings.SETTING == "paper" and sampled else name

    def several(self, direction: str, *models: str) -> list[str]:
        """Arms with the default vocabulary."""
        return [self.named(direction, self.settings.VOCABULARY, model) for model in models]

    def translation_arms(self, direction: str) -> list[str]:
        models = ("nmt", "tied", "bilinear", "output_structure", "context_structure")
        return self.several(direction, *models, *self.joints)

    def with_shares(self, direction: str, *models: str) -> list[str]:
        """Each model with all classes, then with every share."""
        return self.shares_of(direction, self.settings.SAMPLING_VOCABULARY, *models)

    def shares_of(self, direction: str, vocabulary: str, *models: str) -> list[str]:
        """The same with another vocabulary."""
        shares = ["", *(f".share{share}" for share in self.settings.words("SHARES"))]
        return [f"{direction}.{vocabulary}.{model}{share}" for model in models for share in shares]

    def joint_dim_arms(self, direction: str) -> list[str]:
        return self.several(direction, *(f"joint{d}" for d in self.settings.words("SWEEP_DIMS")))

    def depth_arms(self, direction: str) -> list[str]:
        """Omits the suffix for the default depth."""
        s = self.settings
        return [
            name if depth == s.LAYERS else f"{name}.depth{depth}"
            for depth in s.words("DEPTHS")
            for name in self.several(direction, "nmt", "tied", self.small)
        ]

    def ablation_arms(self, direction: str) -> list[str]:
        changes = ("relu", "sigmoid", "linear", "nobias", "stacked2")
        joint = (self.small, *(f"{self.small}.{change}" for change in changes))
        return self.several(direction, *joint, *ABLATED)

    def vocabulary_arms(self, direction: str) -> list[str]:
        return [
            self.named(direction, vocabulary, model)
            for vocabulary in self.settings.words("VOCABULARIES")
            for model in ("nmt", "tied", *self.joints)
        ]

    def tuning_arms(self) -> list[str]:
        """The runs of 05_tune.sh; none with the paper's setting.

        The layers with subwords in every direction, some with words in the first.
        """
        s = self.settings
        tuned = [
            *(name for direction in self.directions for name in self.translation_arms(direction)),
            *(f"{self.first}.{s.SAMPLING_VOCABULARY}.{m}" for m in ("nmt", "tied", self.small)),
        ]
        names = [f"tune-{arm}-{rate}" for arm in tuned for rate in GRID]
        return s.words("TUNE") or (names if s.SETTING == "multi30k" else [])

    def speed_arms(self) -> tuple[str, list[str]]:
        """Arms for short runs with large batches, with a vocabulary that ARMS have."""
        s = self.settings
        self.batch = f"--max-tokens {s.SPEED_TOKENS}"
        direction, vocabulary = self.first, s.SAMPLING_VOCABULARY
        if (self.pair_of(direction), vocabulary) not in self.data_of_arms():
            direction, vocabulary, *_ = self.arms()[0].split(".")
        data = self.binary_folder(self.pair_of(direction), vocabulary)
        return data, self.shares_of(direction, vocabulary, "nmt", "tied", *self.joints)

    def tables(self) -> list[Table]:
        return [
            Table(f"{name}.{direction}", f"Pappas et al. (2018), {name}, {direction}",
                  arms(direction), only=True)
            for name, arms in self.sets.items()
            for direction in self.directions_of(name)
        ]  # fmt: skip

    # From names to arms.

    def arm(self, name: str, seed: int = 1) -> Arm:
        s = self.settings
        if name.startswith("tune-"):
            arm, rate = self.tuned_arm(name)
            run = self.trained(arm, s.whole("TUNE_EPOCHS"))
            return run.tuned(name, rate, "--max-epoch", s.TUNE_EPOCHS)
        return self.trained(name, s.whole("EPOCHS"))

    def trained(self, name: str, epochs: int) -> Arm:
        """DIRECTION.VOCABULARY.MODEL[.CHANGE...] in a training of at most so many epochs."""
        match = re.fullmatch(r"(..)-(..)\.([^.]+)\.([^.]+)((?:\.[^.]+)*)", name)
        if match is None:
            raise UserError(
                f"'{name}' is no arm: expected DIRECTION.VOCABULARY.MODEL, as in de-en.bpe4000.tied"
            )
        source, target, vocabulary, model, changes = match.groups()
        pair, s = self.pair_of(f"{source}-{target}"), self.settings
        test = self.test(pair, vocabulary, target)
        words, layer = layer_of(model)
        rate = s.LR or CHOSEN.get(name, RATE)
        train = (
            f"--source-lang {source} --target-lang {target} --arch luong_lstm --embed-dim {s.DIM} "
            f"--hidden-size {s.DIM} --dropout 0.3 --optimizer adam --lr {rate} "
            f"--lr-scheduler shrink_after_rise --clip-norm 5 {self.batch} --sentence-avg "
            f"--max-epoch {s.EPOCHS} --patience {s.PATIENCE} --log-interval 50 --num-workers 0 "
            f"{layer}"
        )
        if 0 < s.whole("ANNEAL_FROM") <= epochs:
            train += f" --force-anneal {s.ANNEAL_FROM}"
        layers, loss = s.LAYERS, "--criterion full_softmax"
        for change in changes.split(".")[1:]:
            if found := re.fullmatch(r"depth(\d+)", change):
                layers = found[1]
                words += f", {layers}+{layers} layers"
            elif found := re.fullmatch(r"share(\d+)", change):
                words += f", trained on {found[1]}% of the classes"
                loss = "--criterion sampled_softmax --sampler batch_negatives "
                loss += f"--no-logq-correction --sample-share {int(found[1]) / 100:g}"
            else:
                more_words, more = options_of(change)
                words, train = words + more_words, f"{train} {more}"
        train += f" --encoder-layers {layers} --decoder-layers {layers} {loss}"
        return Arm(name, words, self.binary_folder(pair, vocabulary), test, tuple(train.split()))

    def test(self, pair: str, vocabulary: str, target: str) -> TranslationTest:
        """Scoring of translations into a language."""
        s, words = self.settings, self.text_folder(pair, "words")
        self.text_folder(pair, vocabulary)  # raises for an invalid vocabulary
        generate = f"--beam {s.BEAM} --nbest {s.BEAM} {LIMITED}"
        if vocabulary != "words":
            generate += " --post-process subword_nmt"
        return TranslationTest(
            generate,
            reference=f"{words}/test.{target}",
            raw_reference=f"{self.raw_prefix(pair, 'test')}.{target}",
            language=target,
            lowercase=s.SETTING == "multi30k",
        )


RECIPE = Pappas2018
