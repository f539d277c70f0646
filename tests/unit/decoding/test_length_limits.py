"""Length limits by the source, against fairseq's for each sentence alone."""

from types import SimpleNamespace

import pytest
import torch
from fairseq.search import BeamSearch

from fairseq_outlayers.decoding.length_limits import LengthLimits
from fairseq_outlayers.errors import UserError
from tests.conftest import make_batch
from tests.unit.decoding.test_search import models_of, rows_of

LENGTHS = [(4, 5), (0, 3), (6, 2), (3, 3)]  # 5, 1, 7 and 4 with </s>
LIMITS = {"max_len_a": 0, "max_len_b": 9}


@pytest.mark.parametrize(
    "search",
    [
        {},
        {"sampling": True, "sampling_topk": 1},
        {"diverse_beam_groups": 5},
        {"print_alignment": "hard"},
        {"prefix_size": 6},
    ],
    ids=["beam", "sampling", "diverse beams", "alignment", "prefix that ends the sentence"],
)
@pytest.mark.parametrize("options", [{}, {"candidate_frequent": 12}], ids=["all", "candidates"])
def test_every_sentence_is_decoded_as_alone_with_its_own_minimum(
    options, search, make_task, decode
):
    models = models_of(make_task())
    limited, free = make_task(min_len_a=1.5, **options), make_task(**options)
    # An untrained model seldom ends a sentence; one that likes to gives the limit something to do.
    models[0].decoder.output_projection.bias.data[free.target_dictionary.eos()] = 4.0
    batch = make_batch(free, LENGTHS)
    found = decode(limited, models, batch, **search, **LIMITS)
    ended_early = 0
    for row, minimum in enumerate([7, 1, 9, 6]):
        # Diverse beams count by the sentence's number.
        alone = {**rows_of(batch, slice(row, row + 1)), "id": torch.tensor([0])}
        expected = decode(free, models, alone, min_len=minimum, **search, **LIMITS)[0]
        assert len(found[row]) == len(expected)
        for hypothesis, wanted in zip(found[row], expected, strict=True):
            assert hypothesis["tokens"].tolist() == wanted["tokens"].tolist()
            torch.testing.assert_close(hypothesis["score"], wanted["score"])
        unlimited = decode(free, models, alone, **search, **LIMITS)[0]
        ended_early += min(len(hypothesis["tokens"]) for hypothesis in unlimited) <= minimum
    assert ended_early > 0  # or the limit has not been tried


@pytest.mark.parametrize(
    "search",
    [
        {},
        {"min_len": 4},
        {"diverse_beam_groups": 5},
        {"print_alignment": "hard"},
        {"prefix_size": 2},
    ],
    ids=["beam", "minimum", "diverse beams", "alignment", "prefix"],
)
@pytest.mark.parametrize("options", [{}, {"candidate_frequent": 12}], ids=["all", "candidates"])
def test_every_sentence_is_decoded_as_alone_with_its_own_maximum(
    options, search, make_task, decode
):
    task = make_task(**options)
    models, batch = models_of(task), make_batch(task, LENGTHS)
    limits = {"max_len_a": 1.2, "max_len_b": 2}
    found = decode(task, models, batch, **search, **limits)
    for row, maximum in enumerate([8, 3, 10, 6]):
        alone = {**rows_of(batch, slice(row, row + 1)), "id": torch.tensor([0])}
        most = max(maximum, search.get("min_len", 0))
        expected = decode(task, models, alone, **search, max_len_a=0, max_len_b=most)[0]
        # Untrained models hardly ever end by themselves: the limit does.
        assert max(len(hypothesis["tokens"]) for hypothesis in found[row]) == most + 1
        assert len(found[row]) == len(expected)
        for hypothesis, wanted in zip(found[row], expected, strict=True):
            assert hypothesis["tokens"].tolist() == wanted["tokens"].tolist()
            torch.testing.assert_close(hypothesis["score"], wanted["score"])


@pytest.mark.parametrize("options", [{}, {"candidate_frequent": 12}], ids=["all", "candidates"])
def test_a_prefix_beyond_the_maximum_is_whole_in_every_batch(options, make_task, decode):
    task = make_task(**options)
    models, batch = models_of(task), make_batch(task, LENGTHS)
    limits = {"max_len_a": 0.2, "max_len_b": 1, "prefix_size": 4}
    found = decode(task, models, batch, **limits)
    for row, (_, target) in enumerate(LENGTHS):
        expected = decode(task, models, rows_of(batch, slice(row, row + 1)), **limits)[0]
        prefix = batch["target"][row, : min(target + 1, 4)].tolist()
        for hypothesis, wanted in zip(found[row], expected, strict=True):
            assert hypothesis["tokens"].tolist() == wanted["tokens"].tolist()
            assert hypothesis["tokens"].tolist()[: len(prefix)] == prefix
            torch.testing.assert_close(hypothesis["score"], wanted["score"])


def alignment_of(kind, attention, source, tokens, task):
    """From the attention ``(T, S)`` of a hypothesis, with source words as fairseq numbers them."""
    eos, pad = task.target_dictionary.eos(), task.target_dictionary.pad()
    if kind == "soft":
        read = [n for n, word in enumerate(source) if word != pad]
        return [[f"{row[n]:.6f}" for n in read] for row in attention.tolist()]
    words = [n for n, word in enumerate(source) if word not in (pad, eos)]
    rows = [row for row, word in zip(attention.tolist(), tokens, strict=True) if word != eos]
    chosen = ([row[n] for n in words] for row in rows)
    return [(row.index(max(row)), n) for n, row in enumerate(chosen)] if words else []


@pytest.mark.parametrize("kind", ["hard", "soft"])
@pytest.mark.parametrize("arch", ["luong_lstm", "transformer_outlayers"])
@pytest.mark.parametrize("options", [{}, {"candidate_frequent": 12}], ids=["all", "candidates"])
def test_fewer_hypotheses_than_the_beam_are_aligned(options, arch, kind, make_task, decode):
    """A prefix beyond the maximum leaves one of a sentence that ends before the batch."""
    task = make_task(**options)
    models, batch = models_of(task, arch=arch), make_batch(task, LENGTHS)
    model = models[0]
    model.full_context_alignment = arch == "transformer_outlayers"  # as of transformer_align
    limits = {"max_len_a": 0.1, "max_len_b": 1, "prefix_size": 3}
    found = decode(task, models, batch, print_alignment=kind, **limits)
    expected = decode(task, models, batch, **limits)
    numbers = [len(hypotheses) for hypotheses in found]
    assert numbers == [len(hypotheses) for hypotheses in expected]
    assert len(set(numbers)) > 1
    assert 0 < min(numbers) < 5
    for row, hypotheses in enumerate(found):
        inputs = rows_of(batch, slice(row, row + 1))["net_input"]
        source = inputs["src_tokens"]
        for hypothesis, wanted in zip(hypotheses, expected[row], strict=True):
            tokens = hypothesis["tokens"]
            assert tokens.tolist() == wanted["tokens"].tolist()
            torch.testing.assert_close(hypothesis["score"], wanted["score"], rtol=0, atol=0)
            attention = hypothesis["attention"].T
            if model.full_context_alignment:
                with torch.no_grad():
                    output = model(source, inputs["src_lengths"], tokens.roll(1)[None])
                attention = output[1]["attn"][0][0]
            assert hypothesis["alignment"] == alignment_of(
                kind, attention, source[0].tolist(), tokens.tolist(), task
            )


def test_a_minimum_beyond_the_maximum_gives_way(make_task, decode):
    task = make_task(min_len_a=5.0)
    for hypotheses in decode(task, models_of(task), make_batch(task, LENGTHS), **LIMITS):
        assert {len(hypothesis["tokens"]) for hypothesis in hypotheses} <= {6, 10}


def test_a_share_of_less_than_a_word_adds_none_beside_a_longer_source(make_task, decode):
    task = make_task()
    limits = {"max_len_a": 0.1, "max_len_b": 3}
    found = decode(task, models_of(task), make_batch(task, [(4, 5), (12, 3)]), **limits)
    longest = [max(len(one["tokens"]) for one in hypotheses) for hypotheses in found]
    assert longest == [3 + 1, 4 + 1]


def test_a_negative_share_is_refused(make_task):
    with pytest.raises(UserError, match=r"--min-len-a -0.5: must be at least 0"):
        make_task(min_len_a=-0.5)


def test_shares_that_contradict_each_other_for_every_source_are_refused(make_task):
    task = make_task(min_len_a=2.0)
    arguments = SimpleNamespace(max_len_a=1, max_len_b=0)
    with pytest.raises(UserError) as raised:
        task.build_generator(models_of(task), arguments)
    assert str(raised.value) == (
        "--min-len-a 2 contradicts --max-len-a 1 --max-len-b 0: no length is allowed: lower "
        "--min-len-a, or raise one of the others"
    )


@pytest.mark.parametrize("options", [{}, {"candidate_frequent": 12}], ids=["all", "candidates"])
def test_a_source_that_no_length_suits_is_refused_in_every_batch(options, make_task, decode):
    task = make_task(min_len_a=2.0, **options)
    models, batch = models_of(task), make_batch(task, LENGTHS)
    limits = {"max_len_a": 1, "max_len_b": 5}
    for rows in (slice(0, 4), slice(2, 3)):
        with pytest.raises(UserError) as raised:
            decode(task, models, rows_of(batch, rows), **limits)
        assert str(raised.value) == (
            "--min-len-a 2 contradicts --max-len-a 1 --max-len-b 5: a source of 7 words, with "
            "</s>, needs at least 14 words and may have 12: lower --min-len-a, or raise one of "
            "the others"
        )
    assert len(decode(task, models, rows_of(batch, slice(0, 2)), **limits)) == 2


@pytest.mark.parametrize("share", [0.7, 1.05, 1.16, 1.2, 1.4])
def test_limits_of_a_sentence_are_those_that_fairseq_computes_for_it_alone(share, task):
    """fairseq's are in float64; in float32, 1.16 * 25 is 29 instead of 28.999999999999996."""
    dictionary = task.target_dictionary
    limits = LengthLimits(BeamSearch(dictionary), dictionary, share, share, max_len_b=5)
    lengths = range(1, 200)
    limits.set_src_lengths(torch.tensor(lengths))
    assert limits._least().tolist() == [int(share * length) for length in lengths]
    assert limits._most().tolist() == [int(share * length + 5) for length in lengths]


@pytest.mark.parametrize(
    ("share", "limits", "alone", "lengths"),
    [
        (1.5, LIMITS, lambda n: {**LIMITS, "min_len": n}, [7, 1, 9, 6]),
        (
            0.0,
            {"max_len_a": 1.2, "max_len_b": 2},
            lambda n: {"max_len_a": 0, "max_len_b": n},
            [8, 3, 10, 6],
        ),
    ],
    ids=["minimum", "maximum"],
)
def test_an_ensemble_has_the_limits_of_each_sentence(
    share, limits, alone, lengths, make_task, decode
):
    free = make_task()
    models, batch = models_of(free, 2), make_batch(free, LENGTHS)
    for model in models if share else []:
        model.decoder.output_projection.bias.data[free.target_dictionary.eos()] = 4.0

    def tokens(task, rows, **search):
        found = decode(task, models, rows, **search)
        return [[h["tokens"].tolist() for h in of_one] for of_one in found]

    expected = [
        tokens(free, rows_of(batch, slice(n, n + 1)), **alone(length))[0]
        for n, length in enumerate(lengths)
    ]
    assert tokens(make_task(min_len_a=share), batch, **limits) == expected
    assert expected != tokens(free, batch, **LIMITS)
