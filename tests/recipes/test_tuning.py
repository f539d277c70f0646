"""The runs of 05_tune.sh are what their names say."""

from pathlib import Path

import pytest
from fairseq import options

import fairseq_outlayers  # noqa: F401 - registers the options that the arms use
from recipes.lab.arms import load
from recipes.lab.ledger import TUNING
from recipes.lab.running.run_arm import Place, Run
from recipes.lab.scores import schedules

RUNS = {
    "pappas2018_joint": ("de-en.words.joint128", "0.006", 5),
    "jean2015_large_vocabulary": ("sampled_log_uniform", "0.004", 5),
    "assylbekov2018_subword_lm": ("de5k.sylconcat_re_rw", "1.5", 10),
}


def trained(arm):
    """What fairseq-train makes of the options of an arm."""
    return vars(options.parse_args_and_arch(options.get_training_parser(), ["data", *arm.train]))


@pytest.mark.parametrize(("recipe", "run"), RUNS.items(), ids=RUNS)
def test_a_run_is_the_arm_with_another_rate_and_fewer_epochs(recipe, run):
    (name, rate, epochs), declared = run, load(recipe, {})
    arm, tuning = declared.arm(name), declared.arm(f"tune-{name}-{rate}")
    assert f"tune-{name}-{rate}" in declared.tuning_arms()
    assert (tuning.tuning, arm.tuning) == (True, False)
    assert tuning.data == arm.data
    expected = {**trained(arm), "lr": [float(rate)], "max_epoch": epochs}
    if recipe == "pappas2018_joint":
        expected["force_anneal"] = None  # an epoch that shorter runs do not reach
    assert trained(tuning) == expected


@pytest.mark.parametrize("recipe", ["pappas2018_joint", "jean2015_large_vocabulary"])
def test_epochs_and_runs_can_be_chosen_and_the_papers_rates_are_not_tuned(recipe):
    name, rate, _ = RUNS[recipe]
    arm = load(recipe, {"TUNE_EPOCHS": "2"}).arm(f"tune-{name}-{rate}")
    assert trained(arm)["max_epoch"] == 2
    assert load(recipe, {"TUNE": "tune-a-1 tune-b-2"}).tuning_arms() == ["tune-a-1", "tune-b-2"]
    paper = {"SETTING": "paper", "WMT_DATA": "wmt", "PARALLEL": "wmt"}
    assert not load(recipe, paper).tuning_arms()


def test_layers_with_subwords_are_tuned_in_every_direction():
    runs = load("pappas2018_joint", {}).tuning_arms()
    assert {"tune-de-en.bpe4000.tied-0.006", "tune-en-de.bpe4000.tied-0.006"} <= set(runs)
    assert not [run for run in runs if run.startswith("tune-en-de.words")]
    one = load("pappas2018_joint", {"DIRECTIONS": "de-en"}).tuning_arms()
    assert one == [run for run in runs if run.startswith("tune-de-en")]


def test_of_an_option_that_is_given_twice_the_last_counts_as_in_fairseq():
    arm = load("pappas2018_joint", {}).arm("tune-de-en.bpe4000.nmt-0.003")
    assert arm.train.count("--max-epoch") == 2
    assert Run(arm, 1, Place(Path("ledger"), Path("runs")), TUNING)._epochs() == 5
    entry = {"command": f"fairseq-train data {' '.join(arm.train)}"}
    assert schedules.limit_of_epochs(entry) == 5
