"""Train, save, reload and decode: the whole way through fairseq's commands, on a toy task."""

import re
import shutil

import pytest
import torch

from fairseq_outlayers.__main__ import main
from fairseq_outlayers.errors import UserError
from tests.system.backwards import (
    LETTERS,
    LSTM,
    SAMPLED,
    SIZES,
    TRAINING,
    TRANSFORMER,
    generate,
    translations,
)
from tests.system.commands import PLUGIN, run, succeed

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def data(backwards_data):
    return backwards_data


def test_a_trained_model_writes_every_test_sentence_backwards(data, trained):
    output = translations(generate(data, trained, "--beam", 3))
    references = (data / "test.yy").read_text(encoding="utf-8").splitlines()
    assert sorted(output) == list(range(SIZES["test"]))
    right = sum(output[n] == reference for n, reference in enumerate(references))
    assert right >= 0.9 * SIZES["test"]


def test_hypotheses_do_not_depend_on_batch_size_or_padding(data, trained):
    one_by_one = translations(generate(data, trained, "--beam", 3, "--max-sentences", 1))
    together = generate(data, trained, "--beam", 3, "--max-sentences", 64)
    assert translations(together) == one_by_one
    right_padded = generate(data, trained, "--beam", 3, "--left-pad-source")
    assert translations(right_padded) == one_by_one


def test_interactive_translates_what_it_reads(data, trained):
    options = ["--user-dir", PLUGIN, "--cpu", "--path", trained, "--beam", 3]
    result = succeed("interactive", data / "bin", *options, stdin="a b c\nh g\n")
    assert list(translations(result.stdout).values()) == ["C B A", "G H"]


def test_alignments_name_positions_of_the_source_as_written(data, trained):
    output = generate(data, trained, "--beam", 3, "--print-alignment", "hard")
    pairs = re.findall(r"^A-(\d+)\t(.*)$", output, re.MULTILINE)
    assert len(pairs) == SIZES["test"]
    # Written backwards: target position t comes from source position length - 1 - t.
    expected = right = 0
    sources = (data / "test.xx").read_text(encoding="utf-8").splitlines()
    for number, alignment in pairs:
        length = len(sources[int(number)].split())
        for source, target in (map(int, pair.split("-")) for pair in alignment.split()):
            expected += 1
            right += source == length - 1 - target
    assert right >= 0.7 * expected > 0


def test_an_ensemble_of_a_model_with_itself_decodes_like_the_model(data, trained):
    alone = translations(generate(data, trained, "--beam", 3))
    assert translations(generate(data, f"{trained}:{trained}", "--beam", 3)) == alone


def test_a_word_added_by_its_description_is_written_in_the_place_of_the_described(
    data, trained, tmp_path, capsys
):
    before = translations(generate(data, trained, "--beam", 1))
    extended = tmp_path / "bin"
    described = [line.split()[0] for line in (data / "bin/dict.yy.txt").open()].index("A") + 4
    bias = final_parameters(trained.parent)["decoder.output_projection.bias"][described].item()
    (tmp_path / "new.tsv").write_text("Alpha\tA\n")
    arguments = ["--path", trained, "--data", data / "bin", "--descriptions", tmp_path / "new.tsv",
                 "--bias", bias + 1e-5, "--output"]  # fmt: skip
    main(["unseen-words", *map(str, [*arguments, extended])])
    with pytest.raises(UserError, match="already exists there"):
        main(["unseen-words", *map(str, [*arguments, data / "bin"])])
    for path in (data / "bin").glob("test.*"):  # the known words have the same ids
        shutil.copy(path, extended)
    after = translations(generate(tmp_path, extended / "checkpoint.pt", "--beam", 1))
    assert after == {number: text.replace("A", "Alpha") for number, text in before.items()}
    assert any("Alpha" in text for text in after.values())
    capsys.readouterr()
    # The checkpoint names its own dictionaries: no --data.
    main(["neighbours", "--path", str(extended / "checkpoint.pt"), "--words", "Alpha"])
    assert "1.00 A" in capsys.readouterr().out


def final_parameters(save_dir):
    state = torch.load(save_dir / "checkpoint_last.pt", weights_only=False)  # made by this test
    return state["model"]


@pytest.mark.parametrize(
    ("arch", "criterion"),
    [
        (LSTM, ["full_softmax"]),
        (TRANSFORMER, ["full_softmax"]),
        (LSTM, SAMPLED),
        (LSTM, [*SAMPLED, "--optimizer", "lazy_adam", "--update-freq", 2, "--store-ema"]),
    ],
    ids=["luong_lstm", "transformer", "sampled_softmax", "lazy_adam"],
)
def test_resuming_equals_training_without_a_break_bit_for_bit(staircase, tmp_path, arch, criterion):
    options = [*TRAINING, *arch, "--output-layer", "tied", "--criterion", *criterion,
               "--label-smoothing", 0.1, "--dropout", 0.2, "--max-tokens", 200]  # fmt: skip
    straight, broken = tmp_path / "straight", tmp_path / "broken"
    succeed("train", staircase, *options, "--max-epoch", 2, "--save-dir", straight)
    succeed("train", staircase, *options, "--max-epoch", 1, "--save-dir", broken)
    halfway = final_parameters(broken)
    succeed("train", staircase, *options, "--max-epoch", 2, "--save-dir", broken)
    expected = final_parameters(straight)
    for name, tensor in final_parameters(broken).items():
        assert torch.equal(tensor, expected[name]), name
    assert any(not torch.equal(tensor, halfway[name]) for name, tensor in expected.items())


def last_statistic(log, tag, name):
    values = re.findall(rf'\| {tag} \| .*"{name}": "([\d.]+)"', log)
    return float(values[-1])


def test_a_model_trained_on_one_sampled_class_is_validated_on_all_of_them(data, tmp_path):
    log = succeed("train", data / "bin", *TRAINING, *LSTM, "--output-layer", "joint",
                  "--joint-dim", 32, "--criterion", "sampled_softmax", "--sampler", "uniform",
                  "--num-sampled", 1, "--max-epoch", 1, "--lr", 0,
                  "--save-dir", tmp_path).stdout  # fmt: skip
    # All scores are about equal. In training one class stands for 12, unless it is the target.
    assert last_statistic(log, "train", "train_ppl") == pytest.approx(13 ** (11 / 12), abs=0.7)
    assert last_statistic(log, "valid", "valid_ppl") == pytest.approx(12, abs=1.5)
    # The one that was drawn, and the eight capitals and the end of sentence as targets.
    assert 9 / 12 <= last_statistic(log, "train", "train_sampled_share") <= 10 / 12


def test_the_language_models_perplexity_is_the_same_in_training_and_eval_lm(data, tmp_path):
    options = ["--task", "language_modeling", "--sample-break-mode", "eos", "--arch",
               "transformer_lm_outlayers", "--decoder-embed-dim", 32, "--decoder-input-dim", 32,
               "--decoder-output-dim", 32, "--decoder-ffn-embed-dim", 32, "--decoder-layers", 1,
               "--decoder-attention-heads", 2, "--output-layer", "tied", "--criterion",
               "full_softmax", "--max-epoch", 2, "--save-dir", tmp_path]  # fmt: skip
    log = succeed("train", data / "lm", *TRAINING, *options).stdout
    evaluated = succeed(
        "eval_lm", data / "lm", "--user-dir", PLUGIN, "--path", tmp_path / "checkpoint_last.pt",
        "--gen-subset", "valid", "--sample-break-mode", "eos", "--max-tokens", 500, "--cpu"
    )  # fmt: skip
    perplexity = float(re.findall(r"Perplexity: ([\d.]+)", evaluated.stdout + evaluated.stderr)[-1])
    assert perplexity == pytest.approx(last_statistic(log, "valid", "valid_ppl"), abs=0.02)
    assert 1 < perplexity < len(LETTERS) + 4


def test_stock_criterions_train_our_models(data, tmp_path):
    for criterion in ("cross_entropy", "label_smoothed_cross_entropy"):
        log = succeed("train", data / "bin", *TRAINING, *LSTM, "--criterion", criterion,
                      "--max-epoch", 2, "--max-tokens", 200,
                      "--save-dir", tmp_path / criterion).stdout  # fmt: skip
        losses = re.findall(r'\| valid \| .*"valid_loss": "([\d.]+)"', log)
        assert float(losses[1]) < float(losses[0])


def test_hydra_trains_the_same_model(data, tmp_path):
    overrides = [
        f"common.user_dir={PLUGIN}", "common.cpu=true", "task=translation", f"task.data={data}/bin",
        "task.source_lang=xx", "task.target_lang=yy", "+model._name=luong_lstm",
        "+model.output_layer=tied", "+model.embed_dim=16", "+model.hidden_size=16",
        "++criterion._name=full_softmax", "+criterion.label_smoothing=0.1", "+optimizer._name=adam",
        "optimization.lr=[0.01]", "dataset.max_tokens=1500", "dataset.num_workers=0",
        "optimization.max_epoch=1", f"checkpoint.save_dir={tmp_path}", f"hydra.run.dir={tmp_path}",
    ]  # fmt: skip
    succeed("hydra_train", *overrides)
    state = torch.load(tmp_path / "checkpoint_last.pt", weights_only=False)  # made by this test
    assert state["model"]["decoder.embed_tokens.weight"].size(1) == 16
    assert "decoder.output_projection.bias" in state["model"]
    assert state["cfg"]["criterion"]["label_smoothing"] == 0.1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--output-layer", "tied", "--hidden-size", 32], "48 dimensions and the states 32"),
        (["--label-smoothing", 1.5], "--label-smoothing 1.5"),
        (["--output-layer", "untied"], "invalid choice: 'untied'"),
        (["--criterion", "sampled_softmax"], "needs either --num-sampled or --sample-share"),
        (["--criterion", "sampled_softmax", "--num-sampled", 13], "--num-sampled 13"),
        (["--output-layer", "tied", "--joint-dim", 64], "--joint-dim 64 has no effect with"),
        (
            ["--criterion", "sampled_softmax", "--num-sampled", 4, "--proposal-smoothing", 0.1],
            "--proposal-smoothing 0.1 has no effect with --sampler uniform",
        ),
        (["--optimizer", "lazy_adam", "--fp16"], "--fp16 does not support"),
    ],
)
def test_a_users_mistake_is_one_line_and_makes_no_checkpoint(data, tmp_path, options, said):
    result = run("train", data / "bin", *TRAINING, *LSTM, "--criterion", "full_softmax", *options,
                 "--save-dir", tmp_path / "none")  # fmt: skip
    assert result.returncode != 0
    assert said in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.rglob("*.pt"))
