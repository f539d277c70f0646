"""The arms of Jean et al. (2015): models, and decodings of them.

An arm is a model (models.py), or a decoding MODEL.PARTS (decodings.py), e.g.
``lv.k2000.kp10.unk2``. An ensemble (``ensemble4.k2000.kp10``) is only decoded.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from recipes.jean2015_large_vocabulary import decodings, models
from recipes.lab.arms import LIMIT, Arm, Decoding, Recipe, Table, TranslationTest
from recipes.lab.settings import UserError

# A tenth of the paper's width, Adam, half its batch, so that an arm takes minutes.
MULTI30K = {
    "SHORTLIST": "4000", "LARGE": "0", "SOURCE_SHORTLIST": "0", "SOURCE_LARGE": "0", "EMBED": "96",
    "HIDDEN": "128", "MAXOUT": "64", "DROPOUT": "0.3", "EPOCHS": "15", "PATIENCE": "2",
    "FROZEN_EPOCHS": "2", "BATCH_SENTENCES": "40", "LR": "0.002", "FROZEN_LR": "0.0005",
    "TAU": "2000", "SAMPLES": "4500", "TRANSFORMER_LR": "0.0015", "TRANSFORMER_LAZY_LR": "0.003",
    "CUTOFFS": "2000 8000", "TAUS": "500 8000", "FREQUENT": "2000 500 1000 4000 8000",
    "PER_WORD": "10 0 1 20", "DEFAULT_CHOICE": "k2000.kp10",
}  # fmt: skip
PAPER = {
    "LARGE": "500000", "EMBED": "620", "HIDDEN": "1000", "MAXOUT": "500", "DROPOUT": "0",
    "EPOCHS": "10", "PATIENCE": "-1", "FROZEN_EPOCHS": "2", "BATCH_SENTENCES": "80", "LR": "1",
    "LAZY_LR": "0.001", "FROZEN_LR": "1", "TRANSFORMER_LR": "0.0005",
    "TRANSFORMER_LAZY_LR": "0.0005", "CUTOFFS": "20000 60000",
    "TAUS": "15000", "FREQUENT": "30000 15000 50000", "PER_WORD": "10 0 1 20",
    "DEFAULT_CHOICE": "k30000.kp10",
}  # fmt: skip
SIZES = ("SHORTLIST", "SOURCE_SHORTLIST", "LARGE", "SOURCE_LARGE")
# Length limits, up to which weak models repeat themselves. The authors' is 3 times the source.
LONGEST = {"multi30k": LIMIT, "paper": "--max-len-a 3 --max-len-b 0"}

# Of 05_tune.sh: each learning rate for each of these models.
RNNS = ("shortlist", "lv_corrected", "sampled_log_uniform", "full")
TRANSFORMERS = ("transformer_sampled_log_uniform_tau4500", "transformer_adaptive",
                "transformer_lv_corrected_reshuffle")  # fmt: skip
GRIDS = {RNNS: ("0.001", "0.002", "0.004"), TRANSFORMERS: ("0.00075", "0.0015", "0.003", "0.006")}


class Jean2015(Recipe):
    """Very large target vocabularies, trained by partitions and decoded over candidates."""

    folder = "jean2015"
    speed_file = "training_speed.json"
    declared = {  # noqa: RUF012
        "SETTING": ("multi30k", "paper: the paper's sizes and training, on text in PARALLEL"),
        "PARALLEL": ("", "folder with tokenized, cased train, valid and test"),
        "SOURCE": ("en", "language"),
        "TARGET": ("de", "language"),
        "SHORTLIST": ("", "number of target words of the baseline; others become <unk>"),
        "LARGE": ("", "number of target words of all other arms; 0: all training words"),
        "SOURCE_SHORTLIST": ("", "SHORTLIST for source words"),
        "SOURCE_LARGE": ("", "LARGE for source words"),
        "TAU": ("", "words per partition, except for lv_tauN"),
        "TAUS": ("", "values of N for lv_tauN"),
        "SAMPLES": ("", "samples with about TAU distinct words, for sampled_log_uniform_tauN"),
        "EMBED": ("", "size of embeddings"),
        "HIDDEN": ("", "size of hidden states"),
        "MAXOUT": ("", "size of the maxout layer"),
        "EPOCHS": ("", "maximum number of epochs"),
        "PATIENCE": ("", "stop after N epochs without a lower validation loss; -1: never"),
        "FROZEN_EPOCHS": ("", "epochs of fine-tuning with fixed embeddings"),
        "BATCH_SENTENCES": ("", "sentences per batch"),
        "DROPOUT": ("", "dropout"),
        "LR": ("", "learning rate"),
        "LAZY_LR": ("", "learning rate of lazy_adam"),
        "TRANSFORMER_LR": ("", "learning rate of Transformers"),
        "TRANSFORMER_LAZY_LR": ("", "learning rate of Transformers with lazy_adam"),
        "CUTOFFS": ("", "ends of the clusters of the adaptive softmax, without the last"),
        "FROZEN_LR": ("", "learning rate of fine-tuning with fixed embeddings"),
        "CLIP": ("1", "maximum norm of the gradient"),
        "TUNE_EPOCHS": ("5", "epochs of each run of 05_tune.sh"),
        "TUNE": ("", "runs of 05_tune.sh (default: all)"),
        "BEAM": ("12", "beam size"),
        "LEXICON_TABLE": ("", "table of fast_align -p, instead of the built-in aligner"),
        "DECODINGS": ("", "decodings, such as lv.unk2 (default: all)"),
        "FREQUENT": ("", "values of K for the curve"),
        "PER_WORD": ("", "values of K' for the curve"),
        "DEFAULT_CHOICE": ("", "K and K' where the curves cross"),
        "CHOICE": ("", "K and K' of all other decodings (default: best on the dev set)"),
        "ENSEMBLE_OF": ("", "arms whose two best checkpoints form the ensembles"),
        "ENSEMBLES": ("4 8", "numbers of checkpoints"),
        "SEED_ENSEMBLES": (
            "lv lv_corrected lv_corrected_reshuffle",
            "models whose three seeds form an ensemble",
        ),
        "TIMING_ROUNDS": ("5", "rounds of decoding in step 80"),
        "TIMING_SENTENCES": ("200", "test sentences in step 80"),
    }

    def prepare(self) -> None:
        s = self.settings
        languages = f"{s.SOURCE}-{s.TARGET}"
        self.usual = {name: MULTI30K[name] for name in SIZES}
        if s.choice("SETTING", ("multi30k", "paper")) == "paper":
            self.work = f"{self.work}/paper.{languages}"
            self.results = f"{self.results}/paper.{languages}"
            if not s.PARALLEL:
                raise UserError(
                    "SETTING=paper: set PARALLEL to a folder with tokenized, cased "
                    f"train, valid, test.{{{s.SOURCE},{s.TARGET}}}"
                )
            size, samples = (50000, 157000) if s.TARGET == "de" else (30000, 82000)
            short, large = (str(size),) * 2, (PAPER["LARGE"],) * 2
            self.usual = dict(zip(SIZES, (*short, *large), strict=True))
            s.defaults(SHORTLIST=size, TAU=size, SAMPLES=samples, **PAPER)
            s.defaults(SOURCE_SHORTLIST=s.SHORTLIST, SOURCE_LARGE=s.LARGE)
        else:
            self.separate_results(languages, "en-de")
        s.defaults(**MULTI30K)
        s.defaults(LAZY_LR=s.LR)
        large, usual = (f"large.{of['LARGE']}.{of['SOURCE_LARGE']}" for of in (s, self.usual))
        self.separate_results(large, usual)
        preset = MULTI30K if s.SETTING == "multi30k" else PAPER
        self.separate_sizes("EMBED", "HIDDEN", "MAXOUT", usual=preset)
        self.taus = list(map(str, s.wholes("TAUS", 1)))
        if not re.fullmatch(r"k\d+\.kp\d+", s.DEFAULT_CHOICE):
            raise UserError(
                f"DEFAULT_CHOICE={s.DEFAULT_CHOICE}: expected K and K', as in k2000.kp10"
            )
        other_taus = (f"{lv}_tau{tau}" for lv in ("lv", "lv_corrected") for tau in self.taus)
        corrected = ("lv_corrected", "lv_corrected_reshuffle", "sampled_log_uniform")
        self.models = ("shortlist", "lv", *corrected, "full", "lv_reshuffle", *other_taus,
                       "lv_authors", "sampled", "sampled_uncorrected",
                       f"sampled_log_uniform_tau{s.SAMPLES}")  # fmt: skip
        compared = (f"sampled_log_uniform_tau{s.SAMPLES}", "adaptive", "lv_corrected_reshuffle")
        self.transformers = tuple(f"transformer_{model}" for model in (*compared, "full"))
        members = ("lv", "lv_reshuffle", f"lv_tau{self.taus[-1]}", "lv_authors")
        s.defaults(ENSEMBLE_OF=" ".join(f"{model}.frozen" for model in members))
        self.members = s.words("ENSEMBLE_OF")
        self.raw, self.tokenized = f"{self.work}/raw", f"{self.work}/tokenized"
        self.lexicon = f"{self.work}/lexicon.{languages}"
        self.candidates = f"{self.work}/candidates.npz"

    def shell(self) -> dict[str, str]:
        return {"RAW": self.raw, "TOKENIZED": self.tokenized, "LEXICON": self.lexicon,
                "CANDIDATES": self.candidates, "SHORT": self.bin_of("shortlist"),
                "ALL_WORDS": self.bin_of("lv")}  # fmt: skip

    def all_arms(self) -> list[str]:
        """All arms; frozen ones only where they are compared or decoded."""
        return [*self.models, "shortlist.frozen", *self.members, *self.transformers]

    def tuning_arms(self) -> list[str]:
        """The runs of 05_tune.sh; none with the paper's setting."""
        names = [
            f"tune-{model}-{rate}"
            for tuned, rates in GRIDS.items()
            for model, rate in product(tuned, rates)
        ]
        s = self.settings
        return s.words("TUNE") or (names if s.SETTING == "multi30k" else [])

    def bin_of(self, model: str) -> str:
        """Folder of the binarized data, with numbers of words that are not the usual ones."""
        short = model.startswith("shortlist")
        of_both = SIZES[:2] if short else SIZES[2:]
        sizes = [self.settings[name] for name in of_both]
        changed = sizes != [self.usual[name] for name in of_both]
        name = "shortlist" if short else "large"
        return f"{self.work}/bin.{'.'.join((name, *sizes) if changed else (name,))}"

    def checkpoint_of(self, arm: str, seed: int) -> str:
        """The best checkpoint of a finished run, relative to the checkout; empty if not here."""
        from recipes.lab.ledger import ROOT, read
        from recipes.lab.running.run_arm import is_begun_anew
        from recipes.lab.runs import Runs

        runs = Runs(read(self.ledger))
        path = runs.file(arm, "checkpoints/checkpoint_best.pt", seed)
        if path is None or is_begun_anew(path):
            return ""
        return str(path).replace(f"{ROOT}/", "")

    # Names of decodings.

    def choice(self) -> str:
        """K and K' with the best BLEU on the dev set."""
        from recipes.lab.ledger import read
        from recipes.lab.repeats import without_begun_repeats
        from recipes.lab.runs import Runs

        s, entries = self.settings, without_begun_repeats(read(self.ledger))
        return s.CHOICE or decodings.choice(Runs(entries), s.DEFAULT_CHOICE)

    def curve_decodings(self) -> list[str]:
        """Decodings for choosing K and K'; empty if DECODINGS has only others."""
        s = self.settings
        if s.DECODINGS:
            return []
        frequent, per_word = s.DEFAULT_CHOICE.split(".")
        names = [f"lv.k{k}.{per_word}" for k in s.words("FREQUENT")]
        names += [f"lv.{frequent}.kp{k}" for k in s.words("PER_WORD")]
        return list(dict.fromkeys(names))

    def all_decodings(self, chosen: str = "") -> list[str]:
        """All decodings, each once, by priority; or those of DECODINGS."""
        names = [*self.curve_decodings(), *self.table_decodings(chosen or self.choice())]
        return self.settings.words("DECODINGS") or list(dict.fromkeys(names))

    def table_decodings(self, chosen: str) -> Iterator[str]:
        """The rows of the paper's table, then everything else."""
        s = self.settings
        frequent, per_word = s.DEFAULT_CHOICE.split(".")
        yield from ("shortlist.unk2", "lv.unk2", f"lv.{chosen}", f"lv.{chosen}.unk2")
        yield from (f"lv_reshuffle.{chosen}", f"lv_reshuffle.{chosen}.unk2")
        # Interaction of K' and UNK replacement, and small partitions with large lists.
        yield f"lv.{frequent}.kp0.unk2"
        smallest = min(map(int, (s.TAU, *self.taus)))
        yield from (f"lv_tau{smallest}.k{k}.{per_word}" for k in s.words("FREQUENT"))
        yield from (f"lv.{chosen}.common", f"lv.{chosen}.nbest")
        yield from (f"{model}.{chosen}.unk2" for model in self.members)
        yield from (f"ensemble{size}.{chosen}.unk2" for size in s.words("ENSEMBLES"))
        yield from (f"{model}.seeds3.{chosen}.unk2" for model in s.words("SEED_ENSEMBLES"))
        yield from ("shortlist.frozen.unk2", "shortlist.unk0", "shortlist.unk1")
        yield from (f"lv.{chosen}.unk0", f"lv.{chosen}.unk1")
        yield from (f"{model}.{chosen}.unk2" for model in self.models if model != "shortlist")

    def tables(self) -> list[Table]:
        decodings = ["lv", "shortlist", *self.all_decodings()]
        return [
            Table("training", "Models, decoded over all their words", self.arms(), only=True),
            Table("decoding", "Ways to decode", decodings, only=True),
        ]

    def report_arms(self) -> list[str]:
        return [*self.arms(), *self.all_decodings()]

    def speed_groups(self) -> tuple[str, dict[str, list[str]]]:
        """Options with the data of each arm, and LV with unused words added to its dictionary."""
        names = ("lv", "lv_reshuffle", "lv_authors", "shortlist", "full")
        groups = {name: [self.bin_of(name), *self.arm(name).train] for name in names}
        for times in (2, 4):
            groups[f"lv.times{times}"] = [self.padded(times), *self.arm("lv").train]
        return self.bin_of("lv"), groups

    def padded(self, times: int | str) -> str:
        """Folder of the large data with a multiple of the target words, by adding unused ones."""
        return f"{self.work}/bin.large.times{times}"

    def timing_data(self, model: str) -> str:
        """Folder of the first test sentences, binarized for a model."""
        return f"{self.bin_of(model)}.timing{self.settings.TIMING_SENTENCES}"

    # From names to arms.

    def arm(self, name: str, seed: int = 1) -> Arm:
        if name.startswith("tune-"):
            return self.tuning_run(name, "--max-epoch", self.settings.TUNE_EPOCHS)
        model, _, how = name.partition(".")
        if how == "frozen" or how.startswith("frozen."):
            model, how = f"{model}.frozen", how.removeprefix("frozen").removeprefix(".")
        if re.fullmatch(r"ensemble\d.*", model):
            return self.ensemble(name, model, how)
        words, train = self.model(model, seed)
        if how:
            return self.decoded(name, how, words, Decoding((model,)))
        before = model.removesuffix(".frozen") if model.endswith(".frozen") else ""
        test = self.test(self.search())
        return Arm(name, words, self.bin_of(model), test, train, goes_on_from=before)

    def search(self) -> str:
        """Search options; as in the authors' code, with at least half the source's length."""
        s = self.settings
        return (
            f"--task translation_outlayers --beam {s.BEAM} --batch-size 32 {LONGEST[s.SETTING]} "
            "--min-len-a 0.5"
        )

    def test(self, generate: str, both_sets: bool = False) -> TranslationTest:
        """How every arm is scored; only Multi30k has plain text."""
        s = self.settings
        raw = f"{self.raw}/test_2016_flickr.{s.TARGET}" if s.SETTING == "multi30k" else ""
        return TranslationTest(
            generate,
            reference=f"{self.tokenized}/test.{s.TARGET}",
            raw_reference=raw,
            valid_reference=f"{self.tokenized}/valid.{s.TARGET}" if both_sets else "",
            language=s.TARGET,
        )

    def model(self, name: str, seed: int) -> tuple[str, tuple[str, ...]]:
        """Description and training options of a model."""
        try:
            model = models.parse(name)
        except KeyError:
            raise UserError(
                f"no model '{name}'; known are {' '.join(self.models)} (each with .frozen), "
                f"lv_tauN, sampled_log_uniform_tauN, {' '.join(self.transformers)}, ensembleN"
            ) from None
        train = models.training(model, self.settings)
        if model.frozen:
            train += ["--freeze-embeddings", "--finetune-from-model"]
            train.append(self.checkpoint_of(model.name, seed))
        return models.describe(model, self.settings), tuple(train)

    def ensemble(self, name: str, model: str, how: str) -> Arm:
        """An ensemble of the best and second-best checkpoints of half as many arms."""
        size = model.removeprefix("ensemble")
        count, have = int(size) if size.isdigit() else 0, len(self.members)
        if not how:
            default = self.settings.DEFAULT_CHOICE
            raise UserError(f"'{model}' is decoded, not trained: add how, as in {model}.{default}")
        if count % 2 or count <= 0:
            raise UserError(f"'{model}': an even number, two checkpoints of each arm")
        if count // 2 > have:
            raise UserError(f"'{model}' needs {count // 2} arms, ENSEMBLE_OF has {have}")
        members = tuple(self.members[: count // 2])
        words = f"the two best checkpoints of each of {' '.join(members)}, together"
        decoding = Decoding(members, "checkpoint.best_loss_*.pt")
        return self.decoded(name, how, words, decoding, " --ensemble-average log_probabilities")

    def decoded(self, name: str, how: str, words: str, decoding: Decoding, more: str = "") -> Arm:
        """A decoding: MODEL.PART.PART..."""
        model = name[: -len(how) - 1]
        try:
            parts = decodings.parse(how)
        except ValueError as fault:
            raise UserError(
                f"no decoding '{fault}' of {model}; known are {decodings.PARTS}"
            ) from None
        if not parts.complete:
            default = self.settings.DEFAULT_CHOICE
            raise UserError(f"'{name}': candidates need both k and kp, as in {default}")
        files = {}
        if parts.heuristic not in ("", "copy"):
            files["lexicon"] = self.lexicon
        if parts.frequent:
            files["candidates"] = self.candidates
        # Quoted, because options are split as a shell does.
        source = f"{shlex.quote(self.tokenized)}/{{subset}}.{self.settings.SOURCE}"
        quoted = {name: shlex.quote(path) for name, path in files.items()}
        generate = self.search() + more + parts.options(self.settings.BEAM, source, quoted)
        decoding = replace(decoding, files=tuple(files.values()))
        if parts.seeds:
            decoding = replace(decoding, seeds=tuple(range(1, parts.seeds + 1)))
        return Arm(
            name, words + parts.words(), self.bin_of(model),
            self.test(generate, both_sets=True), decoding=decoding,
        )  # fmt: skip


RECIPE = Jean2015
