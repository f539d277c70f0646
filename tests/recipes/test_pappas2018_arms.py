"""The arms of pappas2018_joint are what their names say."""

import os
import subprocess
import sys

import pytest
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf

import fairseq_outlayers  # noqa: F401 - registers the options that the arms use
from recipes.lab import ledger
from recipes.lab.arms import load
from recipes.lab.settings import UserError
from tests.recipes.conftest import ROOT
from tests.warm_shell import Shell

RECIPE = ROOT / "recipes" / "pappas2018_joint"


def recipe(**environment):
    return load("pappas2018_joint", environment)


@pytest.fixture(scope="module")
def commands():
    """The options of every arm for fairseq-train, parsed by fairseq, by the arm's name."""
    declared = recipe()
    parser = options.get_training_parser
    return {
        name: options.parse_args_and_arch(parser(), ["data", *declared.arm(name).train])
        for name in declared.all_arms()
    }


def test_the_seven_arms_of_the_first_direction_come_first():
    models = ["nmt", "tied", "bilinear", "output_structure", "context_structure"]
    models += ["joint128", "joint256"]
    names = recipe().all_arms()
    assert names[:7] == [f"de-en.bpe4000.{model}" for model in models]
    assert names[7:14] == [f"en-de.bpe4000.{model}" for model in models]
    assert [name.split(".", 2)[2] for name in names[14:18]] == [
        "nmt",
        "nmt.share50",
        "nmt.share25",
        "nmt.share5",
    ]
    assert len(set(names)) == len(names)


def test_no_two_arms_on_the_same_data_are_the_same(commands):
    seen = {}
    for name, command in commands.items():
        setting = (name.split(".")[1], str(sorted(vars(command).items())))
        assert seen.setdefault(setting, name) == name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("de-en.bpe4000.nmt", {"output_layer": "linear", "criterion": "full_softmax"}),
        ("de-en.bpe4000.tied", {"output_layer": "tied", "source_lang": "de"}),
        ("en-de.bpe4000.joint256", {"joint_dim": 256, "source_lang": "en", "target_lang": "de"}),
        ("de-en.bpe4000.nmt.depth3", {"encoder_layers": 3, "decoder_layers": 3}),
        ("de-en.bpe4000.joint128.linear", {"joint_activation": "none", "joint_dim": 128}),
        ("de-en.bpe4000.joint128.nobias", {"joint_inner_bias": "none", "output_layer": "joint"}),
        ("de-en.bpe4000.bilinear.allbias", {"joint_inner_bias": "all"}),
        ("de-en.bpe4000.joint128.stacked2", {"joint_layers": 2}),
        (
            "de-en.words.tied.share5",
            {
                "criterion": "sampled_softmax",
                "sampler": "batch_negatives",
                "sample_share": 0.05,
                "no_logq_correction": True,
                "output_layer": "tied",
            },
        ),
    ],
)
def test_an_arm_is_what_its_name_says(commands, name, expected):
    found = vars(commands[name])
    assert {option: found[option] for option in expected} == expected


def test_training_is_the_authors(commands):
    config = convert_namespace_to_omegaconf(commands["de-en.bpe4000.nmt"])
    assert (config.optimizer._name, config.optimization.clip_norm) == ("adam", 5)
    assert config.optimization.sentence_avg
    assert config.lr_scheduler._name == "shrink_after_rise"
    assert config.lr_scheduler.lr_shrink == 0.5
    model = config.model
    assert (model.dropout, model.embedding_dropout) == (0.3, 0)
    assert model.init_range == 0  # the authors' 0.1 at their size of 512, the same gain at others
    assert not model.bidirectional_encoder
    assert (model.encoder_layers, model.decoder_layers, model.no_class_bias) == (2, 2, False)


def test_the_paper_setting_has_the_papers_sizes():
    declared = recipe(SETTING="paper", WMT_DATA="/wmt")
    names = declared.all_arms()
    # 25% of the classes for 128k merges, and for d_j of 2048 at 64k.
    vocabulary = [name for name in names if name.startswith("fi-en.") and "bpe32000" not in name]
    assert vocabulary == [
        *(f"fi-en.bpe64000.{model}" for model in ("nmt", "tied", "joint512")),
        "fi-en.bpe64000.joint2048.share25",
        *(f"fi-en.bpe128000.{m}.share25" for m in ("nmt", "tied", "joint512", "joint2048")),
    ]
    arm = declared.arm("fi-en.bpe32000.joint4096")
    parser = options.get_training_parser()
    command = options.parse_args_and_arch(parser, ["data", *arm.train])
    sizes = {"embed_dim": 512, "hidden_size": 512, "batch_size": 96, "max_epoch": 50, "lr": [0.001]}
    assert {option: getattr(command, option) for option in sizes} == sizes
    assert arm.test.raw_reference == "/wmt/en-fi/newstest2016.en"
    assert not arm.test.lowercase


@pytest.mark.parametrize(
    ("arm", "message"),
    [
        ("de-en.bpe4000.joint", "no model 'joint'; known are jointDIMENSIONS"),
        ("de-en.bpe.tied", "no vocabulary 'bpe'; known are words and bpeMERGES"),
        ("de-en.words.tied.shared", "no change 'shared' of an arm; known are shareN"),
        ("tied", "'tied' is no arm: expected DIRECTION.VOCABULARY.MODEL"),
    ],
)
def test_a_name_that_means_nothing_is_said_before_anything_is_trained(arm, message, tmp_path):
    result = subprocess.run(
        [RECIPE / "10_arms.sh"],
        env={
            **os.environ,
            "OUTLAYERS_PYTHON": sys.executable,
            "OUTLAYERS_WORK": str(tmp_path / "work"),
            "OUTLAYERS_RESULTS": str(tmp_path / "results"),
            "ARMS": f"de-en.bpe4000.tied {arm}",
        },
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"SETS": "translation nothing"}, "no set 'nothing'; known are translation sampling"),
        ({"SETTING": "wmt"}, "SETTING=wmt: known are multi30k and paper"),
        ({"SETTING": "paper"}, "SETTING=paper needs WMT_DATA"),
        ({"ANNEAL_FROM": "1"}, "ANNEAL_FROM=1: expected -1, or an epoch from 2 on"),
        ({"ARMS": "tied"}, "'tied' is no arm: expected DIRECTION.VOCABULARY.MODEL"),
        (
            {"SETTING": "paper", "WMT_DATA": "/wmt", "DIRECTIONS": "cs-en"},
            "DIRECTIONS: no text of cs-en in WMT_DATA; known are de-en, en-fi",
        ),
    ],
)
def test_a_setting_that_means_nothing_is_refused(environment, message):
    with pytest.raises(UserError, match=message):
        recipe(**environment).data_needed()


def test_speed_is_measured_with_large_batches_of_the_sampling_vocabulary():
    data, groups = recipe(WORK="x").speed_groups()
    assert data == "work/pappas2018_joint/de-en/bin.words"
    assert list(groups)[:2] == ["de-en.words.nmt", "de-en.words.nmt.share50"]
    assert all("--max-tokens 5000" in " ".join(train) for train in groups.values())
    assert not any("--batch-size" in train for train in groups.values())


def test_speed_is_measured_with_a_vocabulary_that_the_arms_have():
    data, groups = recipe(ARMS="en-de.bpe4000.tied de-en.bpe4000.nmt").speed_groups()
    assert data.endswith("/de-en/bin.bpe4000")
    assert list(groups)[:2] == ["en-de.bpe4000.nmt", "en-de.bpe4000.nmt.share50"]
    paper = {"SETTING": "paper", "WMT_DATA": "/wmt", "ARMS": "en-fi.bpe32000.tied"}
    data, groups = recipe(**paper).speed_groups()
    assert data.endswith("/en-fi/bin.bpe32000")
    assert next(iter(groups)) == "en-fi.bpe32000.nmt"


@pytest.mark.system
def test_an_arm_goes_from_plain_text_to_a_line_in_the_ledger(tmp_path):
    """Data laid out as the README asks for with SETTING=paper, but a toy's.

    The direction is not the one that fairseq infers from the data of both.
    """
    environment = {
        **{"DIM": "8", "LAYERS": "1", "EPOCHS": "1", "BATCH_SENTENCES": "16", "BEAM": "2"},
        "OUTLAYERS_WORK": str(tmp_path / "work"),
        "OUTLAYERS_RESULTS": str(tmp_path / "results"),
        "SETTING": "paper",
        "WMT_DATA": str(tmp_path / "wmt"),
        "ARMS": "en-de.bpe60.joint4.share80",
    }
    shell = Shell(tmp_path / "shell", **environment)
    sizes = "--seed 1 --train 120 --valid 15 --test 15 --vocabulary 40"
    shell.run(f"python data_prep/toy_corpus.py --output {tmp_path}/toy {sizes}", ROOT)
    (tmp_path / "wmt" / "de-en").mkdir(parents=True)
    for split, name in (("train", "train"), ("valid", "newstest2014"), ("test", "newstest2015")):
        for side, language in (("src", "de"), ("tgt", "en")):
            text = (tmp_path / "toy" / f"{split}.{side}").read_text()
            (tmp_path / "wmt" / "de-en" / f"{name}.{language}").write_text(text)
    shell.run(f"{RECIPE}/00_prepare.sh\n{RECIPE}/10_arms.sh", tmp_path)
    (entry,) = ledger.read(tmp_path / "results" / "paper" / "ledger.jsonl")
    figures = entry["figures"]
    assert entry["arm"] == "en-de.bpe60.joint4.share80"
    assert 0.8 <= figures["sampled_share"] < 1  # more where a batch has more types
    assert figures["sentences"] == 15
    assert {"bleu", "bleu_lenpen0", "bleu_tokenised", "train_tokens_per_second"} <= set(figures)


@pytest.mark.parametrize(
    ("name", "settings", "epoch"),
    [
        ("de-en.bpe4000.tied", {}, 11),
        ("de-en.bpe4000.tied", {"ANNEAL_FROM": "3"}, 3),
        ("de-en.bpe4000.tied", {"ANNEAL_FROM": "-1"}, None),
        ("de-en.bpe4000.tied", {"EPOCHS": "10"}, None),
        ("de-en.bpe4000.tied", {"EPOCHS": "20"}, None),
        ("de-en.bpe4000.tied", {"EPOCHS": "20", "ANNEAL_FROM": "15"}, 15),
        ("tune-de-en.bpe4000.tied-0.003", {}, None),
        ("tune-de-en.bpe4000.tied-0.003", {"TUNE_EPOCHS": "12"}, 11),
    ],
)
def test_the_rate_is_halved_without_a_rise(name, settings, epoch):
    train = recipe(**settings).arm(name).train
    parsed = options.parse_args_and_arch(options.get_training_parser(), ["data", *train])
    assert convert_namespace_to_omegaconf(parsed).lr_scheduler.force_anneal == epoch
