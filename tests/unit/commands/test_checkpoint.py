"""What a checkpoint is said to hold, and that it holds no more."""

import re
import subprocess
import sys

import pytest
import torch

from fairseq_outlayers.analysis.stored_weights import checkpoint_report
from fairseq_outlayers.errors import UserError
from tests.conftest import make_dictionary, make_model, make_task, small_sizes

WIDE = {"embed_dim": 128, "hidden_size": 128, "attention_heads": 4}


def save(model, path):
    """A checkpoint with Adam's moments, as fairseq's trainer makes it."""
    parameters = list(model.parameters())
    optimizer = torch.optim.Adam(parameters)
    sum(parameter.sum() for parameter in parameters).backward()
    optimizer.step()
    state = {"model": model.state_dict(), "last_optimizer_state": optimizer.state_dict()}
    torch.save(state, path)
    return sum(parameter.numel() for parameter in parameters)


def figures(report, title):
    number, megabytes = re.search(rf"{title} +([\d,]+) +([\d,.]+) MB", report).groups()
    return int(number.replace(",", "")), float(megabytes.replace(",", ""))


def test_a_checkpoint_is_as_large_as_its_trained_parameters_and_their_moments(tmp_path):
    model = make_model("esnmt_lstm", make_task(900, 1100), **WIDE).float()
    path = tmp_path / "checkpoint.pt"
    trained = save(model, path)
    assert path.stat().st_size <= 1.01 * trained * 4 * (1 + 2)
    report = checkpoint_report(path)
    regenerated = 4 * 128 * (2 * (256 + 384 + 384) + (384 + 384 + 384))
    assert figures(report, "weights in the file") == (trained, round(trained * 4 / 1e6, 1))
    assert figures(report, "regenerated from seed 1, not in the file")[0] == regenerated
    assert figures(report, "optimizer state")[0] >= 2 * trained
    share = 100 * regenerated / (trained + regenerated)
    assert f"regenerated: {share:.1f}%" in report


def test_moments_of_partitioned_tables_are_optimizer_state(tmp_path):
    path = tmp_path / "checkpoint.pt"
    moments = {"decoder.weight": {"exp_avg": torch.ones(5, 3), "exp_avg_sq": torch.ones(5, 3)}}
    task = {"TranslationOutlayersTask": {"moments": moments}, "train_iterator": {"epoch": 1}}
    state = {"model": {"w": torch.ones(2)}, "last_optimizer_state": {"m": torch.ones(4)}}
    torch.save({**state, "extra_state": task}, path)
    assert figures(checkpoint_report(path), "optimizer state")[0] == 4 + 2 * 15


def test_a_frozen_table_of_both_sides_is_counted_once(tmp_path):
    task = make_task()
    task.source_dictionary = task.target_dictionary
    options = {"release": "softmax", "share_all_embeddings": True}
    model = make_model("esnmt", task, **options)
    apart = make_model("esnmt", make_task(17, 17), release="softmax")
    counts = []
    for each in (model, apart):
        torch.save({"model": each.state_dict()}, tmp_path / "checkpoint.pt")
        report = checkpoint_report(tmp_path / "checkpoint.pt")
        counts.append(figures(report, "regenerated from seed 1, not in the file")[0])
    assert counts[1] - counts[0] == len(task.target_dictionary) * small_sizes("esnmt")["embed_dim"]


def test_nearly_half_of_the_papers_model_is_regenerated(tmp_path, monkeypatch):
    # Without looking for eigenvalues: 72 matrices of 512 x 512 take several seconds.
    monkeypatch.setattr(
        "fairseq_outlayers.reservoirs.reservoir.spectral_radius", lambda matrix: 1.0
    )
    task = make_task()
    task.source_dictionary = task.target_dictionary = make_dictionary(32_000 - 4)
    sizes = {"embed_dim": 512, "hidden_size": 512, "attention_heads": 4}
    model = make_model("esnmt_lstm", task, **sizes, encoder_layers=6, decoder_layers=6)
    path = tmp_path / "checkpoint.pt"
    torch.save({"model": model.float().state_dict()}, path)
    report = checkpoint_report(path)
    assert figures(report, "regenerated from seed 1, not in the file") == (54_525_952, 218.1)
    assert "regenerated: 44.9%" in report


def test_a_model_without_frozen_weights_has_nothing_regenerated(tmp_path):
    path = tmp_path / "checkpoint.pt"
    save(make_model("rnmt_plus", make_task()), path)
    assert "regenerated: 0.0%" in checkpoint_report(path)
    assert "not in the file" not in checkpoint_report(path)


def test_what_is_no_checkpoint_is_said_in_one_line(tmp_path):
    with pytest.raises(UserError, match=r"none.pt: no such checkpoint"):
        checkpoint_report(tmp_path / "none.pt")
    path = tmp_path / "other.pt"
    torch.save({"weights": 1}, path)
    with pytest.raises(UserError, match=r"other.pt: .*no 'model'"):
        checkpoint_report(path)
    path.write_text("text")
    command = [sys.executable, "-m", "fairseq_outlayers", "checkpoint", str(path)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.startswith(f"error: {path} is damaged, or not a checkpoint: ")
    assert len(result.stderr.splitlines()) == 1


def test_a_moving_average_is_listed(tmp_path):
    path = tmp_path / "checkpoint.pt"
    state = {"model": {"w": torch.ones(2)}, "extra_state": {"ema": {"w": torch.ones(2)}}}
    torch.save(state, path)
    assert figures(checkpoint_report(path), r"moving average \(--store-ema\)")[0] == 2
