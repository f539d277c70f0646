"""``--partition-correction`` through fairseq-train, and the command that corrects a checkpoint."""

import re

import numpy as np
import pytest
import torch

from fairseq_outlayers.__main__ import main
from fairseq_outlayers.errors import UserError
from tests.system.commands import PLUGIN, run, succeed
from tests.system.many_words import NUM_WORDS, PARTITIONS, saved, train

pytestmark = pytest.mark.system

BIAS = "decoder.output_projection.bias"
ONE_PARTITION = ["--partition-size", NUM_WORDS + 4]


@pytest.fixture(scope="module")
def data(many_words_data):
    return many_words_data


@pytest.fixture(scope="module")
def uncorrected(data, tmp_path_factory):
    """A checkpoint after an epoch and a bit, moments included."""
    folder = tmp_path_factory.mktemp("uncorrected")
    train(data, folder, "--partition-correction", "none", "--max-update", 30)
    return folder / "checkpoint_last.pt"


def correct(path, output, *options):
    main(["partition-correction", "--path", str(path), "--output", str(output), *options])
    return torch.load(output, weights_only=False)


def counted_shares(folder, order=range(500)):
    """The share of tokens that the partitions of each word have."""
    return counted_shares_of(folder.parent / "train.yy", folder / "dict.yy.txt", order)


def counted_shares_of(text, dictionary, order=None):
    """Walk a text with sets."""
    words = [line.split()[0] for line in dictionary.read_text().splitlines()]
    number = {word: 4 + place for place, word in enumerate(words)}
    text = text.read_text().splitlines()
    order = range(len(text)) if order is None else order
    partitions, seen, tokens = [], {0, 1, 2, 3}, 0
    for line in (text[sentence] for sentence in order):
        ids = {number[word] for word in line.split()}
        if len(seen | ids) > PARTITIONS[1]:
            partitions.append((seen, tokens))
            seen, tokens = {0, 1, 2, 3}, 0
        seen = seen | ids
        tokens += len(line.split()) + 1  # and the end of the sentence
    partitions.append((seen, tokens))
    assert len(partitions) > 2
    counts = np.zeros(4 + len(words))
    for inside, tokens in partitions:
        counts[list(inside)] += tokens
    return counts / sum(tokens for _, tokens in partitions)


def test_the_option_acts_by_default_and_either_way_when_named(data, tmp_path):
    found = {}
    for name, options in {
        "by_mode": [],
        "log_share": ["--partition-correction", "log_share"],
        "none": ["--partition-correction", "none"],
    }.items():
        train(data, tmp_path / name, *options, "--max-update", 8)
        found[name] = saved(tmp_path / name)["model"][BIAS]
    assert torch.equal(found["by_mode"], found["log_share"])
    assert not torch.equal(found["none"], found["log_share"])


def test_with_one_partition_the_correction_changes_no_bit(data, tmp_path):
    for correction in ("none", "log_share"):
        options = [*ONE_PARTITION, "--partition-correction", correction, "--max-update", 8]
        train(data, tmp_path / correction, *options)
    none, log_share = (saved(tmp_path / name)["model"] for name in ("none", "log_share"))
    for name, table in none.items():
        assert torch.equal(table, log_share[name]), name


@pytest.mark.parametrize("mode", [[], ["--reshuffle-partitions", "--update-freq", 2]])
def test_a_new_model_trains_as_an_uncorrected_one_but_for_its_biases(data, tmp_path, mode):
    """They start at what is subtracted, so all training scores are the same up to rounding."""
    for correction in ("none", "log_share"):
        options = [*mode, "--partition-correction", correction, "--max-update", 12]
        train(data, tmp_path / correction, *options)
    none, log_share = (saved(tmp_path / name)["model"] for name in ("none", "log_share"))
    orders = [range(500)]
    if mode:
        orders = [np.random.default_rng((1, epoch)).permutation(500) for epoch in range(1, 9)]
    added = np.log(np.mean([counted_shares(data, order) for order in orders], axis=0))
    found = (log_share[BIAS] - none[BIAS]).double()
    torch.testing.assert_close(found, torch.from_numpy(added), atol=1e-4, rtol=0)
    for name in set(none) - {BIAS}:
        torch.testing.assert_close(log_share[name], none[name], atol=1e-4, rtol=0, msg=name)


def test_hydra_takes_either_value(data, tmp_path):
    overrides = [
        f"common.user_dir={PLUGIN}", "common.cpu=true", "++task._name=translation_outlayers",
        f"+task.data={data}", "+task.source_lang=xx", "+task.target_lang=yy",
        "+task.partition_size=60", "+model._name=luong_lstm", "+model.embed_dim=8",
        "+model.hidden_size=8", "++criterion._name=partition_softmax", "+optimizer._name=adam",
        "+criterion.partition_correction=none", "optimization.lr=[0.01]", "dataset.batch_size=20",
        "dataset.num_workers=0", "optimization.max_update=2", f"checkpoint.save_dir={tmp_path}",
        f"hydra.run.dir={tmp_path}",
    ]  # fmt: skip
    succeed("hydra_train", *overrides)
    assert saved(tmp_path)["cfg"]["criterion"]["partition_correction"] == "none"


def test_the_command_adds_counted_shares_to_the_biases_and_changes_nothing_else(
    data, uncorrected, tmp_path, capsys
):
    before = saved(uncorrected.parent)
    content = uncorrected.read_bytes()
    after = correct(uncorrected, tmp_path / "corrected.pt")
    expected = np.log(counted_shares(data))
    found = (after["model"][BIAS] - before["model"][BIAS]).double().numpy()
    np.testing.assert_allclose(found, expected, atol=1e-6)
    others = [name for name in before["model"] if name != BIAS]
    assert all(torch.equal(before["model"][name], after["model"][name]) for name in others)
    assert uncorrected.read_bytes() == content
    assert f"from {expected.min():.3f} to 0.000" in capsys.readouterr().out


def test_the_command_counts_raw_text_and_no_padding_of_buckets(data, uncorrected, tmp_path):
    raw = tmp_path / "raw"
    prefixes = ["--trainpref", data.parent / "train", "--validpref", data.parent / "valid"]
    words = ["--srcdict", data / "dict.xx.txt", "--tgtdict", data / "dict.yy.txt"]
    succeed("preprocess", "-s", "xx", "-t", "yy", *prefixes, *words, "--dataset-impl", "raw",
            "--destdir", raw)  # fmt: skip
    expected = np.log(counted_shares(data))
    for number, (stored, named) in enumerate(((raw, []), (raw, ["--data", str(data)]), (data, []))):
        state = torch.load(uncorrected, weights_only=False)
        impl = "raw" if stored == raw else None
        state["cfg"]["task"].update(data=str(stored), dataset_impl=impl, num_batch_buckets=1)
        torch.save(state, tmp_path / "old.pt")
        after = correct(tmp_path / "old.pt", tmp_path / f"{number}.pt", *named)
        found = (after["model"][BIAS] - state["model"][BIAS]).double().numpy()
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_what_the_command_adds_is_what_training_subtracts(data, uncorrected, tmp_path):
    """Training goes on from either checkpoint alike, but for the biases."""
    options = ["--max-update", 36]
    (tmp_path / "none").mkdir(), (tmp_path / "corrected").mkdir()
    (tmp_path / "none" / "checkpoint_last.pt").write_bytes(uncorrected.read_bytes())
    correct(uncorrected, tmp_path / "corrected" / "checkpoint_last.pt")
    train(data, tmp_path / "none", *options, "--partition-correction", "none")
    train(data, tmp_path / "corrected", *options, "--partition-correction", "log_share")
    none, corrected = (saved(tmp_path / name)["model"] for name in ("none", "corrected"))
    added = torch.from_numpy(np.log(counted_shares(data)))
    torch.testing.assert_close(corrected[BIAS].double(), none[BIAS] + added, atol=1e-4, rtol=0)
    for name in set(none) - {BIAS}:
        torch.testing.assert_close(corrected[name], none[name], atol=1e-4, rtol=0, msg=name)
    result = train(data, tmp_path / "corrected", "--partition-correction", "none", command=run)
    assert result.returncode != 0
    assert "--partition-correction log_share, but this run has none" in result.stderr


def test_of_reshuffled_partitions_the_command_adds_the_mean_over_orders(data, tmp_path):
    options = ["--reshuffle-partitions", "--partition-correction", "none", "--max-update", 3]
    train(data, tmp_path, *options, "--seed", 3)
    after = correct(tmp_path / "checkpoint_last.pt", tmp_path / "corrected.pt")
    added = (after["model"][BIAS] - saved(tmp_path)["model"][BIAS]).double().numpy()
    orders = [np.random.default_rng((3, epoch)).permutation(500) for epoch in range(1, 9)]
    expected = np.mean([counted_shares(data, order) for order in orders], axis=0)
    np.testing.assert_allclose(added, np.log(expected), atol=1e-6)


def test_nothing_is_overwritten_and_mistakes_are_one_line(data, uncorrected, tmp_path):
    output = tmp_path / "corrected.pt"
    correct(uncorrected, output)
    content = output.read_bytes()
    train(data, tmp_path / "whole", "--partition-size", 0, "--criterion", "full_softmax",
          "--max-update", 1)  # fmt: skip
    train(data, tmp_path / "no_bias", "--no-class-bias", "--partition-correction", "none",
          "--max-update", 1)  # fmt: skip
    empty = tmp_path / "no_text"
    empty.mkdir()
    for name in ("dict.xx.txt", "dict.yy.txt"):
        (empty / name).write_text((data / name).read_text())
    new = tmp_path / "new.pt"
    for path, target, options, message in (
        (uncorrected, output, [], f"--output {output}: already exists"),
        (uncorrected, tmp_path / "none" / "x.pt", [], ": no folder .*none"),
        (output, new, [], "its scores are corrected already"),
        (tmp_path / "whole" / "checkpoint_last.pt", new, [], "not trained with --partition-size"),
        (tmp_path / "no_bias" / "checkpoint_last.pt", new, [], "with --no-class-bias"),
        (uncorrected, new, ["--data", str(empty)], f"{empty}: has no training text"),
        (tmp_path / "nothing.pt", new, [], "nothing.pt: no such checkpoint"),
    ):
        with pytest.raises(UserError, match=message) as raised:
            correct(path, target, *options)
        assert "\n" not in str(raised.value)
    assert output.read_bytes() == content
    assert not new.exists()


def test_a_checkpoint_from_before_the_correction_goes_on_without_it(data, uncorrected, tmp_path):
    """Older checkpoints say nothing of it; the default of today is refused, ``none`` goes on."""
    state = saved(uncorrected.parent)
    del state["cfg"]["criterion"]["partition_correction"]
    del state["extra_state"]["train_iterator"]["partitions"]["--partition-correction"]
    torch.save(state, tmp_path / "checkpoint_last.pt")
    result = train(data, tmp_path, "--max-update", 31, command=run)
    assert re.search("trained with --partition-correction none, but this run has log_share",
                     result.stderr.splitlines()[-1])  # fmt: skip
    train(data, tmp_path, "--max-update", 31, "--partition-correction", "none")
    assert correct(tmp_path / "checkpoint_last.pt", tmp_path / "corrected.pt")


def test_uncorrected_scores_are_not_fine_tuned_with_the_correction(data, uncorrected, tmp_path):
    options = ["--finetune-from-model", uncorrected, "--max-update", 2]
    refused = train(data, tmp_path / "refused", *options, command=run)
    assert refused.returncode == 1
    assert f"{uncorrected}: was trained with --partition-correction none" in refused.stderr
    train(data, tmp_path / "none", *options, "--partition-correction", "none")
    correct(uncorrected, tmp_path / "corrected.pt")
    options[1] = tmp_path / "corrected.pt"
    train(data, tmp_path / "corrected", *options)


def test_the_shares_of_several_data_folders_are_those_of_all(data, tmp_path):
    """fairseq trains on one folder per epoch; the biases are for all of them."""
    folders, counted = [], []
    for part in (0, 1):
        folder = tmp_path / str(part)
        folder.mkdir()
        for side in ("xx", "yy"):
            lines = (data.parent / f"train.{side}").read_text().splitlines(keepends=True)
            size = 180 if part == 0 else 320
            chosen = lines[:size] if part == 0 else lines[-size:]
            (folder / f"train.{side}").write_text("".join(chosen))
        texts = ["--trainpref", folder / "train", "--validpref", data.parent / "valid"]
        words = ["--srcdict", data / "dict.xx.txt", "--tgtdict", data / "dict.yy.txt"]
        languages = ["--source-lang", "xx", "--target-lang", "yy", "--padding-factor", "1"]
        succeed("preprocess", *languages, *texts, *words, "--destdir", folder / "bin")
        (folder / "dict.yy.txt").write_text((data / "dict.yy.txt").read_text())
        folders.append(folder / "bin")
        counted.append(counted_shares_of(folder / "train.yy", data / "dict.yy.txt"))
    texts = [(folder.parent / "train.yy").read_text() for folder in folders]
    tokens = np.array([len(text.split()) + text.count("\n") for text in texts])
    shares = np.average(counted, axis=0, weights=tokens)
    expected = torch.from_numpy(np.log(np.maximum(shares, 1 / tokens.sum())))
    both = ":".join(map(str, folders))
    for correction in ("none", "log_share"):
        train(both, tmp_path / correction, "--partition-correction", correction, "--max-epoch", 3)
    none, log_share = (saved(tmp_path / name)["model"] for name in ("none", "log_share"))
    found = (log_share[BIAS] - none[BIAS]).double()
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)
    after = correct(tmp_path / "none" / "checkpoint_last.pt", tmp_path / "corrected.pt")
    added = (after["model"][BIAS] - none[BIAS]).double()
    torch.testing.assert_close(added, expected, atol=1e-6, rtol=0)


def test_corrected_training_does_not_start_from_an_uncorrected_model(data, uncorrected, tmp_path):
    """Neither with new batches: what training subtracts is not in the model's biases."""
    options = ["--partition-correction", "log_share", "--max-update", 40]
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "checkpoint_last.pt").write_bytes(uncorrected.read_bytes())
    for start in (
        ["a", "--finetune-from-model", uncorrected],
        ["b", "--restore-file", uncorrected, "--reset-dataloader"],
        ["own", "--reset-dataloader"],
    ):
        result = train(data, tmp_path / start[0], *options, *start[1:], command=run)
        assert result.returncode != 0
        assert "its scores lack what this training subtracts" in result.stderr.splitlines()[-1]
    content = (tmp_path / "own" / "checkpoint_last.pt").read_bytes()
    assert content == uncorrected.read_bytes()
    corrected = tmp_path / "corrected.pt"
    correct(uncorrected, corrected)
    train(data, tmp_path / "c", *options, "--restore-file", corrected, "--reset-dataloader")
