"""Language models over a continuous text: train, resume in mid-epoch, two workers, evaluate."""

import random
import re
import shutil

import pytest
import torch

from fairseq_outlayers.__main__ import main
from tests.system.commands import PLUGIN, on_two_processes, run, succeed

pytestmark = pytest.mark.system

STEMS, ENDINGS = ["walk", "talk", "jump", "call", "turn", "look"], ["", "s", "ed", "ing"]
TRAINING = (
    f"--user-dir {PLUGIN} --cpu --task subword_language_modeling --tokens-per-sample 5 "
    "--criterion full_softmax --sentence-avg --optimizer sgd --lr 1 --clip-norm 5 --num-workers 0 "
    "--lr-scheduler fixed --force-anneal 2 --lr-shrink 0.9 --no-epoch-checkpoints "
    "--log-format json --arch subword_lm --hidden-size 16 --dropout 0.3"
).split()
COLUMNS = ["--batch-size", 4]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Sentences whose words follow each other in a fixed order, so that there is much to learn."""
    folder = tmp_path_factory.mktemp("stream")
    generator = random.Random(1)
    for split, size in (("train", 60), ("valid", 13)):
        lines = []
        for _ in range(size):
            first = generator.randrange(len(STEMS))
            words = [STEMS[(first + k) % 6] + ENDINGS[(first + k) % 4] for k in range(6)]
            lines.append(" ".join(words))
        (folder / split).write_text("\n".join(lines) + "\n", encoding="utf-8")
    prefixes = [f"--{split}pref={folder / split}" for split in ("train", "valid")]
    succeed("preprocess", "--only-source", *prefixes, "--destdir", folder / "bin",
            "--padding-factor", 1)  # fmt: skip
    words = (folder / "bin" / "dict.txt").read_text(encoding="utf-8").split("\n")[:-1]
    table = []
    for word in (line.split(" ")[0] for line in words):
        stem = next(stem for stem in STEMS if word.startswith(stem))
        table.append(f"{word}\t{' '.join(filter(None, [stem, word.removeprefix(stem)]))}\n")
    (folder / "bin" / "morphs.txt").write_text("".join(table), encoding="utf-8")
    return folder / "bin"


def parameters(save_dir):
    state = torch.load(save_dir / "checkpoint_last.pt", weights_only=False)  # made by this test
    return state["model"]


def statistic(log, tag, name):
    return float(re.findall(rf'\| {tag} \| .*"{name}": "([\d.]+)"', log)[-1])


def perplexity(data, checkpoint, *options):
    result = succeed("eval_lm", data, "--user-dir", PLUGIN, "--cpu", "--path", checkpoint,
                     "--gen-subset", "valid", "--task", "subword_language_modeling",
                     "--num-workers", 0, *options)  # fmt: skip
    return float(re.findall(r"Perplexity: ([\d.]+)", result.stdout + result.stderr)[-1])


@pytest.fixture(scope="module")
def straight(data, tmp_path_factory):
    """The folder of 25 updates without a break, and what was said about them."""
    save_dir = tmp_path_factory.mktemp("straight")
    # 60 sentences of 7 words in 4 columns of 105 words: 21 windows an epoch.
    result = succeed("train", data, *TRAINING, *COLUMNS, "--max-update", 25, "--save-dir", save_dir)
    return save_dir, result.stdout


def test_evaluation_agrees_with_training_and_does_not_depend_on_the_windows(data, straight):
    save_dir, log = straight
    checkpoint = save_dir / "checkpoint_last.pt"
    expected = statistic(log, "valid", "valid_ppl")
    found = perplexity(data, checkpoint, "--batch-size", 4, "--tokens-per-sample", 1000)
    assert found == pytest.approx(expected, abs=0.01)
    # Well below that of a uniform guess: something was learnt.
    assert found < 0.6 * (4 + len(STEMS) * 4)


def test_resuming_within_an_epoch_equals_training_without_a_break_bit_for_bit(
    data, straight, tmp_path
):
    for updates in (9, 25):
        halfway = parameters(tmp_path) if updates > 9 else {}
        succeed("train", data, *TRAINING, *COLUMNS, "--max-update", updates, "--save-dir", tmp_path)
    expected = parameters(straight[0])
    for name, tensor in parameters(tmp_path).items():
        assert torch.equal(tensor, expected[name]), name
    assert any(not torch.equal(tensor, halfway[name]) for name, tensor in expected.items())


def test_the_vectors_of_a_trained_model_can_be_looked_into(data, straight, capsys):
    checkpoint = str(straight[0] / "checkpoint_last.pt")
    main(["principal-components", checkpoint, "--data", str(data)])
    rows = capsys.readouterr().out.splitlines()
    # All is tied: what is read is what is scored.
    assert rows[2].replace("input", "output") == rows[3]
    main(["transform-gates", checkpoint])
    rows = capsys.readouterr().out.splitlines()
    assert [row.split(" | ")[1:3] for row in rows[2:]] == [["both", "hw1"], ["both", "hw2"]]
    valid = str(data.parent / "valid")
    main(["open-vocabulary", checkpoint, "--text", valid])
    known, composed, _, together = capsys.readouterr().out.splitlines()[2:]
    # Every word is in the dictionary: the perplexity is that of one column.
    assert composed == "| composed | 0 | 0 | - |"
    assert known.split(" | ")[3] == together.split(" | ")[3]
    expected = perplexity(data, checkpoint)
    assert float(together.split(" | ")[3].rstrip(" |")) == pytest.approx(expected, abs=0.01)


TABLES = {
    "a word with no units": lambda rows: [f"{rows[0].split(chr(9))[0]}\t\n", *rows[1:]],
    "another dictionary": lambda rows: rows[1:],
}


@pytest.mark.parametrize(
    ("changed", "options", "message"),
    [
        ("a word with no units", [], r"morphs\.txt:1: the word '\w+' has no units"),
        (
            "another dictionary",
            [],
            r"morphs\.txt: lacks 1 of the \d+ words of .*another dictionary",
        ),
        (None, ["--tokens-per-sample", 0], "--tokens-per-sample 0: must be at least 1"),
        (None, ["--batch-size", 421], "421 columns, but it has only 420 words"),
    ],
)
def test_bad_input_ends_training_with_one_line_that_says_what_to_do(
    data, tmp_path, changed, options, message
):
    folder = shutil.copytree(data, tmp_path / "bin")
    if changed:
        table = folder / "morphs.txt"
        rows = table.read_text(encoding="utf-8").splitlines(keepends=True)
        table.write_text("".join(TABLES[changed](rows)), encoding="utf-8")
    result = run("train", folder, *TRAINING, *COLUMNS, "--max-update", 1, "--save-dir", tmp_path,
                 *options)  # fmt: skip
    assert result.returncode == 1
    assert re.search(message, result.stderr.strip().splitlines()[-1])
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.glob("*.pt"))


def train_on_two(data, *options):
    """Two processes with one model, told of each other by fairseq's own options."""
    on_two_processes(
        "train", data, *options,
        "--ddp-backend", "legacy_ddp", "--distributed-backend", "gloo",
        "--distributed-world-size", 2, "--distributed-init-method", "env://",
        "--distributed-no-spawn", "--load-checkpoint-on-all-dp-ranks",
        each=lambda rank: ["--distributed-rank", rank, "--device-id", rank],
    )  # fmt: skip


def test_two_workers_train_the_model_of_one_which_can_resume_what_they_began(
    data, straight, tmp_path
):
    # Every worker draws the same dropout mask for all rows, so dropout is no obstacle.
    train_on_two(data, *TRAINING, "--batch-size", 2, "--max-update", 9, "--save-dir", tmp_path)
    succeed("train", data, *TRAINING, *COLUMNS, "--max-update", 25, "--save-dir", tmp_path)
    expected = parameters(straight[0])
    for name, tensor in parameters(tmp_path).items():
        torch.testing.assert_close(tensor, expected[name], rtol=1e-4, atol=1e-5, msg=name)
