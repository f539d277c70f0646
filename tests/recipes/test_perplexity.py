"""An arm of a language model leaves a line with the perplexities that fairseq-eval-lm found."""

import math
import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from recipes.lab import ledger
from recipes.lab.arms import Arm, PerplexityTest
from recipes.lab.running import perplexity
from recipes.lab.running.run_arm import Place, Run, execute
from recipes.lab.runs import Runs
from recipes.lab.scores import scoring, sentence_scores
from recipes.lab.scores.resampling import RESAMPLES

LOG = """x | INFO | fairseq_cli.eval_lm | num. model params: 4,650,000
x | INFO | fairseq_cli.eval_lm | Evaluated 82,430 tokens in 9.1s (9001.10 tokens/s)
x | INFO | fairseq_cli.eval_lm | Loss (base 2): 6.5000, Perplexity: 90.51
"""


def test_the_perplexity_is_made_from_the_loss_which_has_more_digits(tmp_path):
    (tmp_path / "log").write_text(LOG)
    figures = perplexity.read_log(tmp_path / "log", "test")
    assert figures == {"test_ppl": 2**6.5, "test_words": 82430}


WORDS = """x | INFO | fairseq_cli.eval_lm | 1 d [-4.500000]\t</s> [-0.500000]\te [-2.000000]
INFO:fairseq_cli.eval_lm:0 a [-1.250000]\tb]\u00a0[ [-0.750000]\t</s> [-0.000001]\tc [-3.000000]
2026-11-23 | INFO | fairseq_cli.eval_lm | Evaluated 7 tokens in 9.1s (9001.10 tokens/s)
2026-11-23 | INFO | fairseq_cli.eval_lm | Loss (base 2): 2.4732, Perplexity: 5.55
"""


def test_sentences_of_a_text_are_put_together_from_its_windows(tmp_path, capsys):
    log, entry = tmp_path / "log", {"arm": "a", "seed": 1, "key": "k"}
    log.write_text(WORDS)
    rows = [(2.000001, 3), (8.0, 3), (2.0, 1)]  # the second sentence is in both windows
    assert sentence_scores.of_log(log) == pytest.approx(np.array(rows))
    entry["results"] = str(tmp_path)
    assert sentence_scores.find(entry) is None
    # Not those of the ledger's perplexity, then those.
    entry["figures"] = {"test_ppl": 5.6}
    sentence_scores.keep(tmp_path, entry, log)
    assert "not stored, because their perplexity" in capsys.readouterr().out
    entry["figures"] = perplexity.read_log(log, "test")
    sentence_scores.keep(tmp_path, entry, log)
    found = sentence_scores.find(entry)
    assert found == pytest.approx(np.array(rows), abs=1e-4)
    value = sentence_scores.PERPLEXITY.of_rows(found)[0]
    assert value == pytest.approx(entry["figures"]["test_ppl"], rel=1e-4)
    # Scores of an earlier run do not count, and are replaced.
    log.write_text(WORDS.replace("-3.000000", "-4.000000").replace("2.4732", "2.6793"))
    entry["figures"] = perplexity.read_log(log, "test")
    assert sentence_scores.find(entry) is None
    sentence_scores.keep(tmp_path, entry, log)
    assert sentence_scores.find(entry)[1] == pytest.approx((9.0, 3))


def test_a_log_without_words_has_no_perplexity(tmp_path):
    """fairseq-eval-lm calls it 1 if it has skipped every sample."""
    text = WORDS.replace("Evaluated 7 tokens", "Evaluated 0 tokens").replace("2.4732", "0.0000")
    (tmp_path / "log").write_text(text)
    with pytest.raises(scoring.Incomplete, match="no word was evaluated"):
        perplexity.read_log(tmp_path / "log", "test")


def test_a_log_without_a_perplexity_is_incomplete(tmp_path):
    (tmp_path / "log").write_text(LOG.rpartition("x | INFO")[0])
    with pytest.raises(scoring.Incomplete, match="does not end with a perplexity"):
        perplexity.read_log(tmp_path / "log", "test")


FAKE_TRAIN = """#!/bin/sh
while [ "$1" != --save-dir ]; do shift; done
touch "$2/checkpoint_best.pt" "$2/checkpoint_last.pt"
echo 'x | INFO | y | num. shared model params: 1,000 (num. trained: 1,000)'
echo 'x | INFO | train | {"epoch": 1, "train_wps": "50"}'
echo 'x | INFO | y | done training in 1.0 seconds'
"""
FAKE_EVAL = f"#!/bin/sh\necho \"$@\" >> evaluated\ncat <<'END'\n{LOG}END\n"


def test_an_arm_is_evaluated_on_both_splits_with_its_best_checkpoint(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ledger, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", os.environ["PATH"])
    (tmp_path / "bin").mkdir()
    (tmp_path / "data").mkdir()
    for name, text in (("fairseq-train", FAKE_TRAIN), ("fairseq-eval-lm", FAKE_EVAL)):
        path = tmp_path / "bin" / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run(table):
        (tmp_path / "data" / "morphs.txt").write_text(table)
        test = PerplexityTest("--batch-size 1")
        arm = Arm("word", "", "data", test, ("--max-epoch", "1"))
        execute(Run(arm, 1, Place(Path("ledger.jsonl"), Path("runs"))))

    run("walks\twalk s\n")
    run("walks\twalk s\n")
    (entry,) = ledger.read(Path("ledger.jsonl"))
    figures = entry["figures"]
    assert figures["valid_ppl"] == figures["test_ppl"] == 2**6.5
    assert (figures["parameters"], figures["test_words"]) == (1000, 82430)
    first, second = Path("evaluated").read_text().splitlines()
    assert "--gen-subset valid --batch-size 1" in first
    assert "--gen-subset test --batch-size 1 --output-word-probs" in second
    assert "checkpoint_best.pt" in first
    assert entry["evaluate_test_command"].startswith("fairseq-eval-lm data --user-dir ")
    # Another table of units beside the data is another arm.
    run("walks\twal ks\n")
    assert len(ledger.read(Path("ledger.jsonl"))) == 2


def test_resampled_perplexities_need_the_scores_of_all_runs(tmp_path):
    """Older runs have none; then perplexities are compared by seed alone."""
    lines = [
        {"arm": arm, "seed": 1, "key": "k", "setting": {}, "results": str(tmp_path),
         "figures": {"test_ppl": math.exp(2)}}
        for arm in "ab"
    ]  # fmt: skip
    (tmp_path / sentence_scores.FOLDER).mkdir()
    for line, expected in zip(lines, (1, 1 + RESAMPLES), strict=True):
        scoring.write_lines(sentence_scores.kept_file(tmp_path, line), ["4.0 2", "6.0 3"])
        found = Runs(lines).perplexities_by_seed(["a", "b"])
        assert [values.shape for values in found] == [(1, expected)] * 2
