"""The models and decodings of jean2015_large_vocabulary are what their names say."""

import os
import shlex
import subprocess
import sys
from itertools import pairwise

import pytest
from fairseq import options

import fairseq_outlayers  # noqa: F401 - registers the options that the arms use
from recipes.lab.arms import load
from recipes.lab.settings import UserError
from tests.recipes.conftest import ROOT

RECIPE = ROOT / "recipes" / "jean2015_large_vocabulary"


@pytest.fixture
def recipe(tmp_path):
    """The recipe with some settings, and an empty ledger."""

    def recipe(**environment):
        places = {"OUTLAYERS_WORK": "work/x", "OUTLAYERS_RESULTS": str(tmp_path / "results")}
        return load("jean2015_large_vocabulary", {**places, **environment})

    return recipe


def parsed(parser, text):
    return options.parse_args_and_arch(parser, ["data", *text])


def trained(arm):
    """What fairseq-train makes of the options of a model."""
    return vars(parsed(options.get_training_parser(), arm.train))


def decoded(text):
    """What fairseq-generate makes of the options of a decoding."""
    return vars(parsed(options.get_generation_parser(), ["--path", "x", *text.split()]))


def test_the_models_come_by_priority(recipe):
    assert recipe().arms() == [
        "shortlist",
        "lv",
        "lv_corrected",
        "lv_corrected_reshuffle",
        "sampled_log_uniform",
        "full",
        "lv_reshuffle",
        "lv_tau500",
        "lv_tau8000",
        "lv_corrected_tau500",
        "lv_corrected_tau8000",
        "lv_authors",
        "sampled",
        "sampled_uncorrected",
        "sampled_log_uniform_tau4500",
        "shortlist.frozen",
        "lv.frozen",
        "lv_reshuffle.frozen",
        "lv_tau8000.frozen",
        "lv_authors.frozen",
        "transformer_sampled_log_uniform_tau4500",
        "transformer_adaptive",
        "transformer_lv_corrected_reshuffle",
        "transformer_full",
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shortlist", {"criterion": "full_softmax", "partition_size": 0}),
        ("full", {"criterion": "full_softmax", "partition_size": 0}),
        ("lv", {"criterion": "partition_softmax", "partition_size": 2000}),
        ("lv", {"partition_correction": "none", "patience": 2, "max_epoch": 15}),
        ("lv_corrected", {"partition_correction": "log_share", "partition_size": 2000}),
        (
            "lv_corrected_reshuffle",
            {"partition_correction": "log_share", "reshuffle_partitions": True},
        ),
        ("lv_corrected_tau500", {"partition_correction": "log_share", "partition_size": 500}),
        ("lv_tau500", {"partition_correction": "none", "partition_size": 500}),
        ("lv_corrected_authors", {"partition_correction": "log_share"}),
        ("lv_tau1000", {"partition_size": 1000, "partition_mode": "paper"}),
        ("lv_authors", {"partition_size": 2000, "partition_mode": "authors"}),
        ("lv_authors", {"partition_correction": "none"}),
        ("lv_reshuffle", {"reshuffle_partitions": True, "partition_correction": "none"}),
        (
            "sampled_log_uniform",
            {
                "criterion": "sampled_softmax",
                "sampler": "log_uniform",
                "num_sampled": 2000,
                "optimizer": "lazy_adam",
            },
        ),
        (
            "sampled_log_uniform_tau4500",
            {"sampler": "log_uniform", "num_sampled": 4500, "optimizer": "lazy_adam"},
        ),
        (
            "sampled",
            {
                "criterion": "sampled_softmax",
                "sampler": "unigram",
                "num_sampled": 2000,
                "no_logq_correction": False,
            },
        ),
        ("sampled_uncorrected", {"sampler": "unigram", "no_logq_correction": True}),
    ],
)
def test_a_model_is_what_its_name_says(recipe, name, expected):
    found = trained(recipe().arm(name))
    assert {option: found[option] for option in expected} == expected
    assert found["keep_best_checkpoints"] == 2  # an ensemble has the second best as well


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("adaptive", {"arch": "transformer", "adaptive_softmax_cutoff": [2000, 8000]}),
        ("full", {"arch": "transformer_outlayers", "criterion": "full_softmax"}),
        ("sampled_log_uniform_tau4500", {"num_sampled": 4500, "optimizer": "lazy_adam",
                                         "lr": [0.003]}),
        ("lv_corrected_tau500", {"partition_correction": "log_share", "partition_size": 500}),
    ],
)  # fmt: skip
def test_transformers_differ_in_what_their_names_say_alone(recipe, name, expected):
    found, full = (trained(recipe().arm(f"transformer_{model}")) for model in (name, "full"))
    assert {option: found[option] for option in expected} == expected
    for option in ("encoder_embed_dim", "decoder_ffn_embed_dim", "decoder_layers", "lr", "dropout",
                   "warmup_updates", "batch_size", "lr_scheduler", "max_epoch"):  # fmt: skip
        assert option in expected or found[option] == full[option]
    assert full["lr"] == [0.0015]
    assert found["decoder_ffn_embed_dim"] == 4 * found["decoder_embed_dim"] == 4 * 128


def test_transformers_have_adam_also_with_the_papers_setting(recipe):
    paper = recipe(SETTING="paper", PARALLEL="/text")
    found = {name: trained(paper.arm(name))["optimizer"] for name in paper.transformers}
    lazy = "transformer_sampled_log_uniform_tau157000"
    assert found == dict.fromkeys(found, "adam") | {lazy: "lazy_adam"}
    assert trained(paper.arm("full"))["optimizer"] == "adadelta"


@pytest.mark.parametrize(
    "name",
    ["adaptive", "transformer_shortlist", "transformer_lv.frozen", "transformer_adaptive.frozen",
     "transformer_x"],
)  # fmt: skip
def test_only_transformers_are_adaptive_and_they_are_of_all_words_and_not_frozen(recipe, name):
    with pytest.raises(UserError, match="no model"):
        recipe().arm(name)


def test_the_search_ends_at_a_little_more_than_the_source_has_words(recipe):
    found = decoded(recipe().arm("lv").test.generate)
    assert (found["max_len_a"], found["max_len_b"], found["min_len_a"]) == (1.2, 5, 0.5)
    paper = decoded(recipe(SETTING="paper", PARALLEL="/text").arm("lv").test.generate)
    assert (paper["max_len_a"], paper["max_len_b"]) == (3, 0)


def test_only_the_shortlist_has_the_small_dictionary(recipe):
    for name, data in (("shortlist.unk2", "shortlist"), ("full", "large"), ("lv.frozen", "large")):
        assert recipe().arm(name).data == f"work/x/bin.{data}"


def test_a_frozen_model_goes_on_as_it_was_trained(recipe):
    for name in ("lv_tau1000", "shortlist"):
        before, after = (recipe().arm(n).train for n in (name, f"{name}.frozen"))
        criterion = before[before.index("--criterion") :]
        ending = (*criterion, "--freeze-embeddings", "--finetune-from-model", "")
        assert after[-len(ending) :] == ending
        assert "--max-epoch 2 " in " ".join(after)
        assert recipe().arm(f"{name}.frozen").goes_on_from == name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shortlist.unk0", {"unk_replacement": "copy", "unk_dictionary": None, "candidates": None}),
        ("lv.unk1", {"unk_replacement": "dictionary", "unk_dictionary": "work/x/lexicon.en-de"}),
        ("lv.unk2", {"unk_replacement": "lower_case", "source_text": "{subset}"}),
        (
            "lv.frozen.k500.kp0",
            {
                "candidates": "work/x/candidates.npz",
                "candidate_frequent": 500,
                "candidate_per_word": 0,
                "candidate_scope": "sentence",
                "nbest": 1,
            },
        ),
        ("lv.k2000.kp10.common", {"candidate_scope": "common", "candidate_per_word": 10}),
        ("lv.k2000.kp10.nbest", {"nbest": 12, "beam": 12, "unk_replacement": "none"}),
        ("ensemble4.k9.kp1", {"ensemble_average": "log_probabilities", "candidate_frequent": 9}),
        ("lv.seeds3.k9.kp1", {"ensemble_average": "log_probabilities", "candidate_frequent": 9}),
    ],
)
def test_a_decoding_is_what_its_name_says(recipe, name, expected):
    arm = recipe().arm(name)
    assert arm.train == ()
    assert arm.test.valid_reference == "work/x/tokenized/valid.de"
    found = decoded(arm.test.generate)
    if found["source_text"]:
        assert found["source_text"].endswith("/{subset}.en")
        found["source_text"] = "{subset}"
    assert {option: found[option] for option in expected} == expected


def test_seeds_together_are_the_best_checkpoints_of_one_model(recipe):
    decoding = recipe().arm("lv_corrected.seeds3.k2000.kp10.unk2").decoding
    assert (decoding.of, decoding.seeds) == (("lv_corrected",), (1, 2, 3))
    assert decoding.checkpoints == "checkpoint_best.pt"
    chosen = recipe().table_decodings("k9.kp1")
    assert {"lv.seeds3.k9.kp1.unk2", "lv_corrected.seeds3.k9.kp1.unk2"} <= set(chosen)


def test_an_ensemble_has_two_checkpoints_of_each_arm(recipe):
    decoding = recipe().arm("ensemble4.k9.kp1").decoding
    assert decoding.of == ("lv.frozen", "lv_reshuffle.frozen")
    assert decoding.checkpoints == "checkpoint.best_loss_*.pt"


def test_the_candidate_file_decides_what_a_decoding_is(recipe):
    assert recipe().arm("lv.k9.kp1").decoding.files == ("work/x/candidates.npz",)
    assert recipe().arm("lv.unk2").decoding.files == ("work/x/lexicon.en-de",)
    assert recipe().arm("lv.unk0").decoding.files == ()


def test_both_curves_are_decoded_once_and_first(recipe):
    curves = [f"lv.k{k}.kp10" for k in (2000, 500, 1000, 4000, 8000)]
    curves += [f"lv.k2000.kp{n}" for n in (0, 1, 20)]
    names = recipe().all_decodings("k500.kp20")
    assert names[:8] == curves
    assert names[8:12] == ["shortlist.unk2", "lv.unk2", "lv.k500.kp20", "lv.k500.kp20.unk2"]
    assert {"lv_tau500.k8000.kp10", "ensemble8.k500.kp20.unk2", "lv.k2000.kp0.unk2"} <= set(names)
    assert len(set(names)) == len(names)


def test_every_decoding_of_the_list_means_something(recipe):
    for name in recipe().all_decodings("k4000.kp10"):
        decoded(recipe().arm(name).test.generate)


def test_decodings_that_are_named_take_the_place_of_all(recipe):
    named = recipe(DECODINGS="lv.unk2")
    assert named.curve_decodings() == []
    assert named.all_decodings("k1.kp1") == ["lv.unk2"]


def test_the_paper_setting_has_the_papers_sizes(recipe):
    found = trained(recipe(SETTING="paper", PARALLEL="/text", TARGET="fr").arm("lv"))
    sizes = {"hidden_size": 1000, "embed_dim": 620, "maxout_size": 500, "partition_size": 30000}
    training = {"optimizer": "adadelta", "clip_norm": 1, "batch_size": 80, "dropout": 0}
    assert {name: found[name] for name in sizes | training} == sizes | training
    german = recipe(SETTING="paper", PARALLEL="/text", TARGET="de").settings
    found = [german[name] for name in ("SHORTLIST", "LARGE", "TAU", "TAUS")]
    assert found == ["50000", "500000", "50000", "15000"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lvv", "no model 'lvv'; known are shortlist lv"),
        ("lv.k2000", "'lv.k2000': candidates need both k and kp, as in k2000.kp10"),
        ("lv.common", "'lv.common': candidates need both k and kp"),
        ("lv.unk3", "no decoding 'unk3' of lv; known are kN.kpN"),
        ("ensemble4", "'ensemble4' is decoded, not trained"),
        ("ensemble3.unk2", "'ensemble3': an even number"),
        ("ensemble10.unk2", "'ensemble10' needs 5 arms, ENSEMBLE_OF has 4"),
    ],
)
def test_a_name_that_means_nothing_is_said(recipe, name, message):
    with pytest.raises(UserError) as info:
        recipe().arm(name)
    assert message in str(info.value)


def test_nothing_is_trained_if_a_name_means_nothing(tmp_path):
    result = subprocess.run(
        [RECIPE / "10_arms.sh"],
        env={
            **os.environ,
            "OUTLAYERS_PYTHON": sys.executable,
            "OUTLAYERS_WORK": str(tmp_path / "work"),
            "OUTLAYERS_RESULTS": str(tmp_path / "results"),
            "ARMS": "shortlist lvv",
        },
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1
    assert "no model 'lvv'" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"SETTING": "wmt"}, "SETTING=wmt: known are multi30k and paper"),
        ({"SETTING": "paper"}, "SETTING=paper: set PARALLEL to a folder"),
        ({"TAUS": "5oo"}, "TAUS=5oo: expected whole numbers from 1"),
        ({"DEFAULT_CHOICE": "k2000"}, "DEFAULT_CHOICE=k2000: expected K and K'"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(recipe, more, message):
    with pytest.raises(UserError, match=message):
        recipe(**more)


def test_data_of_other_numbers_of_words_have_folders_of_their_own(recipe):
    usual = {model: recipe().bin_of(model) for model in ("shortlist", "lv")}
    assert recipe(SHORTLIST="4000", LARGE="0").bin_of("shortlist") == usual["shortlist"]
    changed = recipe(SHORTLIST="8000")
    assert changed.bin_of("shortlist") == f"{usual['shortlist']}.8000.0"
    assert changed.bin_of("lv") == usual["lv"]
    assert recipe(SOURCE_LARGE="500").bin_of("lv") == f"{usual['lv']}.0.500"
    paper = {"SETTING": "paper", "PARALLEL": "/text", "TARGET": "de"}
    assert recipe(**paper).bin_of("lv").endswith("/bin.large")
    assert recipe(**paper, LARGE="9").bin_of("lv").endswith("/bin.large.9.9")


def test_a_work_folder_may_have_a_space_in_its_name(recipe):
    words = shlex.split(recipe(OUTLAYERS_WORK="my work").arm("lv.k2000.kp10.unk2").test.generate)
    values = dict(pairwise(words))
    folder = "my work"
    assert values["--candidates"] == f"{folder}/candidates.npz"
    assert values["--unk-dictionary"] == f"{folder}/lexicon.en-de"
    assert values["--source-text"] == f"{folder}/tokenized/{{subset}}.en"


def test_speed_is_measured_on_the_vocabulary_of_the_name(recipe):
    _, groups = recipe().speed_groups()
    for times in (2, 4):
        folder, *train = groups[f"lv.times{times}"]
        assert folder == f"work/x/bin.large.times{times}"
        assert train == groups["lv"][1:]
