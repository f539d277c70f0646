"""The recipe of the subword-aware language models: names of arms, and verdicts on the claims."""

import itertools
import subprocess
import sys

import pytest

import ledger
from assylbekov2018_subword_lm import claims
from tests.recipes.conftest import ROOT

RECIPE = ROOT / "recipes" / "assylbekov2018_subword_lm"


def defined(arm, **environment):
    """The options of an arm, one a line, as settings.sh puts them together."""
    script = f'source {RECIPE}/settings.sh; define_arm {arm}; printf "%s\\n" "${{OPTIONS[@]}}"'
    return bash(script, **environment)


def bash(script, **environment):
    return subprocess.run(
        ["bash", "-c", script], cwd=ROOT, capture_output=True, text=True,
        env={"PATH": "/usr/bin:/bin", "OUTLAYERS_PYTHON": sys.executable, **environment},
    )  # fmt: skip


def option(arm, name, **environment):
    lines = defined(arm, **environment).stdout.splitlines()
    return lines[lines.index(name) + 1]


def test_a_name_says_what_an_arm_is():
    assert option("ptb.word_re", "--arch") == "word_lm"
    assert option("ptb.word_re", "--tie") == "re"
    assert option("ptb.morphsum_re_rw.medium", "--arch") == "morphsum_lm_medium"
    assert option("ptb.morphsum_re_rw.medium", "--tie") == "re_rw"
    assert option("de5k.sylconcat_EP1", "--tie") == "emb,proj,hw1"
    assert option("ptb.charcnn_EC12", "--tie") == "emb,cnn,hw1,hw2"
    assert option("ptb.morphsum_rw.sampled", "--criterion") == "sampled_softmax"


def test_the_authors_schedule_comes_back_with_their_epochs():
    for arm, rate, decay in (("word_re", "1.0", "6"), ("charcnn_re", "0.5", "13"),
                             ("morphsum_rw", "0.7", "11")):  # fmt: skip
        assert option(f"ptb.{arm}", "--lr") == rate
        assert option(f"ptb.{arm}", "--force-anneal", EPOCHS="70") == decay
        assert option(f"ptb.{arm}", "--lr-shrink", EPOCHS="70") == "0.9"
        assert option(f"ptb.{arm}", "--force-anneal") == "7"


LETTERS = {"morphsum": "E12", "sylconcat": "EP12", "charcnn": "EC12"}


@pytest.mark.parametrize("model", LETTERS)
def test_the_layer_study_has_every_choice_that_ties_the_units_or_the_first_highway(model):
    script = f'source {RECIPE}/settings.sh; printf "%s\\n" "${{ALL_ARMS[@]}}"'
    arms = bash(script).stdout.splitlines()
    assert len(set(arms)) == len(arms)
    letters = LETTERS[model]
    presets = {"re": "E", "rw": letters[1:], "re_rw": letters}
    studied = {arm.removeprefix(f"ptb.{model}_") for arm in arms}
    studied = {presets.get(name, name) for name in studied}
    for size in range(1, len(letters) + 1):
        for tied in map("".join, itertools.combinations(letters, size)):
            assert (tied in studied) == ("E" in tied or "1" in tied), tied


@pytest.mark.parametrize(
    ("arm", "said"),
    [("ptb.morphsum_E7", "'7' is none of"), ("ptb.word_re.huge", "no option 'huge'")],
)
def test_a_name_that_means_nothing_is_refused(arm, said):
    result = defined(arm)
    assert result.returncode == 1
    assert said in result.stderr


@pytest.mark.parametrize(
    ("better", "worse", "expected"),
    [
        ([100], [110], "holds"),
        ([110], [100], "fails"),
        ([100], [100.5], "undecided"),  # one seed, half a per cent
        ([100, 100.1], [100.5, 100.4], "holds"),  # all seeds agree
        ([100, 102], [101, 105], "undecided"),
    ],
)
def test_a_verdict_needs_more_than_the_noise(better, worse, expected):
    assert claims.verdict(better, worse) == expected


def test_claims_are_read_off_the_newest_runs_and_what_was_not_run_is_named(tmp_path, capsys):
    path = tmp_path / "ledger.jsonl"
    for arm, key, seed, ppl in (
        ("ptb.word_re", "old", 1, 500.0),
        ("ptb.word_re", "new", 1, 120.0),
        ("ptb.word_original", "new", 1, 130.0),
        ("ptb.morphsum_re_rw", "new", 1, 90.0),
    ):
        entry = {"arm": arm, "key": key, "seed": seed, "figures": {"test_ppl": ppl}}
        ledger.append(path, entry)
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "ptb.6000.txt").write_text("a b a c\n")
    assert claims.main([str(path), "--work", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert (
        "| 1 reuse helps the word model | ptb | word_re 120.0 | word_original 130.0 | holds |"
        in said
    )
    assert (
        "| 4 MorphSum+RE+RW beats Word+RE | ptb | morphsum_re_rw 90.0 | word_re 120.0 | holds |"
        in said
    )
    assert "| 5 tied bottom-up | - | morphsum_E1 | morphsum_E2 | not run |" in said
    assert "| ptb | 0.7500 | 25.0% |" in said
    assert (tmp_path / "claims.md").read_text().startswith("# Claims")
