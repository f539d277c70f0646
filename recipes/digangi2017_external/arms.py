"""The arms of Di Gangi & Federico (2017): SETTING.SIZE[.VECTORS][.CHANGE...].

``mix_sum.29000.captions.uncentered`` adds vectors of captions, not centered, with 29,000 pairs. A
setting is one of MIXES, with the paper's model or, after ``luong_``, with luong_lstm.
"""

from collections.abc import Mapping
from pathlib import Path

from recipes.lab.arms import LIMITED, Arm, Recipe, Table, TranslationTest
from recipes.lab.settings import UserError

# Learning rates with the lowest validation perplexity (05_tune.sh), for the models named here; of
# captions vectors, and unless other vectors have a line of their own, used for those, too. All
# others have RATE, the baseline's at 10,000 pairs. There mix_sum has 6.28 at 0.002 and 6.31 at
# 0.003: too close to leave the baseline's rate. With 29,000 pairs mix_gate and only_external have
# the baseline's, too.
CHOSEN = {
    "baseline.1000": "0.008",
    "mix_sum.1000": "0.002",
    "mix_gate.1000": "0.005",
    "only_external.1000": "0.001",
    "baseline.5000": "0.005",
    "mix_sum.5000": "0.005",
    "mix_sum.5000.ptb": "0.002",
    "mix_gate.5000": "0.003",
    "only_external.5000": "0.003",
    "mix_sum.10000": "0.003",
    "baseline.29000": "0.002",
    "mix_sum.29000": "0.002",
    "mix_gate.29000": "0.002",
    "only_external.29000": "0.002",
    "luong_baseline.1000": "0.001",
    "luong_mix_sum.1000": "0.002",
    "luong_baseline.5000": "0.001",
    "luong_mix_sum.5000": "0.005",
}
RATE = "0.003"
GRID = ("0.001", "0.002", "0.003", "0.005", "0.008")
METHOD, DIMENSIONS = "skipgram", "300"  # of vectors, by default
# Description of each setting.
MIXES = {
    "baseline": "{size} pairs, embeddings of the model's own alone",
    "mix_sum": "{size} pairs, embeddings plus {vectors} vectors",
    "mix_gate": "{size} pairs, embeddings gated with {vectors} vectors",
    "only_external": "{size} pairs, {vectors} vectors alone",
}
# Changes for finding causes: description, and options of the model.
CHANGES = {
    "normal_start": (", square matrices initialized like the others", "--init-square normal"),
    "small_start": (", initial standard deviation 0.01", "--init-std 0.01"),
    "uncentered": (", not centered", ""),
    "unscaled": (", not scaled", ""),
}
OF_VECTORS = {"uncentered", "unscaled"}
# With all pairs, mix_sum was behind the baseline until it was started differently.
CAUSES = (
    "mix_sum.29000.captions.normal_start.small_start",
    "mix_sum.29000.captions.uncentered",
    "mix_sum.29000.captions.normal_start.small_start.uncentered",
    "baseline.29000.normal_start.small_start",
)
LUONG = "luong_"  # prefix of a setting: luong_lstm instead of the paper's nematus_gru
PAPER = {"SIZES": "all", "VECTORS": "file", "DIM": "500", "LR": "0.0003", "DROPOUT": "0.0",
         "MAX_TOKENS": "4000", "SOURCE": "en", "EPOCHS": "50", "NORMALIZE": "0", "CENTER": "0",
         "PATIENCE": "-1", "BPE_MERGES": "4000"}  # fmt: skip
# Defaults by SETTING. iwslt and wmt: Sec. 4 of the paper.
PRESETS = {
    "multi30k": {
        "SIZES": "1000 10000 29000 5000", "VECTORS": "captions ptb", "DIM": "128",
        "DROPOUT": "0.3", "TARGET_SEGMENTATION": "words", "MAX_TOKENS": "1000", "SOURCE": "en",
        "TARGET": "de", "NORMALIZE": "1", "CENTER": "1", "BPE_MERGES": "4000",
    },
    "iwslt": PAPER | {"TARGET": "fr", "TARGET_SEGMENTATION": "words",
                      "INTERNAL_VOCABULARY": "80000", "TARGET_VOCABULARY": "80000"},
    "wmt": PAPER | {"TARGET": "de", "TARGET_SEGMENTATION": "bpe", "INTERNAL_VOCABULARY": "40000",
                    "BPE_MERGES": "40000"},
}  # fmt: skip


def architecture(setting: str) -> str:
    """Options of the model of a setting."""
    mix = setting.removeprefix(LUONG)
    if mix != setting:
        mixed = f" --source-embedding {mix}" if mix != "baseline" else ""
        return f"--arch luong_lstm{mixed}"
    return "--arch nematus_" + (mix if mix != "baseline" else "gru")


def languages(settings: Mapping[str, str]) -> str:
    """The language pair, such as en-de."""
    return f"{settings['SOURCE']}-{settings['TARGET']}"


def target_units(settings: Mapping[str, str]) -> str:
    """Units of the target side: words, or bpeMERGES."""
    words = settings["TARGET_SEGMENTATION"] == "words"
    return "words" if words else f"bpe{settings['BPE_MERGES']}"


def rate_of_its_own(size: str) -> str:
    """The learning rate of mix_sum that was chosen at a size; "" if only the baseline's was."""
    return CHOSEN.get(f"mix_sum.{size}", "")


class DiGangi2017(Recipe):
    """External word vectors in the encoder, by the number of sentence pairs."""

    folder = "digangi2017"
    title = "External monolingual embeddings"
    schedule = ("--max-tokens",)  # epochs follow the number of pairs
    declared = {  # noqa: RUF012
        "SETTING": ("multi30k", "iwslt or wmt: the paper's settings, on text in PARALLEL"),
        "PARALLEL": ("", "folder with tokenized train, valid and test in both languages"),
        "SOURCE": ("", "language (en)"),
        "TARGET": ("", "language (de)"),
        "SIZES": ("", "numbers of training pairs (the first N), or all"),
        "VECTORS": ("", "captions: trained on captions of the same pictures; ptb: on newspaper "
                        "text; file: read from VECTORS_FILE"),
        "VECTORS_FILE": ("", ".vec, GloVe or .bin, with VECTORS=file"),
        "METHOD": (METHOD, "method of train_embeddings.py"),
        "VECTOR_DIM": (DIMENSIONS, "dimensions of trained vectors"),
        "NORMALIZE": ("", "1: scale external vectors to length 1 (0 in the paper's settings)"),
        "CENTER": ("", "1: subtract their mean first (0 in the paper's settings)"),
        "TARGET_SEGMENTATION": ("", "words, or bpe (target side only)"),
        "BPE_MERGES": ("", "merges with TARGET_SEGMENTATION=bpe (4000)"),
        "TARGET_MIN_COUNT": ("2", "rarer target words become <unk>"),
        "INTERNAL_MIN_COUNT": ("1", "rarer source words have no embedding in the model"),
        "INTERNAL_VOCABULARY": ("", "maximum number of source words with one"),
        "TARGET_VOCABULARY": ("", "number of most frequent target words"),
        "EPOCHS": ("", "maximum number of epochs (default: by size)"),
        "PATIENCE": ("", "stop after N epochs without a lower validation loss (default: by size)"),
        "MAX_TOKENS": ("", "tokens per batch (1000)"),
        "DIM": ("", "width of the models (128)"),
        "DROPOUT": ("", "(0.3)"),
        "LR": ("", "learning rate of all arms (default: by arm and size, chosen by 05_tune.sh)"),
        "TUNE": ("", "runs of 05_tune.sh (default: all)"),
        "CLIP": ("1", "maximum norm of the gradient"),
        "BEAM": ("5", "beam size"),
    }  # fmt: skip

    def prepare(self) -> None:
        s = self.settings
        preset = PRESETS[s.choice("SETTING", tuple(PRESETS))]
        s.defaults(**preset)
        s.choice("TARGET_SEGMENTATION", ("words", "bpe"))
        self.segmentation = target_units(s)
        if s.SETTING != "multi30k" and not s.PARALLEL:
            raise UserError(
                f"SETTING={s.SETTING}: set PARALLEL to a folder with tokenized "
                f"train, valid, test.{{{s.SOURCE},{s.TARGET}}}"
            )
        self.separate_results(s.SETTING, "multi30k")
        self.separate_results(languages(s), languages(preset))
        self.separate_results(self.segmentation, target_units(preset))
        least = self.declared["TARGET_MIN_COUNT"][0]
        self.separate_results(f"min_count{s.TARGET_MIN_COUNT}", f"min_count{least}")
        most = preset.get("TARGET_VOCABULARY", "")
        self.separate_results(f"vocabulary{s.TARGET_VOCABULARY}", f"vocabulary{most}")
        self.separate_sizes("DIM", usual=preset)
        self.raw, self.tokenized = f"{self.work}/raw", s.PARALLEL or f"{self.work}/tokenized"
        self.sizes, self.kinds = s.words("SIZES"), s.words("VECTORS")
        if "ptb" in self.kinds and s.SOURCE != "en":
            raise UserError(
                f"VECTORS={s.VECTORS}: ptb is English text, not {s.SOURCE}: set VECTORS=captions"
            )

    def shell(self) -> dict[str, str]:
        return {"RAW": self.raw, "TOKENIZED": self.tokenized}

    def all_arms(self) -> list[str]:
        """Every size with the first kind of vectors, then with the others, then luong_lstm."""
        others = self.kinds[1:]
        mixed = list(MIXES)[1:]
        return [
            *(name for size in self.sizes for name in self.at_size(size)),
            *(f"{mix}.{size}.{kind}" for kind in others for size in self.sizes for mix in mixed),
            *(f"{LUONG}{name}" for size in self.sizes for name in self.at_size(size)),
            *(name for name in CAUSES if self.can_run(name)),
        ]

    def can_run(self, name: str) -> bool:
        """Whether an arm's size and vectors are among those of the settings."""
        _, size, vectors, _ = self.parts(name)
        return size in self.sizes and vectors in self.kinds

    def at_size(self, size: str) -> list[str]:
        """The four settings at one size, with the first kind of vectors."""
        mixes = (f"{mix}.{size}.{self.kinds[0]}" for mix in list(MIXES)[1:])
        return [f"baseline.{size}", *mixes]

    def speed_arms(self) -> tuple[str, list[str]]:
        size = self.sizes[-1]
        return self.bin_of(size, self.kinds[0]), self.at_size(size)

    def tables(self) -> list[Table]:
        return [Table("report", self.title, self.all_arms(), compare=False)]

    def text_of(self, size: str) -> str:
        """The folder of the text."""
        return f"{self.work}/text.{self.segmentation}.{size}"

    def of_vectors(self, vectors: str) -> str:
        """A name for vectors of a kind, with how they were made if that is not the default.

        It is part of paths in training commands, which tell the arms of different vectors apart.
        """
        s = self.settings
        if vectors == "file":
            return f"file.{Path(s.VECTORS_FILE).name}"
        default = (s.METHOD, s.VECTOR_DIM) == (METHOD, DIMENSIONS)
        return vectors if default else f"{vectors}.{s.METHOD}{s.VECTOR_DIM}"

    def table_of(self, size: str, vectors: str) -> str:
        """The path of the table of external vectors, without extension."""
        return f"{self.work}/table.{size}.{self.of_vectors(vectors)}"

    def bin_of(self, size: str, vectors: str) -> str:
        """The folder of the binarized data."""
        return f"{self.work}/bin.{self.segmentation}.{size}.{self.of_vectors(vectors)}"

    def internal_vocabulary(self, size: str, vectors: str) -> str:
        """Number of symbols with embeddings in the model, including four special ones."""
        dictionary = Path(f"{self.table_of(size, vectors)}.dict.txt")
        if not dictionary.exists():
            return ""
        least = self.settings.whole("INTERNAL_MIN_COUNT", 0)
        limited = self.settings.INTERNAL_VOCABULARY
        most = self.settings.whole("INTERNAL_VOCABULARY", 1) if limited else 10**9
        kept = 0
        with open(dictionary, encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, start=1):
                if int(line.split()[-1]) >= least and number + 4 <= most:
                    kept = number
        return str(kept + 4)

    def epochs_and_patience(self, size: str) -> tuple[str, str]:
        """Few pairs need many epochs (13 updates each for 1,000 pairs), limited by patience."""
        pairs = 10**9 if size == "all" else int(size)
        limits = ((20000, 15, 2), (7000, 20, 2), (2500, 30, 3), (0, 60, 6))
        _, epochs, patience = next(limit for limit in limits if pairs > limit[0])
        return self.settings.EPOCHS or str(epochs), self.settings.PATIENCE or str(patience)

    def tuning_arms(self) -> list[str]:
        """The same rates for every model, at each size; none with the paper's settings."""
        models = [f"{mix}-{size}" for size in self.sizes for mix in MIXES]
        models += [f"{LUONG}{model}" for model in models]
        tuned = [f"tune-{model}-{rate}" for model in models for rate in GRID]
        s = self.settings
        return s.words("TUNE") or (tuned if s.SETTING == "multi30k" else [])

    def arm(self, name: str, seed: int = 1) -> Arm:
        if name.startswith("tune-"):
            return self.tuning_arm(name)
        unchanged = ".".join(part for part in name.split(".") if part not in CHANGES)
        mix_and_size = ".".join(name.split(".")[:2])
        return self.arm_with_rate(name, CHOSEN.get(unchanged, CHOSEN.get(mix_and_size, RATE)))

    def parts(self, name: str) -> tuple[str, str, str, list[str]]:
        """Setting, size, vectors (default: of the first kind) and changes in the name of an arm."""
        setting, _, rest = name.partition(".")
        size, *more = rest.split(".")
        vectors = more.pop(0) if more and more[0] not in CHANGES else self.kinds[0]
        return setting, size, vectors, more

    def check_changes(self, name: str, changes: list[str]) -> None:
        """Refuse changes that change nothing, or that the model does not have."""
        s = self.settings
        idle = set(CHANGES) - OF_VECTORS if name.startswith(LUONG) else set()
        idle |= OF_VECTORS if "baseline" in name else set()
        idle |= set() if s.flag("CENTER") else {"uncentered"}
        idle |= set() if s.flag("NORMALIZE") else {"unscaled"}
        for number, change in enumerate(changes):
            if change in idle or change in changes[:number]:
                raise UserError(f"arm {name}: {change} changes nothing there: leave it out")

    def arm_with_rate(self, name: str, rate: str) -> Arm:
        """An arm whose learning rate, unless LR is set, is the one given."""
        setting, size, vectors, changes = self.parts(name)
        mix = setting.removeprefix(LUONG)
        is_size = size == "all" or (size.isascii() and size.isdecimal())
        if mix not in MIXES or not is_size or not CHANGES.keys() >= set(changes):
            raise self.unknown(name)
        self.check_changes(name, changes)
        s = self.settings
        words = MIXES[mix] + (", luong_lstm" if mix != setting else "")
        epochs, patience = self.epochs_and_patience(size)
        # Halve the learning rate after an epoch without improvement in validation.
        train = (
            f"--source-lang {s.SOURCE} --target-lang {s.TARGET} --optimizer adam "
            f"--lr {s.LR or rate} "
            "--lr-scheduler reduce_lr_on_plateau --lr-shrink 0.5 --lr-patience 1 "
            f"--clip-norm {s.CLIP} --max-tokens {s.MAX_TOKENS} "
            f"--max-epoch {epochs} --patience {patience} --criterion full_softmax "
            f"--embed-dim {s.DIM} --hidden-size {s.DIM} --dropout {s.DROPOUT} "
            f"--embedding-dropout {s.DROPOUT} --log-interval 25 --num-workers 0 "
            + architecture(setting)
        ).split()
        if mix != "baseline":
            train += ["--external-embeddings", f"{self.table_of(size, vectors)}.npy"]
            centered = s.flag("CENTER") and "uncentered" not in changes
            scaled = s.flag("NORMALIZE") and "unscaled" not in changes
            train += ["--center-external"] if centered else []
            train += ["--normalize-external"] if scaled else []
            words += "" if s.flag("CENTER") else ", not centered"
            words += "" if s.flag("NORMALIZE") else ", not of length 1"
        if mix != "only_external":
            train += ["--internal-vocabulary", self.internal_vocabulary(size, vectors)]
        for change in changes:
            described, options = CHANGES[change]
            words, train = words + described, [*train, *options.split()]
        return Arm(
            name,
            words.format(size=size, vectors=vectors),
            self.bin_of(size, vectors),
            self.test(),
            tuple(train),
        )

    def tuning_arm(self, name: str) -> Arm:
        """tune-ARM-SIZE-RATE: a run for choosing the learning rate."""
        _, mix, size, rate = [*name.split("-"), "", "", ""][:4]
        return self.arm_with_rate(f"{mix}.{size}", RATE).tuned(name, rate)

    def test(self) -> TranslationTest:
        """How every arm is scored; only Multi30k has plain text."""
        s = self.settings
        segmented = s.TARGET_SEGMENTATION == "bpe"
        plain = s.SETTING == "multi30k"
        return TranslationTest(
            f"--beam {s.BEAM} {LIMITED}" + (" --post-process subword_nmt" if segmented else ""),
            reference=f"{self.tokenized}/test.{s.TARGET}",
            raw_reference=f"{self.raw}/test_2016_flickr.{s.TARGET}" if plain else "",
            language=s.TARGET,
            lowercase=plain,
        )


RECIPE = DiGangi2017
