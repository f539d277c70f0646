"""Partitioned training through fairseq-train: stop and go on, reload, decode, wrong options."""

import json
import os
import re
import shutil
import statistics

import pytest
import torch
from fairseq.data import indexed_dataset

from fairseq_outlayers.__main__ import main
from fairseq_outlayers.analysis import partition_report
from fairseq_outlayers.errors import UserError
from tests.conftest import make_dictionary
from tests.system.commands import PLUGIN, run, succeed
from tests.system.many_words import NUM_WORDS, OPTIONS, PARTITIONS, saved, train

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def data(many_words_data):
    return many_words_data


def moments(checkpoint):
    return checkpoint["extra_state"]["TranslationOutlayersTask"]["moments"]


def logged(result, key):
    lines = re.findall(r"train_inner \| (\{.*\})", result.stdout)
    return [float(json.loads(line)[key]) for line in lines]


@pytest.mark.parametrize(
    "mode",
    [
        ["--partition-mode", "authors"],
        ["--partition-mode", "authors", "--partition-correction", "log_share"],
        ["--reshuffle-partitions", "--update-freq", 2],
    ],
)
def test_training_that_is_resumed_within_an_epoch_ends_bit_for_bit_like_unbroken(
    data, tmp_path, mode
):
    train(data, tmp_path / "unbroken", *mode, "--max-update", 33)
    train(data, tmp_path / "broken", *mode, "--max-update", 17)
    train(data, tmp_path / "broken", *mode, "--max-update", 33)
    unbroken, broken = saved(tmp_path / "unbroken"), saved(tmp_path / "broken")
    assert unbroken["model"]["decoder.embed_tokens.weight"].shape[0] == NUM_WORDS + 4
    for name, table in unbroken["model"].items():
        assert torch.equal(table, broken["model"][name]), name
    assert moments(unbroken)
    for name, found in moments(unbroken).items():
        for key, value in found.items():
            assert torch.equal(value, moments(broken)[name][key]), (name, key)


def test_sums_of_adagrad_start_again_where_the_optimizer_is_reset(data, tmp_path):
    adagrad = ["--optimizer", "adagrad", "--dropout", 0]
    train(data, tmp_path / "first", *adagrad, "--max-update", 3)
    found = {}
    for name, reset in (("resumed", ()), ("reset", ("--reset-optimizer",))):
        shutil.copytree(tmp_path / "first", tmp_path / name)
        train(data, tmp_path / name, *adagrad, *reset, "--max-update", 1 if reset else 4)
        found[name] = moments(saved(tmp_path / name))
    for name, before in moments(saved(tmp_path / "first")).items():
        assert before["sum"].any(), name
        both = before["sum"] + found["reset"][name]["sum"]
        torch.testing.assert_close(found["resumed"][name]["sum"], both)


def test_batches_are_scored_on_their_partition_and_validated_on_all_words(data, tmp_path):
    result = train(data, tmp_path / "run", "--max-epoch", 6)
    shares = logged(result, "sampled_share")
    assert len(set(shares)) > 1
    assert max(shares) <= 60 / (NUM_WORDS + 4) + 1e-4
    options = ["--user-dir", PLUGIN, "--cpu", "--path", tmp_path / "run" / "checkpoint_last.pt"]
    validated = succeed("validate", data, *options, "--task", "translation", "--valid-subset",
                        "valid", "--batch-size", 20).stdout  # fmt: skip
    in_training = re.findall(r'"valid_ppl": "([\d.]+)"', result.stdout)[-1]
    afterwards = re.findall(r"\| ppl ([\d.]+)", validated)[-1]
    assert float(afterwards) == pytest.approx(float(in_training), abs=0.02)
    output = succeed("generate", data, *options, "--gen-subset", "valid", "--beam", 2).stdout
    assert len(re.findall(r"^D-", output, re.MULTILINE)) == 30


@pytest.mark.parametrize("mode", ["paper", "authors"])
def test_tables_in_host_memory_are_trained_and_validated_alike(data, tmp_path, mode):
    options = ["--partition-mode", mode, "--max-epoch", 2]
    with_model = train(data, tmp_path / "model", *options).stdout
    elsewhere = train(data, tmp_path / "cpu", *options, "--table-device", "cpu").stdout
    for name, table in saved(tmp_path / "model")["model"].items():
        assert torch.equal(table, saved(tmp_path / "cpu")["model"][name]), name
    assert re.findall(r'"valid_loss": "([\d.]+)"', elsewhere) == re.findall(
        r'"valid_loss": "([\d.]+)"', with_model
    )


def test_frozen_word_vectors_stay_bit_for_bit_and_the_rest_is_trained(data, tmp_path):
    train(data, tmp_path / "first", "--max-update", 5)
    frozen = ["--freeze-embeddings", "--finetune-from-model",
              tmp_path / "first" / "checkpoint_last.pt", "--max-update", 5]  # fmt: skip
    train(data, tmp_path / "second", *frozen)
    before, after = (saved(tmp_path / name)["model"] for name in ("first", "second"))
    same = {name for name, value in before.items() if torch.equal(value, after[name])}
    tables = {
        "encoder.embed_tokens.weight",
        "decoder.embed_tokens.weight",
        "decoder.output_projection.bias",
    }
    assert {name for name in same if before[name].numel() > 1} == tables


def test_tables_that_the_checkpoint_lacks_are_not_frozen(data, tmp_path):
    train(data, tmp_path / "joint", "--max-update", 2)
    linear = [*OPTIONS, "--output-layer", "linear"]
    del linear[(place := linear.index("--joint-dim")) : place + 2]
    frozen = ["--freeze-embeddings", "--finetune-from-model",
              tmp_path / "joint" / "checkpoint_last.pt", "--max-update", 5]  # fmt: skip
    result = run("train", data, *linear, *PARTITIONS, *frozen, "--save-dir", tmp_path / "linear")
    assert result.returncode != 0
    assert re.search(
        "--freeze-embeddings needs trained embeddings, but .* decoder.output_projection.weight",
        result.stderr.splitlines()[-1],
    )


def without_seconds(printed):
    return re.sub(r"in [\d.]+ s\b", "in N s", printed)


def test_the_plan_of_partitions_is_printed_without_training(data, capsys):
    main(["partitions", str(data), "--partition-size", "60"])
    output = capsys.readouterr().out
    number, pairs = re.match(r"(\d+) partitions of (\d+) sentence pairs", output).groups()
    assert int(number) > 2
    assert pairs == "500"
    assert re.search(rf"target words trained .* of {NUM_WORDS + 4} in the dictionary", output, re.S)

    # Text that was binarized in the other direction, which fairseq-train reads, too.
    pair = re.search(
        r"dict\.(\w+)\.txt.*dict\.(\w+)\.txt", " ".join(sorted(map(str, data.iterdir())))
    )
    for source, target in (pair.groups(), pair.groups()[::-1]):
        languages = ["--source-lang", source, "--target-lang", target]
        main(["partitions", str(data), "--partition-size", "60", *languages])
        plan = without_seconds(capsys.readouterr().out)
        assert " of 500 sentence pairs" in plan
        for language in (["--source-lang", source], ["--target-lang", target]):  # the other follows
            main(["partitions", str(data), "--partition-size", "60", *language])
            assert without_seconds(capsys.readouterr().out) == plan
    plans = set()
    for more in ([], ["--reshuffle-partitions"], ["--reshuffle-partitions", "--seed", "2"],
                 ["--partition-mode", "authors"], ["--source-partition-size", "50"]):  # fmt: skip
        main(["partitions", str(data), "--partition-size", "60", *more])
        plans.add(without_seconds(capsys.readouterr().out))
    assert len(plans) == 5
    with pytest.raises(UserError, match=r"has \w+ and \w+, not zz"):
        main(["partitions", str(data), "--partition-size", "60", "--source-lang", "zz"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--partition-size", 70], "--partition-size 60, but this run has 70"),
        (["--seed", 2], "--seed 1, but this run has 2"),
        (["--update-freq", 2], r"--update-freq \[1\], but this run has \[2\]"),
        (
            ["--partition-correction", "none"],
            "--partition-correction log_share, but this run has none, so the scores of classes",
        ),
    ],
)
def test_a_run_with_other_partitions_does_not_go_on(data, tmp_path, options, message):
    train(data, tmp_path / "run", "--max-update", 3)
    before = (tmp_path / "run" / "checkpoint_last.pt").read_bytes()
    result = train(data, tmp_path / "run", "--max-update", 6, *options, command=run)
    assert result.returncode != 0
    assert re.search(message, result.stderr.splitlines()[-1])
    assert (tmp_path / "run" / "checkpoint_last.pt").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--partition-size", 6], "sentence .* distinct target words.*--partition-size"),
        (["--criterion", "full_softmax"], "--criterion full_softmax does not support"),
        (["--optimizer", "lazy_adam"], "--optimizer lazy_adam updates rows of full tables"),
        (["--store-ema"], "--store-ema would average"),
        (["--partition-size", 0], "--criterion partition_softmax needs partitions"),
        (["--freeze-embeddings"], "give a checkpoint by --finetune-from-model"),
        (["--table-device", "cpu", "--eval-bleu"], "--eval-bleu needs the tables on the model"),
        (["--skip-remainder-batch"], "--skip-remainder-batch would drop"),
    ],
)
def test_options_that_do_not_go_together_are_refused_in_one_line(data, tmp_path, options, message):
    result = train(data, tmp_path / "run", "--max-update", 1, *options, command=run)
    assert result.returncode != 0
    assert re.search(message, result.stderr.splitlines()[-1])
    shutil.rmtree(tmp_path, ignore_errors=True)


def test_without_the_state_of_the_optimizer_no_moments_are_saved(data, tmp_path):
    train(data, tmp_path, "--no-save-optimizer-state", "--max-update", 2)
    assert "TranslationOutlayersTask" not in saved(tmp_path)["extra_state"]


def test_the_printed_plan_is_that_of_a_walk_with_sets(data, capsys):
    specials = {"<s>", "<pad>", "</s>", "<unk>"}
    partitions = [[specials, 0]]
    for line in (data.parent / "train.yy").read_text().splitlines():
        if len(partitions[-1][0] | set(line.split())) > 60:
            partitions.append([specials, 0])
        partitions[-1][0] = partitions[-1][0] | set(line.split())
        partitions[-1][1] += 1
    sizes, sentences = [len(words) for words, _ in partitions], [n for _, n in partitions]
    for mode in ("paper", "authors"):
        main(["partitions", str(data), "--partition-size", "60", "--partition-mode", mode])
        printed = capsys.readouterr().out
        assert printed.startswith(f"{len(partitions)} partitions of 500 ")
        target = sizes if mode == "paper" else [60]
        for title, n in (("sentences", sentences), ("target words trained", target)):
            row = f"{title} +{min(n)} +{int(statistics.median(n))} +{max(n)}\n"
            assert re.search(row, printed)
    assert min(sizes) < 60


TEXTS = {"xx": ["w0", "w0", "w1", "w1"], "yy": ["w0 w1", "w1 w2", "w3 w4", "w5 w5 w5"]}


def binarize(folder, texts):
    """Write texts and dictionaries of two source words and six target words."""
    folder.mkdir(exist_ok=True)
    for language, words in (("xx", 2), ("yy", 6)):
        dictionary = make_dictionary(words)
        dictionary.save(str(folder / f"dict.{language}.txt"))
        path = str(folder / f"train.xx-yy.{language}")
        builder = indexed_dataset.make_builder(f"{path}.bin", "mmap", len(dictionary))
        for line in texts[language]:
            builder.add_item(dictionary.encode_line(line, add_if_not_exist=False))
        builder.finalize(f"{path}.idx")


def test_the_plan_of_several_folders_has_a_table_for_each(tmp_path, capsys, monkeypatch):
    folders = [tmp_path / "one", tmp_path / "two"]
    binarize(folders[0], TEXTS)
    binarize(folders[1], {language: lines[:2] for language, lines in TEXTS.items()})
    joined = os.pathsep.join(map(str, folders))
    main(["partitions", joined, "--partition-size", "7"])
    first, second = without_seconds(capsys.readouterr().out).split("\n\n")
    for table, folder, pairs, partitions in ((first, "one", 4, 2), (second, "two", 2, 1)):
        head = f"{tmp_path / folder}:\n{partitions} partitions of {pairs} sentence pairs ("
        assert table.startswith(head)
        assert table.count("partitions of") == 1

    epochs = []
    monkeypatch.setattr(
        partition_report, "reshuffled", lambda order, _, epoch: epochs.append(epoch) or order
    )
    main(["partitions", joined, "--partition-size", "7", "--reshuffle-partitions"])
    assert epochs == [1, 2]

    make_dictionary(5).save(str(folders[1] / "dict.yy.txt"))
    with pytest.raises(UserError, match=r"two/dict.yy.txt: another dictionary than .*one/dict.yy"):
        main(["partitions", joined, "--partition-size", "7"])


def test_the_printed_plan_has_the_words_of_each_side_by_its_own_dictionary(tmp_path, capsys):
    binarize(tmp_path, TEXTS)
    sizes = ["--partition-size", "7", "--source-partition-size", "5"]
    main(["partitions", str(tmp_path), *sizes])
    # With the specials, the target words of two sentences each are 4 + 3, the source words 4 + 1.
    assert " ".join(without_seconds(capsys.readouterr().out).split()) == (
        "2 partitions of 4 sentence pairs (21 tokens scanned in N s) least median most "
        "sentences 2 2 2 target words trained 7 7 7 of 10 in the dictionary, 7 at most "
        "source words trained 5 5 5 of 6 in the dictionary, 5 at most"
    )


@pytest.mark.parametrize(("optimizer", "state"), [("adadelta", "square_avg"), ("adagrad", "sum")])
def test_the_optimizers_state_of_other_partitions_is_refused(data, tmp_path, optimizer, state):
    train(data, tmp_path / "run", "--optimizer", optimizer, "--max-update", 2)
    other = ["--partition-size", 70, "--reset-dataloader", "--max-update", 4]
    result = train(data, tmp_path / "run", "--optimizer", optimizer, *other, command=run)
    assert result.returncode != 0
    assert re.search(f"has {state} of .*--reset-optimizer", result.stderr.splitlines()[-1])
