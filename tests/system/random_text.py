"""A parallel corpus without meaning, for tests that only need something to train on."""

import random

from tests.system.commands import succeed


def make_data(folder, test_sentences=13):
    """Write and binarize 120 sentence pairs for training, 13 for validation; in ``bin``."""
    generator = random.Random(1)
    for split, sentences in {"train": 120, "valid": 13, "test": test_sentences}.items():
        for side in ("xx", "yy"):
            lines = [
                " ".join(f"{side}{generator.randrange(30)}" for _ in range(generator.randint(3, 9)))
                for _ in range(sentences)
            ]
            (folder / f"{split}.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    succeed(
        "preprocess",
        *["--source-lang", "xx", "--target-lang", "yy", "--destdir"],
        folder / "bin",
        *(f"--{split}pref={folder / split}" for split in ("train", "valid", "test")),
    )
