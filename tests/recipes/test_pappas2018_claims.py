"""The claims of pappas2018_joint follow from the numbers."""

import json

import numpy as np
import pytest

from fairseq_outlayers.analysis.meteor import PARAMETERS, MatchStatistics
from recipes.lab import ledger
from recipes.lab.arms import load
from recipes.lab.claims import FAILS, HOLDS, NOT_RUN, UNDECIDED
from recipes.lab.figures.charts import Row
from recipes.lab.pages import report
from recipes.lab.runs import Runs
from recipes.lab.scores import scoring
from recipes.lab.scores.resampling import Estimate, multiplicities
from recipes.pappas2018_joint import claims, figures, frequency_bins
from tests.recipes.metrics import resampled

AXES = {
    "DIRECTIONS": "de-en en-de",
    "VOCABULARY": "bpe4",
    "VOCABULARIES": "bpe1 bpe4 bpe8",
    "SAMPLING_VOCABULARY": "words",
    "JOINT_DIMS": "2 8",
    "SWEEP_DIMS": "2 4 8",
    "SHARES": "25",
    "DEPTHS": "1 2",
    "LAYERS": "2",
}
DIRECTIONS = AXES["DIRECTIONS"].split()


def arms_of(runs, speeds=(), **axes):
    return claims.Arms(load("pappas2018_joint", {**AXES, **axes}), runs, dict(speeds))


class Scores(Runs):
    """Runs with BLEU scores made by hand; every difference has the same uncertainty.

    Args:
        bleu: by arm.
        half: half the width of every interval.
        figures: other figures, by arm and name.
    """

    def __init__(self, bleu, half=0.1, figures=None):
        self.scores, self.half, self.figures = bleu, half, figures or {}

    def __contains__(self, arm):
        return arm in self.scores

    def bleu(self, arm):
        return self.scores.get(arm)

    def seeds(self, arms):
        return [1, 2, 3] if all(arm in self for arm in arms) else []

    def with_seeds_of(self, arms):
        return self

    def figure(self, arm, name):
        return self.figures.get((arm, name))

    def paired(self, arms, name):
        return [[] for _ in arms]

    def alike(self, arms, least=None):
        return self

    def older(self, arms):
        return ""

    def unpaired_difference(self, weights):
        return self.difference(weights)

    def estimate(self, arms, statistic):
        total = statistic(self.scores.get)
        return Estimate(total, total - self.half, total + self.half, 3)


def decided(claim, bleu, speeds=(), **more):
    return claim(arms_of(Scores(bleu, **more), speeds))


def of(direction, vocabulary, **models):
    return {f"{direction}.{vocabulary}.{model}": score for model, score in models.items()}


@pytest.mark.parametrize(
    ("joint", "half", "verdict"),
    [(22, 0.1, HOLDS), (20.5, 0.1, FAILS), (22, 1.5, UNDECIDED)],
)
def test_claim_1_asks_for_the_best_joint_in_each_direction(joint, half, verdict):
    bleu = {
        **of("de-en", "bpe4", nmt=20, tied=21, joint8=22),
        **of("en-de", "bpe4", nmt=20, tied=21, joint8=joint),
    }
    found = decided(claims.best_in_each_direction, bleu, half=half, figures=PERPLEXITIES)
    assert (found.verdict, len(found.parts)) == (verdict, 4)


PERPLEXITIES = {
    (f"{direction}.bpe4.joint{dim}", "best_valid_ppl"): perplexity
    for direction in DIRECTIONS
    for dim, perplexity in ((2, 9.0), (4, 8.0), (8, 7.0))
}


def test_the_joint_space_is_chosen_in_validation_and_not_on_the_test_set():
    bleu = of("de-en", "bpe4", joint2=99, joint4=50, joint8=10)
    arms = arms_of(Scores(bleu, figures=PERPLEXITIES))
    assert arms.chosen_joint() == "de-en.bpe4.joint8"
    # Only among those that were run.
    del bleu["de-en.bpe4.joint8"]
    assert arms.chosen_joint() == "de-en.bpe4.joint4"


def test_d_j_is_chosen_among_models_of_one_schedule():
    """A longer training of one model alone says nothing about its d_j."""

    def line(dim, epochs, perplexity):
        command = f"fairseq-train d --max-epoch {epochs}"
        return {"arm": f"de-en.bpe4.joint{dim}", "seed": 1, "key": f"{dim} {epochs}", "setting": {},
                "command": command, "figures": {"best_valid_ppl": perplexity}}  # fmt: skip

    runs = Runs([line(2, 5, 9.0), line(8, 5, 7.0), line(2, 15, 5.0)])
    assert arms_of(runs).chosen_joint() == "de-en.bpe4.joint8"


def test_d_j_is_chosen_among_models_with_enough_seeds_if_there_are_any():
    def line(dim, seed, perplexity):
        figures = {"best_valid_ppl": perplexity}
        return {"arm": f"de-en.bpe4.joint{dim}", "seed": seed, "key": "k", "setting": {},
                "command": "fairseq-train d", "figures": figures}  # fmt: skip

    once = [line(2, 1, 9.0), line(8, 1, 7.0)]
    assert arms_of(Runs(once)).chosen_joint() == "de-en.bpe4.joint8"
    thrice = [*once, line(2, 2, 9.0), line(2, 3, 9.0)]
    assert arms_of(Runs(thrice)).chosen_joint() == "de-en.bpe4.joint2"
    assert arms_of(Runs(thrice)).choice("de-en").endswith("the only one with enough seeds")
    assert arms_of(Runs(thrice[1:2])).choice("de-en").endswith("the only one that was run")
    # A further seed of one of them does not count.
    better = [line(8, seed, perplexity) for seed, perplexity in ((2, 9.0), (3, 12.0), (4, 1.0))]
    assert arms_of(Runs([*thrice, *better])).chosen_joint() == "de-en.bpe4.joint2"


def test_claim_2_ranks_the_models():
    bleu = {"joint8": 25, "joint2": 23, "context_structure": 23.2, "output_structure": 21}
    bleu |= {"bilinear": 21.2, "tied": 21.1, "nmt": 20}
    ranked = of("de-en", "bpe4", **bleu)
    assert decided(claims.ranking, ranked).verdict == HOLDS
    assert decided(claims.ranking, {**ranked, "de-en.bpe4.joint2": 24.5}).verdict == FAILS
    assert decided(claims.ranking, {**ranked, "de-en.bpe4.nmt": 21.5}).verdict == FAILS
    assert decided(claims.ranking, {**ranked, "de-en.bpe4.bilinear": 21.55}).verdict == UNDECIDED
    del ranked["de-en.bpe4.bilinear"]
    assert decided(claims.ranking, ranked).verdict == NOT_RUN


def test_claim_3_compares_what_sampling_costs():
    # Joint loses 0.5, tied 1, NMT 2, whatever their scores are.
    full = of("de-en", "words", nmt=30, tied=20, joint2=25)
    sampled = {"nmt.share25": 28, "tied.share25": 19, "joint2.share25": 24.5}
    bleu = {**full, **of("de-en", "words", **sampled)}
    assert decided(claims.robust_to_sampling, bleu).verdict == HOLDS
    bleu["de-en.words.joint2.share25"] = 23
    assert decided(claims.robust_to_sampling, bleu).verdict == FAILS


def test_claim_4_is_about_every_round():
    def found(joint, large, sampled):
        speeds = {"nmt": [100, 110], "tied": [100, 110], "joint2": joint, "joint8": large}
        speeds |= {f"{model}.share25": sampled for model in list(speeds)}
        named = {f"de-en.words.{model}": rounds * 3 for model, rounds in speeds.items()}
        return decided(claims.speed, {}, named).verdict

    assert found([90, 95], [50, 50], [300, 300]) == HOLDS
    assert found([90, 80], [50, 50], [300, 300]) == UNDECIDED
    assert found([70, 80], [50, 50], [300, 300]) == FAILS
    assert found([90, 95], [120, 120], [300, 300]) == FAILS
    assert found([90, 95], [50, 50], [60, 60]) == FAILS
    assert decided(claims.speed, {}).verdict == NOT_RUN


def test_claim_5_compares_depths_and_sizes():
    models = {"tied": 20, "joint2": 21, "joint8": 24, "nmt": 19}
    models |= {"tied.depth1": 18, "joint2.depth1": 19, "nmt.depth1": 18}
    bleu = of("de-en", "bpe4", **models)
    sizes = {("de-en.bpe4.joint8", "parameters"): 5, ("de-en.bpe4.nmt", "parameters"): 7}
    found = {**PERPLEXITIES, **sizes}
    assert decided(claims.depth, bleu, figures=found).verdict == HOLDS
    found["de-en.bpe4.joint8", "parameters"] = 8
    assert decided(claims.depth, bleu, figures=found).verdict == FAILS
    assert decided(claims.depth, bleu, figures=PERPLEXITIES).verdict == NOT_RUN


def test_claim_7_needs_one_direction_in_which_tied_loses():
    bleu = {**of("de-en", "bpe8", nmt=20, tied=21), **of("en-de", "bpe8", nmt=22, tied=21)}
    assert decided(claims.tied_may_lose, bleu).verdict == HOLDS
    bleu["en-de.bpe8.tied"] = 23
    assert decided(claims.tied_may_lose, bleu).verdict == FAILS


def test_claim_8_wants_a_larger_gain_into_the_richer_morphology():
    bleu = {
        **of("de-en", "bpe1", nmt=20, joint8=21),
        **of("de-en", "bpe8", nmt=20, joint8=22),
        **of("en-de", "bpe1", nmt=15, joint8=14),
        **of("en-de", "bpe8", nmt=14, joint8=18),
    }
    # The best model of a vocabulary is chosen by validation perplexity, whatever its BLEU.
    validation = {(arm, "best_valid_ppl"): 100 - score for arm, score in bleu.items()}
    assert decided(claims.larger_vocabularies, bleu, figures=validation).verdict == HOLDS
    bleu["en-de.bpe8.joint8"] = 15.5
    # Still larger than with few merges, but less so than into English.
    assert decided(claims.larger_vocabularies, bleu, figures=validation).verdict == FAILS
    bleu["en-de.bpe8.joint8"] = 18
    validation["en-de.bpe8.joint8", "best_valid_ppl"] = 99
    assert decided(claims.larger_vocabularies, bleu, figures=validation).verdict == FAILS


def test_the_authors_sampled_arm_stands_in_for_one_that_they_did_not_train():
    runs = Scores(of("de-en", "bpe8", **{"nmt.share25": 20, "tied": 20, "tied.share25": 19}))
    arms = arms_of(runs)
    assert arms.name("nmt", vocabulary="bpe8") == "de-en.bpe8.nmt.share25"
    assert arms.name("tied", vocabulary="bpe8") == "de-en.bpe8.tied"


@pytest.fixture
def texts(tmp_path):
    """Training text with frequent, middling and rare words, references and worse hypotheses."""
    training = tmp_path / "train.en"
    training.write_text("often " * 100 + "\n" + "middle " * 10 + "\n" + "rare seldom\n")
    references = [
        "often middle rare often middle",
        "often often seldom middle",
        "middle never often middle",
        "rare often rare middle often",
    ] * 5
    hypotheses = [line.replace("rare", "often", 1) for line in references]
    hypotheses[1] = ""
    return training, hypotheses, references


def test_resampled_meteor_is_that_of_the_sentences_drawn(texts):
    training, hypotheses, references = texts
    bins = frequency_bins.bins_of(training)
    parameters = PARAMETERS["en"]
    metrics = frequency_bins.meteor(bins, parameters)
    found = [resampled(metric, hypotheses, references) for metric in metrics]
    times = [np.ones(len(references), dtype=int), *multiplicities(len(references))]
    for number in (0, 1, 2, 1000):
        drawn = np.repeat(np.arange(len(references)), times[number])
        words = [[lines[index].split() for index in drawn] for lines in (hypotheses, references)]
        statistics = MatchStatistics(*words, bins.bin_of)
        for group in range(len(bins.names)):
            expected = 100 * (statistics.scores(parameters, group).meteor or 0)
            assert found[group][number] == pytest.approx(expected)


@pytest.fixture
def line(tmp_path, monkeypatch):
    """Makes a ledger line whose run folder holds translations."""
    monkeypatch.setattr(ledger, "ROOT", tmp_path)

    def make(arm, hypotheses, references, ppl=10.0, seed=1):
        folder = tmp_path / "work" / f"{arm}.{seed}"
        folder.mkdir(parents=True)
        for form in ("tokenised", "plain"):
            scoring.write_lines(folder / f"test.{form}.hyp", hypotheses)
            scoring.write_lines(folder / f"test.{form}.ref", references)
        figures = scoring.score(hypotheses, references, tokenised=False)
        figures |= {"sentences": len(references), "best_valid_ppl": ppl, "parameters": 1}
        run = f"work/{arm}.{seed}"
        return {"arm": arm, "seed": seed, "key": "k", "run": run, "figures": figures}

    return make


MODELS = ("nmt", "tied", "bilinear", "output_structure", "context_structure")


def test_claim_6_compares_bins_with_all_other_models(texts, line, monkeypatch):
    training, hypotheses, references = texts
    names = ["de-en.bpe4.joint2", *(f"de-en.bpe4.{model}" for model in MODELS)]
    entries = [line(names[0], references, references, seed=seed) for seed in (1, 2, 3)]
    entries += [line(n, hypotheses, references, seed=s) for n in names[1:] for s in (1, 2, 3)]
    arms = arms_of(Runs(entries))
    monkeypatch.setattr(
        arms.recipe, "training_text", lambda way: str(training) if way == "de-en" else "nowhere"
    )
    found = claims.frequency_bins(arms)
    by_inequality = {part.inequality: part.verdict for part in found.parts}
    for other in names[1:]:
        assert by_inequality[f"METEOR({names[0]}) ≥ METEOR({other}), words seen 1-9 times"] == HOLDS
        # The others lose on rare words, not on frequent ones.
        assert by_inequality[f"gain over {other}: words seen >=100 times ≥ 1-9 times"] == FAILS
    assert found.parts[-1].verdict == NOT_RUN  # en-de
    assert found.verdict == FAILS


def test_one_seed_of_a_bin_decides_nothing(texts, line):
    training, hypotheses, references = texts
    runs = Runs([line("de-en.x.joint2", references, references), line("b", hypotheses, references)])
    parts = frequency_bins.gains_by_frequency(runs, "de-en.x.joint2", ["b"], training)
    assert {part.verdict for part in parts} == {UNDECIDED}


def test_the_report_has_claims_and_figures(texts, line, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    _, hypotheses, references = texts
    names = [f"de-en.bpe4.{model}" for model in ("joint2", "joint8", "nmt", "tied")]
    folder = tmp_path / "results"
    for number, name in enumerate(names):
        for seed in (1, 2, 3):
            lines = references if name.endswith("joint8") else hypotheses
            found = line(name, lines, references, ppl=9 - number, seed=seed)
            found |= {"setting": {"train": ""}, "command": "", "commit": "c", "versions": {}}
            found["machine"] = {"cpu": "x", "cores": 1, "gpu": None}
            ledger.append(folder / "ledger.jsonl", found)
    speeds = [{"arm": "de-en.words.nmt", "rounds": [1, 2]}]
    speeds.append({"arm": "de-en.words.nmt.share25", "rounds": [3, 4]})
    (folder / "speed.json").write_text(json.dumps({"rows": speeds}))
    axes = {"DIRECTIONS": "de-en", "VOCABULARIES": "bpe4", "SWEEP_DIMS": "2 8", "DEPTHS": "2"}
    environment = {**AXES, **axes, "OUTLAYERS_RESULTS": str(folder)}
    report.write(load("pappas2018_joint", environment))
    text = (folder / "claims.md").read_text()
    assert "Multi30k is far below the paper's data" in text
    assert "d_j chosen by validation perplexity, de-en: de-en.bpe4.joint8 of 2 (" in text
    facts = json.loads((folder / "claims.json").read_text())
    verdicts = {claim["number"]: claim["verdict"] for claim in facts["claims"]}
    assert list(verdicts) == list(range(1, 9))
    assert (verdicts[1], verdicts[3]) == (HOLDS, NOT_RUN)
    for name in ("output_layers.de-en.png", "speed_by_share.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
        assert (folder / name).stat().st_size < 100_000
    drawn = (folder / "speed_by_share.svg").read_text()
    assert "Sampling trains up to 2.5 times as fast" in drawn  # 3 / 1 and 4 / 2
    assert "1. holds" in capsys.readouterr().out
    assert (folder / "translation.de-en.md").exists()


def test_how_far_a_perplexity_falls_at_the_end_is_of_the_newest_schedule(texts, line):
    _, hypotheses, references = texts

    def trained(arm, seed, *curve, more="--force-anneal 3"):
        made = line(arm, hypotheses, references, seed=seed)
        made["figures"]["history"] = [{"valid_ppl": ppl} for ppl in curve]
        return made | {"command": f"fairseq-train x --lr-scheduler shrink_after_rise {more}"}

    lines = [
        trained("de-en.bpe4.nmt", 1, 9.0, 8.0, 8.5, 7.8),  # from 8.0 to 7.8: 2.5%
        trained("de-en.bpe4.nmt", 2, 9.0, 8.0, 7.96, 8.1),
        trained("de-en.bpe4.tied", 1, 9.0, 8.0, 4.0, 4.0, more=""),
        trained("en-de.bpe4.tied", 1, 9.0, 8.0, 8.2, 8.2),
    ]
    (words,) = claims.falls_at_the_end(arms_of(Runs(lines)))
    assert "by up to 2.5% (German to English) and 0.0% (English to German)." in words
    assert not list(claims.falls_at_the_end(arms_of(Runs(lines[2:3]))))


def test_what_a_share_of_the_classes_costs_is_of_runs_of_one_schedule(texts, line):
    """All classes were scored once more, in a longer training, with other translations."""
    references, hypotheses = ["a b c d e"] * 4, ["a b c x e"] * 4

    def trained(arm, written, epochs):
        made = line(arm, written, references, seed=epochs)
        return {**made, "seed": 1, "key": f"{epochs}", "setting": {},
                "command": f"fairseq-train d --max-epoch {epochs}"}  # fmt: skip

    full = "de-en.words.nmt"
    runs = Runs([trained(full, hypotheses, 5), trained(f"{full}.share25", hypotheses, 5),
                 trained(full, references, 15)], claims.FORM)  # fmt: skip
    chart = figures.bleu_by_share(arms_of(runs))
    (series,) = chart.panels[0].series
    assert series.y[0] == series.y[1] < 100
    words = "After 5 epochs (not converged): training on 25% of the classes costs 0.0 "
    assert chart.title.startswith(words)
    assert "at most 5 epochs" in chart.note


def test_speeds_are_grouped_by_model_and_share():
    speeds = {"de-en.words.nmt": [1], "de-en.words.nmt.share5": [2], "de-en.words.joint8": [3]}
    expected = {"nmt": {100: [1], 5: [2]}, "joint8": {100: [3]}}
    assert figures.rounds_by_model(speeds) == expected


@pytest.mark.parametrize(
    ("gains", "expected"),
    [
        ([("tied", 0.5), ("joint", 1.5)], "joint leads at both length penalties (+1.5 and +1.2"),
        ([("tied", -0.4), ("joint", -0.1)], "untied softmax leads at both"),
        (
            [("tied", 0.2), ("joint", 0.1)],
            "depends on the length penalty (tied, or untied softmax",
        ),
    ],
)
def test_the_layer_that_leads_has_the_highest_bleu_the_untied_softmax_included(gains, expected):
    rows = [Row(label, gain, series="length penalty 1") for label, gain in gains]
    rows += [Row(label, gain - 0.3, series="length penalty 0") for label, gain in gains]
    assert expected in figures.leaders(rows, "de-en", 40.2)


def test_no_layer_leads_if_every_interval_contains_zero():
    near = [Row("tied", -0.4, -1.3, 0.5, "length penalty 1"), Row("tied", -0.2, series="penalty 0")]
    assert "no layer differs clearly" in figures.leaders(near, "de-en", 40.2)
    far = [*near, Row("joint", 1.5, 0.6, 2.3, "length penalty 1")]
    assert "no layer differs clearly" not in figures.leaders(far, "de-en", 40.2)


def test_a_layer_with_fewer_seeds_than_others_does_not_lead():
    rows = [Row("tied", -0.4, -1.3, 0.5, "length penalty 1"),
            Row("joint", 1.5, 0.6, 2.3, "length penalty 1", decided=False),
            Row("joint", 1.5, series="length penalty 0")]  # fmt: skip
    assert "no layer differs clearly" in figures.leaders(rows, "de-en", 40.2)
    assert "joint leads" in figures.leaders(rows[1:], "de-en", 40.2)


@pytest.mark.parametrize(
    ("low", "decided", "words"),
    [
        (0.2, True, "joint gains METEOR, at most +0.5 [+0.2, +0.8] over tied on words often"),
        (-0.2, True, "no gain in METEOR is proven; the largest is +1.3 [-2.3, +4.9] over tied"),
        (0.2, False, "no gain in METEOR is proven; the largest is +1.3 [-2.3, +4.9] over tied"),
    ],
)
def test_a_title_names_a_proven_gain_and_not_the_largest(low, decided, words):
    rows = [
        Row("rarely", 1.3, -2.3, 4.9, "over tied"),
        Row("often", 0.5, low, 0.8, "over tied", decided),
        Row("always", 0.1, -0.1, 0.3, "over tied"),
    ]
    assert figures.largest_gain("joint", rows).startswith(words)


def test_a_row_is_decided_only_where_both_length_penalties_agree():
    runs = Scores(of("de-en", "bpe4", nmt=20, joint8=22), figures=PERPLEXITIES)
    zero = {"de-en.bpe4.nmt": [20.0] * 3, "de-en.bpe4.joint8": [19.0] * 3}
    runs.paired = lambda arms, name: [zero[a] if name == "bleu_lenpen0" else [] for a in arms]
    (row,) = claims.against_untied(arms_of(runs))
    assert (row.verdict, row.values) == ("undecided", (22, 20))
    assert row.method.endswith(figures.plain("joint8"))


def test_the_advice_follows_the_verdict():
    bleu = {**of("de-en", "bpe4", nmt=20, joint8=22), **of("en-de", "bpe4", nmt=20, joint8=18)}
    first, second = claims.advice(arms_of(Scores(bleu, figures=PERPLEXITIES)), [])
    assert ": use the" in first
    assert ": do not use the" in second
