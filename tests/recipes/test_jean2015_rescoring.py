"""Scores over candidates and over all words stand beside each other, and are not mixed up."""

import json
import math

import pytest

from recipes.jean2015_large_vocabulary import decoding_speed, nbest, rescore
from recipes.jean2015_large_vocabulary.nbest import Hypothesis, NBest
from recipes.lab import ledger
from recipes.lab.running import speed
from recipes.lab.scores import scoring
from tests.recipes.conftest import ROOT
from tests.warm_shell import Shell

RECIPE = ROOT / "recipes" / "jean2015_large_vocabulary"


def test_n_best_lists_are_read_in_the_order_of_the_corpus(tmp_path):
    output = tmp_path / "generate.out"
    lines = ["S-1\tb <unk>", "T-1\tx", "H-1\t-0.5\tx y", "D-1\t-0.5\tx y", "P-1\t-1 -2"]
    lines += ["H-1\t-0.75\t", "D-1\t-0.75\t", "S-0\ta", "H-0\t-2.5\tz", "D-0\t-2.5\tz"]
    scoring.write_lines(output, lines)
    assert nbest.read(output) == [
        NBest("a", [Hypothesis(-2.5, "z")]),
        NBest("b <unk>", [Hypothesis(-0.5, "x y"), Hypothesis(-0.75, "")]),
    ]
    scoring.write_lines(output, lines[:1] + lines[7:])  # the second sentence is not translated
    with pytest.raises(scoring.Incomplete, match="not every sentence has a translation"):
        nbest.read(output)


def test_the_figures_of_two_sentences_are_those_worked_out_by_hand():
    words = ("a b c d", "a b c e"), ("f g h i", "f g h j")
    restricted = [NBest("s", [Hypothesis(-1.0, one), Hypothesis(-2.0, two)]) for one, two in words]
    # Over all words the second sentence's order is the other one.
    over_all = [
        [Hypothesis(-1.5, "a b c d"), Hypothesis(-2.5, "a b c e")],
        [Hypothesis(-4.5, "f g h i"), Hypothesis(-3.0, "f g h j")],
    ]
    full = [NBest("s", [Hypothesis(-1.5, "a b c d")]), NBest("s", [Hypothesis(-3.5, "f g i i")])]
    found = rescore.figures(restricted, over_all, full, ["a b c d", "f g h j"])
    assert found["hypotheses"] == 4
    assert (found["score_renormalised"], found["score_all_words"]) == (-1.0, -3.0)
    assert found["score_full_search"] == -2.5
    assert found["share_reranked"] == found["share_same_as_full"] == 0.5
    assert found["share_above_full"] == 0.5
    assert found["bleu_reranked"] == pytest.approx(100)
    assert found["bleu_full_search"] < found["bleu_renormalised"] < 100
    page = "\n".join(rescore.markdown("lv.k9.kp1.nbest", "lv", found))
    assert "| BLEU, order of the scores over all words | 100.00 |" in page
    assert "4 translations of 2 sentences" in page


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Translated 1,000 sentences (12,500 tokens) in 50.0s (20.00 sentences/s, 250 t/s)", 250),
        ("Translated 10 sentences (90 tokens) in 0.5s (20.00 sentences/s, 180 tokens/s)", 180),
    ],
)
def test_the_speed_is_that_of_the_search_alone(tmp_path, said, expected):
    log = tmp_path / "out"
    scoring.write_lines(log, ["H-0\t-1\tx", f"2026-01-31 10:00:00 | INFO | x | {said}", "end"])
    assert decoding_speed.words_per_second(log) == pytest.approx(expected)
    scoring.write_lines(log, ["H-0\t-1\tx"])
    with pytest.raises(scoring.Incomplete, match="does not say"):
        decoding_speed.words_per_second(log)


def test_seconds_a_word_are_the_median_of_the_rounds():
    speeds = {"shortlist": [100.0, 50.0, 80.0], "lv": [10.0, 10.0, 8.0]}
    rows = speed.summarize(speeds, dict.fromkeys(speeds, 1.0))
    shortlist, lv = decoding_speed.in_words(rows)
    assert (shortlist["seconds_per_word"], lv["seconds_per_word"]) == (1 / 80, 1 / 10)
    assert lv["ratios"] == [0.1, 0.2, 0.1]


@pytest.mark.system
def test_lists_of_all_words_score_as_all_words_do(tmp_path):
    """From plain text to rescored n-best lists, on data laid out as SETTING=paper asks for."""
    settings = {
        "EMBED": "8", "HIDDEN": "8", "MAXOUT": "4", "EPOCHS": "1", "BATCH_SENTENCES": "16",
        "BEAM": "2", "SHORTLIST": "20", "LARGE": "0", "SOURCE_SHORTLIST": "0", "SOURCE_LARGE": "0",
        "TAU": "30", "TAUS": "25", "DEFAULT_CHOICE": "k15.kp2", "FREQUENT": "15", "PER_WORD": "2",
        "CHOICE": "k15.kp2", "SETTING": "paper", "PARALLEL": str(tmp_path / "toy"), "ARMS": "lv",
        "OUTLAYERS_WORK": str(tmp_path / "work"), "OUTLAYERS_RESULTS": str(tmp_path / "results"),
    }  # fmt: skip
    shell = Shell(tmp_path / "shell", **settings)
    toy = f"python data_prep/toy_corpus.py --output {tmp_path}/toy --seed 1 --train 120"
    shell.run(f"{toy} --valid 15 --test 15 --vocabulary 40", ROOT)
    for path in (tmp_path / "toy").glob("*.*"):
        language = {"src": "en", "tgt": "de"}.get(path.suffix[1:])
        if language:
            path.rename(path.with_suffix(f".{language}"))
    results = tmp_path / "results" / "paper.en-de" / "large.0.0"

    shell.run(f"{RECIPE}/00_prepare.sh", ROOT)
    shell.run(f"{RECIPE}/10_arms.sh", ROOT)
    decodings = "lv.k15.kp2.nbest lv.k1000.kp2.nbest lv.k15.kp2.unk2"
    shell.run(f"DECODINGS='{decodings}' {RECIPE}/20_decode.sh", ROOT)
    names = [entry["arm"] for entry in ledger.read(results / "ledger.jsonl")]
    assert names == ["lv", "lv.k15.kp2.nbest", "lv.k1000.kp2.nbest", "lv.k15.kp2.unk2"]
    found = {}
    for choice in ("k15.kp2", "k1000.kp2"):
        shell.run(f"CHOICE={choice} {RECIPE}/40_candidates.sh", ROOT)
        found[choice] = json.loads((results / "rescoring.json").read_text())
    part, whole = found.values()
    assert part["hypotheses"] == whole["hypotheses"] == 30
    # The lists have at most every word: fewer words, higher renormalized scores. Scores have four
    # digits in the files, so equality is up to those.
    assert part["score_renormalised"] > part["score_all_words"] + 0.1
    assert math.isclose(whole["score_renormalised"], whole["score_all_words"], abs_tol=1e-3)
    assert whole["share_same_as_full"] == 1
    coverage = (results / "coverage.test.md").read_text()
    assert "| 15 | 2 |" in coverage
    assert (results / "recall.lv.md").exists()
