"""The arms of Assylbekov & Takhanov (2018): DATA.MODEL[.OPTION...], e.g. ptb.morphsum_re_rw.

DATA    ptb (the Treebank's first sentences), ptb42k (all); en5k en15k en29k, de..., fr... (Multi30k
        captions); mono_en mono_de (five times as many); any folder of TEXTS, such as wikitext2, fr,
        es, de, cs, ru
MODEL   word, charcnn, sylconcat or morphsum, then _original, _none, _re, _rw, _re_rw, or the tied
        layers: E emb, P proj, C cnn, 1 hw1, 2 hw2 (morphsum_E1)
OPTION  medium: the paper's medium size; long: 25 epochs, the rate times 0.8 from the eighth on,
        whatever EPOCHS, DECAY_FROM and SHRINK say; sampled: 20% of the classes in training,
        log-uniform samples (the paper does not specify them), batches of 100
"""

import re
from collections.abc import Sequence

from recipes.lab.arms import Arm, PerplexityTest, Recipe, Table, names
from recipes.lab.settings import UserError

# Arms for the paper's claims; the first are for the main ones.
MAIN = names("""
    word_re morphsum_re_rw word_original morphsum_original morphsum_rw morphsum_none morphsum_re
    sylconcat_original sylconcat_re_rw sylconcat_rw sylconcat_none sylconcat_re charcnn_original
    charcnn_re charcnn_re_rw charcnn_rw charcnn_none
""")
# The layer study: every choice with tied unit vectors or hw1. The layers between them (proj, cnn)
# are tied together with the unit vectors here ...
LAYERS = names("""
    morphsum_E1 morphsum_E2 morphsum_1
    sylconcat_EP sylconcat_EP1 sylconcat_EP2 sylconcat_1 sylconcat_12
    charcnn_EC charcnn_EC1 charcnn_EC2 charcnn_1 charcnn_12
""")
# ... and separately here. The paper does not specify which.
LAYERS_APART = names("""
    sylconcat_E1 sylconcat_E2 sylconcat_E12 sylconcat_P1
    charcnn_E1 charcnn_E2 charcnn_E12 charcnn_C1
""")
# On 5,000 captions, a few minutes each; 6 to 18 where a CharCNN composes the output.
ON_CAPTIONS = names("""
    word_original morphsum_original morphsum_rw morphsum_none morphsum_re morphsum_E1 morphsum_E2
    morphsum_1 sylconcat_re_rw sylconcat_rw sylconcat_original sylconcat_none charcnn_original
    sylconcat_re sylconcat_EP1 sylconcat_EP2 sylconcat_1 sylconcat_12 sylconcat_E1 sylconcat_E2
    sylconcat_E12 sylconcat_P1 charcnn_re_rw charcnn_re charcnn_rw charcnn_none charcnn_EC1
    charcnn_EC2 charcnn_1 charcnn_12 charcnn_E1 charcnn_E12 charcnn_C1
""")
MEDIUM = ("word_original", "word_re", "morphsum_original", "morphsum_re_rw")
PRESETS = ("original", "none", "re", "rw", "re_rw")
TIED = {"E": "emb", "P": "proj", "C": "cnn", "1": "hw1", "2": "hw2"}
# The authors' learning rate of small models, and the first epoch with a smaller one.
SCHEDULES = {"word": ("1.0", 6), "charcnn": ("0.5", 13)}
OTHERS = ("0.7", 11)
# By the ending of the architecture; elsewhere the models' default.
DROPOUT_OF_WIKITEXT = {"": "0.2", "_medium": "0.4"}
# Epochs, the first with a smaller rate, and its factor.
LONG = ("25", "8", "0.8")
OPTIONS = {
    "medium": "medium size",
    "long": f"{LONG[0]} epochs",
    "sampled": "20% of the classes in training",
}
# Learning rates of 05_tune.sh.
GRID = ("0.7", "1.0", "1.5")
# A CharCNN that composes its output starts with nearly equal vectors for all words, and learns
# nothing but their frequencies for long, with 0.7 longer than with 0.4.
OF_CHARACTERS = names("charcnn_re_rw charcnn_re charcnn_rw charcnn_none")
OWN_GRIDS = dict.fromkeys(OF_CHARACTERS, ("0.1", "0.2", "0.4", "0.7"))
OWN_GRIDS["sylconcat_re_rw"] = ("0.4", *GRID)  # the best of GRID is its smallest
# Of shortened schedules: the rate of GRID with the lowest validation perplexity on 5,000 German
# captions (05_tune.sh), also of as many English and French; elsewhere the authors'. By model, or by
# composition for the ties that were not tuned.
CHOSEN = {
    "word": "1.0",
    "morphsum": "1.0",
    "sylconcat_original": "1.0",
    "sylconcat": "0.7",
    "charcnn_original": "0.7",
    "charcnn": "0.4",
}
TUNED = (
    names("""
    word_original morphsum_original sylconcat_original sylconcat_re_rw charcnn_original
""")
    + OF_CHARACTERS
)
OF_CHOSEN = re.compile(r"(de|en|fr)5k")
TREEBANK = ("ptb", "ptb42k")
# Of 80_speed.sh; speeds are compared with the first one's.
TIMED = names("""
    word_re word_original morphsum_re_rw morphsum_re morphsum_original sylconcat_re_rw
    charcnn_original
""")
CAPTIONS = re.compile(r"(en|de|fr)(5|15|29)k|mono_(en|de)")


class Assylbekov2018(Recipe):
    """Language models with words, characters, syllables and morphs."""

    folder = "assylbekov2018"
    title = "Subword-aware language models"
    declared = {  # noqa: RUF012
        "SENTENCES": ("6000", "sentences of the Penn Treebank's training text in DATA=ptb"),
        "EPOCHS": ("10", "epochs (the authors: 70)"),
        "DECAY_FROM": ("", "first epoch with a smaller learning rate; the authors' with EPOCHS=70, "
                           "else EPOCHS * 0.6 + 1"),
        "SHRINK": ("", "factor of the learning rate per epoch; the authors' 0.9, else 0.5"),
        "BATCH": ("20", "columns per batch, as the authors"),
        "BPTT": ("35", "words per window, as the authors"),
        "CLIP": ("5", "maximum norm of the gradient, as the authors"),
        "MIN_COUNT": ("2", "words of the captions seen less often are <unk> (the Treebank has its "
                           "own)"),
        "TEXTS": ("", "folder of NAME/{train,valid,test}.txt for DATA=NAME beyond those built in "
                      "(default: WORK/texts)"),
        "LR": ("", "learning rate of all arms (default: chosen by 05_tune.sh, see arms.py)"),
        "TUNE": ("", "which runs of 05_tune.sh (default: all)"),
        "LOOK_INTO": ("ptb", "DATA whose models are studied in step 50"),
        "NEIGHBOURS_OF": ("while his you richard trading", "words of step 50, if in the "
                                                           "dictionary"),
    }  # fmt: skip

    def prepare(self) -> None:
        self.settings.defaults(TEXTS=f"{self.work}/texts")

    def all_arms(self) -> list[str]:
        def pairs(data: list[str], ending: str = "") -> list[str]:
            return [f"{d}.{m}{ending}" for d in data for m in ("word_re", "morphsum_re_rw")]

        languages = ("de", "en", "fr")
        return [
            *(f"ptb.{model}" for model in MAIN),
            *pairs([f"{language}{size}" for size in ("5k", "15k") for language in languages]),
            *(f"de5k.{model}" for model in ON_CAPTIONS),
            *pairs(["ptb42k"]),
            *pairs(["ptb42k"], ".long"),
            *(f"ptb.{model}" for model in LAYERS),
            *pairs([f"{language}29k" for language in languages]),
            *pairs(["mono_de", "mono_en"], ".sampled"),
            *(f"ptb.{model}.medium" for model in MEDIUM),
            *(f"ptb.{model}" for model in LAYERS_APART),
        ]

    def speed_arms(self) -> tuple[str, list[str]]:
        """On the whole Treebank; with other ARMS on their first data, which are then there."""
        used = [name.partition(".")[0] for name in self.arms()]
        data = "ptb42k" if "ptb42k" in used else used[0]
        return self.folder_of(data), [f"{data}.{model}" for model in TIMED]

    def tables(self) -> list[Table]:
        return [Table("report", self.title, self.arms(), compare=False)]

    def data_needed(self) -> list[str]:
        """Lines for 00_prepare.sh: data, folder, text and hyphenation patterns of every arm,
        tab-separated.
        """
        needed = dict.fromkeys(name.partition(".")[0] for name in self.arms())
        made = (self.folder_of, self.training_text, self.patterns_of)
        return ["\t".join((data, *(does(data) for does in made))) for data in needed]

    def folder_of(self, data: str) -> str:
        """The folder of its binarized text and tables of units."""
        least = self.settings.MIN_COUNT
        changed = CAPTIONS.fullmatch(data) and least != self.declared["MIN_COUNT"][0]
        return f"{self.work}/{self.prepared(data)}" + (f".min{least}" if changed else "")

    def prepared(self, data: str) -> str:
        """Its name in the folders of 00_prepare.sh."""
        return f"ptb.{self.sentences(data)}" if data in TREEBANK else data

    def sentences(self, data: str) -> str:
        """The number of sentences of a part of the Treebank, or "all"."""
        return self.settings.SENTENCES if data == "ptb" else "all"

    def training_text(self, data: str) -> str:
        """The training text made by 00_prepare.sh."""
        if data in TREEBANK or CAPTIONS.fullmatch(data):
            return f"{self.work}/text/{self.prepared(data)}.txt"
        return f"{self.settings.TEXTS}/{data}/train.txt"

    @staticmethod
    def patterns_of(data: str) -> str:
        """The hyphenation patterns of a language."""
        data = data.removeprefix("mono_")
        begins = {"ptb": "en_US", "wikitext2": "en_US", "en": "en_US", "de": "de_DE", "fr": "fr",
                  "cs": "cs_CZ", "ru": "ru_RU"}  # fmt: skip
        found = (patterns for begin, patterns in begins.items() if data.startswith(begin))
        return next(found, data.partition("_")[0])

    @staticmethod
    def tie_of(model: str) -> str:
        """The value of --tie from the part of a model's name after the composition."""
        choice = model.partition("_")[2]
        if choice in PRESETS:
            return choice
        for letter in choice:
            if letter not in TIED:
                raise UserError(
                    f"{model}: '{letter}' is none of E P C 1 2, nor is {choice} a preset"
                )
        return ",".join(TIED[letter] for letter in choice)

    def tuning_arms(self) -> list[str]:
        """Each rate of the grid: models on German captions, the two of claim 4 on all captions."""
        models = [f"de5k.{model}" for model in TUNED]
        models += [
            f"{language}{size}.{model}"
            for size in ("5k", "15k")
            for language in ("de", "en", "fr")
            for model in ("word_re", "morphsum_re_rw")
        ]
        tuned = [
            f"tune-{model}-{rate}"
            for model in models
            for rate in OWN_GRIDS.get(model.partition(".")[2], GRID)
        ]
        return self.settings.words("TUNE") or tuned

    def arm(self, name: str, seed: int = 1) -> Arm:
        if name.startswith("tune-"):
            return self.tuning_run(name)
        s, (data, _, rest) = self.settings, name.partition(".")
        model, *options = rest.split(".")
        composition, tie = model.partition("_")[0], self.tie_of(model)
        if not composition or not tie:
            raise UserError(f"'{name}' is no arm: expected DATA.MODEL, as in ptb.morphsum_re_rw")
        for option in options:
            if option not in OPTIONS:
                raise UserError(f"arm {name}: no option '{option}'; known are {', '.join(OPTIONS)}")
        size = "_medium" if "medium" in options else ""
        criterion, batch = "--criterion full_softmax", s.BATCH
        if "sampled" in options:
            criterion = "--criterion sampled_softmax --sampler log_uniform --sample-share 0.2"
            batch = "100"
        rate, last, decay_from, shrink = self.rates_of(data, model, options)
        task = "--task subword_language_modeling --tokens-per-sample"
        train = (
            f"{task} {s.BPTT} --batch-size {batch} --arch {composition}_lm{size} --tie {tie} "
            f"{criterion} --sentence-avg --optimizer sgd --lr {rate} --clip-norm {s.CLIP} "
            f"--max-epoch {last} --lr-scheduler fixed --force-anneal {decay_from} "
            f"--lr-shrink {shrink} --num-workers 0 --log-interval 50"
        )
        if data == "wikitext2":
            train += f" --dropout {DROPOUT_OF_WIKITEXT[size]}"
        words = ", ".join(
            [f"{composition}, tied: {tie}, on {data}", *(OPTIONS[one] for one in options)]
        )
        test = PerplexityTest(f"{task} 200 --num-workers 0")
        return Arm(name, words, self.folder_of(data), test, tuple(train.split()))

    def rates_of(self, data: str, model: str, options: Sequence[str]) -> tuple[str, str, str, str]:
        """The learning rate, the epochs, the first with a smaller rate, and its factor."""
        s, composition = self.settings, model.partition("_")[0]
        of_medium = composition == "word" and "medium" in options
        rate, decay_from = OTHERS if of_medium else SCHEDULES.get(composition, OTHERS)
        shrink, epochs = "0.9", s.whole("EPOCHS")
        if epochs < 70:
            decay_from, shrink = epochs * 6 // 10 + 1, "0.5"
            if OF_CHOSEN.fullmatch(data) and not options:
                rate = CHOSEN.get(model, CHOSEN.get(composition, rate))
        own = (s.EPOCHS, s.DECAY_FROM or str(decay_from), s.SHRINK or shrink)
        return (s.LR or rate, *(LONG if "long" in options else own))


RECIPE = Assylbekov2018
