"""The verdicts on the claims of Jean et al. (2015) follow from ledger and measurements."""

import json

import numpy as np
import pytest

from recipes.jean2015_large_vocabulary import claims, figures, table
from recipes.lab import ledger
from recipes.lab.arms import load
from recipes.lab.claims import FAILS, HOLDS, NOT_RUN, SAME, UNDECIDED
from recipes.lab.figures import charts as drawing
from recipes.lab.pages import report
from recipes.lab.pages.summary import Compared
from recipes.lab.runs import Runs
from recipes.lab.scores.resampling import Estimate
from tests.recipes.test_table import add

CHOSEN = "k4.kp10"
UNK = f"{CHOSEN}.unk2"


class Scores(Runs):
    """BLEU scores made by hand; every difference has the same uncertainty."""

    def __init__(self, bleu, half=0.1):
        self.scores, self.half = bleu, half

    @property
    def arms(self):
        return list(self.scores)

    def __contains__(self, arm):
        return arm in self.scores

    def alike(self, arms, least=None):
        return self

    def older(self, arms):
        return ""

    def with_seeds_of(self, arms):
        return self

    def figure(self, arm, name):
        return None

    def entry(self, arm, seed=None):
        return {}

    def seeds(self, arms):
        return [1, 2, 3]

    def bleu(self, arm):
        return self.scores.get(arm)

    def estimate(self, arms, statistic):
        total = statistic(self.scores.get)
        return Estimate(total, total - self.half, total + self.half, 3)


def evidence(bleu, tmp_path, **speeds):
    """With speeds by kind and name; the rounds are repeated, so that they are enough."""
    for kind, rows in speeds.items():
        facts = {"rows": [{"arm": arm, "rounds": [*found] * 5} for arm, found in rows.items()]}
        (tmp_path / f"{kind}_speed.json").write_text(json.dumps(facts))
    return claims.Evidence(Scores(bleu), tmp_path, CHOSEN)


@pytest.mark.parametrize(
    ("claim", "scores", "expected"),
    [
        (claims.large_beats_shortlist, {"lv": 22, f"lv.{CHOSEN}": 23, "shortlist": 20}, HOLDS),
        (claims.large_beats_shortlist, {"lv": 22, f"lv.{CHOSEN}": 19, "shortlist": 20}, FAILS),
        (claims.large_beats_shortlist, {"lv": 22, "shortlist": 20}, NOT_RUN),
        (claims.candidates_cost_nothing, {"lv": 20, f"lv.{CHOSEN}": 20.5}, HOLDS),
        (claims.candidates_cost_nothing, {"lv": 20, f"lv.{CHOSEN}": 20.05}, SAME),
        (claims.candidates_cost_nothing, {"lv": 20, f"lv.{CHOSEN}": 19}, FAILS),
        (
            claims.replacement_helps_the_shortlist_more,
            {"shortlist": 10, "shortlist.unk2": 14, f"lv.{CHOSEN}": 12, f"lv.{UNK}": 13},
            HOLDS,
        ),
        (
            claims.replacement_helps_the_shortlist_more,
            {"shortlist": 10, "shortlist.unk2": 10.5, f"lv.{CHOSEN}": 12, f"lv.{UNK}": 13},
            FAILS,
        ),
        (
            claims.as_good_as_the_full_softmax,
            {"lv_corrected": 20.2, "sampled_log_uniform": 19.7, "full": 20},
            HOLDS,
        ),
        (
            claims.as_good_as_the_full_softmax,
            {"lv_corrected": 20.2, "sampled_log_uniform": 19, "full": 20},
            FAILS,
        ),
        (claims.as_good_as_the_full_softmax, {"lv_corrected": 20, "full": 20}, NOT_RUN),
    ],
)
def test_a_claim_about_one_model_and_another(claim, scores, expected, tmp_path):
    assert claim(evidence(scores, tmp_path)).verdict == expected


@pytest.mark.parametrize(("replaced", "expected"), [(12, True), (12.5, False)])
def test_the_claim_says_if_the_model_of_all_words_writes_no_unk(replaced, expected, tmp_path):
    scores = {"shortlist": 10, "shortlist.unk2": 14, f"lv.{CHOSEN}": 12, f"lv.{UNK}": replaced}
    found = claims.Evidence(Scores(scores, half=0), tmp_path, CHOSEN)
    claim = claims.replacement_helps_the_shortlist_more(found)
    assert ("LV writes no `<unk>` here" in claim.text) == expected
    assert claim.verdict == (UNDECIDED if expected else HOLDS)


@pytest.mark.parametrize(("one", "expected"), [(20, HOLDS), (22, FAILS)])
def test_more_translations_are_compared_where_the_curves_cross(one, expected, tmp_path):
    found = evidence({"lv.k4.kp10": 21, "lv.k4.kp1": one, "lv.k9.kp1": 99}, tmp_path)
    assert claims.more_translations_help(found, "k4.kp10").verdict == expected


@pytest.mark.parametrize(("far", "expected"), [((19, 18), HOLDS), ((19, 23), FAILS), ((), NOT_RUN)])
def test_small_partitions_are_compared_with_lists_four_times_as_large(far, expected, tmp_path):
    scores = {"lv_tau10.k11.kp10": 20, "lv_tau10.k20.kp10": 90, "lv_tau10.k11.kp1": 90}
    scores |= {f"lv_tau10.k{k}.kp10": s for k, s in zip((40, 80), far, strict=False)}
    found = evidence(scores, tmp_path)
    claim = claims.small_partitions_want_small_lists(found, "k11.kp10", [20, 10])
    assert claim.verdict == expected
    assert len(claim.parts) == len(far)


@pytest.mark.parametrize(("ensemble", "expected"), [(25, HOLDS), (21.5, FAILS)])
def test_an_ensemble_must_beat_each_of_its_arms(ensemble, expected, tmp_path):
    scores = {f"lv.{UNK}": 20, f"lv_reshuffle.{UNK}": 21, f"a.{UNK}": 21, f"b.{UNK}": 22}
    scores |= {f"lv_corrected.{UNK}": 20, f"lv_corrected_reshuffle.{UNK}": 21}
    scores[f"ensemble4.{UNK}"] = ensemble
    members = {"ensemble4": ["a", "b"]}
    found = evidence(scores, tmp_path)
    assert claims.reshuffling_and_ensembles_help(found, members).verdict == expected
    no_ensemble = evidence({k: v for k, v in scores.items() if "ensemble" not in k}, tmp_path)
    assert claims.reshuffling_and_ensembles_help(no_ensemble, members).verdict == NOT_RUN


@pytest.mark.parametrize("worse", ["lv_reshuffle", "lv_corrected_reshuffle"])
def test_reshuffling_must_help_both_kinds_of_partitions(worse, tmp_path):
    models = ("lv", "lv_reshuffle", "lv_corrected", "lv_corrected_reshuffle")
    scores = {f"{model}.{UNK}": 21 if "reshuffle" in model else 20 for model in models}
    assert claims.reshuffling_and_ensembles_help(evidence(scores, tmp_path), {}).verdict == HOLDS
    scores[f"{worse}.{UNK}"] = 19
    assert claims.reshuffling_and_ensembles_help(evidence(scores, tmp_path), {}).verdict == FAILS


def test_an_ensemble_of_seeds_is_compared_with_its_model():
    settings = {"SEED_ENSEMBLES": "lv", "ENSEMBLES": "4", "ENSEMBLE_OF": "a b"}
    members = claims.members_of_ensembles(load("jean2015_large_vocabulary", settings))
    assert members == {"lv.seeds3": ["lv"], "ensemble4": ["a", "b"]}


@pytest.mark.parametrize(
    ("all_words", "lists", "common", "expected"),
    [
        ([10, 11], [50, 51], [60, 61], HOLDS),
        ([60, 61], [50, 51], [60, 61], FAILS),  # the search over all words is the faster one
        ([10, 11], [39, 51], [60, 61], UNDECIDED),  # the shortlist is 2.56 times as fast, once
        ([10, 11], [50, 51], [40, 41], FAILS),  # the common list is the slower one
    ],
)
def test_decoding_time_is_compared_round_by_round(all_words, lists, common, expected, tmp_path):
    rows = {"shortlist": [100, 100], "lv": all_words, f"lv.{CHOSEN}": lists}
    rows[f"lv.{CHOSEN}.common"] = common
    assert claims.decoding_time(evidence({}, tmp_path, decoding=rows)).verdict == expected


@pytest.mark.parametrize(
    ("four_times", "expected"), [([95, 104], HOLDS), ([95, 80], UNDECIDED), ([120, 130], FAILS)]
)
def test_training_time_is_flat_in_both_directions(four_times, expected, tmp_path):
    rows = {"lv": [100, 100], "lv.times2": [99, 101], "lv.times4": four_times}
    assert claims.training_time(evidence({}, tmp_path, training=rows)).verdict == expected


def test_what_was_not_measured_is_not_run(tmp_path):
    found = evidence({}, tmp_path)
    assert claims.decoding_time(found).verdict == claims.training_time(found).verdict == NOT_RUN


@pytest.mark.parametrize(
    ("bleu", "perplexity", "verdict"),
    [(21, 9.0, HOLDS), (19, 9.0, FAILS), (21, 11.0, FAILS), (21, None, NOT_RUN)],
)
def test_the_correction_must_gain_in_bleu_and_in_perplexity(bleu, perplexity, verdict, tmp_path):
    found = evidence({"lv": 20, "lv_corrected": bleu}, tmp_path)
    perplexities = {"lv": 10.0, "lv_corrected": perplexity}
    found.runs.validation_perplexities = lambda arms: (
        [np.array([[perplexities[arm]]] * 3) for arm in arms] if perplexity else []
    )
    assert claims.correction_helps(found).verdict == verdict


def test_the_correction_is_not_judged_by_perplexities_over_different_words(tmp_path):
    def line(arm, seed, words, perplexity):
        figures = {"best_valid_ppl": perplexity + seed}
        return {"arm": arm, "seed": seed, "key": arm, "command": "", "run": "nowhere",
                "target_words": words, "figures": figures}  # fmt: skip

    for words, verdict in (("large", HOLDS), ("larger", NOT_RUN)):
        lines = [line("lv", seed, "large", 20) for seed in (1, 2, 3)]
        lines += [line("lv_corrected", seed, words, 10) for seed in (1, 2, 3)]
        found = claims.Evidence(Runs(lines, "tokenised"), tmp_path, CHOSEN)
        assert claims.correction_helps(found).parts[1].verdict == verdict


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A checkout with a small ledger."""
    monkeypatch.setattr(ledger, "ROOT", tmp_path)
    path = tmp_path / "results" / "mine" / "ledger.jsonl"
    for seed in (1, 2, 3):
        add(path, "shortlist", seed, 10.0, wrong=0.5)
        add(path, "lv", seed, 20.0, wrong=0.1)
        add(path, f"lv.{CHOSEN}", seed, 21.0, wrong=0.1, valid_bleu_tokenised=22.5)
    add(path, "lv.k8.kp10", 1, 20.5, wrong=0.1, valid_bleu_tokenised=22.0)
    for number, name in enumerate(("a", "b")):
        add(path, f"{name}.{UNK}", 1, 20 + number, wrong=0.2)
    return path


def test_the_page_has_the_table_every_claim_and_what_is_missing(results):
    more = {"ARMS": "shortlist lv full", "DECODINGS": f"lv.{CHOSEN}", "ENSEMBLE_OF": "a b"}
    more |= {"DEFAULT_CHOICE": "k8.kp10", "OUTLAYERS_RESULTS": str(results.parent)}
    report.write(load("jean2015_large_vocabulary", more))
    page = (results.parent / "claims.md").read_text()
    assert "K and K' chosen on the dev set: k4.kp10, of k4.kp10, k8.kp10 (1 seed)." in page
    assert "Arms not run: full." in page
    assert "| basic | 10.00 | 20.00 |" in page
    assert "| + candidates | - | 21.00 (22.50) |" in page
    assert "| + UNK replacement | not run | not run |" in page
    assert [f"| {number}. " in page for number in range(1, 11)] == [True] * 10
    facts = json.loads((results.parent / "claims.json").read_text())
    assert facts["choice"] == CHOSEN
    assert [claim["number"] for claim in facts["claims"]] == list(range(1, 11))
    verdict = {claim["number"]: claim["verdict"] for claim in facts["claims"]}
    assert (verdict[1], verdict[3]) == (HOLDS, NOT_RUN)
    assert (results.parent / "training.md").exists()
    assert (results.parent / "decoding.md").exists()


def test_cross_model_bleu_takes_the_columns_as_references(results):
    runs = Runs(ledger.read(results), form="tokenised")
    names = [f"a.{UNK}", f"b.{UNK}"]
    rows = list(table.cross_model(runs, [*names, "c"]))
    assert rows[0] == f"| cross-model BLEU | {names[0]} | {names[1]} |"
    one, other = (runs.translations(name, "tokenised")[0] for name in names)
    expected = table.scoring.score(one, other, tokenised=True)["bleu_tokenised"]
    assert rows[2] == f"| {names[0]} | - | {expected:.2f} |"
    assert "fewer than two" in next(table.cross_model(runs, names[:1]))


def test_the_curves_are_drawn_where_there_are_two_points(tmp_path):
    pytest.importorskip("matplotlib")
    scores = {"lv": 20, "lv.k4.kp10": 21, "lv.k8.kp10": 22, "lv_tau1.k4.kp10": 19}
    runs = Scores(scores)
    runs.bleu = scores.get
    charts = {"bleu_by_k": figures.by_frequent(runs, 10)}
    charts["bleu_by_k_prime"] = figures.by_per_word(runs, 4)
    assert [path.name for path in drawing.draw(charts, tmp_path)] == [
        "bleu_by_k.svg",
        "bleu_by_k.png",
    ]
    title = charts["bleu_by_k"].title
    assert title == "Partitions: BLEU 21.0 with K = 4, 22.0 with 8: +1.0 [+0.9, +1.1] (3 seeds)"
    scores |= {"lv.k4.kp1": 18, "lv.k4.kp1.unk2": 20, "lv.k4.kp10.unk2": 22}
    chart = figures.by_per_word(runs, 4)
    curve, replaced = chart.panels[0].series
    assert (curve.x, curve.y, replaced.x, replaced.y) == ([1, 10], [18, 21], [1, 10], [20, 22])
    assert curve.low == pytest.approx([17.9, 20.9])
    # The interval is of the difference, which is paired, whatever those of the curve are.
    ends = "BLEU 18.0 with K' = 1, 21.0 with 10: +3.0"
    assert chart.title == f"{ends} [+2.9, +3.1] (3 seeds)"
    runs.half = 3.1
    assert figures.by_per_word(runs, 4).title == f"{ends} [-0.1, +6.1], not proven (3 seeds)"


def test_the_chart_compares_models_of_all_words_with_the_short_list_as_it_is_used():
    """Neither ensembles nor the short list itself are in the title."""
    bleu = {"shortlist": 20.0, "shortlist.unk2": 24.0, "lv": 21.0, f"lv.{CHOSEN}": 22.0,
            "lv.seeds3": 26.0}  # fmt: skip
    runs = Scores(bleu)
    chart = figures.against_shortlist(runs, figures.rows_of(runs, CHOSEN))
    assert chart.title == (
        "Partitions, candidates (K = 4): -2.0 BLEU against the 24.0 of the short list, unknown"
        " words replaced"
    )
    ((first, *_),) = [panel.rows for panel in chart.panels]
    assert (first.label, first.value) == ("short list", -4.0)


def test_the_chart_is_about_the_main_comparison_also_where_another_model_is_ahead():
    scores = {"shortlist.unk2": 24.0, f"lv.{CHOSEN}": 22.0, f"lv_corrected.{CHOSEN}.unk2": 21.0}
    runs = Scores(scores)
    chart = figures.against_shortlist(runs, figures.rows_of(runs, CHOSEN))
    assert chart.title.startswith(
        "Corrected partitions, candidates (K = 4), unknown words replaced: -3.0"
    )


@pytest.mark.parametrize(
    ("gain", "words"),
    [(-2.0, "Short list: 2.0 [1.5, 2.5] BLEU above partitions."),
     (2.0, "Partitions: 2.0 [1.5, 2.5] BLEU above short list."),
     (0.2, "Undecided so far.")],
)  # fmt: skip
def test_the_advice_names_what_is_better(gain, words):
    found = Estimate(gain, gain - 0.5, gain + 0.5, 3)
    (line,) = claims.advice([Compared("partitions", "short list", "BLEU", found)])
    assert line.startswith(words)


def test_the_advice_ranks_the_ways_to_train_on_all_words_by_perplexity():
    full = figures.plain("full")
    rows = [
        Compared(name, full, "% validation perplexity", found, form="+.1f", margin=1, falls=True)
        for name, found in (("samples", Estimate(-12.0, -15.0, -8.0, 3)),
                            ("partitions", Estimate(3.0, -2.0, 8.0, 3)))
    ]  # fmt: skip
    (line,) = claims.advice(rows)
    assert line == (
        "Where all words are needed and a full softmax is too slow (validation"
        " perplexity against it): partitions -3.0 [-8.0, +2.0]% (undecided); samples +12.0"
        " [+8.0, +15.0]% (worse)."
    )


def test_transformers_are_compared_with_fairseqs_and_ours_with_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "ROOT", tmp_path)
    path = tmp_path / "ledger.jsonl"
    names = ("adaptive", "full", "lv", "sampled_log_uniform_tau9")
    for number, name in enumerate(names):
        add(path, f"transformer_{name}", 1, 20.0, wrong=0.2, best_valid_ppl=10.0 - number)
    rows = list(claims.comparisons(Runs(ledger.read(path), "tokenised"), CHOSEN))
    pairs = [
        (f"transformer_{ours}", f"transformer_{theirs}")
        for ours in names[2:]
        for theirs in names[:2]
    ]
    pairs.append(tuple(f"transformer_{ours}" for ours in names[2:]))
    assert [row.arms for row in rows] == [*pairs, *pairs]
    assert [row.on_page for row in rows] == [False] * 5 + [True] * 5
    assert rows[-3].method == (
        "Transformer, sampled softmax (log-uniform) of 9 samples, over all words"
    )
    assert rows[-3].values == (7.0, 10.0)


def test_a_row_of_an_older_schedule_is_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "ROOT", tmp_path)
    path = tmp_path / "ledger.jsonl"
    for number, arm in enumerate(("lv_reshuffle.k1.unk2", "lv", "shortlist", "lv_corrected")):
        add(path, arm, 1, 20.0 + number)
    epochs = {"lv_reshuffle.k1.unk2": 5}
    entries = [
        entry | {"command": f"fairseq-train d --max-epoch {epochs.get(entry['arm'], 15)}"}
        for entry in ledger.read(path)
    ]
    rows = list(table.of_the_paper(Runs(entries, "tokenised"), "k1"))
    assert "| basic | 22.00 | 21.00 |" in rows
    assert "| + reshuffled partitions | - | not run |" in rows


def test_sampled_softmax_of_other_numbers_of_samples_is_shown_and_compared(tmp_path):
    names = ("shortlist", "full", "lv_corrected_reshuffle", "sampled_log_uniform_tau70")
    for name in names:
        for seed in (1, 2, 3):
            add(tmp_path / "ledger.jsonl", name, seed, 30.0, best_valid_ppl=9.0 + seed)
    runs = Runs(ledger.read(tmp_path / "ledger.jsonl"), claims.FORM)
    assert set(figures.rows_of(runs, CHOSEN)) == set(names)
    pairs = [(row.method, row.against) for row in claims.comparisons(runs, CHOSEN)]
    of_more = "sampled softmax (log-uniform) of 70 samples, over all words"
    assert (of_more, "full softmax, over all words") in pairs
    assert (of_more, "corrected, reshuffled partitions, over all words") in pairs
