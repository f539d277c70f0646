"""Three output layers on a synthetic language pair or on real captions."""

from recipes.lab.arms import LIMITED, Arm, Recipe, TranslationTest, names

PRESETS = {
    "toy": {"SOURCE": "src", "TARGET": "tgt", "EPOCHS": "4", "DIM": "192", "LR": "0.004",
            "MAX_TOKENS": "350"},
    "multi30k": {"SOURCE": "en", "TARGET": "de", "EPOCHS": "4", "DIM": "128", "LR": "0.004",
                 "MAX_TOKENS": "1000"},
}  # fmt: skip
WORDS = {
    "linear": "every output word has a vector of its own",
    "tied": "output words reuse the vectors of input words",
    "joint": "output words and contexts meet in a joint space",
}


class Demo(Recipe):
    """A demo of the whole pipeline."""

    without = names("SEEDS KIND TIME_BUDGET SPEED_UPDATES SPEED_ROUNDS OUTLAYERS_RESULTS")
    after_interrupt = "starts again"
    declared = {  # noqa: RUF012
        "DATA": ("toy", "toy: a synthetic language pair; multi30k: captions, English to German"),
        "SOURCE": ("", "language"),
        "TARGET": ("", "language"),
        "EPOCHS": ("", "epochs"),
        "DIM": ("", "width of the models"),
        "LR": ("", "learning rate"),
        "MAX_TOKENS": ("", "tokens per batch"),
        "TRAIN_SENTENCES": ("8000", "training sentences of DATA=toy"),
        "SEED": ("1", "random seed"),
    }

    def prepare(self) -> None:
        s = self.settings
        s.defaults(**PRESETS[s.choice("DATA", tuple(PRESETS))])
        self.work = self.results = f"{self.work}/{s.DATA}"
        self.text, self.bin = f"{self.work}/text", f"{self.work}/bin"

    def shell(self) -> dict[str, str]:
        return {"TEXT": self.text, "BIN": self.bin}

    @property
    def seeds(self) -> list[int]:
        return self.settings.wholes("SEED")

    def all_arms(self) -> list[str]:
        return list(WORDS)

    def words(self, name: str) -> str:
        """The description of an arm."""
        return WORDS[name]

    def arm(self, name: str, seed: int = 1) -> Arm:
        if name not in WORDS:
            raise self.unknown(name)
        s = self.settings
        train = (
            f"--source-lang {s.SOURCE} --target-lang {s.TARGET} --optimizer adam --lr {s.LR} "
            f"--clip-norm 5 --dropout 0.1 --max-tokens {s.MAX_TOKENS} --max-epoch {s.EPOCHS} "
            "--lr-scheduler reduce_lr_on_plateau --lr-shrink 0.5 --log-interval 10 "
            f"--num-workers 0 --arch luong_lstm --embed-dim {s.DIM} --hidden-size {s.DIM} "
            "--encoder-layers 1 --decoder-layers 1 --criterion full_softmax "
            f"--output-layer {name}"
        )
        if name == "joint":
            train += f" --joint-dim {s.DIM}"
        test = TranslationTest(f"--beam 5 {LIMITED}", f"{self.text}/test.{s.TARGET}", language="en")
        return Arm(name, WORDS[name], self.bin, test, tuple(train.split()))


RECIPE = Demo
