"""Only runs that were trained and decoded alike are compared."""

import pytest

from recipes.jean2015_large_vocabulary import figures
from recipes.lab import claims, ledger
from recipes.lab.claims import NOT_RUN
from recipes.lab.figures import chart_parts
from recipes.lab.pages import table
from recipes.lab.pages.summary import Compared
from recipes.lab.runs import Runs
from recipes.lab.scores import schedules
from tests.recipes.test_table import add

SHORT, LONG = "fairseq-train d --max-epoch 5", "fairseq-train d --max-epoch 15 --patience 2"
LIMIT = "--beam 5 --max-len-a 1.2 --max-len-b 5"


@pytest.fixture
def fill(tmp_path, monkeypatch):
    """Adds lines ``(arm, command, generate, share of wrong words)`` to a ledger of two seeds."""
    monkeypatch.setattr(ledger, "ROOT", tmp_path)
    path = tmp_path / "results" / "mine" / "ledger.jsonl"

    def fill(*lines, schedule=None):
        for number, (arm, _, _, wrong) in enumerate(lines):
            for seed in (1, 2):
                add(path, f"{arm}{number}", seed, 50.0 - number, wrong=wrong)
        entries = []
        for entry in ledger.read(path):
            arm, command, generate, _ = lines[int(entry["arm"][-1])]
            setting = {"train": command, "generate": generate}
            entries.append(entry | {"arm": arm, "command": command, "setting": setting,
                                    "key": ledger.setting_key(setting)})  # fmt: skip
        return entries, Runs(entries, "tokenised", *([schedule] if schedule else []))

    return fill


def test_a_newer_schedule_of_one_arm_alone_is_left_out(fill):
    entries, runs = fill(
        ("a", SHORT, LIMIT, 0.5), ("b", SHORT, LIMIT, 0.3), ("a", LONG, LIMIT, 0.0)
    )
    assert runs.bleu("a") == 48.0  # the newest, by itself
    both_short = Runs(entries[:4], "tokenised").difference({"a": 1, "b": -1})
    assert runs.difference({"a": 1, "b": -1}) == both_short
    assert both_short.value < -5  # the long training is far above
    assert runs.paired(["a", "b"], "bleu_tokenised") == [[50.0, 50.0], [49.0, 49.0]]


def test_the_newest_schedule_that_both_have_counts(fill):
    _, runs = fill(
        ("a", SHORT, LIMIT, 0.5), ("b", SHORT, LIMIT, 0.3),
        ("a", LONG, LIMIT, 0.1), ("b", LONG, LIMIT, 0.2),
    )  # fmt: skip
    assert runs.paired(["a", "b"], "bleu_tokenised") == [[48.0] * 2, [47.0] * 2]
    assert runs.difference({"a": 1, "b": -1}).value > 0


def test_a_comparison_of_older_runs_is_marked(fill):
    lines = ("a", SHORT, LIMIT, 0.5), ("b", SHORT, LIMIT, 0.3), ("c", LONG, LIMIT, 0.1)
    _, runs = fill(*lines, ("a", LONG, LIMIT, 0.0))
    part = claims.at_least(runs, "b", "a")
    assert part.numbers.endswith("; older runs (at most 5 epochs)")
    row = Compared.in_bleu(runs, "b", "a", ("b", "a"), more="; and")
    assert row.numbers.endswith(" BLEU; and; older runs (at most 5 epochs)")
    assert "older" not in claims.at_least(runs, "c", "a").numbers


def test_so_is_one_of_arms_that_have_only_older_runs(fill):
    old = ("a", SHORT, LIMIT, 0.5), ("b", SHORT, LIMIT, 0.3)
    entries, runs = fill(*old, ("c", SHORT, LIMIT, 0.2), ("c", LONG, LIMIT, 0.1))
    assert "; older runs (at most 5 epochs" in claims.at_least(runs, "a", "b").numbers
    runs = Runs([*entries[:4], *entries[6:]], "tokenised")
    assert "older" not in claims.at_least(runs, "a", "b").numbers  # another, not a newer one


@pytest.mark.parametrize(
    ("command", "generate"),
    [
        (LONG, LIMIT),
        (SHORT, "--beam 5"),
        (SHORT, LIMIT + " --max-len-b 9"),
        (f"{SHORT} --max-tokens 9", LIMIT),
        (f"{SHORT} --batch-size 9", LIMIT),
        (f"{SHORT} --max-update 9", LIMIT),
    ],
)
def test_arms_without_a_common_schedule_are_not_compared(fill, command, generate):
    _, runs = fill(("a", SHORT, LIMIT, 0.5), ("b", command, generate, 0.0))
    assert runs.difference({"a": 1, "b": -1}) is None
    part = claims.at_least(runs, "b", "a")
    assert part[1:] == (NOT_RUN, "missing: b and a trained alike")
    assert claims.smaller("a < b", *runs.paired(["a", "b"], "bleu_tokenised")).verdict == NOT_RUN


def test_a_recipe_says_what_must_be_alike(fill):
    _, runs = fill(("a", SHORT, LIMIT, 0.5), ("b", LONG, LIMIT, 0.0), schedule=("--max-tokens",))
    assert runs.difference({"a": 1, "b": -1}).value < 0


def test_rows_of_the_table_are_compared_with_a_first_row_like_them(fill):
    entries, _ = fill(
        ("a", SHORT, LIMIT, 0.5), ("b", SHORT, LIMIT, 0.3),
        ("a", LONG, LIMIT, 0.1), ("c", LONG, "--beam 5", 0.0),
    )  # fmt: skip
    found = table.Comparison(Runs.by_setting(entries, ["a", "b", "c"]))
    assert list(found.differences) == ["b"]
    short = Runs(entries[:4], "tokenised").difference({"b": 1, "a": -1})
    assert found.differences["b"] == short
    assert found.problems == ["c: trained or decoded otherwise than the first row"]


def test_rows_are_not_compared_with_a_first_row_that_was_repeated_since(fill):
    repeated = f"{SHORT} --lr 0.008"
    entries, _ = fill(
        ("a", SHORT, LIMIT, 0.5), ("b", SHORT, LIMIT, 0.3),
        ("a", repeated, LIMIT, 0.1), ("b", repeated, LIMIT, 0.0),
    )  # fmt: skip
    dated = [e | {"date": f"2026-11-2{number // 4}"} for number, e in enumerate(entries)]
    runs = Runs.by_setting(dated, ["a", "b"])
    found = table.Comparison(runs).differences
    rows = {e["key"][:6]: e for e in dated if e["arm"] == "b"}
    for row, estimate in found.items():
        own = rows[row.split("[")[1][:6]]
        like = [e for e in dated if e["command"] == own["command"]]
        assert estimate == Runs(like, "tokenised").difference({"b": 1, "a": -1})
    assert len(found) == 2


def test_a_curve_over_candidate_lists_has_points_of_one_schedule(fill):
    lists = [("lv.k500.kp10", 0.1), ("lv.k2000.kp10", 0.2), ("lv.k2000.kp20", 0.3)]
    lines = [(arm, LONG, LIMIT, 0.0) for arm, _ in lists[:2]]
    _, runs = fill(*((arm, SHORT, LIMIT, wrong) for arm, wrong in lists), *lines)
    by_k, by_k_prime = figures.by_frequent(runs, 10), figures.by_per_word(runs, 2000)
    assert [list(chart.panels[0].series[0].x) for chart in (by_k, by_k_prime)] == [
        [500, 2000], [10, 20],
    ]  # fmt: skip
    assert min(by_k.panels[0].series[0].y) > 99
    assert max(by_k_prime.panels[0].series[0].y) < 90
    assert "at most 15 epochs" in by_k.note
    assert "at most 5 epochs" in by_k_prime.note


def test_a_curve_has_only_seeds_that_all_of_its_points_have(fill):
    both, one = "lv.k500.kp10", "lv.k2000.kp10"
    entries, _ = fill((both, LONG, LIMIT, 0.1), (one, LONG, LIMIT, 0.3))
    del entries[-1]  # the second seed of the second point
    runs = Runs(entries, "tokenised")
    assert (runs.seeds([both]), runs.seeds([one])) == ([1, 2], [1])
    chart = figures.by_frequent(runs, 10)
    alone = runs.estimate([both, one], lambda score: score(both))
    assert alone.seeds == 1
    series = chart.panels[0].series[0]
    assert (series.y[0], series.low[0]) == (alone.value, alone.low)
    assert series.low[0] != chart_parts.bleu_of(runs, both).low  # of both seeds


def test_perplexities_of_different_data_are_not_compared():
    """Under one name, for example with another number of sentences."""

    def line(arm, data):
        setting = {"train": SHORT, "evaluate": "--tokens-per-sample 200", "data": data}
        return {"arm": arm, "seed": 1, "key": ledger.setting_key(setting), "command": SHORT,
                "setting": setting, "figures": {"test_ppl": 100.0}}  # fmt: skip

    runs = Runs([line("a", "6000 sentences"), line("b", "all")])
    assert runs.perplexities_by_seed(["a", "b"]) == []
    runs = Runs([line("a", "all"), line("b", "all")])
    assert [len(values) for values in runs.perplexities_by_seed(["a", "b"])] == [1, 1]


def test_a_schedule_that_was_taken_up_again_is_the_newest(fill):
    _, runs = fill(
        ("a", SHORT, LIMIT, 0.5),
        ("b", SHORT, LIMIT, 0.3),
        ("a", LONG, LIMIT, 0.1),
        ("b", LONG, LIMIT, 0.2),
        ("b", f"{SHORT} --lr 9", LIMIT, 0.4),
    )
    assert runs.paired(["a", "b"], "bleu_tokenised") == [[50.0] * 2, [46.0] * 2]


def test_a_rate_that_shrinks_without_a_rise_is_another_schedule(fill):
    waits = f"{LONG} --lr-scheduler shrink_after_rise"
    _, runs = fill(("a", f"{waits} --force-anneal 11", LIMIT, 0.5), ("b", waits, LIMIT, 0.3))
    assert runs.difference({"a": 1, "b": -1}) is None
    fixed = {"command": f"{LONG} --lr-scheduler fixed --force-anneal 7"}
    assert schedules.annealed_from(fixed) == ""


def test_older_runs_that_only_lack_something_name_what_they_lack():
    waits = {"command": f"{LONG} --lr-scheduler shrink_after_rise"}
    newer = {"command": f"{waits['command']} --force-anneal 11"}
    said = "learning rate halved from epoch 11 on in any case"
    assert schedules.unlike(waits, newer) == f"without: {said}"
    assert schedules.unlike(newer, waits) == said


def on(references, entries):
    """Lines scored on these references."""
    return [entry | {"setting": entry["setting"] | {"references": references}} for entry in entries]


def test_scores_on_different_references_are_not_compared(fill):
    lines = ("a", SHORT, LIMIT, 0.5), ("b", SHORT, LIMIT, 0.3), ("a", SHORT + " --lr 9", LIMIT, 0.0)
    entries, _ = fill(*lines)
    first, second = on("one", entries[:2]), on("other", entries[2:4])
    part = claims.at_least(Runs([*first, *second], "tokenised"), "b", "a")
    assert part[1:] == (NOT_RUN, "missing: b and a trained alike")
    again = on("other", entries[4:])
    assert Runs([*first, *second, *again], "tokenised").difference({"a": 1, "b": -1}).value > 0
    runs = Runs([*first, *on("one", entries[2:4]), *again], "tokenised")
    part = claims.at_least(runs, "b", "a")
    assert part.verdict != NOT_RUN
    assert part.numbers.endswith("; older runs (other references)")


def test_gains_of_two_directions_are_compared_on_the_references_of_each(fill):
    there, back = (f"{SHORT} --source-lang {s} --target-lang {t}" for s, t in ("ab", "ba"))
    entries, _ = fill(
        ("a", there, LIMIT, 0.5), ("b", there, LIMIT, 0.3),
        ("c", back, LIMIT, 0.5), ("d", back, LIMIT, 0.1),
    )  # fmt: skip
    weights = {"b": 1, "a": -1, "d": -1, "c": 1}
    lines = [*on("of b", entries[:4]), *on("of a", entries[4:])]
    assert Runs(lines, "tokenised").difference(weights).value < -5
    lines = [*on("of b", entries[:2]), *on("of another b", entries[2:4]), *on("of a", entries[4:])]
    assert Runs(lines, "tokenised").difference(weights) is None
