"""A small world of good files: texts, binarized data, trained checkpoints, tables, lists.

Made once by the commands themselves, in the order in which a user runs them; every case of bad
input damages a copy of it.
"""

import random
from pathlib import Path

import numpy as np

from tests.faults.warm import PLUGIN, run

COMMON = f"--user-dir {PLUGIN} --cpu --num-workers 0 --no-progress-bar"
TRAIN = (
    f"train bin {COMMON} --arch luong_lstm --embed-dim 8 --hidden-size 8 --dropout 0 "
    "--criterion full_softmax --optimizer adam --lr 0.01 --max-tokens 200 --max-update 2 "
    "--save-dir save --no-epoch-checkpoints --disable-validation"
)
TRAIN_LM = (
    f"train lm {COMMON} --task subword_language_modeling --arch subword_lm --hidden-size 8 "
    "--composition charcnn --criterion full_softmax --optimizer sgd --lr 1 --batch-size 4 "
    "--tokens-per-sample 5 --max-update 2 --save-dir save --no-epoch-checkpoints "
    "--disable-validation"
)
GENERATE = f"generate bin {COMMON} --path model.pt --beam 2 --max-len-b 20 --max-tokens 300"
INTERACTIVE = f"interactive bin {COMMON} --path model.pt --beam 2 --max-len-b 20"
VALIDATE = f"validate bin {COMMON} --path model.pt --max-tokens 300"
EVAL_LM = f"eval_lm lm {COMMON} --path lm.pt --gen-subset valid --task subword_language_modeling"
OURS = "--task translation_outlayers"
CANDIDATES = f"{OURS} --candidates candidates.npz --candidate-frequent 5"


def build(folder: Path) -> Path:
    """Fill ``folder``; every command must succeed."""
    _write_texts(folder)
    sides = "--source-lang xx --target-lang yy --padding-factor 1"
    texts = " ".join(f"--{split}pref {split}" for split in ("train", "valid", "test"))
    _do(folder, f"preprocess {sides} {texts} --destdir bin")
    words = " ".join(f"--{split}pref {split}.yy" for split in ("train", "valid"))
    _do(folder, f"preprocess --only-source --padding-factor 1 {words} --destdir lm")
    _do(folder, TRAIN.replace("--save-dir save", "--save-dir first"))
    _do(folder, TRAIN_LM.replace("--save-dir save", "--save-dir first_lm"))
    (folder / "first" / "checkpoint_last.pt").rename(folder / "model.pt")
    (folder / "first_lm" / "checkpoint_last.pt").rename(folder / "lm.pt")
    _do(folder, "build_lexicon --source train.xx --target train.yy --output lexicon")
    _do(
        folder,
        "build_candidates --lexicon lexicon --source-dictionary bin/dict.xx.txt "
        "--target-dictionary bin/dict.yy.txt --output candidates.npz",
    )
    _write_vectors(folder)
    _do(folder, "extract_embeddings --vectors words.vec --train train.xx --output table")
    dictionary = "--srcdict table.dict.txt --tgtdict bin/dict.yy.txt"
    _do(folder, f"preprocess {sides} {texts} {dictionary} --destdir ext")
    _do(folder, "segment learn --inputs train.xx --output codes --merges 10")
    return folder


def _do(folder: Path, line: str) -> None:
    outcome = run(line, folder=folder, seconds=120)
    assert outcome.kind == "accepted", (line, outcome.kind, outcome.err[-3000:])


def _write_texts(folder: Path) -> None:
    generator = random.Random(1)
    for split, sentences in {"train": 80, "valid": 9, "test": 9}.items():
        for side in ("xx", "yy"):
            words = 12 if split == "train" else 14  # a few of the others are unknown
            rows = [
                " ".join(f"{side}{generator.randrange(words)}" for _ in range(4 + n % 4))
                for n in range(sentences)
            ]
            (folder / f"{split}.{side}").write_text("\n".join(rows) + "\n", encoding="utf-8")


def _write_vectors(folder: Path) -> None:
    """The same vectors in four formats."""
    words = [f"xx{number}" for number in range(16)]
    rows = np.random.RandomState(1).randn(16, 3).astype("<f4")
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(words, rows, strict=True)]
    (folder / "words.glove").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "words.vec").write_text("\n".join(["16 3", *lines]) + "\n", encoding="utf-8")
    entries = [word.encode() + b" " + row.tobytes() for word, row in zip(words, rows, strict=True)]
    (folder / "words.bin").write_bytes(b"16 3\n" + b"".join(entries))
