"""Text of many words, of which a stretch uses some; fairseq-train with partitions of it."""

import random

import torch

from tests.system.commands import PLUGIN, succeed

NUM_WORDS = 150
OPTIONS = (
    f"--user-dir {PLUGIN} --cpu --task translation_outlayers --arch luong_lstm --embed-dim 24 "
    "--hidden-size 24 --encoder-layers 1 --decoder-layers 1 --dropout 0.1 --output-layer joint "
    "--joint-dim 16 --criterion partition_softmax --optimizer adam --lr 0.01 --clip-norm 1 "
    "--batch-size 20 --num-workers 0 --log-format json --log-interval 1"
).split()
PARTITIONS = ["--partition-size", 60]


def binarize(folder):
    """Sentences to be copied from one side to the other, binarized in ``bin``."""
    generator = random.Random(1)
    for split, size in {"train": 500, "valid": 30}.items():
        rows = [
            [f"w{(number // 4 + generator.randrange(40)) % NUM_WORDS}" for _ in range(4)]
            for number in range(size)
        ]
        text = "".join(" ".join(words) + "\n" for words in rows)
        for side in ("xx", "yy"):
            (folder / f"{split}.{side}").write_text(text, encoding="utf-8")
    prefixes = [f"--{split}pref={folder / split}" for split in ("train", "valid")]
    languages = ["--source-lang", "xx", "--target-lang", "yy", "--padding-factor", "1"]
    succeed("preprocess", *languages, *prefixes, "--destdir", folder / "bin")


def train(data, save_dir, *options, command=succeed):
    return command("train", data, *OPTIONS, *PARTITIONS, *options, "--save-dir", save_dir)


def saved(save_dir, name="checkpoint_last.pt"):
    return torch.load(save_dir / name, weights_only=False)
