"""The arms of the baseline, by priority; the first is the reference of the report."""

from dataclasses import replace

from recipes.lab.arms import LIMITED, Arm, Recipe, TranslationTest

# By name: a label for charts, and a description. An arm "FAMILY_LAYER" is a model of ours.
ARMS = {
    "stock_lstm": ("fairseq's LSTM", "fairseq's own LSTM with attention, without this package"),
    "luong_linear": ("our LSTM, linear",
                     "our LSTM with attention, a free vector for every output word"),
    "luong_tied": ("our LSTM, tied",
                   "the same, output words share the vectors of the decoder's input words"),
    "stock_transformer": ("fairseq's Transformer",
                          "fairseq's own Transformer, without this package"),
    "transformer_linear": ("Transformer, linear",
                           "fairseq's Transformer with our linear output layer"),
    "transformer_tied": ("Transformer, tied", "fairseq's Transformer with our tied output layer"),
    "transformer_joint": ("Transformer, joint",
                          "fairseq's Transformer with our joint output layer"),
}  # fmt: skip


class Baseline(Recipe):
    """fairseq's LSTM and Transformer, and ours with several output layers, on Multi30k."""

    title = "Multi30k en-de: baseline"
    stock = ("stock_lstm", "stock_transformer")
    # Small batches and a high learning rate. With half as many updates at a third of the rate,
    # models have not learned attention at the end, and seeds differ by up to 13 BLEU (README.md).
    declared = {  # noqa: RUF012
        "SEGMENTATION": ("bpe", "bpe or words (18.7k German types)"),
        "BPE_MERGES": ("4000", "joint merges, with SEGMENTATION=bpe"),
        "EPOCHS": ("15", "maximum number of epochs"),
        "PATIENCE": ("2", "stop after N epochs without a lower validation loss; -1: never"),
        "MAX_TOKENS": ("1000", "tokens per batch"),
        "DIM": ("128", "width of the models"),
        "LAYERS": ("2", "layers per side"),
        "JOINT_DIM": ("256", "d_j of the joint output layer"),
        "DROPOUT": ("0.3", "dropout"),
        "LR": ("0.003", "learning rate"),
        "CLIP": ("5", "maximum norm of the gradient"),
        "BEAM": ("5", "beam size"),
    }

    def prepare(self) -> None:
        s = self.settings
        s.choice("SEGMENTATION", ("words", "bpe"))
        self.raw, self.tokenized = f"{self.work}/raw", f"{self.work}/tokenized"
        units = "words" if s.SEGMENTATION == "words" else f"bpe{s.BPE_MERGES}"
        self.text = self.tokenized if units == "words" else f"{self.work}/{units}"
        self.bin = f"{self.work}/bin.{units}"
        self.separate_results(units, "bpe4000")
        self.separate_sizes("DIM", "LAYERS")

    def shell(self) -> dict[str, str]:
        return {"SOURCE": "en", "TARGET": "de", "RAW": self.raw, "TOKENIZED": self.tokenized,
                "TEXT": self.text, "BIN": self.bin}  # fmt: skip

    def all_arms(self) -> list[str]:
        return list(ARMS)

    def label(self, name: str) -> str:
        return ARMS[name][0]

    def speed_arms(self) -> tuple[str, list[str]]:
        return self.bin, list(ARMS)[:3]

    def arm(self, name: str, seed: int = 1) -> Arm:
        if name not in ARMS:
            raise self.unknown(name)
        s = self.settings
        generate = f"--beam {s.BEAM} {LIMITED}"
        if s.SEGMENTATION == "bpe":
            generate += " --post-process subword_nmt"
        test = TranslationTest(
            generate,
            reference=f"{self.tokenized}/test.de",
            raw_reference=f"{self.raw}/test_2016_flickr.de",
            language="de",
            lowercase=True,
        )
        stock = name in self.stock
        if stock:  # otherwise stock fairseq omits sentences at the end
            test = replace(test, generate=f"{test.generate} --required-batch-size-multiple 1")
        family, layer = name.split("_", 1)
        train = f"{self.common()} {getattr(self, name if stock else family)()}"
        if not stock:
            train += f" --output-layer {layer}"
        if layer == "joint":
            train += f" --joint-dim {s.JOINT_DIM}"
        return Arm(name, ARMS[name][1], self.bin, test, tuple(train.split()), stock=stock)

    def common(self) -> str:
        """Options of every arm."""
        s = self.settings
        return (
            f"--source-lang en --target-lang de --optimizer adam --lr {s.LR} "
            f"--clip-norm {s.CLIP} --max-tokens {s.MAX_TOKENS} --max-epoch {s.EPOCHS} "
            f"--patience {s.PATIENCE} --dropout {s.DROPOUT} --log-interval 25 --num-workers 0"
        )

    # Halve the learning rate after an epoch without improvement in validation.
    HALVING = "--lr-scheduler reduce_lr_on_plateau --lr-shrink 0.5 --lr-patience 0"

    def luong(self) -> str:
        """Initialized in ±0.1 like fairseq's; a range adapted to the size would learn faster."""
        s = self.settings
        return (
            f"{self.HALVING} --arch luong_lstm --init-range 0.1 --embed-dim {s.DIM} "
            f"--hidden-size {s.DIM} --encoder-layers {s.LAYERS} --decoder-layers {s.LAYERS} "
            f"--embedding-dropout {s.DROPOUT} --criterion full_softmax"
        )

    def stock_lstm(self) -> str:
        """fairseq's LSTM with the same dimensions and layers."""
        s = self.settings
        return (
            f"{self.HALVING} --arch lstm --encoder-embed-dim {s.DIM} --encoder-hidden-size {s.DIM} "
            f"--encoder-layers {s.LAYERS} --decoder-embed-dim {s.DIM} "
            f"--decoder-hidden-size {s.DIM} --decoder-out-embed-dim {s.DIM} "
            f"--decoder-layers {s.LAYERS} --criterion cross_entropy"
        )

    def transformer(self, arch: str = "transformer_outlayers", loss: str = "full_softmax") -> str:
        """fairseq's Transformer with the same width."""
        s = self.settings
        inner = 4 * s.whole("DIM")
        return (
            f"--lr-scheduler inverse_sqrt --warmup-updates 400 --arch {arch} "
            f"--criterion {loss} --encoder-embed-dim {s.DIM} "
            f"--encoder-ffn-embed-dim {inner} --encoder-layers {s.LAYERS} "
            f"--decoder-embed-dim {s.DIM} --decoder-ffn-embed-dim {inner} "
            f"--decoder-layers {s.LAYERS} --encoder-attention-heads 4 --decoder-attention-heads 4"
        )

    def stock_transformer(self) -> str:
        """The same without this package."""
        return self.transformer("transformer", "cross_entropy")


RECIPE = Baseline
