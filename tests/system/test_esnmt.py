"""Echo state models through fairseq's commands: frozen weights survive saving and resuming."""

import json
import re

import pytest
import torch

from tests.system.backwards import translations
from tests.system.commands import PLUGIN, run, succeed

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def data(backwards_data):
    return backwards_data


MODEL = [
    "--embed-dim",
    "32",
    "--hidden-size",
    "32",
    "--encoder-layers",
    "3",
    "--decoder-layers",
    "3",
    "--dropout",
    "0",
]
TRAINING = (
    f"--user-dir {PLUGIN} --cpu --optimizer adam --lr 0.005 --clip-norm 1 --max-tokens 600 "
    "--num-workers 0 --no-epoch-checkpoints --log-format json --log-interval 10 "
    "--gamma-init 1 --input-norm fan_in --criterion label_smoothed_cross_entropy"
).split()


def statistics(log, tag):
    return [json.loads(line) for line in re.findall(rf"\| {tag} \| (\{{.*\}})", log)]


def test_a_trained_checkpoint_is_slim_logged_reported_and_decodes_alike_in_any_batch(
    data,
    tmp_path,
):
    options = [*TRAINING, *MODEL, "--arch", "esnmt_lstm", "--dropout", 0, "--store-ema"]
    options += ["--max-epoch", 2, "--max-update", 60, "--save-dir", tmp_path]
    log = succeed("train", data / "bin", *options).stdout
    first, last = (statistics(log, "train")[index] for index in (0, -1))
    assert float(last["train_loss"]) < float(first["train_loss"])
    for name in ("encoder_forward_0", "encoder_backward_2", "decoder_1"):
        assert float(first[f"train_radius_{name}"]) != float(last[f"train_radius_{name}"])
        assert 0 <= float(last[f"train_saturation_{name}"]) < 0.5
    checkpoint = tmp_path / "checkpoint_last.pt"
    state = torch.load(checkpoint, weights_only=False)  # made by this test
    kept = [tensor.numel() for tensor in state["model"].values() if tensor.is_floating_point()]
    assert sum(kept) < 20_000  # of 120,000
    common = ["--user-dir", PLUGIN, "--cpu", "--num-workers", 0, "--path", checkpoint]
    options = ["--beam", 2, "--max-len-a", 1, "--max-len-b", 3]
    one_by_one = succeed("generate", data / "bin", *common, *options, "--max-sentences", 1)
    together = succeed("generate", data / "bin", *common, *options, "--left-pad-source")
    assert translations(together.stdout) == translations(one_by_one.stdout)


def test_resuming_equals_training_without_a_break_bit_for_bit(staircase, tmp_path):
    options = [*TRAINING, *MODEL, "--arch", "esnmt", "--dropout", 0.2]
    straight, broken = tmp_path / "straight", tmp_path / "broken"
    succeed("train", staircase, *options, "--max-epoch", 2, "--save-dir", straight)
    for epochs in (1, 2):
        succeed("train", staircase, *options, "--max-epoch", epochs, "--save-dir", broken)
    states = [torch.load(folder / "checkpoint_last.pt", weights_only=False)["model"]
              for folder in (straight, broken)]  # fmt: skip
    for name, tensor in states[0].items():
        assert torch.equal(tensor, states[1][name]), name
    result = run("train", staircase, *options, "--max-epoch", 3, "--reservoir-seed", 2,
                 "--save-dir", broken)  # fmt: skip
    assert result.returncode == 1
    assert "pass --reservoir-seed 1" in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr
