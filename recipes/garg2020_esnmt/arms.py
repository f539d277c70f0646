"""The arms of Garg et al. (2020), and the tuning runs for their learning rates and scales.

A tuning run (05_tune.sh) is tune-MODEL-LR-RANGE[-GAMMA-RADIUS]; a decoding with another length
penalty (20_decode.sh) is MODEL.lenpenN.
"""

import itertools
import math
from dataclasses import replace

from recipes.garg2020_esnmt import length_penalty
from recipes.lab.arms import LIMITED, Arm, Decoding, Recipe, Table, TranslationTest, names
from recipes.lab.settings import UserError

# By name, or by prefix for arms that end in a value: description, basic model, and more options
# (with {value}).
ARMS = {
    "rnmt_plus": ("fully trained, layer-normed LSTM; the ladder's last row", "rnmt", ""),
    "rnmt_plus_narrow": ("fully trained, narrower: as many stored parameters as frozen models",
                         "rnmt", "--init-range {narrow_range}"),
    "esnmt": ("frozen simple cells", "learned", ""),
    "esnmt_lstm": ("frozen LSTM cells; the ladder's row + attention", "lstm", ""),
    "esnmt_faithful": ("frozen simple cells with the paper's input scale of 10, not normalized",
                       "paper", ""),
    "esnmt_lstm_faithful": ("frozen LSTM cells with the paper's input scale of 10, not normalized",
                            "paper_lstm", ""),
    "release_": ("ladder: frozen LSTM cells, --release {value}", "lstm", "--release {value}"),
    "gamma_": ("frozen simple cells, input scale {value}, not normalized", "learned",
               "--gamma-init {value} --input-norm none"),
    "lstm_fan_in_": ("frozen LSTM cells, input scale {value} after division by the fan-in", "lstm",
                     "--gamma-init {value}"),
    "fan_in_": ("frozen simple cells, input scale {value} after division by the fan-in", "learned",
                "--gamma-init {value}"),
    "radius_": ("frozen simple cells, spectral radius {value} in all layers", "simple",
                "--spectral-radius {value}"),
    "esnmt_wide": ("frozen simple cells, twice as wide", "learned",
                   "--init-range {esnmt_wide_range}"),
    "esnmt_lstm_wide": ("frozen LSTM cells, twice as wide", "lstm",
                        "--init-range {lstm_wide_range}"),
    "sparsity_": ("frozen simple cells, share of pruned weights {value}", "learned",
                  "--reservoir-sparsity {value}"),
    "leak_": ("frozen simple cells that keep part of their state, leak rate {value}", "learned",
              "--leak-rate {value}"),
    "scales_per_gate": ("frozen LSTM cells, radius and input scale learned for each gate", "lstm",
                        "--scales-per-gate"),
    "transformer": ("Transformer, twice as many encoder layers", "transformer", ""),
    "transformer_frozen": ("the same, every second encoder layer frozen at random", "transformer",
                           "--frozen-encoder-layers {odd_layers}"),
}  # fmt: skip
# Main table, ladder (its rows "attention" and "all" are esnmt_lstm and rnmt_plus), fixed radii,
# input scale, width, sparsity, arms beyond the paper.
BY_PRIORITY = names("""
    rnmt_plus esnmt esnmt_lstm rnmt_plus_narrow esnmt_faithful esnmt_lstm_faithful
    release_softmax release_embeddings release_decoder release_encoder
    radius_0.9 radius_0.1 radius_2.0
    gamma_1 gamma_0.1 fan_in_1 fan_in_10 lstm_fan_in_2 lstm_fan_in_6
    esnmt_wide esnmt_lstm_wide sparsity_0 sparsity_0.75 leak_0.5 scales_per_gate
    transformer transformer_frozen
""")
# Tuning runs, 10 to 12 for each of the three models: learning rates, ranges, scales and radii, all
# combinations of each line. Rates and ranges were raised until the perplexity did not fall.
TUNED = (
    ("rnmt_plus", "0.002 0.004", "0.08 0.2"),
    ("rnmt_plus", "0.002 0.008", "0.113"),
    ("rnmt_plus", "0.008", "0.2 0.3 0.4"),
    ("rnmt_plus", "0.016", "0.3"),
    ("esnmt", "0.002", "0.113", "2 3 6", "0.5 1"),
    ("esnmt", "0.002", "0.2", "3", "0.5"),
    ("esnmt", "0.004 0.008 0.016", "0.113", "3", "0.5"),
    ("esnmt", "0.008", "0.113", "1 2", "0.5"),
    ("esnmt_lstm", "0.002", "0.08", "2 3.5", "1"),
    ("esnmt_lstm", "0.002", "0.2", "3.5 6", "1"),
    ("esnmt_lstm", "0.002", "0.2", "3.5", "0.5"),
    ("esnmt_lstm", "0.004 0.008 0.016 0.032", "0.2", "3.5", "1"),
    ("esnmt_lstm", "0.016", "0.2", "1 2 6", "1"),
)


class Garg2020(Recipe):
    """Frozen random recurrent layers compared with trained ones, on Multi30k."""

    folder = "garg2020"
    declared = {  # noqa: RUF012
        "SOURCE": ("en", "language of Multi30k"),
        "TARGET": ("de", "language of Multi30k"),
        "BPE_MERGES": ("4000", "joint merges"),
        "DIM": ("128", "width of the models (the paper: 512)"),
        "NARROW_DIM": ("80", "width of the trained model with a frozen one's stored parameters"),
        "LAYERS": ("3", "layers per side (the paper: 6)"),
        "EPOCHS": ("15", "maximum number of epochs"),
        "PATIENCE": ("2", "stop after N epochs without a lower validation loss; -1: never"),
        "MAX_TOKENS": ("1000", "tokens per batch"),
        "DROPOUT": ("0.3", "dropout"),
        "SMOOTHING": ("0.1", "label smoothing"),
        "CLIP": ("5", "maximum norm of the gradient"),
        "BEAM": ("5", "beam size"),
        "RNMT_LR": ("0.008", "trained models: learning rate"),
        "RNMT_RANGE": ("0.3", "trained models: initialization range"),
        "ESNMT_LR": ("0.008", "simple cells: learning rate"),
        "ESNMT_RANGE": ("0.113", "simple cells: initialization range"),
        "ESNMT_GAMMA": ("3", "simple cells: input scale"),
        "ESNMT_RADIUS": ("0.5", "simple cells: spectral radius"),
        "LSTM_LR": ("0.016", "LSTM cells: learning rate"),
        "LSTM_RANGE": ("0.2", "LSTM cells: initialization range"),
        "LSTM_GAMMA": ("3.5", "LSTM cells: input scale"),
        "LSTM_RADIUS": ("1", "LSTM cells: spectral radius"),
        "PAPER_LR": ("0.002", "the paper's input scale, either cell: learning rate"),
        "DECODED": ("rnmt_plus esnmt esnmt_lstm", "models of step 20"),
        "LENPENS": ("0.5 1 1.5 2 3", "length penalties of step 20; 1 in all other steps"),
        "TUNE_UPDATES": ("1100", "updates of each run of 05_tune.sh"),
        "TUNE": ("", "runs of 05_tune.sh (default: all)"),
    }

    def prepare(self) -> None:
        s, work = self.settings, self.work
        self.title = f"Multi30k {s.SOURCE}-{s.TARGET}: echo state translation"
        self.raw, self.tokenized = f"{work}/raw", f"{work}/tokenized"
        self.text, self.bin = f"{work}/bpe{s.BPE_MERGES}", f"{work}/bin.bpe{s.BPE_MERGES}"
        self.separate_results(f"{s.SOURCE}-{s.TARGET}", "en-de")
        self.separate_results(f"bpe{s.BPE_MERGES}", "bpe4000")
        self.separate_sizes("DIM", "LAYERS", "NARROW_DIM")

        for penalty in s.words("LENPENS"):
            if not length_penalty.parse(f"model.lenpen{penalty}"):
                raise UserError(f"LENPENS: '{penalty}' is no number such as 1 or 1.5")

    def shell(self) -> dict[str, str]:
        return {"RAW": self.raw, "TOKENIZED": self.tokenized, "TEXT": self.text, "BIN": self.bin}

    def all_arms(self) -> list[str]:
        return list(BY_PRIORITY)

    def speed_arms(self) -> tuple[str, list[str]]:
        return self.bin, names("rnmt_plus rnmt_plus_narrow esnmt esnmt_lstm esnmt_wide")

    def tuning_arms(self) -> list[str]:
        """The tuning runs."""
        combined = (
            "-".join(("tune", model, *values))
            for model, *choices in TUNED
            for values in itertools.product(*(choice.split() for choice in choices))
        )
        return self.settings.words("TUNE") or list(combined)

    def decodings(self) -> list[str]:
        """Every model of DECODED with every penalty of LENPENS."""
        models, penalties = self.settings.words("DECODED"), self.settings.words("LENPENS")
        return [str(length_penalty.Decoded(*both)) for both in itertools.product(models, penalties)]

    def tables(self) -> list[Table]:
        decodings = self.decodings()
        return [
            Table("report", self.title, self.all_arms()),
            Table("decoding", "Length penalties", decodings, only=True, compare=False),
        ]

    def report_arms(self) -> list[str]:
        return [*self.all_arms(), *self.decodings()]

    def arm(self, name: str, seed: int = 1) -> Arm:
        if name.startswith("tune-"):
            return self.tuning_arm(name)
        if decoded := length_penalty.parse(name):
            return self.decoded(decoded)
        stem, _, value = name.rpartition("_")
        known = name if name in ARMS and not name.endswith("_") else f"{stem}_"
        if known not in ARMS:
            raise self.unknown(name)
        words, start, more = ARMS[known]
        s = self.settings
        usual = s.whole("DIM", 1)
        widths = {"wide": 2 * usual, "narrow": s.whole("NARROW_DIM", 1)}
        width = widths.get(value, usual)

        def at_width(start_range: str) -> str:
            """A range of models of DIM that keeps the variance of products at this arm's width."""
            return f"{s.real(start_range) * math.sqrt(usual / width):g}"

        more = more.format(
            value=value,
            narrow_range=at_width("RNMT_RANGE"),
            esnmt_wide_range=at_width("ESNMT_RANGE"),
            lstm_wide_range=at_width("LSTM_RANGE"),
            odd_layers=",".join(str(n) for n in range(1, 2 * s.whole("LAYERS"), 2)),
        )
        train = f"{self.common()} {self.starting(start, width)} {more}".split()
        return Arm(name, words.format(value=value), self.bin, self.test(), tuple(train))

    def decoded(self, decoded: length_penalty.Decoded) -> Arm:
        """A model decoded with another length penalty, scored on the validation set, too."""
        words = f"{self.arm(decoded.model).description}; length penalty {decoded.penalty}"
        test = replace(
            self.test(f"--lenpen {decoded.penalty}"),
            valid_reference=f"{self.tokenized}/valid.{self.settings.TARGET}",
        )
        return Arm(str(decoded), words, self.bin, test, decoding=Decoding((decoded.model,)))

    def test(self, more: str = "") -> TranslationTest:
        """How every arm is scored."""
        s = self.settings
        return TranslationTest(
            f"--beam {s.BEAM} {LIMITED} --post-process subword_nmt {more}".rstrip(),
            reference=f"{self.tokenized}/test.{s.TARGET}",
            raw_reference=f"{self.raw}/test_2016_flickr.{s.TARGET}",
            language=s.TARGET,
            lowercase=True,
        )

    def tuning_arm(self, name: str) -> Arm:
        """A tuning run, from its name."""
        try:
            model, rate, start_range, *scales = name.split("-")[1:]
            gamma, radius = scales or ("", "")
        except ValueError:
            raise UserError(f"'{name}': expected tune-MODEL-LR-RANGE[-GAMMA-RADIUS]") from None
        s = self.settings
        words = f"{model}, learning rate {rate}, start in ±{start_range}"
        train = f"{self.common()} {self.skeleton(model, s.whole('DIM'))} --lr {rate} "
        train += f"--init-range {start_range} --max-update {s.TUNE_UPDATES}"
        if scales:
            words += f", input scale {gamma} after division by the fan-in, radius {radius}"
            train += f" --input-norm fan_in --gamma-init {gamma} --radius-init {radius}"
        return Arm(name, words, self.bin, self.test(), tuple(train.split()), tuning=True)

    def common(self) -> str:
        """Options of RNMT+ (Chen et al. 2018) but its L2, with a schedule for about an hour."""
        s = self.settings
        return (
            f"--source-lang {s.SOURCE} --target-lang {s.TARGET} --optimizer adam "
            "--adam-betas (0.9,0.98) --adam-eps 1e-6 --weight-decay 1e-5 "
            f"--clip-norm {s.CLIP} --max-tokens {s.MAX_TOKENS} --max-epoch {s.EPOCHS} "
            f"--patience {s.PATIENCE} --dropout {s.DROPOUT} --criterion full_softmax "
            f"--label-smoothing {s.SMOOTHING} --log-interval 25 --num-workers 0 "
            "--lr-scheduler reduce_lr_on_plateau --lr-shrink 0.5 --lr-patience 0"
        )

    def skeleton(self, arch: str, width: int, more: str = "") -> str:
        """Architecture options of RNMT+, trained or frozen."""
        layers = self.settings.LAYERS
        return (
            f"--encoder-layers {layers} --decoder-layers {layers} --arch {arch} {more} "
            f"--embed-dim {width} --hidden-size {width}"
        )

    def starting(self, start: str, width: int) -> str:
        """Options of a model with learning rate and initialization."""
        s = self.settings
        simple = f"{self.skeleton('esnmt', width, '--input-norm fan_in')} --lr {s.ESNMT_LR} "
        simple += f"--init-range {s.ESNMT_RANGE} --gamma-init {s.ESNMT_GAMMA}"
        lstm = f"{self.skeleton('esnmt_lstm', width, '--input-norm fan_in')} --lr {s.LSTM_LR} "
        lstm += f"--init-range {s.LSTM_RANGE} --gamma-init {s.LSTM_GAMMA}"
        trained = f"{self.skeleton('rnmt_plus', width)} --lr {s.RNMT_LR}"
        of_paper = f"--lr {s.PAPER_LR} --echo-start paper"
        return {
            "rnmt": f"{trained} --init-range {s.RNMT_RANGE}",
            "simple": simple,
            "learned": f"{simple} --radius-init {s.ESNMT_RADIUS}",
            "lstm": f"{lstm} --radius-init {s.LSTM_RADIUS}",
            "paper": f"{self.skeleton('esnmt', width)} {of_paper}",
            "paper_lstm": f"{self.skeleton('esnmt_lstm', width)} {of_paper}",
            "transformer": self.transformer(),
        }[start]

    def transformer(self) -> str:
        """fairseq's Transformer with the same width and twice the encoder layers."""
        s = self.settings
        inner = 4 * s.whole("DIM")
        return (
            "--arch transformer_outlayers --lr 0.001 --warmup-updates 400 "
            f"--encoder-layers {2 * s.whole('LAYERS')} --decoder-layers {s.LAYERS} "
            f"--encoder-embed-dim {s.DIM} --encoder-ffn-embed-dim {inner} "
            f"--decoder-embed-dim {s.DIM} --decoder-ffn-embed-dim {inner} "
            "--encoder-attention-heads 4 --decoder-attention-heads 4"
        )


RECIPE = Garg2020
