"""The verdicts on the claims of Garg et al. (2020)."""

import json

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from recipes.garg2020_esnmt import arms, checkpoint_sizes, claims, figures, length_penalty
from recipes.lab import ledger
from recipes.lab.claims import FAILS, HOLDS, NOT_RUN, SAME, UNDECIDED
from recipes.lab.runs import Runs
from recipes.lab.scores import scoring
from recipes.lab.settings import UserError
from tests.recipes.test_costs import speed_file

WORDS = [f"w{number}" for number in range(20)]


def sentences(quality, count=60):
    """References of 6 to 15 words, and hypotheses that share that many of their words."""
    generator = np.random.default_rng(0)
    references, hypotheses = [], []
    for number in range(count):
        words = [str(word) for word in generator.choice(WORDS, 6 + number % 10)]
        kept = generator.random(len(words)) < quality
        hypotheses.append(" ".join(w if k else "x" for w, k in zip(words, kept, strict=True)))
        references.append(" ".join(words))
    return hypotheses, references


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Runs of arms, of which each seed has a share of the words right."""
    monkeypatch.setattr(ledger, "ROOT", tmp_path)

    def runs(valid=None, **qualities):
        entries = []
        for arm, shares in qualities.items():
            for seed, quality in enumerate(shares, start=1):
                folder = tmp_path / f"{arm}.{seed}"
                folder.mkdir()
                hypotheses, references = sentences(quality)
                scoring.write_lines(folder / "test.tokenised.hyp", hypotheses)
                scoring.write_lines(folder / "test.tokenised.ref", references)
                score = scoring.score(hypotheses, references, tokenised=True)
                score["sentences"] = len(references)
                score["valid_bleu_tokenised"] = (valid or {}).get(arm, [0] * 9)[seed - 1]
                run = {"run": folder.name, "key": "k", "figures": score}
                entries.append({"arm": arm, "seed": seed, **run})
        return Runs(entries, claims.FORM)

    return runs


def part(runs, words):
    parts = [part for claim in claims.claims_of(runs) for part in claim.parts]
    return next(part for part in parts if words in part.inequality)


LADDER = "+ attention > + embeddings"


@pytest.mark.parametrize(
    ("higher", "lower", "verdict"),
    [(0.95, 0.6, HOLDS), (0.6, 0.95, FAILS), (0.8, 0.8, SAME)],
)
def test_a_step_is_judged_by_the_interval(runs, higher, lower, verdict):
    found = runs(esnmt_lstm=[higher] * 3, release_embeddings=[lower] * 3)
    assert part(found, LADDER).verdict == verdict


def test_one_seed_decides_nothing(runs):
    found = runs(esnmt_lstm=[0.95], release_embeddings=[0.1], rnmt_plus=[0.99])
    parts = [part for claim in claims.claims_of(found) for part in claim.parts]
    assert {part.verdict for part in parts} == {NOT_RUN, UNDECIDED}


def test_seeds_that_disagree_decide_nothing(runs):
    found = runs(esnmt_lstm=[0.7, 0.99, 0.7], release_embeddings=[0.7] * 3)
    assert part(found, LADDER).verdict == UNDECIDED


@pytest.mark.parametrize(("share", "verdict"), [(0.92, HOLDS), (0.4, FAILS), (1.0, FAILS)])
def test_a_share_of_the_trained_models_bleu_lies_between_limits(runs, share, verdict):
    found = runs(rnmt_plus=[1.0] * 3, esnmt=[share] * 3)
    bleu = {arm: found.bleu(arm) for arm in found.arms}
    tried = part(found, "0.6 <= BLEU(esnmt) / BLEU(rnmt_plus)")
    assert tried.numbers.startswith(f"{bleu['esnmt'] / bleu['rnmt_plus']:.3f} [")
    assert tried.verdict == verdict


@pytest.mark.parametrize(("lstm", "verdict"), [(0.9, HOLDS), (0.8, FAILS)])
def test_cells_are_alike_within_five_percent(runs, lstm, verdict):
    found = runs(esnmt=[0.9] * 3, esnmt_lstm=[lstm] * 3)
    assert part(found, "differ by less than 5%").verdict == verdict


@pytest.mark.parametrize(
    ("better", "worse"),
    [("esnmt_wide", "esnmt"), ("esnmt_lstm_wide", "esnmt_lstm"), ("esnmt", "radius_0.9"),
     ("radius_0.9", "radius_0.1"), ("radius_0.9", "radius_2.0")],
)  # fmt: skip
def test_width_and_radii_have_the_direction_of_the_paper(runs, better, worse):
    found = runs(**{better: [0.95] * 3, worse: [0.6] * 3})
    assert part(found, f"BLEU({better}) ≥ BLEU({worse})").verdict == HOLDS


def test_a_claim_without_its_arms_was_not_run(runs):
    assert {claim.verdict for claim in claims.claims_of(runs(esnmt=[0.8]))} == {NOT_RUN}


def test_a_share_of_a_bleu_of_0_decides_nothing(runs):
    found = runs(rnmt_plus=[0.0] * 2, esnmt=[0.0] * 2, esnmt_lstm=[0.0] * 2)
    for words in ("0.6 <= BLEU(esnmt) /", "differ by less than 5%"):
        tried = part(found, words)
        assert tried[1:] == (UNDECIDED, "divides by 0 on the test set or on a resample")


def penalties_of(model, **valid):
    """Validation BLEU by arm, of penalties spelled ``p1_5``."""
    return {f"{model}.lenpen{p[1:].replace('_', '.')}": values for p, values in valid.items()}


def test_the_length_penalty_is_chosen_by_the_mean_over_seeds_of_validation_bleu(runs):
    """Not on the test set, by seed, or by name: 10 follows 2."""
    valid = penalties_of("esnmt", p10=[9, 4], p2=[7, 7], p1_5=[7, 7], p1=[8, 5])
    quality = penalties_of("esnmt", p10=[0.9] * 2, p2=[0.8] * 2, p1_5=[0.7] * 2, p1=[0.9] * 2)
    found = runs(valid, **quality)
    ordered = [decoded.penalty for decoded in length_penalty.of_model(found, "esnmt")]
    assert ordered == ["1", "1.5", "2", "10"]
    assert length_penalty.chosen(found, "esnmt") == ("esnmt", "1.5")
    assert length_penalty.chosen(found, "rnmt_plus") is None


def test_only_seeds_decoded_with_all_penalties_choose(runs):
    valid = penalties_of("esnmt", p1=[5, 9], p2=[6])
    found = runs(valid, **penalties_of("esnmt", p1=[0.9, 0.9], p2=[0.9]))
    assert length_penalty.chosen(found, "esnmt").penalty == "2"


def test_models_are_also_compared_at_their_own_length_penalties(runs):
    valid = penalties_of("esnmt", p1=[5] * 3, p2=[6] * 3)
    valid |= penalties_of("rnmt_plus", p1=[6] * 3, p2=[5] * 3)
    frozen = penalties_of("esnmt", p1=[0.85] * 3, p2=[0.92] * 3)
    trained = penalties_of("rnmt_plus", p1=[1.0] * 3, p2=[0.5] * 3)
    found = runs(valid, esnmt=[0.85] * 3, rnmt_plus=[1.0] * 3, **frozen, **trained)
    bleu = {arm: found.bleu(arm) for arm in found.arms}
    words = "0.6 <= BLEU(esnmt.lenpen2) / BLEU(rnmt_plus.lenpen1) <= 0.9"
    tried = part(found, words)
    expected = bleu["esnmt.lenpen2"] / bleu["rnmt_plus.lenpen1"]
    assert tried.numbers.startswith(f"{expected:.3f} [")
    assert tried.verdict == HOLDS
    [row] = claims.against_trained_at_best(found)
    assert row.values == pytest.approx((bleu["esnmt.lenpen2"], bleu["rnmt_plus.lenpen1"]))
    [advice] = claims.of_penalties(found)  # a gain with every seed
    gain = bleu["esnmt.lenpen2"] - bleu["esnmt"]
    assert f"frozen simple cells, --lenpen 2: {gain:+.2f} [" in advice


def with_parameters(found, **millions):
    for arm, count in millions.items():
        for entry in found.entries(arm):
            entry["figures"]["parameters"] = count * 10**6
    return found


SIZES = {"rnmt_plus": 2, "rnmt_plus_narrow": 1.01, "esnmt": 1, "esnmt_lstm": 1}


@pytest.mark.parametrize(
    ("narrow", "advice"),
    [
        (None, ["unless the size of the checkpoint counts more (frozen simple cells store 50%"]),
        ([0.95] * 3, ["simple cells and {lstm} BLEU more than frozen LSTM cells."]),
        ([0.83] * 3, ["have {lstm} BLEU more than frozen LSTM cells.",
                      "store as much, frozen simple cells: better (+"]),
        ([0.2, 0.9, 0.95], ["frozen simple cells: undecided (", "frozen LSTM cells: undecided ("]),
    ],
)  # fmt: skip
def test_the_advice_on_small_checkpoints_is_that_of_a_trained_model_of_their_size(
    runs, narrow, advice
):
    trained = {"rnmt_plus_narrow": narrow} if narrow else {}
    found = runs(rnmt_plus=[1.0] * 3, esnmt=[0.9] * 3, esnmt_lstm=[0.7] * 3, **trained)
    with_parameters(found, **{arm: SIZES[arm] for arm in found.arms})
    lines = claims.advice(found, list(claims.against_trained(found)))
    assert lines[0].startswith("Train the recurrent layers")
    assert ("unless" in lines[0]) == (narrow is None)
    lines = lines[narrow is not None :]
    assert len(lines) == len(advice)
    for line, words in zip(lines, advice, strict=True):
        gain = found.bleu("rnmt_plus_narrow") - found.bleu("esnmt_lstm") if narrow else 0
        assert words.format(lstm=f"{gain:.1f}") in line


def test_a_frozen_model_as_good_as_a_wide_one_is_not_recommended_if_a_narrow_one_beats_it(runs):
    arms = {"rnmt_plus": [0.8] * 3, "esnmt": [0.8] * 3, "rnmt_plus_narrow": [0.95] * 3}
    found = with_parameters(runs(**arms), **{arm: SIZES[arm] for arm in arms})
    (line,) = claims.advice(found, list(claims.against_trained(found)))
    assert "train narrower layers" in line


def test_the_narrow_model_is_compared_with_the_wide_one(runs):
    found = runs(rnmt_plus=[1.0] * 3, rnmt_plus_narrow=[0.95] * 3)
    (row,) = claims.narrow_against_wide(found)
    assert (row.verdict, row.on_page) == ("worse", False)
    assert list(claims.narrow_against_wide(runs(esnmt=[0.9] * 3))) == []


@pytest.mark.parametrize(("size", "rows"), [(1.04, 2), (1.06, 1), (0.9, 1)])
def test_models_are_compared_at_equal_size_only_if_they_store_as_much(runs, size, rows):
    found = runs(rnmt_plus=[1.0] * 3, esnmt=[0.9] * 3, rnmt_plus_narrow=[0.95] * 3)
    with_parameters(found, esnmt=1, rnmt_plus_narrow=size, rnmt_plus=2)
    assert len(list(claims.against_trained(found))) == rows


@pytest.mark.parametrize("shares", [[0.8] * 3, [0.95], [0.95, 0.95, 0.6]])
def test_a_penalty_without_a_proven_gain_is_not_recommended(runs, shares):
    valid = penalties_of("esnmt", p1=[5] * 3, p2=[6] * 3)
    frozen = penalties_of("esnmt", p1=[0.85] * len(shares), p2=shares)
    found = runs(valid, esnmt=[0.85] * len(shares), **frozen)
    assert length_penalty.chosen(found, "esnmt").penalty == "2"
    assert list(claims.of_penalties(found)) == []


def test_decodings_of_a_replaced_setting_do_not_choose(runs):
    """The line of p2 decodes a model with another key than the newest of esnmt."""
    valid = penalties_of("esnmt", p1=[5] * 3, p2=[6] * 3)
    found = runs(valid, esnmt=[0.85] * 3, **penalties_of("esnmt", p1=[0.85] * 3, p2=[0.9] * 3))
    for entry in found.entries("esnmt.lenpen2"):
        entry["setting"] = {"of": {"esnmt": "other"}}
    for entry in found.entries("esnmt.lenpen1"):
        entry["setting"] = {"of": {"esnmt": "k"}}
    assert length_penalty.chosen(found, "esnmt").penalty == "1"


def test_the_brevity_penalty_is_shown_over_the_seeds_that_both_models_have(runs):
    found = runs(rnmt_plus=[1.0] * 2, esnmt=[0.8, 0.8, 0.1])
    bleu = [found.by_seed(arm, "bleu_tokenised") for arm in ("rnmt_plus", "esnmt")]
    both = bleu[1][1] / 2 + bleu[1][2] / 2
    rows = [line.split(" | ") for line in claims.lengths(found) if line.startswith("| esnmt")]
    # As many words as the references: the same without brevity penalty.
    assert [row[1:4] for row in rows] == [[f"{both:.2f}", "-", f"{both:.2f}"]]
    assert rows[0][4].startswith(f"{both / bleu[0][1]:.3f} [")


@pytest.mark.parametrize("penalty", [".5", "-1", "one", "1,5"])
def test_a_length_penalty_that_is_no_number_is_refused(penalty):
    with pytest.raises(UserError, match=f"LENPENS: '{penalty}' is no number"):
        arms.Garg2020({"LENPENS": f"1 {penalty}"})


def test_a_decoding_differs_from_its_model_by_the_length_penalty():
    recipe = arms.Garg2020({"LENPENS": "1 1.5", "DECODED": "radius_0.9 esnmt"})
    names = ["radius_0.9.lenpen1", "radius_0.9.lenpen1.5", "esnmt.lenpen1", "esnmt.lenpen1.5"]
    assert recipe.decodings() == names
    model, decoded = recipe.arm("radius_0.9"), recipe.arm("radius_0.9.lenpen1.5")
    assert decoded.decoding.of == ("radius_0.9",)
    assert decoded.test.generate == f"{model.test.generate} --lenpen 1.5"
    assert decoded.test.valid_reference.endswith("tokenized/valid.de")


def test_short_sentences_are_compared_with_long_ones(runs):
    """The share on the whole test set, from BLEU of the sentences of these lengths."""
    found = runs(**{"radius_0.1": [0.8, 0.8], "radius_0.9": [0.6, 0.6]})
    shares = []
    for quality in (0.8, 0.6):
        hypotheses, references = sentences(quality)
        scores = []
        for short in (True, False):
            chosen = [
                n for n, line in enumerate(references)
                if (len(line.split()) <= 10 if short else len(line.split()) >= 14)
            ]  # fmt: skip
            texts = [[lines[n] for n in chosen] for lines in (hypotheses, references)]
            scores.append(BLEU(tokenize="none", force=True).corpus_score(texts[0], texts[1:]).score)
        shares.append(scores[0] / scores[1])
    tried = part(found, "radius_0.1 > radius_0.9")
    assert tried.numbers.startswith(f"{shares[0] - shares[1]:+.3f} [")


def test_the_slope_is_the_radius_gained_per_layer():
    assert claims.slope([0.5, 0.7, 0.9]) == pytest.approx(0.2)
    assert claims.slope([0.9, 0.7, 0.5]) == pytest.approx(-0.2)
    # By least squares: 1, 2, 1 neither rises nor falls.
    assert claims.slope([1, 1, 1]) == claims.slope([1, 2, 1]) == 0


def test_the_interval_of_the_rise_is_that_of_students_t_over_seeds():
    """The directions of a model are averaged: they are fixed, not drawn."""
    seeds = np.random.RandomState(1).normal(0.2, 0.1, 10)
    found = claims.rise_of_radii([[rise - 0.05, rise + 0.05] for rise in seeds])
    half = 2.586 * seeds.std(ddof=1) / np.sqrt(10)
    assert (found.value, found.seeds) == (pytest.approx(seeds.mean()), 10)
    assert (found.low, found.high) == pytest.approx(
        (seeds.mean() - half, seeds.mean() + half), abs=0.015 * half
    )


def radii_of(*seeds):
    """Runs of esnmt whose three stacks have these radii."""
    entries = []
    for seed, stacks in enumerate(seeds, start=1):
        sides = zip(figures.SIDES, stacks, strict=True)
        echo = {f"radius_{s}_{n}": radius for s, radii in sides for n, radius in enumerate(radii)}
        run = {"run": "nowhere", "key": "k", "figures": {"echo": echo}}
        entries.append({"arm": "esnmt", "seed": seed, **run})
    return Runs(entries, claims.FORM)


RISING, FALLING = [0.5, 0.7, 0.9], [0.9, 0.7, 0.6]


@pytest.mark.parametrize(
    ("seeds", "verdict"),
    [
        ([[RISING] * 3], UNDECIDED),  # one seed
        ([[RISING] * 3] * 2, UNDECIDED),
        ([[RISING] * 3] * 3, HOLDS),
        ([[FALLING] * 3] * 3, FAILS),
        ([[RISING] * 3, [RISING] * 3, [FALLING] * 3], UNDECIDED),
    ],
)
def test_radii_are_judged_over_layers_directions_and_seeds(seeds, verdict):
    assert part(radii_of(*seeds), "learned radii rise with the layer: esnmt").verdict == verdict


def test_radii_of_older_lines_are_read_layer_by_layer_from_the_log(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "ROOT", tmp_path)
    line = '2026-01-31 10:00:00 | INFO | train_inner | {{"num_updates": "{}", {}}}\n'
    radii = '"radius_decoder_0": "{}", "radius_decoder_1": "{}"'
    text = "".join(line.format(n, radii.format(1 - n / 10, 1 + n / 10)) for n in (1, 2))
    (tmp_path / "run").mkdir()
    (tmp_path / "run/train.log").write_text(text)
    entry = {"arm": "esnmt", "seed": 1, "key": "k", "run": "run", "figures": {}}
    runs = Runs([entry], claims.FORM)
    assert figures.radii(runs, "esnmt", 1, "decoder") == [0.8, 1.2]
    assert figures.curve(entry, "radius_decoder_0") == ([1, 2], [0.9, 0.8])
    assert figures.radii(runs, "esnmt", 1, "encoder_forward") == []


def test_bleu_by_length_has_a_point_for_every_bucket(runs):
    (panel,) = figures.bleu_by_length(runs(esnmt=[0.8, 0.9], **{"radius_0.9": [0.5, 0.5]})).panels
    fixed, series = panel.series
    assert (fixed.label, series.label) == ("radius 0.9", "learned radii")
    assert list(series.x) == ["1-7", "8-9", "10-11", "12-13", "14-16", "17+"]
    assert all(a < y < b for a, y, b in zip(series.low, series.y, series.high, strict=True) if y)
    hypotheses, references = zip(*(sentences(q) for q in (0.8, 0.9)), strict=True)
    scores = []
    for lines, right in zip(hypotheses, references, strict=True):
        chosen = [n for n, line in enumerate(right) if 8 <= len(line.split()) < 10]
        texts = [[side[n] for n in chosen] for side in (lines, right)]
        scores.append(BLEU(tokenize="none", force=True).corpus_score(texts[0], texts[1:]).score)
    assert series.y[1] == pytest.approx(np.mean(scores))


def test_the_title_by_length_names_a_best_arm_only_if_that_is_proven(runs, monkeypatch):
    # The sentences have at most 15 words.
    monkeypatch.setattr(figures, "EDGES", (1, 8, 10, 100))
    found = runs(esnmt=[0.9] * 3, **{"radius_0.9": [0.3] * 3, "radius_0.1": [0.9]})
    title = figures.bleu_by_length(found).title
    ending = "are not proven to differ in BLEU (1 seed)"
    assert title == f"Sentences of 10+ words: radius 0.1 and learned radii {ending}"
    pair = Runs([*found.entries("esnmt"), *found.entries("radius_0.9")], claims.FORM)
    title = figures.bleu_by_length(pair).title
    assert title == "Sentences of 10+ words: the highest BLEU is that of learned radii"


def test_one_arm_makes_no_chart_by_length(runs):
    assert figures.bleu_by_length(runs(esnmt=[0.8, 0.9])).empty


def test_the_title_states_the_share_of_the_trained_models_bleu(runs):
    found = runs(rnmt_plus=[0.99], esnmt=[0.9])
    chart = figures.by_model(found)
    share = found.bleu("esnmt") / found.bleu("rnmt_plus")
    trained = found.bleu("rnmt_plus")
    assert (
        chart.title == f"Of the trained model's {trained:.1f} BLEU, frozen simple cells {share:.0%}"
    )
    assert "LSTM" not in chart.title  # not run
    (rows,) = chart.panels
    assert [row.label for row in rows.rows] == ["all trained", "frozen simple cells"]


def test_gradients_that_were_measured_elsewhere_are_drawn_and_kept(tmp_path):
    kept = tmp_path / "gradient.json"
    kept.write_text('{"esnmt": [{"norms": [1.0, 0.5], "half_life": 1.0}]}')
    before = kept.read_bytes()
    assert figures.measure_gradients(Runs([]), kept) == {"esnmt": [[1.0, 0.5]]}
    assert kept.read_bytes() == before


@pytest.mark.parametrize(
    ("share", "ours", "papers"), [(0.9, HOLDS, UNDECIDED), (0.6, FAILS, FAILS)]
)
def test_the_papers_band_is_a_claim_of_its_own_and_narrower_than_ours(runs, share, ours, papers):
    found = runs(rnmt_plus=[1.0] * 3, esnmt=[share] * 3)
    assert part(found, "0.6 <= BLEU(esnmt) / BLEU(rnmt_plus) <= 0.9").verdict == ours
    assert part(found, "0.7 <= BLEU(esnmt) / BLEU(rnmt_plus) <= 0.8").verdict == papers


def test_the_page_says_what_each_model_costs(runs, tmp_path):
    small = {"rnmt_plus_narrow": [0.93]}
    found = runs(rnmt_plus=[1.0] * 3, esnmt=[0.9] * 3, esnmt_wide=[0.95], **small)
    folder = tmp_path / "results"
    folder.mkdir()
    assert claims.costs(found, folder) == []
    for arm in found.arms:
        for entry in found.entries(arm):
            entry["figures"]["parameters"] = 2e6 if arm == "rnmt_plus" else 1e6
    turns = {"esnmt": [2.0, 2.4, 2.2], "esnmt_wide": [0.9, 1.1, 1.0]}
    turns["rnmt_plus_narrow"] = [1.3, 1.5, 1.4]
    speed_file(folder / "speed.json", rnmt_plus=[1.0, 1.0, 1.0], **turns)
    size = {"arm": "esnmt", "checkpoint_mb": 19.6, "without_optimizer_mb": 6.6}
    (folder / checkpoint_sizes.FILE).write_text(json.dumps({"rows": [size]}))
    first, narrow, second, third = claims.costs(found, folder)[2:]
    assert narrow.startswith("| all trained, narrower (1 seed) | ")
    assert first == "| all trained | 100.0 | 2.0 million | - | - | 1.00 (1.00 to 1.00) | 1,234 MB |"
    bleu = f"{found.bleu('esnmt'):.1f}"
    assert second == (
        f"| frozen simple cells | {bleu} | 1.0 million | 19.6 MB | 6.6 MB | 2.20 (2.00 to 2.40)"
        " | 1,234 MB |"
    )
    assert third.startswith("| frozen simple cells, twice as wide (1 seed) | ")


@pytest.mark.parametrize(
    ("words", "better", "worse"),
    [
        ("+ embeddings > softmax only", "release_embeddings", "release_softmax"),
        ("decoder > + attention", "release_decoder", "esnmt_lstm"),
        ("encoder > decoder", "release_encoder", "release_decoder"),
        ("all > encoder", "rnmt_plus", "release_encoder"),
    ],
)
def test_the_rows_of_the_ladder_are_their_models(runs, words, better, worse):
    found = runs(**{better: [0.95] * 3, worse: [0.6] * 3})
    assert part(found, words).verdict == HOLDS


def test_claim_8_is_about_the_papers_input_scale(runs):
    frozen = ("esnmt_faithful", "esnmt_lstm_faithful")
    assert [one.inequality for one in claims.claims_of(runs())[7].parts] == [
        *(f"0.6 <= BLEU({arm}) / BLEU(rnmt_plus) <= 0.9" for arm in frozen),
        *(f"learned radii rise with the layer: {arm}" for arm in frozen),
    ]


def test_short_translations_lose_only_the_brevity_penalty(runs, tmp_path):
    found = runs(rnmt_plus=[1.0], esnmt=[1.0])
    path = tmp_path / "esnmt.1" / "test.tokenised.hyp"
    scoring.write_lines(path, [line.rsplit(" ", 1)[0] for line in scoring.read_lines(path)])
    (row,) = [line.split(" | ") for line in claims.lengths(found) if line.startswith("| esnmt")]
    assert float(row[1]) < 95
    assert row[3] == "100.00"
    assert row[4].startswith("1.000 [")
