"""Pages and tables of results are made of the ledger, and leave alone what was written by hand."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from recipes.lab import ledger
from recipes.lab.arms import load
from recipes.lab.claims import HOLDS, NOT_RUN, UNDECIDED, Claim, Part
from recipes.lab.figures import training_curves
from recipes.lab.figures.charts import Chart, Row, Rows
from recipes.lab.pages import html_page, paper_page, summary
from recipes.lab.pages.report import Findings
from recipes.lab.runs import Runs
from recipes.lab.scores import schedules
from recipes.lab.scores.resampling import Estimate
from recipes.lab.settings import UserError
from tests.recipes.test_table import add

LONG = "BLEU(de-en.bpe4000.context_structure) ≥ BLEU(de-en.bpe4000.output_structure)"
CLAIMS = [
    Claim(1, "joint is better", [Part(LONG, UNDECIDED, "+1.00 [-1.23, +3.21], 3 seeds"),
                                 Part("a ≥ c", NOT_RUN, "missing: c, d.k1")]),
    Claim(2, "nobody has run this", [Part("x", NOT_RUN, "missing: y")] * 10),
]  # fmt: skip
BETTER = summary.Compared(
    "joint",
    "free vectors",
    "BLEU",
    Estimate(1.5, 1.0, 2.0, 3),
    values=(41.5, 40.0),
    arms=("b", "a"),
)
ONE_SEED = summary.Compared("tied", "free vectors", "BLEU", Estimate(9.0, 8.0, 9.5, 1))
FOUND = Findings(
    "Claims of a paper", CLAIMS, paper="It says so.", setup="Captions, in BLEU.",
    why=["Small data."], terms={"7a": "a map of words", "LV": "all words"},
    compared=[BETTER, ONE_SEED], advice=["Use joint."],
    charts={"gain": Chart("joint gains 1.5 BLEU", [Rows("BLEU", [Row("joint", 1.5, 1, 2)])])},
)  # fmt: skip
ENTRIES = [
    {"arm": arm, "seed": seed, "key": "k", "date": f"2026-01-0{seed}T00:00", "commit": "abc1234567",
     "command": f"fairseq-train d --max-epoch {epochs}", "setting": {}, "words": "what it is",
     "figures": {"bleu": 20.0, "train_seconds": 120, "train_seconds_epochs": 5, "epochs": 5},
     "run": "nowhere"}
    for arm, seed, epochs in (("a", 1, 5), ("b", 2, 5), ("a", 1, 15))
]  # fmt: skip


def test_the_page_names_runs_that_were_repeated_with_another_score():
    again = [entry | {"figures": entry["figures"] | {"bleu": bleu}}
             for entry, bleu in zip(ENTRIES, (19.0, 20.01, 20.0), strict=True)]  # fmt: skip
    assert list(paper_page.repeated([*ENTRIES[:2], *again[:2]])) == [
        "`a` with seed 1 was run 2 times: BLEU 20.0, 19.0. The last counts."
    ]
    both = [entry | {"figures": {"bleu": 20.0, "best_valid_ppl": ppl}}
            for entry, ppl in zip(ENTRIES[:1] * 2, (5.12, 5.49), strict=True)]  # fmt: skip
    assert list(paper_page.repeated(both)) == [
        "`a` with seed 1 was run 2 times: BLEU 20.0, 20.0; validation perplexity 5.12, 5.49. "
        "The last counts."
    ]
    assert not list(paper_page.repeated([ENTRIES[0], again[0] | {"kind": "tuning"}]))
    assert not list(paper_page.repeated([ENTRIES[0], again[0] | {"key": "another setting"}]))


def test_the_page_counts_the_seeds_of_each_arm():
    lines = [{"arm": arm, "seed": seed} for arm, seeds in (("a", 3), ("b", 1), ("c", 1), ("d", 2))
             for seed in range(seeds)]  # fmt: skip
    assert paper_page.numbers_of_seeds(lines) == "1 arm with 3 seeds, 1 with 2, 2 with 1"
    assert paper_page.numbers_of_seeds(lines[:3]) == "1 arm with 3 seeds"


def test_the_page_says_how_many_runs_ended_by_the_limit():
    def run(epochs, patience="--patience 2"):
        command = f"fairseq-train d --max-epoch 15 {patience}"
        return {"command": command, "figures": {"epochs": epochs}}

    assert paper_page.at_limit([run(15), run(15)]) == ", all runs ended by the limit of epochs"
    decoding = {"command": "", "figures": {}}
    words = ", 1 of 2 runs ended by the limit of epochs"
    assert paper_page.at_limit([run(15), run(9), decoding]) == words
    assert not paper_page.at_limit([run(9)])
    assert not paper_page.at_limit([run(15, "")])  # all epochs were meant to be trained


@pytest.mark.parametrize(
    ("theirs", "verdict"),
    [([10.0, 10.1, 9.9], "better"), ([8.1, 8.0, 7.9], "no difference"), ([9.0], "undecided")],
)
def test_a_comparison_of_perplexities_is_over_seeds(theirs, verdict, tmp_path):
    path = tmp_path / "ledger.jsonl"
    for arm, values in (("a", [8.1, 8.0, 7.9]), ("b", theirs)):
        for seed, value in enumerate(values, start=1):
            add(path, arm, seed, 50.0, best_valid_ppl=value)
    row = summary.Compared.in_validation_perplexity(Runs(ledger.read(path)), "a", "b", ("A", "B"))
    ours = np.array([8.1, 8.0, 7.9])[: len(theirs)]
    ratio = np.exp(np.log(ours / theirs).mean())
    assert row.found.value == pytest.approx(100 * (1 - ratio))
    assert row.values == pytest.approx((ours.mean(), np.mean(theirs)))
    assert (row.verdict, row.found.seeds) == (verdict, len(theirs))
    change = 100 * (ratio - 1)  # printed as the perplexity itself changes
    assert row.numbers.startswith(f"{change:+.1f}".replace("-0.0", "+0.0"))
    assert row.numbers.endswith("% validation perplexity")
    compare = summary.Compared.in_validation_perplexity
    assert compare(Runs(ledger.read(path)), "a", "c", ("A", "C")) is None


def equal_perplexities(folder, *arms):
    """Lines of these arms, three seeds each, whose validation perplexities are equal."""
    for arm in arms:
        for seed in (1, 2, 3):
            add(folder / "ledger.jsonl", arm, seed, 50.0, best_valid_ppl=8.0)
    return ledger.read(folder / "ledger.jsonl")


def test_a_perplexity_of_fewer_sentences_is_not_compared(tmp_path):
    """fairseq without this package leaves out the longest sentences of a validation set."""
    entries = equal_perplexities(tmp_path, "ours", "stock", "stock2")
    compare = summary.Compared.in_validation_perplexity
    for entry in entries:
        entry["setting"]["stock"] = "stock" in entry["arm"]
    runs = Runs(entries)
    assert compare(runs, "ours", "stock", ("A", "B")) is None
    assert compare(runs, "stock2", "stock", ("A", "B")) is not None


def test_perplexities_over_different_words_are_not_compared(tmp_path):
    """Under one name, for example with another size of the vocabulary. Older lines do not say."""
    entries = equal_perplexities(tmp_path, "a", "b", "old")
    compare = summary.Compared.in_validation_perplexity
    for entry in entries:
        entry |= {} if entry["arm"] == "old" else {"target_words": f"words of {entry['arm']}"}
    assert compare(Runs(entries), "a", "b", ("A", "B")) is None
    assert compare(Runs(entries), "a", "old", ("A", "old")) is not None
    for entry in entries:
        entry |= {"target_words": "words of both"}
    assert compare(Runs(entries), "a", "b", ("A", "B")) is not None


@pytest.fixture
def recipe(tmp_path):
    folder = tmp_path / "results" / "paper"
    folder.mkdir(parents=True)

    def arm(name):
        if "." in name:
            raise UserError("no such arm")
        return SimpleNamespace(decoding=None)

    return SimpleNamespace(
        name="joint2018",
        title="",
        own_results="results/mine",
        ledger=folder / "ledger.jsonl",
        schedule=schedules.OPTIONS,
        arm=arm,
    )


def pages(recipe, found=FOUND, drawn=("gain",)):
    return [file.read_text() for file in paper_page.write(found, recipe, ENTRIES, drawn)]


def page(recipe, found=FOUND):
    return pages(recipe, found)[0]


def test_the_page_says_what_was_found_and_since_when(recipe):
    text = page(recipe)
    for words in (
        "**The paper**: It says so.",
        "## What we measured\n\nCaptions, in BLEU.\n",
        "| 1. joint is better | **partly run** | undecided 1, not run 1 |",
        "![joint gains 1.5 BLEU](gain.png)",
        "| joint: 41.5 | free vectors: 40.0 | +1.50 [+1.00, +2.00] BLEU | 3 | better |",
        "| tied | free vectors | +9.00 [+8.00, +9.50] BLEU | 1 | undecided |",
        "*7a*: a map of words; *LV*: all words.",
        "- Small data.",
        "Measured 2026-01-01 to 2026-01-02.",
        "- Use joint.",
        'OUTLAYERS_RESULTS=work/again/mine SEEDS="1 2" recipes/joint2018/run.sh   # every arm',
    ):
        assert words in text
    assert text.count("Not run: claim 2.") == 1  # and not in ten rows
    assert "nobody has run this" not in text


def test_the_command_of_the_first_row_has_the_seeds_that_were_compared(recipe):
    assert "# first row" not in "".join(paper_page.again(recipe, ENTRIES, [BETTER]))
    seeds = {"a": (2, 4, 7, 9), "b": (4, 5, 7, 9)}
    entries = [ENTRIES[0] | {"arm": arm, "seed": seed} for arm in seeds for seed in seeds[arm]]
    found = paper_page.again(recipe, entries, [BETTER])
    command = 'SEEDS="4 7 9" ARMS="b a" recipes/joint2018/run.sh'
    took = "0.2 hours of training on a thread"  # 2 minutes each
    assert f"OUTLAYERS_RESULTS=work/again/mine {command}   # first row, {took}" in found


def test_a_page_without_measurements_has_no_heading_for_them(recipe):
    heading = "## What we measured"
    bare = Findings("Claims of our own", CLAIMS)
    assert heading not in pages(recipe, bare, drawn=())[0]
    for more in ({"setup": "Captions."}, {"compared": [BETTER]}, {"costs": ["Hours."]}):
        assert heading in pages(recipe, replace(bare, **more), drawn=())[0]


def test_what_a_reader_in_a_hurry_does_not_need_is_in_the_details(recipe):
    second = Chart("tied is level", [Rows("BLEU", [Row("tied", 0.1, -1, 1)])])
    rows = [replace(BETTER, on_page=True), ONE_SEED]
    found = replace(FOUND, compared=rows, remarks=["Rates are tuned."],
                    charts={**FOUND.charts, "level": second})  # fmt: skip
    text, more = pages(recipe, found, ["gain", "level"])
    tied = "| tied | free vectors | +9.00 [+8.00, +9.50] BLEU | 1 | undecided |"
    for words in (
        tied,
        "![tied is level](level.png)",
        "- Rates are tuned.",
        "2 arms with 1 seed: at most 5 epochs, 2026-01-01 to 2026-01-02, commit abc1234.",
        "1 arm with 1 seed: at most 15 epochs, 2026-01-01, commit abc1234.",
        "Only arms of one schedule are compared.",
    ):
        assert words in more
        assert words not in text
    row = "| joint: 41.5 | free vectors: 40.0 | +1.50 [+1.00, +2.00] BLEU | 3 | better |"
    assert row in text
    assert row in more
    assert "](details.md)" in text
    assert more.startswith("# Claims of a paper: details\n")


def test_what_is_most_surely_better_is_not_what_gains_most_on_average():
    wide = replace(BETTER, found=Estimate(3.0, 0.5, 5.5, 3))
    assert summary.most_certain([wide, BETTER, ONE_SEED]) is BETTER
    assert summary.most_certain([ONE_SEED]) is None


def test_tuning_runs_are_counted_apart_from_arms():
    tuning = [{**entry, "kind": "tuning", "arm": f"tune-{k}"} for k, entry in enumerate(ENTRIES)]
    lines = paper_page.since([*ENTRIES, *tuning])
    assert lines[:-1] == paper_page.since(ENTRIES)
    assert lines[-1] == "3 tuning runs, by validation perplexity alone: [tuning.md](tuning.md)."


def test_what_was_written_by_hand_stays_and_what_was_generated_is_made_anew(recipe):
    file = recipe.ledger.parent / "README.md"
    file.write_text("# My heading\n\nBy hand.\n")
    first = page(recipe)
    assert first.startswith("# My heading\n")
    assert first.rstrip().endswith("By hand.")
    file.write_text(first.replace("By hand.", "By hand, later."))
    second = page(recipe, Findings("t", CLAIMS, paper="It says otherwise."))
    assert "By hand, later." in second
    assert "It says otherwise." in second
    assert "It says so." not in second
    assert page(recipe) == first.replace("By hand.", "By hand, later.")


def test_every_papers_rows_are_joined_in_the_overview(tmp_path):
    results = tmp_path / "results"
    on_page = replace(BETTER, on_page=True)
    for name, rows in (
        ("one", [BETTER, ONE_SEED]),
        ("two", [ONE_SEED]),
        ("six", [on_page, ONE_SEED]),
    ):
        (results / name).mkdir(parents=True)
        if name == "two":
            parts = ("summary", "main table", "advice")
            lines = [f"{summary.begin(part)}\nold\n{summary.end(part)}" for part in parts]
            (results / "README.md").write_text("before\n" + "\n".join(lines) + "\nafter\n")
            (tmp_path / "README.md").write_text("a\n" + lines[1] + "\nb\n")
        summary.write(results / name, f"Paper {name}", rows, ["Use it."])
    text = (results / "README.md").read_text()
    whole, main = (
        text.partition(summary.begin(part))[2].partition(summary.end(part))[0]
        for part in ("summary", "main table")
    )
    row = "| joint: 41.5 | free vectors: 40.0 | +1.50 [+1.00, +2.00] BLEU | 3 | better |"
    assert f"| [Paper one](one/README.md) {row}" in whole
    assert f"| [Paper one](one/README.md) {row}" in main
    assert "| [Paper two](two/README.md) | tied | free vectors | +9.00" in main  # of unknown values
    assert whole.count("| [Paper ") == 2 + 1 + 1  # of the third paper one is on its page
    assert main.count("| [Paper ") == 3  # the main row of each
    assert "- **[Paper two](two/README.md)**: Use it." in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    main = main.replace("](", "](results/")  # links from there
    assert (tmp_path / "README.md").read_text() == (
        f"a\n{summary.begin('main table')}{main}{summary.end('main table')}\nb\n"
    )


def test_a_trial_elsewhere_leaves_the_overview_as_it_was(tmp_path):
    results = tmp_path / "results"
    for name in ("one", "one/trial"):
        (results / name).mkdir(parents=True)
    page = f"{summary.begin('summary')}\nold\n{summary.end('summary')}\n"
    (results / "README.md").write_text(page)
    (results / "one" / "README.md").write_text(page)
    written = summary.write(results / "one" / "trial", "Trial", [BETTER], [], updates_pages=False)
    assert written == [results / "one" / "trial" / summary.FILE]
    assert (results / "README.md").read_text() == page
    assert (results / "one" / "README.md").read_text() == page


@pytest.mark.parametrize(
    ("results", "own"), [("", True), ("results/baseline_multi30k/few_updates", False)]
)
def test_only_a_recipe_s_own_folder_updates_the_overview(results, own):
    assert load("baseline_multi30k", {"OUTLAYERS_RESULTS": results}).has_own_results == own


@pytest.mark.parametrize(
    ("name", "settings", "folder"),
    [
        ("baseline_multi30k", {}, "baseline_multi30k"),
        ("baseline_multi30k", {"SEGMENTATION": "words"}, "baseline_multi30k/words"),
        ("baseline_multi30k", {"BPE_MERGES": "2000"}, "baseline_multi30k/bpe2000"),
        ("garg2020_esnmt", {}, "garg2020"),
        ("garg2020_esnmt", {"SOURCE": "de", "TARGET": "en"}, "garg2020/de-en"),
        ("garg2020_esnmt", {"TARGET": "fr", "BPE_MERGES": "9"}, "garg2020/en-fr/bpe9"),
        ("jean2015_large_vocabulary", {}, "jean2015"),
        ("jean2015_large_vocabulary", {"TARGET": "fr"}, "jean2015/en-fr"),
        ("jean2015_large_vocabulary", {"LARGE": "5000"}, "jean2015/large.5000.0"),
        ("jean2015_large_vocabulary", {"SOURCE_LARGE": "9"}, "jean2015/large.0.9"),
        (
            "jean2015_large_vocabulary",
            {"SETTING": "paper", "PARALLEL": "x", "TARGET": "fr"},
            "jean2015/paper.en-fr",
        ),
        ("digangi2017_external", {}, "digangi2017"),
        ("digangi2017_external", {"TARGET_SEGMENTATION": "bpe"}, "digangi2017/bpe4000"),
        ("digangi2017_external", {"TARGET": "fr"}, "digangi2017/en-fr"),
        ("digangi2017_external", {"TARGET_MIN_COUNT": "5"}, "digangi2017/min_count5"),
        ("digangi2017_external", {"TARGET_VOCABULARY": "9"}, "digangi2017/vocabulary9"),
        ("digangi2017_external", {"SETTING": "iwslt", "PARALLEL": "x"}, "digangi2017/iwslt"),
        (
            "digangi2017_external",
            {"SETTING": "iwslt", "PARALLEL": "x", "TARGET": "de"},
            "digangi2017/iwslt/en-de",
        ),
        ("digangi2017_external", {"SETTING": "wmt", "PARALLEL": "x"}, "digangi2017/wmt"),
        (
            "digangi2017_external",
            {"SETTING": "wmt", "PARALLEL": "x", "BPE_MERGES": "9"},
            "digangi2017/wmt/bpe9",
        ),
    ],
)
def test_other_units_and_languages_have_results_of_their_own(name, settings, folder):
    recipe = load(name, settings)
    assert str(recipe.ledger) == f"results/{folder}/ledger.jsonl"
    elsewhere = load(name, {**settings, "OUTLAYERS_RESULTS": "trial"}).results
    assert elsewhere == "/".join(["trial", *folder.split("/")[1:]])


@pytest.mark.parametrize(
    ("name", "settings", "folder"),
    [
        ("baseline_multi30k", {"DIM": "256"}, "baseline_multi30k/dim256"),
        ("baseline_multi30k", {"LAYERS": "1"}, "baseline_multi30k/layers1"),
        ("garg2020_esnmt", {"DIM": "512", "LAYERS": "6"}, "garg2020/dim512/layers6"),
        ("digangi2017_external", {"DIM": "64"}, "digangi2017/dim64"),
        ("garg2020_esnmt", {"NARROW_DIM": "96"}, "garg2020/narrow_dim96"),
        (
            "digangi2017_external",
            {"SETTING": "wmt", "PARALLEL": "x", "DIM": "64"},
            "digangi2017/wmt/dim64",
        ),
        ("jean2015_large_vocabulary", {"HIDDEN": "64"}, "jean2015/hidden64"),
        ("pappas2018_joint", {}, "pappas2018"),
        ("pappas2018_joint", {"DIM": "256", "LAYERS": "1"}, "pappas2018/dim256/layers1"),
        (
            "pappas2018_joint",
            {"SETTING": "paper", "WMT_DATA": "x", "DIM": "128"},
            "pappas2018/paper/dim128",
        ),
    ],
)
def test_models_of_other_sizes_have_results_of_their_own(name, settings, folder):
    assert load(name, settings).results == f"results/{folder}"
    trial = load(name, {**settings, "OUTLAYERS_RESULTS": "results/trial"})
    kept = "results/trial" + ("/wmt" if settings.get("SETTING") == "wmt" else "")
    kept += "/paper" if settings.get("SETTING") == "paper" else ""
    assert trial.results == kept  # a folder that was made for that size


def test_the_html_page_has_verdicts_intervals_commands_figures_and_the_ledger(recipe):
    (recipe.ledger.parent / "gain.svg").write_text("<svg/>")
    data = html_page.data(recipe, ENTRIES, FOUND)
    first, second = data["claims"]
    assert [part["inequality"] for part in first["parts"]] == [LONG]
    # What is missing and can be trained; a decoding is not.
    assert first["command"] == "ARMS=c recipes/joint2018/10_arms.sh"
    assert (second["parts"], second["command"]) == ([], "ARMS=y recipes/joint2018/10_arms.sh")
    assert [figure["file"] for figure in data["figures"]] == ["gain.svg"]
    assert data["ledger"]["columns"][:4] == ["arm", "what it is", "seed", "BLEU"]
    assert len(data["ledger"]["rows"]) == 3
    text = html_page.write(recipe, ENTRIES, FOUND).read_text()
    assert text.startswith("<!doctype html>")
    assert "joint gains 1.5 BLEU" in text
    assert html_page.data(recipe, ENTRIES, None)["claims"] == []


def log_of(folder):
    line = "x | INFO | {} | {}\n"
    (folder / "run").mkdir(parents=True)
    (folder / "run" / "train.log").write_text("".join(
        line.format("valid", json.dumps({"epoch": n, "valid_ppl": str(9 - n)}))
        + line.format("train", json.dumps({"epoch": n, "train_num_updates": str(n * 10),
                                           "train_train_wall": "30"}))
        for n in (1, 2)
    ))  # fmt: skip


def test_curves_of_older_lines_are_read_once_from_a_checkout_that_has_the_log(tmp_path):
    log_of(tmp_path / "there")
    results = tmp_path / "results"
    results.mkdir()
    old = {"arm": "a", "seed": 1, "key": "k", "run": "run", "figures": {"epochs": 2},
           "results": str(results)}  # fmt: skip
    new = {**old, "key": "n", "figures": {"epochs": 1, "history": [{"epoch": 1}]}}
    decoded = {**old, "key": "d", "figures": {}}
    assert training_curves.of(old) == []
    assert training_curves.keep([old, new, decoded], results, [tmp_path / "elsewhere"]) == 0
    assert training_curves.keep([old, new, decoded], results, [tmp_path / "there"]) == 1
    assert training_curves.of(old) == [
        {"epoch": 1, "updates": 10, "seconds": 30.0, "valid_ppl": 8.0},
        {"epoch": 2, "updates": 20, "seconds": 60.0, "valid_ppl": 7.0},
    ]
    assert training_curves.of(new) == [{"epoch": 1}]
    assert training_curves.keep([old, new, decoded], results, [tmp_path / "there"]) == 0


@pytest.mark.parametrize(
    ("figures", "minutes"),
    [
        ({"train_seconds": 120.0, "train_seconds_epochs": 2}, 2),
        # The last epoch's alone: the whole command's, if it was not interrupted.
        ({"last_epoch_seconds": 20.0, "train_wall_seconds": 600, "attempts": 1}, 10),
        ({"last_epoch_seconds": 20.0, "train_wall_seconds": 600, "attempts": 2}, None),
        ({}, None),
    ],
)
def test_training_time_is_said_where_the_line_knows_it(figures, minutes):
    assert training_curves.minutes({"figures": figures}) == minutes


def test_a_better_verdict_needs_seeds_and_an_interval():
    assert (BETTER.verdict, ONE_SEED.verdict) == ("better", "undecided")
    close = summary.Compared("a", "b", "BLEU", Estimate(0.1, -0.2, 0.3, 3))
    assert close.verdict == "no difference"
    assert HOLDS in summary.WORDS


@pytest.mark.parametrize(
    ("theirs", "verdict", "shown"),
    [
        ([10.0, 11.0, 9.0], "better", "better (paired)"),  # each seed is a tenth below
        ([8.1, 8.9, 7.3], "worse", "worse (paired)"),
        ([20.0, 21.0, 19.0], "better", "better"),
        ([9.0, 9.9, 8.1], "no difference", "no difference"),
    ],
)
def test_a_verdict_that_depends_on_paired_seeds_says_so(theirs, verdict, shown, tmp_path):
    path = tmp_path / "ledger.jsonl"
    for arm, values in (("a", [9.0, 9.9, 8.1]), ("b", theirs)):
        for seed, value in enumerate(values, start=1):
            add(path, arm, seed, 50.0, best_valid_ppl=value)
    row = summary.Compared.in_validation_perplexity(Runs(ledger.read(path)), "a", "b", ("A", "B"))
    assert (row.verdict, row.shown, row.cells("")[-1]) == (verdict, shown, shown)
    assert row.said == shown.replace(" (paired)", ", paired")


@pytest.mark.parametrize(
    ("low", "form", "shown"),
    [
        (0.018, "+.1f", "better (paired)"),
        (0.018, "+.2f", "better"),
        (0.06, "+.1f", "better"),
    ],
)
def test_an_unpaired_interval_decides_as_it_is_printed(low, form, shown):
    found = Estimate(2.2, 0.8, 3.6, 3)
    row = replace(BETTER, found=found, form=form, unpaired=Estimate(2.2, low, 4.4, 3))
    assert row.shown == shown


def test_the_details_have_the_interval_of_unpaired_seeds(recipe):
    falls = {"falls": True, "form": "+.1f", "margin": 1.0, "on_page": True}
    found = Estimate(9.9, 8.6, 11.3, 3)
    row = replace(BETTER, measure="% perplexity", found=found, **falls)
    row = replace(row, unpaired=Estimate(9.9, -2.8, 16.6, 3))
    alone = replace(ONE_SEED, unpaired=Estimate(9.0, 8.0, 9.5, 1))
    text, more = pages(recipe, replace(FOUND, compared=[row, alone]))
    both = "| joint: 41.5 | free vectors: 40.0 | -9.9 [-11.3, -8.6]% perplexity |"
    assert f"{both} 3 | better (paired) |" in text
    assert f"{both} [-16.6, +2.8] | 3 | better (paired) |" in more
    assert "| tied | free vectors | +9.00 [+8.00, +9.50] BLEU |  | 1 | undecided |" in more
    heading = "| method | compared with | difference [95%] | unpaired seeds | seeds | verdict |"
    assert heading in more
    assert heading not in text
    for part in (text, more):
        assert "a paired interval of three seeds may be narrow by chance" in part
    assert "unpaired seeds |" not in pages(recipe)[1]  # of rows without it


def test_the_summary_has_the_interval_of_unpaired_seeds(tmp_path):
    row = replace(BETTER, unpaired=Estimate(1.5, -0.12345678912, 2.0, 3))
    summary.write(tmp_path, "Paper", [row, ONE_SEED], [], updates_pages=False)
    first, second = json.loads((tmp_path / summary.FILE).read_text())["rows"]
    assert first["unpaired"] == [1.5, -0.123456789, 2.0, 3]
    assert first["cells"][-1] == "better (paired)"
    assert second["unpaired"] is None
