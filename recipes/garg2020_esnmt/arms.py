"""The arms of Garg et al. (2020), by priority; the report tests the others against the first."""

from recipes.lab.arms import Arm, Recipe, TranslationTest, names

# By name, or by its beginning for the arms that end in a value: words, architecture, and options
# beside the width ({value} stands for the value).
RECOMMENDED = "{recommended}"
FAITHFUL = "--gamma-init 10 --input-norm none"
ARMS = {
    "rnmt_plus": ("fully trained, layer-normed LSTM; the ladder's last row", "rnmt_plus", ""),
    "esnmt": ("frozen simple cells, recommended scale of the inputs", "esnmt", RECOMMENDED),
    "esnmt_lstm": ("frozen LSTM cells, recommended scale; the ladder's row + attention",
                   "esnmt_lstm", RECOMMENDED),
    "esnmt_faithful": ("frozen simple cells with the paper's input scale of 10, not normalised",
                       "esnmt", FAITHFUL),
    "esnmt_lstm_faithful": ("frozen LSTM cells with the paper's input scale of 10, not normalised",
                            "esnmt_lstm", FAITHFUL),
    "release_": ("ladder: frozen LSTM cells, --release {value}", "esnmt_lstm",
                 RECOMMENDED + " --release {value}"),
    "gamma_": ("frozen simple cells, input scale {value}, not normalised", "esnmt",
               "--gamma-init {value} --input-norm none"),
    "fan_in_": ("frozen simple cells, input scale {value} after division by the fan-in", "esnmt",
                "--gamma-init {value} --input-norm fan_in"),
    "radius_": ("frozen simple cells, spectral radius {value} in all layers", "esnmt",
                RECOMMENDED + " --spectral-radius {value}"),
    "esnmt_wide": ("frozen simple cells, twice as wide", "esnmt", RECOMMENDED),
    "esnmt_lstm_wide": ("frozen LSTM cells, twice as wide", "esnmt_lstm", RECOMMENDED),
    "sparsity_": ("frozen simple cells, share of pruned weights {value}", "esnmt",
                  RECOMMENDED + " --reservoir-sparsity {value}"),
    "leak_": ("frozen simple cells that keep part of their state, leak rate {value}", "esnmt",
              RECOMMENDED + " --leak-rate {value}"),
    "scales_per_gate": ("frozen LSTM cells, radius and input scale learned for each gate",
                        "esnmt_lstm", RECOMMENDED + " --scales-per-gate"),
    "transformer": ("Transformer, twice as many encoder layers", "transformer", ""),
    "transformer_frozen": ("the same, every second encoder layer frozen at random", "transformer",
                           "--frozen-encoder-layers {odd_layers}"),
}  # fmt: skip

# Main table, ladder (its rows "attention" and "all" are esnmt_lstm and rnmt_plus), scale of the
# inputs, fixed radii, width, sparsity, beyond the paper.
BY_PRIORITY = names("""
    rnmt_plus esnmt esnmt_lstm esnmt_faithful esnmt_lstm_faithful
    release_softmax release_embeddings release_decoder release_encoder
    gamma_1 gamma_0.1 fan_in_0.3 fan_in_3 fan_in_10
    radius_0.9 radius_0.1 radius_2.0
    esnmt_wide esnmt_lstm_wide sparsity_0 sparsity_0.75 leak_0.5 scales_per_gate
    transformer transformer_frozen
""")


class Garg2020(Recipe):
    """Frozen random recurrent layers beside trained ones, on Multi30k."""

    folder = "garg2020"
    declared = {  # noqa: RUF012
        "SOURCE": ("en", "language of Multi30k"),
        "TARGET": ("de", "language of Multi30k"),
        "BPE_MERGES": ("4000", "joint merges"),
        "DIM": ("128", "width of the models (the paper: 512)"),
        "LAYERS": ("3", "of each side (the paper: 6)"),
        "EPOCHS": ("5", "of training"),
        "MAX_TOKENS": ("2000", "of a batch"),
        "DROPOUT": ("0.3", ""),
        "LR": ("0.002", "learning rate"),
        "SMOOTHING": ("0.1", "of labels"),
        "CLIP": ("5", "norm of the gradient"),
        "BEAM": ("5", "of translating"),
        "GAMMA": ("1", "recommended scale of the inputs, in all arms not named otherwise"),
        "INPUT_NORM": ("fan_in", "what that is divided by"),
    }

    def prepare(self) -> None:
        s, work = self.settings, self.work
        self.title = f"Multi30k {s.SOURCE}-{s.TARGET}: echo state translation"
        self.raw, self.tokenized = f"{work}/raw", f"{work}/tokenized"
        self.text, self.bin = f"{work}/bpe{s.BPE_MERGES}", f"{work}/bin.bpe{s.BPE_MERGES}"

    def shell(self) -> dict[str, str]:
        return {"RAW": self.raw, "TOKENIZED": self.tokenized, "TEXT": self.text, "BIN": self.bin}

    def all_arms(self) -> list[str]:
        return list(BY_PRIORITY)

    def arm(self, name: str, seed: int = 1) -> Arm:
        stem, _, value = name.rpartition("_")
        known = name if name in ARMS and not name.endswith("_") else f"{stem}_"
        if known not in ARMS:
            raise self.unknown(name)
        words, arch, more = ARMS[known]
        s = self.settings
        base = self.transformer() if arch == "transformer" else self.recurrent(arch, name)
        odd_layers = ",".join(str(layer) for layer in range(1, 2 * s.whole("LAYERS"), 2))
        recommended = f"--gamma-init {s.GAMMA} --input-norm {s.INPUT_NORM}"
        more = more.format(value=value, recommended=recommended, odd_layers=odd_layers)
        train = f"{self.common()} {base} {more}"
        test = TranslationTest(
            f"--beam {s.BEAM} --max-tokens 4000 --post-process subword_nmt",
            reference=f"{self.tokenized}/test.{s.TARGET}",
            raw_reference=f"{self.raw}/test_2016_flickr.{s.TARGET}",
            language=s.TARGET,
            lowercase=True,
        )
        return Arm(name, words.format(value=value), self.bin, test, tuple(train.split()))

    def common(self) -> str:
        """RNMT+ (Chen et al. 2018), but for a rate and a schedule that suit an hour."""
        s = self.settings
        return (
            f"--source-lang {s.SOURCE} --target-lang {s.TARGET} --optimizer adam "
            "--adam-betas (0.9,0.98) --adam-eps 1e-6 --weight-decay 1e-5 "
            f"--lr {s.LR} --clip-norm {s.CLIP} --max-tokens {s.MAX_TOKENS} "
            f"--max-epoch {s.EPOCHS} --dropout {s.DROPOUT} --criterion full_softmax "
            f"--label-smoothing {s.SMOOTHING} --log-interval 25 --num-workers 0 "
            "--lr-scheduler reduce_lr_on_plateau --lr-shrink 0.5 --lr-patience 0"
        )

    def recurrent(self, arch: str, name: str) -> str:
        """RNMT+, trained or frozen."""
        s = self.settings
        width = s.whole("DIM") * (2 if name.endswith("_wide") else 1)
        return (
            f"--encoder-layers {s.LAYERS} --decoder-layers {s.LAYERS} --arch {arch} "
            f"--embed-dim {width} --hidden-size {width}"
        )

    def transformer(self) -> str:
        """fairseq's Transformer, as wide, its encoder twice as deep."""
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
