"""The recipe of the subword-aware language models: names of arms, and verdicts on the claims."""

import itertools
import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

from recipes.assylbekov2018_subword_lm import claims, figures, gain, word_vectors
from recipes.lab import ledger
from recipes.lab.arms import load
from recipes.lab.pages import report
from recipes.lab.pages.summary import Compared
from recipes.lab.runs import Runs
from recipes.lab.scores import resampling
from recipes.lab.settings import UserError
from tests.recipes.test_costs import speed_file


def recipe(**environment):
    return load("assylbekov2018_subword_lm", environment)


def option(arm, name, **environment):
    train = recipe(**environment).arm(arm).train
    return train[train.index(name) + 1]


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


def test_the_long_schedule_depends_on_no_setting():
    for settings in ({}, {"EPOCHS": "70", "DECAY_FROM": "2", "SHRINK": "0.3"}):
        for name, value in (("--max-epoch", "25"), ("--force-anneal", "8"), ("--lr-shrink", "0.8")):
            assert option("ptb42k.morphsum_re_rw.long", name, **settings) == value


def test_all_models_are_tuned_with_the_same_rates_and_some_with_lower_ones():
    declared = recipe()
    tuned = [declared.arm(name) for name in declared.tuning_arms()]
    rates = {}
    for arm in tuned:
        assert arm.tuning
        _, model, rate = arm.name.split("-")
        assert arm.train[-2:] == ("--lr", rate)
        assert arm.train[:-2] == declared.arm(model).train
        rates.setdefault(model, []).append(rate)
    for tie in ("re_rw", "re", "rw", "none"):
        assert rates.pop(f"de5k.charcnn_{tie}") == ["0.1", "0.2", "0.4", "0.7"]
    assert rates.pop("de5k.sylconcat_re_rw") == ["0.4", "0.7", "1.0", "1.5"]
    assert set(map(tuple, rates.values())) == {("0.7", "1.0", "1.5")}
    of_claim_4 = {f"{data}.{model}" for data in ("de5k", "en5k", "fr5k", "de15k", "en15k", "fr15k")
                  for model in ("word_re", "morphsum_re_rw")}  # fmt: skip
    assert of_claim_4 == {model for model in rates if model.endswith(("word_re", "sum_re_rw"))}
    assert len(set(rates) - of_claim_4) == 4


@pytest.mark.parametrize(
    ("arm", "rate"),
    [("de5k.sylconcat_original", "1.0"), ("de5k.sylconcat_none", "0.7"), ("de5k.word_E", "1.0"),
     ("fr5k.morphsum_re_rw", "1.0"), ("de5k.charcnn_re", "0.4"), ("de5k.charcnn_original", "0.7"),
     ("de5k.word_re.sampled", "1.0"),
     ("de5k.mean_re", "0.7"),  # no rate chosen
     ("de5k.morphsum_re_rw.sampled", "0.7"), ("de15k.morphsum_re_rw", "0.7"),
     ("ptb.sylconcat_original", "0.7"), ("ptb.charcnn_original", "0.5")],
)  # fmt: skip
def test_models_of_5000_captions_have_tuned_rates_and_others_the_authors(arm, rate):
    train = recipe().arm(arm).train
    assert train[train.index("--lr") + 1] == rate


def test_a_learning_rate_that_is_set_is_of_all_arms():
    for arm in ("de5k.word_re", "ptb.morphsum_re_rw.medium"):
        assert option(arm, "--lr", LR="0.3", EPOCHS="70") == "0.3"
        assert option(arm, "--lr", LR="0.3") == "0.3"


LETTERS = {"morphsum": "E12", "sylconcat": "EP12", "charcnn": "EC12"}


@pytest.mark.parametrize("model", LETTERS)
def test_the_layer_study_has_every_choice_that_ties_the_units_or_the_first_highway(model):
    arms = recipe().all_arms()
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
    with pytest.raises(UserError, match=said):
        recipe().arm(arm)


def saving(share, seeds):
    """Perplexities of two models, the same with every seed."""
    return [np.full((seeds, 1), 100 * (1 - share)), np.full((seeds, 1), 100.0)]


def test_gains_that_do_not_differ_have_no_correlation():
    found = gain.correlated([gain.Gain(ratio, saving(0.1, 2)) for ratio in (0.1, 0.2, 0.3)])
    assert found[1:] == ("undecided", "the same in all data sets")


@pytest.mark.parametrize(
    ("correlation", "number", "low", "high"),  # tanh(0.5493 - 0.392) etc.
    [(0.5, 28, 0.1560, 0.7358), (-0.5, 28, -0.7358, -0.1560), (0.0, 7, -0.7531, 0.7531)],
)
def test_the_interval_of_a_correlation_is_over_data_sets(correlation, number, low, high):
    found = gain.over_data_sets(correlation, number)
    assert found[:3] == pytest.approx((correlation, low, high), abs=1e-4)
    assert gain.over_data_sets(correlation, 3)[1:3] == (-1, 1)


def test_gains_are_compared_after_equal_numbers_of_epochs_alone():
    epochs = {"de5k": "10", "en5k": "10", "fr5k": "15"}
    found = {
        data: gain.Gain(0.1 * n, saving(0.1, 3), ("1.0", "1.0"), of_data)
        for n, (data, of_data) in enumerate(epochs.items())
    }
    assert gain.comparable(found) == [found["de5k"], found["en5k"]]
    parts = {part.inequality.partition(": ")[2]: part for part in gain.claim(found).parts}
    assert parts["de5k < fr5k"][1:] == ("undecided", "numbers of epochs differ: 10 and 15")
    assert parts["de5k < de15k"][1:] == ("not run", "missing: the gain of de15k")


def test_gains_of_unequal_numbers_of_seeds_are_compared_over_those_that_both_have():
    few, many = saving(0.1, 3), saving(0.1, 6)
    many[0][3:] = 60.0
    found = {"de5k": gain.Gain(0.1, few), "en5k": gain.Gain(0.07, many)}
    (part,) = (p for p in gain.claim(found).parts if p.inequality.endswith("de5k < en5k"))
    assert part.numbers == "0.900, 0.900; difference +0.000 [+0.000, +0.000], 3 seeds"


def test_gains_are_compared_at_equal_learning_rates_alone():
    def of(share, ratio, rate):
        return gain.Gain(ratio, saving(share, 3), (rate, "1.0"))

    found = {"de5k": of(0.1, 0.5, "1.0"), "en5k": of(0.05, 0.4, "1.0"),
             "de15k": of(0.2, 0.3, "0.7"), "fr5k": of(0.02, 0.3, "1.0")}  # fmt: skip
    found["ptb.sampled"] = of(0.9, 0.1, "1.0")
    parts = {part.inequality: part for part in gain.claim(found).parts}
    kept = "perplexity(MorphSum) / perplexity(Word): "
    assert parts[f"{kept}de5k < en5k"].verdict == "holds"
    assert parts[f"{kept}de5k < de15k"][1:] == (
        "undecided", "learning rates differ: 1.0/1.0 and 0.7/1.0",
    )  # fmt: skip
    (correlation,) = (part for name, part in parts.items() if name.startswith("correlation"))
    assert correlation.numbers.startswith("+0.99 [-1.00, +1.00]")  # without that of de15k
    assert correlation.verdict == "undecided"  # three data sets do not suffice
    assert "3 data sets" in correlation.numbers


@pytest.fixture
def decide(tmp_path, monkeypatch):
    """Makes a report of test perplexities by arm, three seeds each; gives the claims by number."""

    def decide(perplexities, texts=(), parameters=100, seeds=(1, 2, 3)):
        path = tmp_path / "ledger.jsonl"
        for arm, ppl in perplexities.items():
            for seed in seeds:
                figures = {"test_ppl": ppl + seed / 100, "parameters": parameters}
                entry = {"arm": arm, "key": "new", "seed": seed, "figures": figures}
                entry |= {"machine": {"cpu": "x", "cores": 1, "gpu": None}, "versions": {}}
                entry |= {"setting": {"train": ""}, "command": "", "commit": "c"}
                ledger.append(path, entry)
        declared = recipe(OUTLAYERS_RESULTS=str(tmp_path), ARMS=" ".join(perplexities))
        places = dict(text.split("=") for text in texts)
        declared.training_text = lambda data: places.get(data, "nowhere")
        report.write(declared)
        found = json.loads((tmp_path / "claims.json").read_text())["claims"]
        assert [claim["number"] for claim in found] == list(range(1, 10))
        return {claim["number"]: claim for claim in found}

    return decide


def numbers(text):
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def verdicts(claim):
    return {part["inequality"]: part["verdict"] for part in claim["parts"]}


def test_claims_are_read_off_the_newest_runs_and_what_was_not_run_is_named(decide, tmp_path):
    old = {"arm": "ptb.word_re", "key": "old", "seed": 1, "figures": {"test_ppl": 500.0}}
    old |= {"machine": {"cpu": "x", "cores": 1, "gpu": None}, "versions": {}, "commit": "c"}
    old |= {"setting": {"train": ""}, "command": ""}
    ledger.append(tmp_path / "ledger.jsonl", old)
    found = decide({"ptb.word_re": 120.0, "ptb.word_original": 130.0, "ptb.morphsum_re_rw": 90.0})
    (part,) = found[1]["parts"]
    assert (part["numbers"], found[1]["verdict"]) == (
        "120.0, 130.0; saved +7.7 [+7.7, +7.7]%, 3 seeds",
        "holds",
    )
    assert verdicts(found[4]) == {
        "ptb.morphsum_re_rw < ptb.word_re": "holds",
        "morphsum_re_rw < word_re, parameters": "fails",
    }
    assert verdicts(found[5])["morphsum_E1 < morphsum_E2"] == "not run"
    assert [found[number]["verdict"] for number in (2, 3, 5, 6, 7, 8, 9)] == ["not run"] * 7
    assert (
        (tmp_path / "claims.md")
        .read_text()
        .startswith("# The claims of Assylbekov & Takhanov (2018)")
    )


def test_data_sets_with_fewer_seeds_do_not_count_where_another_decides(decide, tmp_path):
    decide({"ptb.word_re": 140.0, "ptb.word_original": 130.0}, seeds=(1,))
    found = decide({"de5k.word_re": 20.0, "de5k.word_original": 30.0})
    assert verdicts(found[1]) == {
        "de5k.word_re < de5k.word_original": "holds",
        "ptb.word_re < ptb.word_original": "not counted",
    }
    assert found[1]["verdict"] == "holds"
    page = (tmp_path / "README.md").read_text()
    assert "helps the word model. (On German 5k.) | **holds** | holds 1, not counted 1 |" in page
    alone = decide({"en5k.morphsum_re_rw": 9.0, "en5k.word_re": 10.0}, seeds=(1, 2))[4]
    judged = [part["verdict"] for part in alone["parts"] if "parameters" not in part["inequality"]]
    assert judged == ["undecided"]  # none decides, so all count


def test_medium_and_sampled_models_are_compared_among_themselves(decide):
    found = decide({
        "ptb.word_re.medium": 80, "ptb.word_original": 70, "ptb.word_original.medium": 90,
        "mono_de.word_re.sampled": 50, "mono_de.word_original.sampled": 40,
    })  # fmt: skip
    assert verdicts(found[1]) == {
        "ptb.word_re.medium < ptb.word_original.medium": "holds",
        "mono_de.word_re.sampled < mono_de.word_original.sampled": "fails",
    }


def test_long_trainings_are_compared_among_themselves_and_said_to_be_long(decide, tmp_path):
    arms = {"ptb42k.word_re": 93, "ptb42k.morphsum_re_rw.long": 80, "ptb42k.word_re.long": 90}
    found = decide(arms)
    assert verdicts(found[4])["ptb42k.morphsum_re_rw.long < ptb42k.word_re.long"] == "holds"
    assert "whole PTB, 25 epochs: MorphSum (RE+RW): 80" in (tmp_path / "details.md").read_text()


def test_the_inequalities_have_the_direction_of_the_paper():
    """Claims 2, 3, 5 and 6, with MorphSum or CharCNN; the others have the same rows."""
    found = {(one.claim, one.better, one.worse) for one in claims.comparisons()}
    assert {
        (2, "charcnn_original", "charcnn_re"), (2, "charcnn_original", "charcnn_rw"),
        (3, "morphsum_re_rw", "morphsum_rw"), (3, "morphsum_original", "morphsum_none"),
        (3, "morphsum_original", "morphsum_rw"), (5, "morphsum_E1", "morphsum_E2"),
        (5, "morphsum_re", "morphsum_none"), (5, "morphsum_E1", "morphsum_1"),
        (5, "morphsum_re_rw", "morphsum_rw"), (6, "morphsum_E1", "morphsum_re_rw"),
        (5, "charcnn_EC1", "charcnn_EC2"), (5, "charcnn_EC1", "charcnn_1"),
        (5, "charcnn_re_rw", "charcnn_12"), (5, "charcnn_E1", "charcnn_1"),
        (5, "charcnn_E12", "charcnn_12"), (6, "charcnn_EC1", "charcnn_re_rw"),
    } <= found  # fmt: skip
    assert not {(claim, worse, better) for claim, better, worse in found} & found


def test_every_arm_of_a_claim_is_one_of_the_recipe():
    arms = recipe().all_arms()
    named = {f"ptb.{arm}" for found in claims.comparisons() for arm in found[1:3]}
    named |= {f"ptb.{model}" for model in word_vectors.FEWER}
    for morphsum, sylconcat, _ in word_vectors.CONFIGURATIONS:
        named |= {f"ptb.morphsum_{morphsum}", f"ptb.sylconcat_{sylconcat}"}
    assert named <= set(arms)


SAVED = {"de5k": 0.4, "en5k": 0.2, "fr5k": 0.3, "de15k": 0.1, "fr15k": 0.31}


def test_the_gain_is_compared_over_languages_and_sizes_and_with_the_ratio(decide, tmp_path, capsys):
    perplexities, texts = {}, []
    for data, saved in SAVED.items():
        perplexities |= {f"{data}.word_re": 100, f"{data}.morphsum_re_rw": 100 * (1 - saved)}
        path = tmp_path / data
        # The ratio rises with the gain: so many different words of a hundred.
        path.write_text(" ".join(f"w{n % round(100 * saved)}" for n in range(100)))
        texts.append(f"{data}={path}")
    claim = decide(perplexities, [*texts, f"missing={tmp_path / 'missing'}"])[7]
    share = "perplexity(MorphSum) / perplexity(Word): "
    found = {words.removeprefix(share): judged for words, judged in verdicts(claim).items()}
    assert found["correlation of the gain with the type-token ratio > 0.5"] == "holds"
    assert claim["parts"][0]["numbers"] == "+1.00 [+1.00, +1.00], 5 data sets, 3 seeds"
    assert {words: judged for words, judged in found.items() if judged != "not run"} == {
        "correlation of the gain with the type-token ratio > 0.5": "holds",
        "de5k < en5k": "holds",
        "de5k < fr5k": "holds",
        "de15k < fr15k": "fails",
        "de5k < de15k": "holds",
        "fr5k < fr15k": "fails",
    }
    text = (tmp_path / "claims.md").read_text()
    row = "| de5k | 0.4000 | 40.0% |"
    assert row in text
    assert row in capsys.readouterr().out
    page = (tmp_path / "details.md").read_text()
    drawn = bool(list(tmp_path.glob("gain*.svg")))
    assert ("gain_against_type_token_ratio.png)" in page) == drawn
    # The texts are not needed a second time.
    for data in SAVED:
        (tmp_path / data).unlink()
    again = decide({}, [*texts])[7]
    assert again["parts"] == claim["parts"]


def test_perplexities_are_resampled_over_the_stored_sentences(decide, tmp_path):
    random = np.random.RandomState(0)
    words = random.randint(5, 20, 300)
    easier = {"ptb.word_original": 5.0, "ptb.word_re": 4.5}  # nats per word
    for seed in (1, 2, 3):
        for arm, nats in easier.items():
            noise = random.randn(300)  # of the sentences
            noise -= noise.mean()  # the perplexity is that of the ledger
            of_seed = math.log(math.exp(nats) + seed / 100)  # as `decide` records it
            rows = zip(of_seed * words + noise, words, strict=True)
            path = tmp_path / "scores" / f"{arm}.seed{seed}.new.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text("".join(f"{a:.4f} {b}\n" for a, b in rows))
    (part,) = decide({arm: math.exp(nats) for arm, nats in easier.items()})[1]["parts"]
    assert part["verdict"] == "holds"
    first, second, difference, low, high, seeds = numbers(part["numbers"])
    assert (first, second) == pytest.approx((math.exp(4.5), math.exp(5)), rel=0.01)
    assert low < difference < high < 1.1 * low
    assert seeds == 3


def test_one_seed_of_a_language_model_decides_nothing(decide):
    arms = {"ptb.word_re": 50.0, "ptb.word_original": 500.0, "ptb.morphsum_re_rw": 20.0}
    found = decide(arms, seeds=(1,))
    assert (found[1]["verdict"], verdicts(found[4])["ptb.morphsum_re_rw < ptb.word_re"]) == (
        "undecided",
        "undecided",
    )


def gate(model, side, mean, layer="hw1"):
    return {"model": f"ptb.{model}", "side": side, "layer": layer, "mean": mean}


def test_gates_must_be_less_than_half_as_open(decide, tmp_path):
    rows = {
        "morphsum": [
            gate("morphsum_re_rw", "both", 0.02),
            gate("morphsum_re_rw", "both", 0.9, "hw2"),
            gate("morphsum_E2", "input", 0.10),
            gate("morphsum_E2", "output", 0.10),
        ],
        "sylconcat": [gate("sylconcat_re_rw", "both", 0.05), gate("sylconcat_EP2", "input", 0.15)],
    }
    for model, found in rows.items():
        (tmp_path / f"transform_gates.{model}.ptb.json").write_text(json.dumps(found * 3))
    claim = decide({"ptb.word_re": 120.0})[8]
    assert list(verdicts(claim).values()) == ["holds", "fails", "not run", "not run"]
    assert claim["parts"][0]["numbers"].startswith("0.0200, 0.0250; difference +0.0050 ")
    assert claim["verdict"] == "fails"


def test_gates_and_components_are_paired_by_seed(tmp_path):
    """Also where a seed of one model is missing, and where rows have another order."""
    means = {"morphsum_re_rw": {3: 0.2, 1: 0.1}, "sylconcat_re_rw": {1: 0.4, 2: 9.0, 3: 0.5}}
    rows = [gate(model, "both", mean) | {"seed": seed}
            for model, by_seed in means.items() for seed, mean in by_seed.items()]  # fmt: skip
    part = word_vectors.gate_claim(rows).parts[0]
    assert part.numbers.startswith("0.1500, 0.2250; difference +0.0750 ")
    assert part.numbers.endswith(", 2 seeds")
    needed = {"input": {2: 10, 1: 20}, "output": {1: 25, 2: 15, 3: 99}}
    rows = [components("word_original", side, count, count) | {"seed": seed}
            for side, by_seed in needed.items() for seed, count in by_seed.items()]  # fmt: skip
    part = word_vectors.component_claim(rows).parts[0]
    assert part.numbers.startswith("50%: 15, 20; difference +5 [+5, +5], 2 seeds")


def test_the_chart_of_perplexities_has_one_schedule():
    def line(arm, epochs, ppl, parameters):
        command = f"fairseq-train d --max-epoch {epochs}"
        return {"arm": f"ptb.{arm}", "seed": 1, "key": f"{arm}{epochs}", "command": command,
                "setting": {}, "figures": {"test_ppl": ppl, "parameters": parameters}}  # fmt: skip

    short = [line("word_re", 10, 200.0, 100), line("sylconcat_re", 10, 150.0, 90)]
    long = [line("word_re", 15, 100.0, 50), line("morphsum_re", 15, 90.0, 10)]
    chart = figures.perplexities(Runs([*short, *long]), "ptb")
    (panel,) = chart.panels
    assert [(row.label, round(row.value)) for row in panel.rows] == [("MorphSum (RE)", -10)]
    assert chart.title.endswith("with 20% of its parameters (too few seeds for a verdict)")
    assert "Word (RE)'s 100.0, %" in panel.x
    chart = figures.perplexities(Runs([*short, long[0]]), "ptb")
    assert [round(row.value) for row in chart.panels[0].rows] == [-25]
    assert "Word (RE)'s 200.0, %" in chart.panels[0].x
    behind, far = line("charcnn_re", 15, 150.0, 10), line("charcnn_rw", 15, 250.0, 10)
    chart = figures.perplexities(Runs([long[0], behind, far]), "ptb")
    assert chart.title.startswith(
        "PTB: Word (RE) has the lowest perplexity; next is CharCNN (RE), "
    )
    assert [row.label for row in chart.panels[0].rows] == ["CharCNN (RE)"]
    assert chart.note.endswith("Not shown: CharCNN (RW) +150%.")


def components(model, side, *counts, dimensions=200):
    needed = {f"components for {share}%": n for share, n in zip((50, 90), counts, strict=True)}
    return {"model": f"ptb.{model}", "side": side, "dimensions": dimensions, **needed}


def test_components_must_be_fewer_at_one_side_for_every_share(decide, tmp_path):
    rows = [
        components("word_original", "input", 10, 90),
        components("word_original", "output", 20, 120),
        components("morphsum_none", "input", 10, 130),
        components("morphsum_none", "output", 20, 120),
        components("charcnn_none", "input", 30, 140),
        components("charcnn_none", "output", 10, 90),
        # The output fits into the states behind its projection, whatever it needs before.
        components("charcnn_none", "output before projection", 40, 150, dimensions=525),
    ]
    (tmp_path / "principal_components.ptb.json").write_text(json.dumps(rows * 3))
    (tmp_path / "principal_components.ptb.txt").write_text("| model | side |\n")
    claim = decide({"ptb.word_re": 120.0})[9]
    assert verdicts(claim) == {
        "ptb.word_original: fewer components at the input": "holds",
        "ptb.morphsum_none: fewer components at the input": "undecided",
        "ptb.charcnn_none: fewer components at the output": "fails",
        "ptb.sylconcat_none: fewer components at the output": "not run",
    }
    shown = [[row | {"components for 80%": row["components for 90%"]} for row in rows]]
    chart = figures.components(shown)
    drawn = {(row.label, row.series): row.value for row in chart.panels[0].rows}
    assert drawn["CharCNN (nothing reused)", "at the output"] == 150
    # Word's input needs fewer than its output; morphs and characters are the other way round.
    assert chart.title.endswith("the side that the paper says needs fewer in 1 of 3 models")
    numbers = claim["parts"][0]["numbers"]
    assert numbers.startswith("50%: 10, 20; difference +10 [+10, +10], 3 seeds; 90%: 90, 120; ")
    assert "\n| model | side |\n" in (tmp_path / "claims.md").read_text()


@pytest.mark.parametrize(
    ("saved", "expected"),
    [([9.0, -4.2, 1.0], "from 4% worse to 9% better"), ([-22.0], "22% worse")],
)
def test_the_ends_of_the_gains_have_their_signs_in_words(saved, expected):
    assert figures.ends_in_words(saved) == expected


def test_points_of_too_few_seeds_say_so():
    def of(seeds):
        return gain.Gain(0.1, saving(0.1, seeds), ("1", "1"))

    chart = figures.gains({"de5k": of(3), "ptb42k": of(1), "en5k": of(2)})
    named = [series.names for series in chart.panels[0].series]
    assert named == [["German 5k"], ["whole PTB (1 seed)"], ["English 5k (2 seeds)"]]


def test_the_advice_names_for_each_text_the_better_model_that_validation_prefers():
    validation = {"morphs": 90.0, "syllables": 95.0, "characters": 80.0, "words": 100.0}

    def row(text, model, value, low, high):
        saved = resampling.Estimate(value, low, high, 3)
        return Compared(
            f"{text}: {model}", figures.plain("word_re"), "% perplexity", saved,
            margin=1, form="+.1f", falls=True, arms=(model, "words"),
        )  # fmt: skip

    def of_validation(arms):
        return [np.full((3, 1), validation[arm]) for arm in arms] if arms[0] in validation else []

    rows = [
        row("German", "morphs", 6.0, 3.0, 9.0),
        row("German", "syllables", 9.0, 4.0, 14.0),  # surest on the test set
        row("German", "characters", 1.0, -9.0, 11.0),  # not better
        row("German", "phonemes", 12.0, 8.0, 16.0),  # not validated
        row("English", "morphs", 2.0, -3.0, 7.0),
        row("PTB", "morphs", -4.0, -5.0, -3.0),
    ]
    runs = SimpleNamespace(validation_perplexities=of_validation)
    (line,) = claims.advice(rows, runs)
    assert line == (
        "German: morphs, -6.0 [-9.0, -3.0]% perplexity against Word (RE); English: undecided;"
        " PTB: Word (RE)."
    )
    assert claims.advice([], runs) == []


@pytest.mark.parametrize(
    ("arms", "folder", "first"),
    [
        ("", "work/assylbekov2018_subword_lm/ptb.all", "ptb42k.word_re"),
        ("ptb.word_re ptb42k.word_re", "work/assylbekov2018_subword_lm/ptb.all", "ptb42k.word_re"),
        ("de5k.word_re en5k.word_re", "work/assylbekov2018_subword_lm/de5k", "de5k.word_re"),
    ],
)
def test_speed_is_measured_on_data_that_were_prepared(arms, folder, first):
    declared = recipe(ARMS=arms)
    data, timed = declared.speed_arms()
    assert (data, timed[0]) == (folder, first)
    assert all(declared.arm(name).data == folder for name in timed)


def test_the_page_says_what_each_model_costs(decide, tmp_path):
    decide({"ptb42k.word_re": 90.0}, parameters=2.65e6)
    runs, speed = Runs(ledger.read(tmp_path / "ledger.jsonl")), tmp_path / "speed.json"
    assert claims.costs_of(runs, speed) == []
    speed_file(speed, **{"ptb42k.word_re": [1.0], "ptb42k.morphsum_re": [0.5, 0.4, 0.6]})
    heading, _, word, morphs = claims.costs_of(runs, speed)
    assert heading == "| whole PTB | parameters | training speed (Word (RE): 1) | peak memory |"
    assert word == "| Word (RE) | 2.6 million | 1.00 (1.00 to 1.00) | 1,234 MB |"
    assert morphs == "| MorphSum (RE) | - | 0.50 (0.40 to 0.60) | 1,234 MB |"


def test_in_the_report_a_begun_repeat_is_named_and_does_not_count(decide, tmp_path):
    decide({"ptb.word_re": 120.0, "ptb.word_original": 130.0})
    path = tmp_path / "ledger.jsonl"
    line = ledger.read(path)[0]
    figures = line["figures"] | {"test_ppl": 500.0}
    ledger.append(path, line | {"key": "newer", "figures": figures})
    assert decide({})[1]["verdict"] == "holds"
    text = (tmp_path / "claims.md").read_text()
    assert "Being repeated, and counted as before: ptb.word_re." in text


def test_morphs_must_have_fewer_parameters_on_every_text(decide):
    name = "morphsum_re_rw < word_re, parameters"
    decide({"de5k.word_re": 20.0, "ptb.word_re": 120.0})
    found = decide({"de5k.morphsum_re_rw": 19.0}, parameters=50)[4]
    assert verdicts(found)[name] == "holds"
    found = decide({"ptb.morphsum_re_rw": 90.0}, parameters=130)[4]
    assert verdicts(found)[name] == "fails"


def test_medium_models_of_words_and_wikitext_have_settings_of_their_own():
    assert option("ptb.word_re.medium", "--lr", EPOCHS="70") == "0.7"
    assert option("ptb.word_re.medium", "--force-anneal", EPOCHS="70") == "11"
    assert option("ptb.charcnn_re.medium", "--force-anneal", EPOCHS="70") == "13"
    assert option("wikitext2.word_re", "--dropout") == "0.2"
    assert option("wikitext2.word_re.medium", "--dropout") == "0.4"
    assert "--dropout" not in recipe().arm("ptb.word_re").train


def test_captions_of_another_limit_of_counts_have_a_folder_of_their_own():
    usual, other = recipe(), recipe(MIN_COUNT="3")
    assert other.folder_of("de5k") == f"{usual.folder_of('de5k')}.min3"
    assert other.folder_of("ptb") == usual.folder_of("ptb")  # has an <unk> of its own
