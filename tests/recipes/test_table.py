"""The table says what the ledger holds: means, tests against the first row, and what is missing."""

import json
import random
import subprocess
import sys

import pytest

from recipes.lab import ledger
from recipes.lab.arms import Table
from recipes.lab.pages import table
from recipes.lab.pages.comparison import Comparison, paired_bootstrap
from recipes.lab.runs import Runs
from recipes.lab.scores import scoring
from recipes.lab.settings import UserError

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


def add(
    path,
    arm,
    seed,
    bleu,
    *,
    wrong=None,
    setting="--lr 1",
    sentences_said=SENTENCES,
    kind="arm",
    cpu="X",
    command="t",
    **more,
):
    """Append a line; with `wrong`, keep translations of that quality in its run folder."""
    run = f"work/{arm}/{seed}"
    if wrong is not None:
        references, hypotheses = sentences(f"{arm} {seed}", wrong)
        (ledger.ROOT / run).mkdir(parents=True)
        scoring.write_lines(ledger.ROOT / run / "test.tokenised.ref", references)
        scoring.write_lines(ledger.ROOT / run / "test.tokenised.hyp", hypotheses)
    figures = {"bleu_tokenised": bleu, "bleu_tokenised_signature": "tok:none", "chrf_tokenised": 50}
    figures |= {"parameters": 1000, "sentences": sentences_said, **more}
    entry = {"arm": arm, "seed": seed, "run": run, "figures": figures, "words": ""}
    entry |= {"setting": {"train": setting}, "key": ledger.setting_key({"train": setting})}
    entry |= {
        "command": command,
        "generate_command": "g",
        "commit": "c0ffee",
        "versions": {"python": "3.11"},
    }
    entry |= {} if kind == "arm" else {"kind": kind}
    entry["machine"] = {"cpu": cpu, "cores": 2, "gpu": None}
    ledger.append(path, entry)


def write(path, name="report", title="Title", arms=(), only=False, compare=True, **more):
    wanted = Table(name, title, arms, only, compare)
    return table.write(ledger.read(path), path.parent, wanted, **more)


def read(path, name="report"):
    return json.loads((path.parent / f"{name}.json").read_text())


def test_the_table_of_a_small_case_is_the_one_worked_out_by_hand(results, capsys):
    for seed, bleu in ((1, 10.0), (2, 11.0), (3, 12.0)):
        add(results, "base", seed, bleu, train_tokens_per_second=1000 * seed)
    add(results, "ours", 1, 13.255, parameters=1234567)
    write(results, arms=["ours", "base", "third"], compare=False)
    # Mean of 10, 11, 12 is 11, their sample variance (1 + 0 + 1) / 2 = 1; of the speeds likewise.
    assert capsys.readouterr().out.split("\n")[:6] == [
        "| arm | BLEU (tokenized) | chrF | parameters | train tokens/s | seeds | commit |",
        "|---|---|---|---|---|---|---|",
        "| ours | 13.26 | 50.00 | 1,234,567 | - | 1 | c0ffee |",
        "| base | 11.00 ± 1.00 | 50.00 | 1,000 | 2,000 ± 1,000 | 1, 2, 3 | c0ffee |",
        "",
        "arms not run: third",
    ]


def test_seeds_that_were_not_run_are_named(results):
    add(results, "base", 1, 10.0)
    add(results, "base", 3, 10.0)
    entries, arms = ledger.read(results), ["base", "ours"]
    assert table.not_run(entries, arms, [1, 2, 3, 4]) == ["base (seed 2, 4)", "ours"]


def test_seeds_of_a_setting_that_was_replaced_were_not_run(results):
    add(results, "base", 1, 10.0, setting="--lr 1")
    add(results, "base", 2, 10.0, setting="--lr 2")
    assert table.not_run(ledger.read(results), ["base"], [1, 2]) == ["base (seed 1)"]


def test_a_rerun_replaces_its_older_line(results):
    add(results, "base", 1, 10.0)
    add(results, "base", 1, 12.0)
    assert Runs.by_setting(ledger.read(results)).values("base", "bleu_tokenised") == [12.0]


def test_one_arm_with_two_settings_makes_two_rows_that_can_be_told_apart(results):
    add(results, "base", 1, 10.0)
    add(results, "base", 2, 10.0, setting="--lr 2")
    labels = Runs.by_setting(ledger.read(results)).arms
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
    found = paired_bootstrap(first, references, others, tokenised=True)
    assert list(found.values()) == pytest.approx(list(expected.values()))
    assert found["far"] < 0.05 < found["near"]


def test_equal_systems_are_never_called_different():
    references, lines = sentences("first", 0.3)
    nothing = ["x"] * SENTENCES
    for system in (lines, nothing):
        found = paired_bootstrap(system, references, {"same": system}, tokenised=True)
        assert found == {"same": 1.0}


def test_rows_are_tested_against_the_first_with_the_same_seed(results):
    for seed in (1, 2):
        add(results, "base", seed, 10.0, wrong=0.4)
    add(results, "ours", 1, 20.0, wrong=0.1)
    comparison = Comparison(Runs.by_setting(ledger.read(results), ["base", "ours"]))
    assert list(comparison.p_values) == ["ours"]
    assert list(comparison.p_values["ours"]) == [1]
    assert comparison.p_values["ours"][1] < 0.01
    assert comparison.problems == ["ours: no seed 2 to compare"]


def test_intervals_of_differences_stand_in_the_table(results, capsys):
    for seed in (1, 2, 3):
        add(results, "base", seed, 10.0, wrong=0.4)
        add(results, "ours", seed, 20.0, wrong=0.1)
    write(results, arms=["base", "ours"])
    (found,) = [row["difference"] for row in read(results)["rows"] if row["difference"]]
    value, low, high, seeds = found
    assert 0 < low < value < high
    assert seeds == 3
    (unpaired,) = [row["difference_unpaired"] for row in read(results)["rows"] if row["difference"]]
    assert unpaired[0] == pytest.approx(value)
    assert unpaired[1:] != found[1:]
    metric = scoring.bleu_metric(True)
    differences = []
    for seed in (1, 2, 3):
        references, first = sentences(f"base {seed}", 0.4)
        ours = sentences(f"ours {seed}", 0.1)[1]
        scores = [metric.corpus_score(lines, [references]).score for lines in (first, ours)]
        differences.append(scores[1] - scores[0])
    assert value == pytest.approx(sum(differences) / 3)  # over all seeds, as are the intervals
    assert f"| {value:+.2f} [{low:+.2f}, {high:+.2f}] |" in capsys.readouterr().out


@pytest.mark.parametrize(("form", "better"), [("plain", False), ("tokenised", True)])
def test_differences_are_of_the_form_that_the_claims_use(form, better, results, capsys):
    """Of two systems one writes better tokens, the other better plain text."""
    for arm, wrong in (("a", (0.2, 0.5)), ("b", (0.5, 0.2))):
        add(results, arm, 1, 50.0, wrong=wrong[0])
        references, hypotheses = sentences(arm, wrong[1])
        folder = ledger.ROOT / "work" / arm / "1"
        scoring.write_lines(folder / "test.plain.ref", references)
        scoring.write_lines(folder / "test.plain.hyp", hypotheses)
    write(results, arms=["b", "a"], form=form)
    row = read(results)["rows"][1]
    assert (row["difference"][0] > 0) == better
    assert row["p_values"]["1"] < 0.05
    words = "in BLEU (tokenized) from" if form == "tokenised" else "in BLEU from"
    assert words in (results.parent / "report.md").read_text()


def test_chosen_arms_alone_go_to_a_file_of_their_own(results):
    for arm in ("base", "ours", "other"):
        add(results, arm, 1, 10.0)
    write(results, "set.de-en", only=True, arms=["ours", "base", "third"])
    data = read(results, "set.de-en")
    assert [row["arm"] for row in data["rows"]] == ["ours", "base"]
    assert data["not_run"] == ["third"]
    assert (results.parent / "set.de-en.md").exists()
    assert not (results.parent / "report.md").exists()


def test_a_set_of_which_nothing_was_run_makes_no_file(results, capsys):
    add(results, "base", 1, 10.0)
    assert write(results, only=True, arms=["ours"]) == []
    assert "arms not run: ours" in capsys.readouterr().out
    assert [path.name for path in results.parent.iterdir()] == ["ledger.jsonl"]


def test_translations_left_on_another_machine_are_said_to_be_missing(results):
    add(results, "base", 1, 10.0, wrong=0.4)
    add(results, "ours", 1, 20.0)
    comparison = Comparison(Runs.by_setting(ledger.read(results), ["base", "ours"]))
    assert comparison.problems == ["ours, seed 1: no hypotheses on this machine"]


def test_translations_that_lost_a_line_are_an_error(results):
    add(results, "base", 1, 10.0, wrong=0.4)
    add(results, "ours", 1, 20.0, wrong=0.1, sentences_said=SENTENCES + 1)
    with pytest.raises(UserError, match=r"test\.tokenised\.hyp has 40 lines") as info:
        write(results, arms=["base", "ours"])
    assert "the ledger says 41 sentences" in str(info.value)


def test_tuning_runs_have_a_table_of_their_own(results):
    add(results, "base", 1, 10.0)
    for rate, ppl in (("1", 30.0), ("2", 20.5)):
        setting = f"--arch a --lr {rate}"
        add(results, "tune", 1, 99.0, setting=setting, kind="tuning", best_valid_ppl=ppl)
    write(results, arms=["base"])
    assert [row["arm"] for row in read(results)["rows"]] == ["base"]
    (file,) = table.write_tuning(ledger.read(results), results.parent)
    text = file.read_text()
    assert file.name == "tuning.md"
    assert "| tune |  | --lr 2 | 20.5 | - | 1 | c0ffee |" in text
    assert "base" not in text
    assert "99.0" not in text  # not a result
    assert not table.write_tuning(ledger.read(results)[:1], results.parent)


def test_tuning_runs_of_an_arm_show_what_differs_from_it(results):
    add(results, "base", 1, 10.0, setting="--arch a --lr 3 --dropout 0.5")
    add(results, "base", 1, 10.0, setting="--arch a --lr 1 --dropout 0.3 --center")
    setting = "--arch a --lr 1 --dropout 0.0"
    add(results, "base", 1, 99.0, setting=setting, kind="tuning", best_valid_ppl=30.0)
    (file,) = table.write_tuning(ledger.read(results), results.parent)
    assert (
        "| base |  | --lr 1 --dropout 0.0 without --center | 30.0 | - | 1 | c0ffee |"
        in file.read_text()
    )
    setting += " --max-epoch 60"
    add(results, "base", 1, 99.0, setting=setting, kind="tuning", best_valid_ppl=20.0)
    table.write_tuning(ledger.read(results), results.parent)
    for row in (
        "| base |  | --lr 1 --dropout 0.0 without --max-epoch 60 without --center | 30.0 |",
        "| base |  | --lr 1 --dropout 0.0 --max-epoch 60 without --center | 20.0 |",
    ):
        assert row in file.read_text()


def test_the_files_hold_signatures_commands_and_every_seed(results):
    for seed, bleu in ((1, 10.0), (2, 11.0)):
        add(results, "base", seed, bleu)
    write(results, title="Mine", arms=["base"])
    text = (results.parent / "report.md").read_text()
    assert text.startswith("# Mine\n")
    for fact in ("BLEU (tokenized): `tok:none`", "machine: X, 2 cores", "Arms not run: none."):
        assert fact in text
    (row,) = read(results)["rows"]
    assert {seed: figures["bleu_tokenised"] for seed, figures in row["seeds"].items()} == {
        "1": 10.0,
        "2": 11.0,
    }


@pytest.mark.parametrize("path", sorted(ledger.ROOT.glob("results/**/ledger.jsonl")))
def test_the_figures_of_the_reports_are_those_of_the_ledgers(path, tmp_path):
    """Every ledger there is makes a table, and none of its figures is another one."""
    table.write(ledger.read(path), tmp_path, Table("report", "Title", [], compare=False))
    entries = [line for line in ledger.read(path) if ledger.kind_of(line) == ledger.ARM]
    rows = json.loads((tmp_path / "report.json").read_text())["rows"]
    found = {(row["key"], seed): fig for row in rows for seed, fig in row["seeds"].items()}
    newest = {(e["key"], str(e["seed"])): e["figures"] for e in entries}
    assert found == newest


def stored_tables():
    """The rows of every table of arms in results/, by path."""
    found = {}
    for path in sorted(ledger.ROOT.glob("results/*/*.json")):
        stored = json.loads(path.read_text())
        rows = stored.get("rows", []) if isinstance(stored, dict) else []
        if rows and "seeds" in rows[0]:
            found[path] = rows
    return found


def test_the_tables_that_are_stored_have_the_newest_figures_of_the_ledger():
    tables = stored_tables()
    assert {path.parent.name for path in tables} == {
        path.parent.name for path in ledger.ROOT.glob("results/*/ledger.jsonl")
    }
    newest = {
        path: {
            (line["key"], str(line["seed"])): line["figures"]
            for line in ledger.read(path.with_name("ledger.jsonl"))
        }
        for path in tables
    }
    for path, row in ((path, row) for path, rows in tables.items() for row in rows):
        for seed, figures in row["seeds"].items():
            assert figures == newest[path][row["key"], seed], (path, row["arm"])


def test_systems_scored_without_case_are_tested_without_case(results):
    for arm, wrong in (("base", 0.4), ("ours", 0.1)):
        add(results, arm, 1, 10.0, wrong=wrong, bleu_signature="case:lc")
    for path in ledger.ROOT.rglob("*.hyp"):
        path.write_text(path.read_text().upper())
    found = Comparison(Runs.by_setting(ledger.read(results), ["base", "ours"]))
    assert found.p_values["ours"][1] < 0.01


def test_arms_that_are_not_listed_come_last(results):
    for arm in ("old", "ours", "base"):
        add(results, arm, 1, 10.0)
    assert Runs.by_setting(ledger.read(results), ["base", "ours"]).arms == ["base", "ours", "old"]


def test_rows_with_other_references_are_not_tested(results):
    for arm, wrong in (("base", 0.4), ("ours", 0.1)):
        add(results, arm, 1, 10.0, wrong=wrong)
    path = ledger.ROOT / "work/ours/1/test.tokenised.ref"
    scoring.write_lines(path, scoring.read_lines(path)[::-1])
    found = Comparison(Runs.by_setting(ledger.read(results), ["base", "ours"]))
    assert found.problems == ["ours, seed 1: other references than the first row"]
