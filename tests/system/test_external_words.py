"""Words first met in testing reach the model through their own external vectors.

Through the commands that a user runs: a table, fairseq-preprocess with its dictionary, training,
translation. Words of two kinds, told apart by their vectors alone, are to be written as A and B.
"""

import random
import re
import subprocess
import sys

import pytest
import torch

from tests.system.commands import PLUGIN, ROOT, succeed

pytestmark = pytest.mark.system

KINDS = {"a": (1, 0, 1), "b": (0, 1, -1)}
WORDS = 30  # of each kind; the last five are in no training sentence
TRAINING = (
    f"--user-dir {PLUGIN} --cpu --arch nematus_mix_sum --embed-dim 16 --hidden-size 16 "
    "--init-std 0.1 --optimizer adam --lr 0.01 --clip-norm 1 --max-tokens 100 --max-epoch 6 "
    "--num-workers 0 --no-epoch-checkpoints --criterion full_softmax"
).split()


def write_sentences(folder, split, number, words, generator):
    rows = [generator.choices(words, k=generator.randint(1, 4)) for _ in range(number)]
    for side, lines in (("xx", rows), ("yy", [[word[0].upper() for word in r] for r in rows])):
        text = "".join(" ".join(line) + "\n" for line in lines)
        (folder / f"{split}.{side}").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Binarized sentences and a table of noisy vectors."""
    folder = tmp_path_factory.mktemp("kinds")
    generator = random.Random(1)
    words = [f"{kind}{number}" for number in range(WORDS) for kind in KINDS]
    seen, unseen = words[:-10], words[-10:]
    write_sentences(folder, "train", 600, seen, generator)
    write_sentences(folder, "valid", 30, seen, generator)
    write_sentences(folder, "test", 30, unseen, generator)
    with open(folder / "v.vec", "w", encoding="utf-8") as file:
        file.write(f"{len(words)} 3\n")
        for word in words:
            numbers = [x + generator.gauss(0, 0.1) for x in KINDS[word[0]]]
            file.write(f"{word} {' '.join(f'{x:.4f}' for x in numbers)}\n")
    subprocess.run(
        [sys.executable, ROOT / "data_prep/extract_embeddings.py", "--vectors", folder / "v.vec",
         "--train", folder / "train.xx", "--output", folder / "table"],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    prefixes = [f"--{split}pref={folder / split}" for split in ("train", "valid", "test")]
    succeed("preprocess", "--source-lang", "xx", "--target-lang", "yy", "--padding-factor", 1,
            *prefixes, "--srcdict", folder / "table.dict.txt",
            "--destdir", folder / "bin")  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def trained(data):
    succeed("train", data / "bin", *TRAINING, "--external-embeddings", data / "table.npy",
            "--save-dir", data / "trained")  # fmt: skip
    return data / "trained" / "checkpoint_last.pt"


def translations(output):
    """Hypotheses by sentence number."""
    return {int(n): text for n, text in re.findall(r"^D-(\d+)\t\S+\t(.*)$", output, re.MULTILINE)}


COMMON = ["--user-dir", PLUGIN, "--cpu", "--beam", 3]


def test_unseen_words_are_translated_by_their_vectors(data, trained):
    output = succeed("generate", data / "bin", *COMMON, "--path", trained, "--num-workers", 0)
    hypotheses = translations(output.stdout)
    references = (data / "test.yy").read_text(encoding="utf-8").splitlines()
    right = sum(hypotheses[number] == line for number, line in enumerate(references))
    assert right >= 0.9 * len(references)


def test_interactive_translates_two_unseen_words_differently_from_a_table_that_has_moved(
    data, trained, tmp_path
):
    for name in ("table.npy", "table.npy.json"):
        (tmp_path / name).write_bytes((data / name).read_bytes())
    moved = f"{{'external_embeddings': '{tmp_path / 'table.npy'}'}}"
    options = [*COMMON, "--path", trained, "--model-overrides", moved]
    result = succeed("interactive", data / "bin", *options, stdin="a29 b28\nb28 a29\n")
    assert list(translations(result.stdout).values()) == ["A B", "B A"]


def test_the_checkpoint_names_the_table_and_holds_none_of_it(data, trained):
    state = torch.load(trained, weights_only=False)  # made by this test
    shapes = [tuple(tensor.shape) for tensor in state["model"].values()]
    symbols = 4 + 2 * WORDS
    assert (symbols, 3) not in shapes
    assert (symbols - 10, 16) in shapes  # embeddings of the words seen in training alone
    assert state["cfg"]["model"]["external_embeddings"] == str(data / "table.npy")
