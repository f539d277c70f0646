"""What is in a reader's folder before the first block of a page, made by fairseq's commands."""

import shutil
from collections import Counter
from pathlib import Path

from tests.docs.page import ROOT
from tests.warm_shell import Shell

PARTS = ("train", "valid", "test")
LINKS = ("data_prep", "docs", "fairseq_outlayers", "recipes")
COMMON = (
    "--user-dir fairseq_outlayers --optimizer adam --lr 0.01 --max-tokens 500 --max-epoch 1 "
    "--no-epoch-checkpoints --disable-validation"
)
SMALL = "--arch luong_lstm --embed-dim 16 --hidden-size 16 --criterion full_softmax"
TRANSFORMER = "--max-source-positions 64 --max-target-positions 64 --criterion cross_entropy"
# Commands, and the file that their checkpoint becomes.
MODELS = {
    "checkpoints/checkpoint_best.pt": f"train data-bin {COMMON} {SMALL}",
    "checkpoints/seed2/checkpoint_best.pt": f"train data-bin {COMMON} {SMALL} --seed 2",
    "checkpoints/tied.pt": f"train data-bin {COMMON} {SMALL} --output-layer tied",
    "checkpoints/joint.pt": f"train data-bin {COMMON} {SMALL} --output-layer joint",
    "checkpoints/tied/checkpoint_best.pt": f"train data-bin {COMMON} {SMALL} --output-layer tied",
    "checkpoints/uncorrected.pt": f"train data-bin {COMMON} {SMALL} --task translation_outlayers "
    "--criterion partition_softmax --partition-size 100 --partition-correction none",
    "checkpoints/stock/checkpoint_best.pt": f"train data-bin {COMMON} {TRANSFORMER} "
    "--arch transformer_tiny".replace("--user-dir fairseq_outlayers ", ""),
    "checkpoints/lm/checkpoint_best.pt": f"train lm-bin {COMMON} --task language_modeling "
    "--arch transformer_lm_outlayers --output-layer tied --decoder-layers 1 --decoder-embed-dim 16 "
    "--decoder-input-dim 16 --decoder-output-dim 16 --decoder-ffn-embed-dim 16 "
    "--decoder-attention-heads 2 --sample-break-mode eos --criterion full_softmax",
}
# What docs/export.md trains itself.
EXPORTED = {
    "checkpoints/small/checkpoint_best.pt": f"train data-bin {COMMON} {TRANSFORMER} "
    "--arch transformer_tiny_outlayers --output-layer tied",
}
WORDS = (
    "fairseq-preprocess --source-lang de --target-lang en --padding-factor 1 --destdir data-bin "
    + " ".join(f"--{part}pref tokenized/{part}" for part in PARTS)
)
TEXT = (
    "fairseq-preprocess --only-source --padding-factor 1 --trainpref train.txt "
    "--validpref valid.txt --destdir lm-bin"
)
CANDIDATES = """
python data_prep/build_lexicon.py --source tokenized/train.de --target tokenized/train.en \
    --output lexicon.de-en
python data_prep/build_candidates.py --lexicon lexicon.de-en --output candidates.npz \
    --source-dictionary data-bin/dict.de.txt --target-dictionary data-bin/dict.en.txt
"""
# What a reader had before.
BEFORE = {
    "text": "raw",
    "words": "raw",
    "trained": "words",
    "exported": "words",
    "large": "words",
    "research": "words",
}
MANY = 9_000  # classes: the pages draw 8,192


def _training(path: str) -> str:
    """Commands that train one of ``MODELS`` or ``EXPORTED``."""
    return (
        f"fairseq-{(MODELS | EXPORTED)[path]} --save-dir new\nmkdir -p {Path(path).parent}\n"
        f"mv new/checkpoint_last.pt {path}\nrm -r new"
    )


class Readers:
    """Folders to begin pages in; nobody writes into them, and each is made when first asked for."""

    def __init__(self, shell: Shell, folder: Path):
        self.shell, self.folder = shell, folder
        self.made: dict[str, Path] = {}

    def copy(self, name: str, folder: Path) -> Path:
        """A folder of its own for a reader who has ``raw`` text, ``words`` binarized, and so on."""
        if name not in self.made:
            new = self.folder / name
            if name in BEFORE:
                self.copy(BEFORE[name], new)
            else:
                new.mkdir()
                for link in LINKS:
                    (new / link).symlink_to(ROOT / link)
            getattr(self, f"_make_{name}")(new)
            self.made[name] = new
        return Path(shutil.copytree(self.made[name], folder, symlinks=True))

    def _make_nothing(self, folder: Path) -> None:
        pass

    def _make_raw(self, folder: Path) -> None:
        """An invented pair of languages, two words of which are English.

        Stock fairseq leaves out a last batch of a size that is no multiple of 8: the test has 8.
        """
        self.shell.run(
            "python data_prep/toy_corpus.py --output toy --train 48 --valid 6 --test 8 "
            "--vocabulary 100",
            folder,
        )
        (folder / "raw").mkdir()
        counts = Counter((folder / "toy" / "train.tgt").read_text().split())
        frequent = [word for word, _ in counts.most_common(9) if word.isalpha()]
        names = dict(zip(frequent, ("man", "house"), strict=False))
        for part in PARTS:
            shutil.copy(folder / "toy" / f"{part}.src", folder / "raw" / f"{part}.de")
            lines = (folder / "toy" / f"{part}.tgt").read_text().splitlines()
            renamed = [" ".join(names.get(w, w) for w in line.split()) for line in lines]
            (folder / "raw" / f"{part}.en").write_text("\n".join(renamed) + "\n")
        shutil.rmtree(folder / "toy")

    def _make_text(self, folder: Path) -> None:
        for part in PARTS:
            shutil.copy(folder / "raw" / f"{part}.en", folder / f"{part}.txt")

    def _make_words(self, folder: Path) -> None:
        self._make_text(folder)
        for name in ("tokenized", "bpe"):  # what segmentation leaves as it is
            shutil.copytree(folder / "raw", folder / name)
        shutil.copy(folder / "raw" / "train.de", folder / "tokenized" / "mono.de")
        # Pages call it data-bin, or, beside data in other units, words-bin.
        self.shell.run(f"{WORDS}\nln -s data-bin words-bin\n{TEXT}", folder)

    def _make_trained(self, folder: Path) -> None:
        """Words, models trained for an epoch, and candidate lists."""
        self.shell.run("\n".join([CANDIDATES, *map(_training, MODELS)]), folder)

    def _make_exported(self, folder: Path) -> None:
        """Words, and the model that docs/export.md trains."""
        self.shell.run("\n".join(map(_training, EXPORTED)), folder)

    def _make_large(self, folder: Path) -> None:
        """Many target words, most of them in no text, and a model trained by partitions."""
        dictionaries = [folder / "data-bin" / f"dict.{side}.txt" for side in ("de", "en")]
        source, target = (shutil.move(path, folder / path.name) for path in dictionaries)
        with Path(target).open("a") as file:
            file.writelines(f"rare{number} 1\n" for number in range(MANY))
        shutil.rmtree(folder / "data-bin")
        words = f"{WORDS} --srcdict {source} --tgtdict {target}"
        self.shell.run("\n".join([words, _training("checkpoints/uncorrected.pt")]), folder)

    def _make_research(self, folder: Path) -> None:
        """What the commands for the methods in README.md read."""
        found = sorted({*(folder / "raw" / "train.de").read_text().split()})
        rows = [f"{word} {number} 1 0.5" for number, word in enumerate(found)]
        (folder / "vectors.vec").write_text(f"{len(rows)} 3\n" + "\n".join(rows) + "\n")
        external = (
            WORDS.replace("data-bin", "data-bin-external") + " --srcdict external.de.dict.txt"
        )
        self.shell.run(
            "python data_prep/extract_embeddings.py --vectors vectors.vec "
            f"--train tokenized/train.de --output external.de\n{external}\n"
            "python data_prep/build_subword_table.py lm-bin/dict.txt --units morphs\n"
            "rm words-bin\nmv data-bin words-bin",
            folder,
        )

    def _make_demo(self, folder: Path) -> None:
        """What ``make demo`` leaves, smaller."""
        run = "work/demo/toy/runs/joint/seed1-0/checkpoints"
        self.shell.run(
            "python data_prep/toy_corpus.py --output work/demo/toy/text --train 2000 --valid 20 "
            "--test 200 --vocabulary 200\n"
            "cd work/demo/toy\n"
            "fairseq-preprocess --source-lang src --target-lang tgt --padding-factor 1 "
            "--destdir bin --trainpref text/train --validpref text/valid --testpref text/test\n"
            f"cd -\nfairseq-train work/demo/toy/bin {COMMON} {SMALL} --output-layer joint "
            f"--save-dir {run}\nmv {run}/checkpoint_last.pt {run}/checkpoint_best.pt",
            folder,
        )
