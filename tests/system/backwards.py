"""Toy translation: to write a sentence backwards in capital letters.

A model can learn it within seconds and cannot get it right without encoder, attention, decoder and
output layer.
"""

import random
import re

from tests.system.commands import PLUGIN, succeed

LETTERS = "abcdefgh"
SIZES = {"train": 3000, "valid": 53, "test": 53}  # 53 is no multiple of 8

LSTM = ["--arch", "luong_lstm", "--embed-dim", 48, "--hidden-size", 48, "--dropout", 0]
TRANSFORMER = ["--arch", "transformer_tiny_outlayers", "--dropout", 0]
SAMPLED = ["sampled_softmax", "--sampler", "unigram", "--num-sampled", 6]
TRAINING = (
    f"--user-dir {PLUGIN} --cpu --optimizer adam --lr 0.005 --clip-norm 1 --max-tokens 1500 "
    "--num-workers 0 --no-epoch-checkpoints --log-format json --log-interval 10"
).split()


def backwards(words):
    return [word.upper() for word in reversed(words)]


def binarize(folder):
    """Write and binarize the texts; and, in ``lm``, the target side alone."""
    generator = random.Random(1)
    for split, size in SIZES.items():
        rows = [generator.choices(LETTERS, k=generator.randint(2, 6)) for _ in range(size)]
        for side, lines in (("xx", rows), ("yy", map(backwards, rows))):
            text = "".join(" ".join(words) + "\n" for words in lines)
            (folder / f"{split}.{side}").write_text(text, encoding="utf-8")
    prefixes = [f"--{split}pref={folder / split}" for split in SIZES]
    languages = ["--source-lang", "xx", "--target-lang", "yy", "--padding-factor", "1"]
    succeed("preprocess", *languages, *prefixes, "--destdir", folder / "bin")
    prefixes = [f"--{split}pref={folder / split}.yy" for split in SIZES]
    succeed("preprocess", "--only-source", *prefixes, "--destdir", folder / "lm")


def binarize_staircase(folder):
    """Sentences of all different lengths.

    fairseq breaks ties in length by a seed that depends on the epoch in which a run was started;
    without ties, a resumed run sees the batches of the run that it continues.
    """
    for side in ("xx", "yy"):
        for split in ("train", "valid"):
            words = [letter * (1 + number % 3) for number, letter in enumerate(LETTERS * 5)]
            lines = [" ".join(words[:length]) for length in range(1, 41)]
            (folder / f"{split}.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    prefixes = [f"--{split}pref={folder / split}" for split in ("train", "valid")]
    languages = ["--source-lang", "xx", "--target-lang", "yy", "--padding-factor", "1"]
    succeed("preprocess", *languages, *prefixes, "--destdir", folder / "bin")


def train_tied(data, folder):
    """A tied luong_lstm that has learnt the task."""
    succeed("train", data / "bin", *TRAINING, *LSTM, "--output-layer", "tied",
            "--criterion", "full_softmax", "--max-epoch", 8, "--lr", 0.01, "--max-tokens", 200,
            "--save-dir", folder)  # fmt: skip


def translations(output):
    """Hypotheses by sentence number."""
    return {int(n): text for n, text in re.findall(r"^D-(\d+)\t\S+\t(.*)$", output, re.MULTILINE)}


def generate(data, checkpoint, *options):
    common = ["--user-dir", PLUGIN, "--cpu", "--num-workers", 0, "--path", checkpoint]
    return succeed("generate", data / "bin", *common, *options).stdout
