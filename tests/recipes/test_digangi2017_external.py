"""Verdicts on the paper's claims follow from the ledger's figures, and from nothing else."""

import json
from pathlib import Path

import pytest

from recipes.digangi2017_external import arms as recipe_arms
from recipes.digangi2017_external import claims, figures
from recipes.digangi2017_external.claims import Arms
from recipes.lab import ledger
from recipes.lab.arms import load
from recipes.lab.claims import FAILS, HOLDS, NOT_RUN, SAME, UNDECIDED, at_least, together
from recipes.lab.pages import report
from recipes.lab.runs import Runs
from recipes.lab.settings import UserError
from tests.recipes.test_costs import speed_file
from tests.recipes.test_table import add

ORDER = ("mix_sum", "mix_gate", "only_external", "baseline")


@pytest.fixture
def path(tmp_path, monkeypatch):
    """The ledger of an empty checkout."""
    monkeypatch.setattr(ledger, "ROOT", tmp_path)
    return tmp_path / "results" / "mine" / "ledger.jsonl"


def fill(path, bleu, wrong=None, command="t"):
    """Ledger lines for arms by name; ``wrong`` gives the share of wrong words of each."""
    for name, seeds in bleu.items():
        for seed, value in enumerate(seeds, start=1):
            share = None if wrong is None else wrong[name]
            add(path, name, seed, value, wrong=share, command=command)
    return Arms.of(Runs(ledger.read(path), claims.FORM))


def translations(name, seed=1):
    return ledger.ROOT / f"work/{name}/{seed}/test.tokenised.hyp"


def verdict(parts):
    return together([part.verdict for part in parts])


def test_an_order_holds_if_every_step_does(path):
    names = [f"{s}.1000{'' if s == 'baseline' else '.captions'}" for s in ORDER]
    wrong = dict(zip(names, (0.0, 0.2, 0.4, 0.8), strict=True))
    read = fill(path, {n: [40 - 40 * w] * 3 for n, w in wrong.items()}, wrong)
    assert verdict(claims.ordered(read, "1000", ORDER)) == HOLDS
    assert verdict(claims.ordered(read, "1000", ORDER[::-1])) == FAILS
    assert verdict(claims.ordered(read, "10000", ORDER)) == NOT_RUN


def test_a_difference_that_the_translations_do_not_confirm_is_none(path):
    wrong = {"baseline.1000": 0.3, "mix_sum.1000.captions": 0.3}
    read = fill(path, {"baseline.1000": [20] * 3, "mix_sum.1000.captions": [25] * 3}, wrong)
    for seed in (1, 2, 3):
        text = translations("baseline.1000", seed).read_text()
        translations("mix_sum.1000.captions", seed).write_text(text)
    assert at_least(read.runs, "mix_sum.1000.captions", "baseline.1000").verdict == SAME


def test_one_seed_decides_nothing(path):
    wrong = {"baseline.1000": 0.8, "mix_sum.1000.captions": 0.1}
    read = fill(path, {name: [1] for name in wrong}, wrong)
    assert at_least(read.runs, "mix_sum.1000.captions", "baseline.1000").verdict == UNDECIDED


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [(("1000", "10000", "29000"), HOLDS), (("29000", "10000", "1000"), FAILS)],
)
def test_the_gain_falls_only_if_it_does_from_size_to_size(path, sizes, expected, monkeypatch):
    read = of_three_sizes(path, sizes)
    for size in sizes:
        monkeypatch.setitem(recipe_arms.CHOSEN, f"mix_sum.{size}", "0.001")
    assert [part.verdict for part in claims.gain_falls(read)] == [expected] * 2


@pytest.mark.parametrize("chosen", ["", "0.002"])
def test_gains_do_not_compare_where_only_one_size_has_a_rate_for_each_model(
    chosen, path, monkeypatch
):
    read = of_three_sizes(path, ("1000", "10000", "29000"))
    for size in ("1000", "10000"):
        monkeypatch.setitem(recipe_arms.CHOSEN, f"mix_sum.{size}", "0.001")
    if chosen:  # after these runs
        monkeypatch.setitem(recipe_arms.CHOSEN, "mix_sum.29000", chosen)
    else:
        monkeypatch.delitem(recipe_arms.CHOSEN, "mix_sum.29000")
    first, second = claims.gain_falls(read)
    assert first.verdict == HOLDS
    assert second.verdict == UNDECIDED
    assert second.numbers == "not compared: mix_sum has no rate that was tuned at 29000 pairs"


def of_three_sizes(path, sizes):
    """Arms whose gain falls from the first size to the last."""
    wrong = {}
    for size, base in zip(sizes, (0.9, 0.2, 0.0), strict=True):
        wrong |= {f"baseline.{size}": base, f"mix_sum.{size}.captions": 0.0}
    read = fill(path, {name: [1] * 3 for name in wrong}, wrong, "t --lr 0.001")
    assert read.sizes == ["1000", "10000", "29000"]
    return read


@pytest.mark.parametrize(
    ("written", "expected"), [((9, 9, 9), HOLDS), ((0, 0, 0), FAILS), ((9, 0, 3), UNDECIDED)]
)
def test_unknown_symbols_are_counted_in_the_translations_of_every_seed(path, written, expected):
    """The baseline has four in four sentences; the other so many in as many."""
    wrong = {"baseline.1000": 0.1, "mix_sum.1000.captions": 0.1, "mix_gate.1000.captions": 0.1}
    read = fill(path, {name: [1] * 3 for name in wrong}, wrong)
    for seed, count in enumerate(written, start=1):
        for name, number in (("baseline.1000", 4), ("mix_sum.1000.captions", count)):
            file = translations(name, seed)
            lines = file.read_text().splitlines()
            lines[:number] = ["<unk> a"] * number
            file.write_text("\n".join(lines) + "\n")
    part = claims.more_unknown_symbols(read)[0]
    assert part.inequality == "1000 pairs: mix_sum > baseline"
    assert part.verdict == expected
    assert part.numbers.startswith(f"{sum(written) / 3 - 4:+.0f} [")


def test_external_vectors_alone_compare_with_the_baseline_in_perplexity_where_both_were_run(path):
    names = ["baseline.1000", "mix_sum.1000.captions", "only_external.1000.captions"]
    names += ["baseline.5000", "only_external.10000.captions"]
    fill(path, {name: [1] * 3 for name in names}, dict.fromkeys(names, 0.5))
    perplexities = {name: 20.0 - 4 * n for n, name in enumerate(names)}
    entries = [
        entry | {"figures": entry["figures"] | {"best_valid_ppl": perplexities[entry["arm"]]}}
        for entry in ledger.read(path)
    ]
    rows = list(claims.against_baseline(Arms.of(Runs(entries, claims.FORM))))
    base, mixed = "the model's own vectors", "own + external vectors"
    assert [(row.method, row.against, row.measure, row.is_main) for row in rows] == [
        ("own + external vectors, 1000 pairs", base, "BLEU", True),
        ("own + external vectors, 1000 pairs", base, "% validation perplexity", True),
        ("external vectors alone, 1000 pairs", base, "BLEU", False),
        ("external vectors alone, 1000 pairs", base, "% validation perplexity", False),
        ("external vectors alone, 1000 pairs", mixed, "% validation perplexity", False),
    ]
    assert [row.values for row in rows[-2:]] == [(12.0, 20.0), (12.0, 16.0)]
    assert [row.found.value for row in rows[-2:]] == pytest.approx([40, 25])


@pytest.mark.parametrize(("both", "expected"), [(3, HOLDS), (6, FAILS)])
def test_words_unknown_to_both_are_checked_in_the_tables(tmp_path, both, expected):
    lines = ["| source words unknown to | tokens | types |", "|---|---|---|"]
    lines += ["| internal | 7 | 5 |", "| external | 5 | 4 |", f"| both | {both} | 2 |"]
    (tmp_path / "unknown_words.1000.md").write_text("\n".join(lines) + "\n")
    assert verdict(claims.fewest_unknown_to_both(tmp_path)) == expected


def declared(path, **more):
    return load("digangi2017_external", {"OUTLAYERS_RESULTS": str(path.parent), **more})


def test_the_page_has_every_arm_every_claim_and_what_is_missing(path, capsys):
    fill(path, {"baseline.1000": [10.0, 12.0], "mix_sum.1000.captions": [15.0, 15.0]})
    report.write(declared(path, SIZES="1000", VECTORS="captions", SEEDS="1 2 3"))
    page = (path.parent / "claims.md").read_text()
    assert "| baseline | 11.00 ± 1.41 |" in page
    assert "| mix_sum, captions | 15.00 |" in page
    assert [f"| {n}. " in page for n in range(1, 8)] == [True] * 7
    missing = "baseline.1000 (seed 3), mix_sum.1000.captions (seed 3), mix_gate.1000.captions"
    luong = "luong_baseline.1000, luong_mix_sum.1000.captions, luong_mix_gate.1000.captions"
    last = "luong_only_external.1000.captions"
    assert f"Arms not run: {missing}, only_external.1000.captions, {luong}, {last}." in page
    # There are no translations to resample.
    facts = json.loads((path.parent / "claims.json").read_text())
    assert {claim["verdict"] for claim in facts["claims"]} == {NOT_RUN}


def test_a_ledger_without_vectors_is_refused(path):
    add(path, "baseline.1000", 1, 10.0)
    with pytest.raises(ValueError, match="no arm with external vectors yet"):
        report.write(declared(path))


def test_in_domain_vectors_come_first(path):
    read = fill(path, {f"mix_sum.1000.{kind}": [1] for kind in ("abc", "ptb", "captions")})
    assert read.kinds == ["captions", "abc", "ptb"]
    labels = [label for label, _ in figures.curves(read)]
    assert labels[:2] == ["baseline", "only_external, captions"]


def test_arms_of_a_size_are_shown_of_one_schedule(path):
    """Here: decoded with the same length limit."""
    names = [f"{s}.1000{'' if s == 'baseline' else '.captions'}" for s in ORDER]
    fill(path, {name: [10.0] for name in names}, dict.fromkeys(names, 0.5))
    newer = {"key": "new", "setting": {"generate": "--max-len-a 1.2 --max-len-b 5"}}
    entries = ledger.read(path)
    entries += [
        entry | newer | {"figures": entry["figures"] | {"bleu_tokenised": 30.0}}
        for entry in entries
        if entry["arm"] in ("baseline.1000", "mix_sum.1000.captions")
    ]
    arms = Arms.of(Runs(entries, claims.FORM))
    assert sorted(arms.at("1000").arms) == ["baseline.1000", "mix_sum.1000.captions"]
    assert arms.at("1000").bleu_values("baseline.1000") == [30.0]
    assert [row.series for row in figures.gains(arms).panels[0].rows] == ["own + external vectors"]
    assert "no difference" in figures.gains(arms).title  # one seed


def test_arms_of_other_vectors_are_trained_by_another_command():
    settings = [
        {}, {"METHOD": "cbow"}, {"VECTOR_DIM": "100"}, {"VECTORS": "ptb"},
        {"VECTORS": "file", "VECTORS_FILE": "a/glove.txt"},
        {"VECTORS": "file", "VECTORS_FILE": "a/glove.vec"},
    ]  # fmt: skip
    commands, folders = [], []
    for chosen in settings:
        recipe = load("digangi2017_external", chosen)
        name = f"mix_sum.1000.{chosen.get('VECTORS', 'captions')}"
        commands.append(recipe.arm(name).train)
        folders.append(recipe.arm(name).data)
    assert len(set(commands)) == len(set(folders)) == len(settings)


def test_text_of_other_merges_has_a_folder_of_its_own():
    merges = [load("digangi2017_external", {"TARGET_SEGMENTATION": "bpe", "BPE_MERGES": number})
              for number in ("4000", "8000")]  # fmt: skip
    for folders in ({r.text_of("1000") for r in merges}, {r.bin_of("1000", "ptb") for r in merges}):
        assert len(folders) == 2


def test_the_chart_of_perplexities_has_the_comparisons_of_enough_seeds(path):
    for number, (size, seeds) in enumerate((("1000", 3), ("5000", 1))):
        for seed in range(1, seeds + 1):
            for name, ppl in ((f"baseline.{size}", 10 + seed), (f"mix_sum.{size}.captions", 9.0)):
                ppl += seed if name.startswith("mix") else 0
                add(path, name, seed, 10.0 + number, best_valid_ppl=ppl)
    compared = list(claims.against_baseline(Arms.of(Runs(ledger.read(path), claims.FORM))))
    chart = figures.perplexities(compared)
    ((row,),) = [panel.rows for panel in chart.panels]
    assert (row.label, row.series) == ("1000 pairs", "own + external vectors")
    assert row.value == pytest.approx(100 * ((10 / 13) ** (1 / 3) - 1))  # of geometric means
    assert chart.title.startswith("Validation perplexity: lower with external vectors in 1 of 1")
    assert "over 3 seeds" in chart.note
    assert not figures.perplexities(compared[-1:]).panels


def test_vectors_of_other_text_compare_with_the_baseline_in_perplexity(path):
    for seed in (1, 2, 3):
        for name, ppl in (("baseline", 20.0), ("mix_sum", 15.0), ("mix_sum", 16.0)):
            kind = {20.0: "", 15.0: ".captions", 16.0: ".ptb"}[ppl]
            add(path, f"{name}.1000{kind}", seed, 10.0, best_valid_ppl=ppl + seed / 10)
    rows = list(claims.against_baseline(Arms.of(Runs(ledger.read(path), claims.FORM))))
    found = {row.against: row.found.value for row in rows if "(ptb)" in row.method}
    against = {"the model's own vectors": 4 / 20.2, "own + external vectors": -1 / 15.2}
    assert found == {name: pytest.approx(100 * gain, rel=1e-3) for name, gain in against.items()}
    assert [row.is_main for row in rows].count(True) == 1


def test_the_advice_names_for_each_size_what_is_most_surely_better(path):
    """External vectors alone gain more with 5,000 pairs, but that is less sure."""
    perplexities = {
        "baseline.1000": (20, 20, 20), "only_external.1000.captions": (14, 14.1, 13.9),
        "mix_sum.1000.captions": (16, 16.1, 15.9),
        "baseline.5000": (20, 20, 20), "only_external.5000.captions": (14, 18, 10),
        "mix_sum.5000.captions": (16, 16.1, 15.9),
        "baseline.10000": (20, 20, 20), "mix_sum.10000.captions": (20, 20.1, 19.9),
    }  # fmt: skip
    for name, values in perplexities.items():
        for seed, value in enumerate(values, start=1):
            add(path, name, seed, 10.0, best_valid_ppl=value)
    arms = Arms.of(Runs(ledger.read(path), claims.FORM))
    rows = list(claims.against_baseline(arms))
    in_perplexity, in_bleu = claims.advice(arms, rows)
    first, second = in_perplexity.split("; ")
    assert first.startswith(
        "Surest fall of validation perplexity by size (but translations may loop more often): "
        "external vectors alone,"
    )
    assert " 1000 pairs (-30.0 [" in first
    assert second.startswith("own + external vectors, 5000 pairs (-20.0 [")
    assert in_bleu == "In BLEU: nothing is decided so far."
    assert [(row.method, row.against) for row in rows[-2:]] == [
        (f"external vectors alone, {size} pairs", "own + external vectors")
        for size in ("1000", "5000")
    ]
    assert "own + external vectors" not in {row.against for row in rows[:-2]}


@pytest.mark.parametrize(
    "arm", ["mix_sum.29000.captions", "mix_sum.5000.ptb", "mix_sum.1000.captions"]
)
def test_a_change_differs_from_its_arm_in_its_options_alone(path, arm):
    recipe, changes = load("digangi2017_external", {}), recipe_arms.CHANGES
    added = {
        "normal_start": ["--init-square", "normal"],
        "small_start": ["--init-std", "0.01"],
        "uncentered": [],
        "unscaled": [],
    }
    removed = {"uncentered": ["--center-external"], "unscaled": ["--normalize-external"]}
    assert changes.keys() == added.keys()
    plain = recipe.arm(arm)
    for change in changes:
        changed = recipe.arm(f"{arm}.{change}")
        kept = [option for option in plain.train if option not in removed.get(change, [])]
        assert list(changed.train) == kept + added[change], change
        assert len(changed.train) != len(plain.train)
        assert (changed.data, changed.test) == (plain.data, plain.test)
    together = recipe.arm(f"{arm}.uncentered.small_start")
    assert "--center-external" not in together.train
    assert together.train[-2:] == ("--init-std", "0.01")
    size = arm.split(".")[1]
    baseline = recipe.arm(f"baseline.{size}"), recipe.arm(f"baseline.{size}.small_start")
    assert baseline[1].train == (*baseline[0].train, "--init-std", "0.01")
    with pytest.raises(UserError, match=r"no arm '.*\.uncentred'"):
        recipe.arm(f"{arm}.uncentred")
    fewer = load("digangi2017_external", {"SIZES": "1000"})
    assert set(recipe_arms.CAUSES) <= set(recipe.all_arms())
    assert set(recipe_arms.CAUSES).isdisjoint(fewer.all_arms())
    # They are no vectors of another text.
    add(path, "baseline.29000", 1, 30.0)
    add(path, f"{arm}.uncentered", 1, 30.0)
    assert Arms.of(Runs(ledger.read(path))).kinds == [arm.split(".")[2]]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("baseline.29000.uncentered", "uncentered"),
        ("mix_sum.1000.captions.unscaled.unscaled", "unscaled"),
        ("luong_baseline.1000.normal_start", "normal_start"),
        ("mix_sum.1000.captions.uncentered", "uncentered"),
    ],
)
def test_a_change_that_changes_nothing_is_refused(name, change):
    recipe = load("digangi2017_external", {"CENTER": "0"})
    with pytest.raises(UserError, match=f"arm {name}: {change} changes nothing there: leave it"):
        recipe.arm(name)


def test_settings_of_luong_lstm_differ_from_the_papers_in_the_model_alone():
    recipe = load("digangi2017_external", {"SIZES": "1000", "LR": "0.001"})
    names = recipe.at_size("1000")
    assert [f"luong_{name}" for name in names] == recipe.all_arms()[-4:]
    for name in names:
        ours, papers = recipe.arm(f"luong_{name}"), recipe.arm(name)
        embedding = name.partition(".")[0]
        chosen = ["--source-embedding", embedding] if embedding != "baseline" else []
        place = papers.train.index("--arch")
        assert ours.train == (
            *papers.train[: place + 1], "luong_lstm", *chosen, *papers.train[place + 2 :]
        )  # fmt: skip
        assert (ours.data, ours.test) == (papers.data, papers.test)
        assert ours.description == f"{papers.description}, luong_lstm"
    assert "tune-luong_mix_sum-1000-0.003" in recipe.tuning_arms()


def test_luong_lstm_compares_with_its_own_baseline(path):
    perplexities = {"baseline.1000": 20.0, "luong_baseline.1000": 16.0,
                    "mix_sum.1000.captions": 19.0, "luong_mix_sum.1000.captions": 12.0}  # fmt: skip
    for seed in (1, 2, 3):
        for name, ppl in perplexities.items():
            wrong = 0.1 if "mix_sum" in name else 0.8
            add(path, name, seed, 10.0, wrong=wrong, best_valid_ppl=ppl + seed / 10)
    arms = Arms.of(Runs(ledger.read(path), claims.FORM))
    last = list(claims.against_baseline(arms))[-1]
    methods = (
        "luong_lstm, own + external vectors, 1000 pairs",
        "luong_lstm, the model's own vectors",
    )
    assert (last.method, last.against) == methods
    assert last.found.value == pytest.approx(100 * 4 / 16.2, rel=1e-3)
    (claim,) = [c for c in claims.claims_of(arms, path.parent) if "luong_lstm" in c.text]
    assert claim.verdict == HOLDS


def test_the_page_says_how_many_translations_loop_with_every_seed(path):
    wrong = {"baseline.1000": 0.3, "mix_sum.1000.captions": 0.2}
    fill(path, {"baseline.1000": [20, 20], "mix_sum.1000.captions": [25]}, wrong)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line, loops in zip(lines, (3, 24, 5), strict=True):
        line["figures"] |= {"loops": loops, "parameters": 2.5e6}
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    read = Arms.of(Runs(ledger.read(path), claims.FORM))
    speed = path.with_name("speed.json")
    assert claims.costs_of(read, speed) == []

    number = len(read.runs.translations("baseline.1000", claims.FORM)[1])
    arms = ("baseline.29000", "mix_sum.29000.captions", "mix_gate.29000.captions")
    speed_file(speed, **{arm: [1.0] for arm in arms})
    heading, _, base, mixed, gate = claims.costs_of(read, speed)
    columns = "| model | loops, 1000 pairs | parameters, 29000 pairs | training speed"
    assert heading.startswith(columns)
    ends = f"{3 / number:.1%} to {24 / number:.1%}"
    assert base.startswith(f"| the model's own vectors | {ends} (2 seeds) | ")
    assert mixed.startswith(f"| own + external vectors | {5 / number:.1%} (1 seed) | ")
    assert gate.startswith("| own gated with external | - | - | ")


def test_the_inequalities_have_the_direction_of_the_paper(tmp_path):
    arms = Arms(Runs([], claims.FORM), ["1000", "29000"], ["captions", "ptb"])
    found = {claim.number: [part.inequality for part in claim.parts]
             for claim in claims.claims_of(arms, tmp_path)}  # fmt: skip
    assert found[1] == [
        "BLEU(mix_sum.1000.captions) ≥ BLEU(mix_gate.1000.captions)",
        "BLEU(mix_gate.1000.captions) ≥ BLEU(only_external.1000.captions)",
        "BLEU(only_external.1000.captions) ≥ BLEU(baseline.1000)",
    ]
    assert found[3] == [
        "BLEU(baseline.29000) ≥ BLEU(mix_gate.29000.captions)",
        "BLEU(mix_gate.29000.captions) ≥ BLEU(mix_sum.29000.captions)",
        "BLEU(mix_sum.29000.captions) ≥ BLEU(only_external.29000.captions)",
    ]
    assert found[5][:2] == ["1000 pairs: mix_sum > baseline", "1000 pairs: mix_gate > baseline"]
    assert found[6] == [
        f"BLEU({mix}.{size}.captions) ≥ BLEU({mix}.{size}.ptb)"
        for size in ("1000", "29000")
        for mix in ("only_external", "mix_sum", "mix_gate")
    ]
    assert found[7] == [
        f"BLEU(luong_mix_sum.{size}.captions) ≥ BLEU(luong_baseline.{size})"
        for size in ("1000", "29000")
    ]


def test_gains_compare_although_epochs_follow_the_size(path):
    recipe = declared(path, SIZES="1000 5000", VECTORS="captions")
    wrong = {
        "baseline.1000": 0.9,
        "mix_sum.1000.captions": 0.0,
        "baseline.5000": 0.2,
        "mix_sum.5000.captions": 0.0,
    }
    fill(path, {name: [1] * 3 for name in wrong}, wrong)
    lines = ledger.read(path)
    for line in lines:
        epochs, _ = recipe.epochs_and_patience(line["arm"].split(".")[1])
        line["command"] = f"fairseq-train d --max-tokens 1000 --max-epoch {epochs}"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    report.write(recipe)
    facts = json.loads((path.parent / "claims.json").read_text())
    assert facts["claims"][1]["verdict"] == HOLDS


def test_the_papers_settings_have_a_ledger_each_and_no_tuning_runs():
    paper = {"PARALLEL": "/text", "VECTORS_FILE": "v.vec"}
    made = [load("digangi2017_external", {"SETTING": name, **paper}) for name in ("iwslt", "wmt")]
    assert len({one.ledger for one in (load("digangi2017_external", {}), *made)}) == 3
    assert [one.tuning_arms() for one in made] == [[], []]
    assert load("digangi2017_external", {}).tuning_arms()


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("mix_sum.1k", {}, "mix_sum.1k"),
        ("mix_sum.1000", {"INTERNAL_MIN_COUNT": "two"}, "INTERNAL_MIN_COUNT=two: expected a whole"),
        ("mix_sum.1000", {"INTERNAL_VOCABULARY": "40k"}, "INTERNAL_VOCABULARY=40k: expected a"),
    ],
)
def test_what_is_no_number_is_said(name, settings, said, tmp_path):
    recipe = load("digangi2017_external", {"OUTLAYERS_WORK": str(tmp_path), **settings})
    dictionary = Path(f"{recipe.table_of('1000', 'captions')}.dict.txt")
    dictionary.write_text("word 1\n", encoding="utf-8")
    with pytest.raises(UserError, match=said):
        recipe.arm(name)


def test_newspaper_text_is_refused_for_another_source_than_english():
    with pytest.raises(UserError, match="ptb is English text, not de: set VECTORS=captions"):
        load("digangi2017_external", {"SOURCE": "de", "TARGET": "en"})
    load("digangi2017_external", {"SOURCE": "de", "TARGET": "en", "VECTORS": "captions"})
