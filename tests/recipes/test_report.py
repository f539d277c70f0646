"""The table says what the ledger holds: means, tests against the first row, and what is missing."""

import json
import random
import subprocess
import sys

import pytest

import comparison
import ledger
import report
import scoring

SENTENCES = 40


def sentences(seed, wrong):
    """References, and a copy of them in which the given share of the words is wrong."""
    draw = random.Random(0)
    references = [" ".join(draw.choices("abcdefghij", k=8)) for _ in range(SENTENCES)]
    draw = random.Random(seed)
    hypotheses = [
        " ".join("wrong" if draw.random() < wrong else word for word in line.split())
        for line in references
    ]
    return references, hypotheses


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A checkout with an empty ledger."""
    monkeypatch.setattr(ledger, "ROOT", tmp_path)
    return tmp_path / "results" / "mine" / "ledger.jsonl"


def add(path, arm, seed, bleu, *, wrong=None, setting="--lr 1", sentences_said=SENTENCES, **more):
    """Append a line; with `wrong`, keep translations of that quality in its run folder."""
    run = f"work/{arm}/{seed}"
    if wrong is not None:
        references, hypotheses = sentences(f"{arm} {seed}", wrong)
        (ledger.ROOT / run).mkdir(parents=True)
        scoring.write_lines(ledger.ROOT / run / "test.tokenised.ref", references)
        scoring.write_lines(ledger.ROOT / run / "test.tokenised.hyp", hypotheses)
    figures = {"bleu_tokenised": bleu, "bleu_tokenised_signature": "tok:none", "chrf_tokenised": 50}
    figures |= {"parameters": 1000, "sentences": sentences_said, **more}
    entry = {"arm": arm, "seed": seed, "run": run, "figures": figures, "words": "", "command": "t"}
    entry |= {"setting": {"train": setting}, "key": ledger.setting_key({"train": setting})}
    entry |= {"generate_command": "g", "commit": "c0ffee", "versions": {"python": "3.11"}}
    entry["machine"] = {"cpu": "X", "cores": 2, "gpu": None}
    ledger.append(path, entry)


def test_the_table_of_a_small_case_is_the_one_worked_out_by_hand(results, capsys):
    for seed, bleu in ((1, 10.0), (2, 11.0), (3, 12.0)):
        add(results, "base", seed, bleu, train_tokens_per_second=1000 * seed)
    add(results, "ours", 1, 13.255, parameters=1234567)
    assert report.main([str(results), "--no-bootstrap", "--arms", "ours", "base", "third"]) == 0
    # Mean of 10, 11, 12 is 11, their sample variance (1 + 0 + 1) / 2 = 1; of the speeds likewise.
    assert capsys.readouterr().out.split("\n")[:6] == [
        "| arm | BLEU (tokenised) | chrF | parameters | train tokens/s | seeds | commit |",
        "|---|---|---|---|---|---|---|",
        "| ours | 13.26 | 50.00 | 1,234,567 | - | 1 | c0ffee |",
        "| base | 11.00 ± 1.00 | 50.00 | 1,000 | 2,000 ± 1,000 | 1, 2, 3 | c0ffee |",
        "",
        "arms not run: third",
    ]


def test_seeds_that_were_not_run_are_named(results):
    add(results, "base", 1, 10.0)
    add(results, "base", 3, 10.0)
    rows = comparison.rows_of(ledger.read(results))
    assert report.not_run(rows, ["base", "ours"], [1, 2, 3, 4]) == ["base (seed 2, 4)", "ours"]


def test_a_rerun_replaces_its_older_line(results):
    add(results, "base", 1, 10.0)
    add(results, "base", 1, 12.0)
    (row,) = comparison.rows_of(ledger.read(results))
    assert row.values("bleu_tokenised") == [12.0]


def test_one_arm_with_two_settings_makes_two_rows_that_can_be_told_apart(results):
    add(results, "base", 1, 10.0)
    add(results, "base", 2, 10.0, setting="--lr 2")
    labels = [row.label for row in comparison.rows_of(ledger.read(results))]
    assert len(set(labels)) == 2
    assert all(label.startswith("base [") for label in labels)


def test_the_paired_bootstrap_equals_the_sacrebleu_command(tmp_path):
    references, first = sentences("first", 0.3)
    others = {name: sentences(name, share)[1] for name, share in (("near", 0.29), ("far", 0.1))}
    for name, lines in {"ref": references, "first": first, **others}.items():
        scoring.write_lines(tmp_path / name, lines)
    command = [sys.executable, "-m", "sacrebleu", "ref", "-i", "first", "near", "far"]
    command += ["--paired-bs", "--paired-bs-n", "1000", "-m", "bleu", "-tok", "none", "-f", "json"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    expected = {line["system"]: line["BLEU"]["p_value"] for line in json.loads(shown.stdout)[1:]}
    found = comparison.paired_bootstrap(first, others, references, tokenised=True)
    assert list(found.values()) == pytest.approx(list(expected.values()))
    assert found["far"] < 0.05 < found["near"]


def test_equal_systems_are_never_called_different():
    references, lines = sentences("first", 0.3)
    nothing = ["x"] * SENTENCES
    for system in (lines, nothing):
        found = comparison.paired_bootstrap(system, {"same": system}, references, tokenised=True)
        assert found == {"same": 1.0}


def test_rows_are_tested_against_the_first_with_the_same_seed(results):
    for seed in (1, 2):
        add(results, "base", seed, 10.0, wrong=0.4)
    add(results, "ours", 1, 20.0, wrong=0.1)
    base, ours = comparison.rows_of(ledger.read(results), ["base", "ours"])
    problems = comparison.compare_with_first([base, ours])
    assert base.p_values == {}
    assert list(ours.p_values) == [1]
    assert ours.p_values[1] < 0.01
    assert problems == ["ours: no seed 2 to compare"]


def test_intervals_of_differences_stand_in_the_table(results, capsys):
    add(results, "base", 1, 10.0, wrong=0.4)
    add(results, "ours", 1, 20.0, wrong=0.1)
    rows = comparison.rows_of(ledger.read(results), ["base", "ours"])
    comparison.compare_with_first(rows)
    found = rows[1].intervals[1]
    assert 0 < found.low < found.difference < found.high
    references, first = sentences("base 1", 0.4)
    metric = scoring.bleu_metric(True)
    scores = [
        metric.corpus_score(lines, [references]).score
        for lines in (first, sentences("ours 1", 0.1)[1])
    ]
    assert found.difference == pytest.approx(scores[1] - scores[0])
    assert report.main([str(results), "--arms", "base", "ours"]) == 0
    assert f"| {found} |" in capsys.readouterr().out
    data = json.loads((results.parent / "report.json").read_text())
    assert data["rows"][1]["differences"] == {"1": list(found)}


def test_chosen_arms_alone_go_to_a_file_of_their_own(results, capsys):
    for arm in ("base", "ours", "other"):
        add(results, arm, 1, 10.0)
    base = results.parent / "set.de-en"
    arguments = [str(results), "--only", "--arms", "ours", "base", "third", "--output", str(base)]
    assert report.main(arguments) == 0
    data = json.loads((results.parent / "set.de-en.json").read_text())
    assert [row["arm"] for row in data["rows"]] == ["ours", "base"]
    assert data["not_run"] == ["third"]
    assert (results.parent / "set.de-en.md").exists()
    assert not (results.parent / "report.md").exists()


def test_a_set_of_which_nothing_was_run_makes_no_file(results, capsys):
    add(results, "base", 1, 10.0)
    assert report.main([str(results), "--only", "--arms", "ours"]) == 0
    assert "arms not run: ours" in capsys.readouterr().out
    assert [path.name for path in results.parent.iterdir()] == ["ledger.jsonl"]


def test_translations_left_on_another_machine_are_said_to_be_missing(results):
    add(results, "base", 1, 10.0, wrong=0.4)
    add(results, "ours", 1, 20.0)
    rows = comparison.rows_of(ledger.read(results), ["base", "ours"])
    problems = comparison.compare_with_first(rows)
    assert problems == ["ours, seed 1: no hypotheses on this machine"]


def test_translations_that_lost_a_line_are_an_error(results, capsys):
    add(results, "base", 1, 10.0, wrong=0.4)
    add(results, "ours", 1, 20.0, wrong=0.1, sentences_said=SENTENCES + 1)
    assert report.main([str(results), "--arms", "base", "ours"]) == 2
    message = capsys.readouterr().err
    assert "test.tokenised.hyp has 40 lines" in message
    assert "the ledger says 41 sentences" in message


def test_an_empty_ledger_is_an_error(results, capsys):
    assert report.main([str(results)]) == 2
    assert "missing or empty: run an arm first" in capsys.readouterr().err


def test_the_files_hold_signatures_commands_and_every_seed(results):
    for seed, bleu in ((1, 10.0), (2, 11.0)):
        add(results, "base", seed, bleu)
    assert report.main([str(results), "--title", "Mine", "--arms", "base"]) == 0
    text = (results.parent / "report.md").read_text()
    assert text.startswith("# Mine\n")
    for fact in ("BLEU (tokenised): `tok:none`", "machine: X, 2 cores", "Arms not run: none."):
        assert fact in text
    data = json.loads((results.parent / "report.json").read_text())
    (row,) = data["rows"]
    assert {seed: figures["bleu_tokenised"] for seed, figures in row["seeds"].items()} == {
        "1": 10.0,
        "2": 11.0,
    }
