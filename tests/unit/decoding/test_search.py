"""Beam search over candidates: equal to fairseq's over all words, and to a masked search."""

import io
import itertools
import json
import math
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq.sequence_generator import EnsembleModel, SequenceGenerator
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from fairseq.token_generation_constraints import pack_constraints
from omegaconf import OmegaConf

from fairseq_outlayers.decoding.candidates import SCOPES
from fairseq_outlayers.decoding.ensemble import CandidateEnsemble
from fairseq_outlayers.decoding.restriction import parts_of, projection_of, restricted
from fairseq_outlayers.decoding.search import CandidateGenerator
from fairseq_outlayers.decoding.translations import Translations
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from tests.conftest import TRANSLATION_ARCHITECTURES, make_batch, make_model, small_sizes
from tests.unit.decoding.conftest import NUM_TARGET

V = NUM_TARGET + 4
LENGTHS = [(4, 5), (1, 3), (6, 2), (3, 3)]
SEARCHES = {
    "beam": {},
    "beam of one": {"beam": 1},
    "prefix": {"prefix_size": 2},
    "sampling": {"sampling": True},
    "sampling among ten": {"sampling": True, "sampling_topk": 10},
    "hard alignment": {"print_alignment": "hard"},
    "soft alignment": {"print_alignment": "soft"},
    "n-gram blocking": {"no_repeat_ngram_size": 2, "max_len_b": 9},
    "diverse beams": {"beam": 4, "diverse_beam_groups": 2},
    "diverse siblings": {"diversity_rate": 0.5},
    "source length": {"match_source_len": True},
    "penalties": {"lenpen": 0.3, "unkpen": 2.0, "min_len": 3, "temperature": 1.7},
}
each_search = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)


def models_of(task, count=1, arch="luong_lstm", **options):
    """Untrained, with scores far enough apart for beam search to have a choice."""
    models = []
    for seed in range(1, count + 1):
        model = make_model(arch, task, seed=seed, **options).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.is_floating_point():
                    parameter.mul_(3)
        models.append(model)
    return models


def assert_equal(hypotheses, expected, exactly=True):
    """Tokens, scores, attention and alignments; fairseq computes scores in float32."""
    close = {"rtol": 0, "atol": 0} if exactly else {"rtol": 1e-5, "atol": 1e-5}
    assert len(hypotheses) == len(expected) > 0
    for found, wanted in zip(hypotheses, expected, strict=True):
        assert len(found) == len(wanted) > 0
        for one, other in zip(found, wanted, strict=True):
            assert one["tokens"].tolist() == other["tokens"].tolist()
            for name in ("score", "positional_scores", "attention"):
                torch.testing.assert_close(one[name], other[name], **close)
            assert str(one["alignment"]) == str(other["alignment"])


@each_search
@pytest.mark.parametrize(("arch", "num_models"), [("luong_lstm", 2), ("transformer_outlayers", 1)])
def test_all_words_as_candidates_give_bit_for_bit_what_fairseq_gives(
    arch, num_models, search, make_task, dictionaries, decode, write_candidates
):
    stock = TranslationTask(TranslationConfig(), *dictionaries)
    models, batch = models_of(stock, num_models, arch), make_batch(stock, LENGTHS)
    options = {"candidates": write_candidates(), "candidate_per_word": 2}
    ours = make_task(candidate_frequent=V, **options)
    expected = decode(stock, models, batch, **search)
    # Without those of --match-source-len that cannot be.
    expected = [[one for one in found if one["score"] > -math.inf] for found in expected]
    assert_equal(decode(ours, models, batch, **search), expected)


@pytest.mark.parametrize("kind", ["hard", "soft"])
@pytest.mark.parametrize("options", [{}, {"candidate_frequent": V}], ids=["all", "candidates"])
def test_alignments_by_the_whole_translation_are_those_of_fairseq(
    options, kind, make_task, dictionaries, decode
):
    stock = TranslationTask(TranslationConfig(), *dictionaries)
    models = models_of(stock, arch="transformer_outlayers")
    models[0].full_context_alignment = True  # as of transformer_align
    batch, search = make_batch(stock, LENGTHS), {"print_alignment": kind}
    expected = decode(stock, models, batch, **search)
    assert_equal(decode(make_task(**options), models, batch, **search), expected)


NO_ATTENTION = "^--{} needs attention, which this model does not return: leave it out$"


@pytest.mark.parametrize("num_models", [1, 2])
@pytest.mark.parametrize(
    ("task_options", "search", "option"),
    [
        ({}, {"print_alignment": "hard"}, "print-alignment"),
        ({}, {"print_alignment": "soft", "score_reference": True}, "print-alignment"),
        ({"unk_replacement": "copy"}, {}, "unk-replacement"),
    ],
)
def test_what_reads_attention_is_refused_before_a_search_without(
    task_options, search, option, num_models, make_task
):
    task = make_task(**task_options)
    arch, arguments = "transformer_outlayers", SimpleNamespace(beam=2, **search)
    without = models_of(task, num_models, arch, no_cross_attention=True)
    for members in (without, EnsembleModel(without)):
        with pytest.raises(UserError, match=NO_ATTENTION.format(option)):
            task.build_generator(members, arguments)
    make_task().build_generator(without, SimpleNamespace(beam=2))
    # One of an ensemble is enough.
    task.build_generator([*without, *models_of(task, 1, arch)], arguments)


@pytest.mark.parametrize("kind", ["hard", "soft"])
@pytest.mark.parametrize("options", [{}, {"candidate_frequent": V}], ids=["all", "candidates"])
def test_alignments_of_another_model_without_attention_are_refused(
    options, kind, make_task, decode, monkeypatch
):
    task = make_task(**options)
    models, batch = models_of(task), make_batch(task, LENGTHS)
    stock = CandidateEnsemble.forward_decoder
    monkeypatch.setattr(
        CandidateEnsemble, "forward_decoder", lambda *given: (stock(*given)[0], None)
    )
    with pytest.raises(UserError, match=NO_ATTENTION.format("print-alignment")):
        decode(task, models, batch, print_alignment=kind)


@pytest.mark.parametrize(
    ("arch", "name"), [("luong_lstm", "keys"), ("rnmt_plus", "keys"), ("rnmt_plus", "values")]
)
def test_states_of_the_source_are_copied_only_when_sentences_end(
    arch, name, make_task, decode, monkeypatch
):
    """Hypotheses move within their sentence at every step, and share what comes from the source."""
    task = make_task()
    (model,) = models_of(task, arch=arch)
    encoder, decoder = type(model.encoder), type(model.decoder)
    numbers_of_rows, addresses = [], []
    reorder, run = encoder.reorder_encoder_out, decoder.run

    def record_rows(self, encoder_out, order):
        numbers_of_rows.append(len(order))
        return reorder(self, encoder_out, order)

    def record_address(self, words, encoder_out, cached):
        features, attention, state = run(self, words, encoder_out, cached)
        addresses.append(state[name].data_ptr())
        return features, attention, state

    monkeypatch.setattr(encoder, "reorder_encoder_out", record_rows)
    monkeypatch.setattr(decoder, "run", record_address)
    decode(task, [model], make_batch(task, LENGTHS))
    assert numbers_of_rows == sorted(set(numbers_of_rows), reverse=True)
    moved = sum(one != other for one, other in itertools.pairwise(addresses))
    assert moved == len(numbers_of_rows) - 1 < len(addresses) - 1


def test_a_batch_of_as_many_rows_as_the_last_one_ended_with_is_one_of_its_own(make_task):
    task = make_task()
    (model,) = models_of(task)
    several, one = make_batch(task, LENGTHS), make_batch(task, LENGTHS[:1], seed=3)
    options = SimpleNamespace(beam=5, max_len_a=1, max_len_b=2)  # sentences end one by one
    used, fresh = (task.build_generator([model], options) for _ in range(2))
    task.inference_step(used, [model], several)
    expected = task.inference_step(fresh, [model], one)
    assert_equal(task.inference_step(used, [model], one), expected)


@each_search
def test_a_thousand_sentences_are_decoded_bit_for_bit_as_by_fairseq(
    search, make_task, dictionaries, decode, write_candidates
):
    stock = TranslationTask(TranslationConfig(), *dictionaries)
    models = models_of(stock)
    ours = make_task(candidate_frequent=V, candidates=write_candidates(), candidate_per_word=2)
    sentences = 0
    for seed in range(4):
        lengths = [(1 + n % 7, 1 + n % 5) for n in range(252)]
        batch = make_batch(stock, lengths, seed=seed)
        found, expected = (decode(task, models, batch, **search) for task in (ours, stock))
        for one, other in zip(chain(*found), chain(*expected), strict=True):
            assert torch.equal(one["tokens"], other["tokens"])
            assert torch.equal(one["positional_scores"], other["positional_scores"])
        sentences += len(found)
    assert sentences > 1000


class MaskedEnsemble(EnsembleModel):
    """The reference: scores of all words, those outside the list taken out and renormalized."""

    def forward_decoder(self, *arguments):
        scores, attention = super().forward_decoder(*arguments)
        mask = torch.full((scores.size(1),), -math.inf, dtype=scores.dtype)
        mask[self.list] = 0
        return torch.log_softmax(scores + mask, dim=-1), attention


class MaskedGenerator(SequenceGenerator):
    def __init__(self, models, dictionary, allowed, **options):
        ensemble = MaskedEnsemble(models)
        ensemble.list = allowed
        super().__init__(ensemble, dictionary, **options)


def list_of(task, source_words, frequent, per_word, blocked=()):
    """A sentence's list by its definition; the dictionary is sorted by frequency."""
    lists = task.build_generator(task.models, SimpleNamespace()).candidates.translations
    allowed = {2, 3} | {k for k in range(4, 4 + frequent - 2) if k not in blocked}
    for word in source_words:
        row = lists.targets[lists.offsets[word] : lists.offsets[word + 1]][:per_word]
        allowed |= set(row.tolist())
    return sorted(allowed)


@each_search
def test_a_list_equals_a_search_over_all_words_with_the_others_masked(
    search, make_task, decode, write_candidates
):
    task = make_task(candidates=write_candidates(), candidate_frequent=8, candidate_per_word=3)
    task.models = models_of(task)
    for lengths in LENGTHS:
        batch = make_batch(task, [lengths], seed=sum(lengths))
        prefix_size = search.get("prefix_size", 0)
        source = batch["net_input"]["src_tokens"][0].tolist()
        prefix = batch["target"][0, :prefix_size].tolist()
        allowed = torch.tensor(sorted({*list_of(task, source, 8, 3), *prefix}))
        options = {**search, "beam": 3 if "diverse_beam_groups" not in search else 4}
        found = decode(task, task.models, batch, **options)
        for hypothesis in found[0]:
            assert set(hypothesis["tokens"].tolist()) <= set(allowed.tolist())
        if not {"sampling", "print_alignment"} & set(search):
            arguments = SimpleNamespace(**{"max_len_a": 0, "max_len_b": 9, **options})
            reference = TranslationTask.build_generator(
                task, task.models, arguments, MaskedGenerator, {"allowed": allowed}
            )
            prefix = batch["target"][:, :prefix_size] if prefix_size else None
            expected = reference.generate(task.models, batch, prefix_tokens=prefix)
            assert_equal(found, expected, exactly=False)


def rows_of(batch, rows):
    """Some sentences of a batch, still as wide, because fairseq's lengths depend on the width."""
    inputs = {name: value[rows] for name, value in batch["net_input"].items()}
    return {"net_input": inputs, "id": batch["id"][rows], "target": batch["target"][rows]}


@pytest.mark.parametrize("arch", TRANSLATION_ARCHITECTURES)
@pytest.mark.parametrize(
    "search",
    [{}, {"beam": 1}, {"prefix_size": 1}, {"prefix_size": 2}, {"no_repeat_ngram_size": 2}],
)
def test_lists_for_each_sentence_make_no_hypothesis_depend_on_the_batch(
    search, arch, make_task, decode, write_candidates
):
    task = make_task(candidates=write_candidates(), candidate_frequent=7, candidate_per_word=2)
    models, batch = models_of(task, arch=arch), make_batch(task, LENGTHS)
    together = decode(task, models, batch, **search)
    alone = [
        decode(task, models, rows_of(batch, slice(n, n + 1)), **search)[0]
        for n in range(len(LENGTHS))
    ]
    assert [len(found) for found in together] == [len(found) for found in alone]
    for one, other in zip(chain(*together), chain(*alone), strict=True):
        assert one["tokens"].tolist() == other["tokens"].tolist()
        torch.testing.assert_close(one["score"], other["score"], rtol=0, atol=1e-5)


def test_in_float32_scores_depend_on_the_batch_by_rounding_alone(
    make_task, decode, write_candidates
):
    task = make_task(candidates=write_candidates(), candidate_frequent=7, candidate_per_word=2)
    models = [model.float() for model in models_of(task, arch="rnnsearch")]
    batch = make_batch(task, LENGTHS)
    together = decode(task, models, batch)
    for n, found in enumerate(together):
        alone = decode(task, models, rows_of(batch, slice(n, n + 1)))[0]
        for one, other in zip(found, alone, strict=True):
            assert one["tokens"].tolist() == other["tokens"].tolist()
            torch.testing.assert_close(one["score"], other["score"], rtol=0, atol=1e-4)


@pytest.mark.parametrize("scope", SCOPES)
def test_blocked_words_are_never_produced(scope, make_task, decode, write_candidates):
    blocked = [*range(4, 12), 20, 21]
    task = make_task(candidates=write_candidates(blocked), candidate_frequent=20,
                     candidate_scope=scope)  # fmt: skip
    task.cfg.candidate_per_word = 3
    hypotheses = decode(task, models_of(task), make_batch(task, LENGTHS))
    tokens = {t for found in hypotheses for one in found for t in one["tokens"].tolist()}
    assert tokens.isdisjoint(blocked)


def test_the_batch_scope_allows_every_sentence_the_union(make_task, write_candidates):
    task = make_task(
        candidates=write_candidates(), candidate_frequent=6, candidate_per_word=2,
        candidate_scope="batch",
    )  # fmt: skip
    task.models = models_of(task)
    lists = task.build_generator(task.models, SimpleNamespace()).candidates
    source = make_batch(task, LENGTHS)["net_input"]["src_tokens"]
    found = lists.of(source)
    union = set().union(*(list_of(task, row, 6, 2) for row in source.tolist()))
    assert found.allowed is None
    assert found.ids.tolist() == sorted(union | {0, 1})
    assert found.ids[found.closed].tolist() == [0, 1]


@pytest.mark.parametrize("num_models", [2, 3])
def test_the_mean_of_log_probabilities_is_what_it_says(num_models, make_task, decode):
    task = make_task(ensemble_average="log_probabilities")
    models, batch = models_of(task, num_models), make_batch(task, [(4, 5)])
    hypothesis = decode(task, models, batch, beam=3)[0][0]
    tokens = hypothesis["tokens"]
    previous = torch.cat([tokens[-1:], tokens[:-1]]).unsqueeze(0)
    inputs = {**batch["net_input"], "prev_output_tokens": previous}
    logs = torch.stack([torch.log_softmax(model(**inputs)[0][0], dim=-1) for model in models])
    expected = logs.mean(0).gather(1, tokens.unsqueeze(1)).squeeze(1).float()
    torch.testing.assert_close(hypothesis["positional_scores"], expected, rtol=1e-5, atol=1e-5)
    attention = torch.stack([model(**inputs)[1]["attn"][0][0] for model in models]).mean(0).T
    torch.testing.assert_close(hypothesis["attention"], attention.float(), rtol=1e-5, atol=1e-5)
    other = decode(make_task(), models, batch, beam=3)[0][0]
    assert not torch.equal(other["score"], hypothesis["score"])


@pytest.mark.parametrize("average", ["probabilities", "log_probabilities"])
def test_architectures_and_output_layers_of_an_ensemble_may_differ(average, make_task, decode):
    task = make_task(ensemble_average=average, candidate_frequent=V)
    sizes = small_sizes("transformer_outlayers")
    models = [
        *models_of(task, output_layer="joint"),
        *models_of(task, arch="transformer_outlayers", output_layer="tied"),
        *models_of(task, arch="transformer", **{**sizes, "decoder_layers": 2}),  # fairseq's own
    ]
    batch = make_batch(task, LENGTHS)
    for number, (hypothesis, *_) in enumerate(decode(task, models, batch, beam=3)):
        tokens = hypothesis["tokens"]
        net_input = {name: words[number : number + 1] for name, words in batch["net_input"].items()}
        net_input["prev_output_tokens"] = torch.cat([tokens[-1:], tokens[:-1]]).unsqueeze(0)
        logs = torch.stack([torch.log_softmax(m(**net_input)[0][0], dim=-1) for m in models])
        mean = logs.mean(0) if average == "log_probabilities" else logs.exp().mean(0).log()
        expected = mean.gather(1, tokens.unsqueeze(1)).squeeze(1).float()
        torch.testing.assert_close(hypothesis["positional_scores"], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("frequent", [0, 8], ids=["all words", "candidates"])
def test_diverse_beams_do_not_depend_on_the_numbers_of_the_sentences(frequent, make_task, decode):
    task = make_task(candidate_frequent=frequent)
    models, batch = models_of(task), make_batch(task, LENGTHS)
    search = {"beam": 6, "diverse_beam_groups": 3}
    numbered = {**batch, "id": torch.tensor([107, 3, 900, 12])}
    expected = decode(task, models, batch, **search)
    assert_equal(decode(task, models, numbered, **search), expected)


@pytest.mark.parametrize("options", [{}, {"max_len_a": 1.5}])
def test_allowed_prefixes_are_those_of_the_numbers_of_the_sentences(options, make_task, decode):
    """fairseq sorts the sentences of a batch by length."""
    task = make_task()
    models, batch = models_of(task), make_batch(task, LENGTHS)
    numbers, eos = [2, 0, 3, 1], task.target_dictionary.eos()
    found = decode(
        task,
        models,
        {**batch, "id": torch.tensor(numbers)},
        prefix_allowed_tokens_fn=lambda sentence, _: [10 + sentence, eos],
        **options,
    )
    for number, hypotheses in zip(numbers, found, strict=True):
        words = {word for hypothesis in hypotheses for word in hypothesis["tokens"].tolist()}
        assert words == {10 + number, eos}


@pytest.mark.parametrize("frequent", [0, 8], ids=["all words", "candidates"])
def test_hypotheses_of_the_length_of_the_source_are_possible_and_not_longer(
    frequent, make_task, decode
):
    """fairseq fills the beam with some that are a word longer and have a score of -inf."""
    task = make_task(candidate_frequent=frequent)
    models, batch = models_of(task), make_batch(task, LENGTHS)
    found = decode(task, models, batch, beam=4, match_source_len=True)
    for (length, _), hypotheses in zip(LENGTHS, found, strict=True):
        assert hypotheses
        assert all(hypothesis["score"] > -math.inf for hypothesis in hypotheses)
        assert {len(hypothesis["tokens"]) for hypothesis in hypotheses} == {length + 2}


@pytest.mark.parametrize(("arch", "bias"), [("luong_lstm", 1.0), ("transformer_outlayers", 12.0)])
@pytest.mark.parametrize("frequent", [0, 8], ids=["all words", "candidates"])
@pytest.mark.parametrize(("beam", "groups"), [(4, 4), (4, 2), (6, 2), (4, 1)])
def test_diverse_beams_end_with_the_end_of_the_sentence(
    beam, groups, frequent, arch, bias, make_task, decode
):
    """Without a penalty their scores are the model's own."""
    task = make_task(candidate_frequent=frequent)
    (model,), batch = models_of(task, arch=arch), make_batch(task, LENGTHS)
    eos = task.target_dictionary.eos()
    with torch.no_grad():
        model.decoder.output_projection.bias[eos] += (
            bias  # so that hypotheses end at different steps
        )
    for strength in (0.0, 0.5):
        search = {"diverse_beam_groups": groups, "diverse_beam_strength": strength}
        found = decode(task, [model], batch, beam=beam, **search)
        assert [len(hypotheses) for hypotheses in found] == [beam] * len(LENGTHS)
        early = 0
        for number, hypothesis in ((n, h) for n, of_one in enumerate(found) for h in of_one):
            tokens = hypothesis["tokens"]
            assert tokens.eq(eos).nonzero().flatten().tolist() == [len(tokens) - 1]
            early += len(tokens) < 9
            if strength or frequent:
                continue
            one = {name: part[number : number + 1] for name, part in batch["net_input"].items()}
            one["prev_output_tokens"] = torch.cat([tokens[-1:], tokens[:-1]]).unsqueeze(0)
            logs = torch.log_softmax(model(**one)[0][0], dim=-1)
            expected = logs.gather(1, tokens.unsqueeze(1)).squeeze(1).float()
            torch.testing.assert_close(
                hypothesis["positional_scores"], expected, rtol=1e-4, atol=1e-4
            )
        assert early > beam  # others would have nothing to go on from


@pytest.mark.parametrize(
    "search",
    [{"prefix_size": 1}, {"beam": 4, "diverse_beam_groups": 2}],
    ids=["prefix", "diverse beams"],
)
def test_sentences_without_a_finished_hypothesis_are_decoded_again_with_twice_the_words(
    search, make_task, decode, monkeypatch
):
    """Which sentences these are is made up here."""
    task, wider = (make_task(candidate_frequent=frequent) for frequent in (8, 16))
    models, batch = models_of(task), make_batch(task, LENGTHS)
    narrow, wide = (decode(t, models, batch, **search) for t in (task, wider))
    stock = CandidateGenerator._search

    def lose_two(self, sample, prefix_tokens, factor):
        found = stock(self, sample, prefix_tokens, factor)
        return [found[0], [], found[2], []] if factor == 1 else found

    monkeypatch.setattr(CandidateGenerator, "_search", lose_two)
    found = decode(task, models, batch, **search)
    assert_equal(found, [narrow[0], wide[1], narrow[2], wide[3]], exactly=False)


def test_a_list_with_too_few_words_to_finish_without_repetition_is_doubled(
    make_task, decode, monkeypatch
):
    """``<unk>`` and one word make 4 bigrams, 5 tokens: too few for a translation of at least 7."""
    search = {"no_repeat_ngram_size": 2, "min_len": 7, "max_len_b": 9, "beam": 2}
    task, wider = (make_task(candidate_frequent=frequent) for frequent in (3, 6))
    models, batch = models_of(task), make_batch(task, LENGTHS)
    expected = decode(wider, models, batch, **search)
    factors, stock = [], CandidateGenerator._search

    def watched(self, sample, prefix_tokens, factor):
        factors.append(factor)
        return stock(self, sample, prefix_tokens, factor)

    monkeypatch.setattr(CandidateGenerator, "_search", watched)
    assert_equal(decode(task, models, batch, **search), expected)
    assert factors == [1, 2]


def test_what_cannot_finish_at_all_is_said(make_task, decode, monkeypatch):
    monkeypatch.setattr(CandidateGenerator, "_search", lambda *_: [[]])
    task = make_task(candidate_frequent=6)
    models, batch = models_of(task), make_batch(task, [(3, 3)])
    with pytest.raises(UserError, match="no finished hypothesis"):
        decode(task, models, batch)


def test_constraints_that_do_not_fit_into_the_longest_translation_are_named(make_task, decode):
    task = make_task()
    models, batch = models_of(task), make_batch(task, [(3, 3)])
    options = SimpleNamespace(beam=2, max_len_a=0, max_len_b=4, constraints="ordered")
    generator = task.build_generator(models, options)
    few, many = (pack_constraints([[torch.arange(5, 5 + number)]]) for number in (2, 6))
    assert task.inference_step(generator, models, batch, constraints=few)[0]
    with pytest.raises(UserError, match=r"loosen .*, --min-len, --max-len-b or --constraints; if"):
        task.inference_step(generator, models, batch, constraints=many)
    with pytest.raises(UserError, match="loosen --no-repeat-ngram-size, --min-len or --max-len-b;"):
        decode(task, models, batch, beam=2, no_repeat_ngram_size=1, min_len=50, max_len_b=60)


def test_interactive_batches_without_ids_are_decoded(make_task, decode):
    task = make_task(candidate_frequent=9)
    models, batch = models_of(task), make_batch(task, LENGTHS)
    inputs = {name: batch["net_input"][name] for name in ("src_tokens", "src_lengths")}
    assert_equal(decode(task, models, {"net_input": inputs}), decode(task, models, batch))


def test_tokens_to_suppress_are_suppressed(make_task):
    task = make_task(candidate_frequent=9)
    models, batch = models_of(task), make_batch(task, LENGTHS)
    words = {"tokens_to_suppress": ["w1", "w2", "w30"]}
    generator = task.build_generator(models, SimpleNamespace(max_len_b=9), None, words)
    found = generator.generate(models, batch)
    tokens = {t for sentence in found for one in sentence for t in one["tokens"].tolist()}
    assert tokens <= {2, 3, 4, *range(7, 11)}


@pytest.mark.parametrize("output_layer", OUTPUT_LAYERS)
@pytest.mark.parametrize("no_class_bias", [False, True])
def test_a_restricted_layer_gives_the_columns_of_the_whole_one_and_is_taken_out_again(
    output_layer, no_class_bias, make_task, dictionaries
):
    task = make_task(candidate_frequent=9)
    (model,) = models_of(task, output_layer=output_layer, no_class_bias=no_class_bias)
    lists = task.build_generator([model], SimpleNamespace()).candidates
    candidates = lists.of(torch.tensor([[5, 2]]))
    layer, hidden = model.decoder.output_projection, torch.randn(2, 1, 8).double()
    expected = layer(hidden)[..., candidates.ids]
    expected[..., candidates.closed] = -math.inf
    parameters = [name for name, _ in model.named_parameters()]

    def fail():
        with torch.no_grad(), restricted(model, candidates):
            torch.testing.assert_close(model.decoder.output_projection(hidden), expected)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert model.decoder.output_projection is layer
    assert [name for name, _ in model.named_parameters()] == parameters


class TestRefusals:
    """One line for what cannot work."""

    def refused(self, task, message, **options):
        arguments = SimpleNamespace(beam=5, max_len_b=5)
        models = models_of(task)
        batch = make_batch(task, LENGTHS)
        with pytest.raises(UserError, match=message):
            task.build_generator(models, arguments, **options).generate(models, batch)

    def test_a_language_model(self, make_task):
        extra = {"extra_gen_cls_kwargs": {"lm_model": object()}}
        self.refused(make_task(candidate_frequent=9), "--lm-path needs the whole", **extra)

    def test_constraints(self, make_task):
        with pytest.raises(UserError, match="--constraints needs the whole"):
            make_task(candidate_frequent=9).build_generator([], SimpleNamespace(constraints="o"))

    def test_a_function_of_allowed_tokens(self, make_task):
        options = {"prefix_allowed_tokens_fn": lambda *_: []}
        self.refused(make_task(candidate_frequent=9), "prefix_allowed_tokens_fn", **options)

    def test_a_function_of_allowed_tokens_among_the_search_options(self, make_task):
        options = SimpleNamespace(prefix_allowed_tokens_fn=lambda *_: [])
        with pytest.raises(UserError, match="prefix_allowed_tokens_fn needs the whole"):
            make_task(candidate_frequent=9).build_generator([], options)

    def test_more_beams_than_candidates(self, make_task):
        expected = "--beam 5: this search needs 6 candidates, but a sentence has only 5: raise"
        self.refused(make_task(candidate_frequent=5), expected)

    def test_more_siblings_than_candidates(self, make_task, decode):
        """They need twice the beam."""
        task = make_task(candidate_frequent=9)
        models, batch = models_of(task), make_batch(task, LENGTHS)
        with pytest.raises(UserError, match=r"--beam 5: this search needs 10 .* only 9"):
            decode(task, models, batch, diversity_rate=0.5)
        assert decode(make_task(candidate_frequent=10), models, batch, diversity_rate=0.5)

    def test_a_beam_larger_than_the_vocabulary_is_named_as_given(self, make_task, decode):
        """fairseq's own value is one less than the number of words."""
        task = make_task(candidate_frequent=5)
        models, batch = models_of(task), make_batch(task, LENGTHS)
        with pytest.raises(UserError) as raised:
            decode(task, models, batch, beam=1000)
        assert str(raised.value) == (
            "--beam 1000: this search needs 41 candidates, but a sentence has only 5: raise "
            "--candidate-frequent, or lower --beam"
        )

    @pytest.mark.parametrize(("frequent", "beam"), [(4, 4), (5, 4), (5, 5)])
    def test_in_training_before_the_first_epoch(self, make_task, frequent, beam):
        search = json.dumps({"beam": beam})
        task = make_task(candidate_frequent=frequent, eval_bleu=True, eval_bleu_args=search)
        config = OmegaConf.create({"_name": "luong_lstm", **small_sizes("luong_lstm")})
        if frequent > beam:
            task.build_model(config)
            return
        with pytest.raises(UserError) as raised:
            task.build_model(config)
        assert str(raised.value) == (
            f'{{"beam": {beam}}} in --eval-bleu-args: this search needs {beam + 1} candidates, but '
            f"a sentence has only {frequent}: raise --candidate-frequent, or lower beam in "
            "--eval-bleu-args"
        )

    def test_a_list_without_its_two_specials(self, make_task):
        self.refused(make_task(candidate_frequent=1), "--candidate-frequent 1: must be at least 2")

    def test_a_file_without_a_number_of_frequent_words(self, make_task, write_candidates):
        self.refused(make_task(candidates=write_candidates()), "--candidate-frequent 0: must be")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"candidate_scope": "batch"}, "scope batch has no effect without --candidate-freq"),
            ({"candidate_per_word": 3}, "per-word 3 has no effect without --candidates"),
            (
                {"candidate_per_word": 3, "candidate_frequent": 9},
                "per-word 3 has no effect without --candidates",
            ),
        ],
    )
    def test_an_option_that_would_change_nothing(self, options, message, make_task):
        self.refused(make_task(**options), message)

    def test_no_translations_may_be_asked_for_without_a_file(self, make_task):
        task = make_task(candidate_frequent=9, candidate_per_word=0)
        models = models_of(task)
        assert task.build_generator(models, SimpleNamespace()).candidates.per_word == 0

    def test_more_translations_than_the_file_holds(self, make_task, write_candidates):
        task = make_task(candidates=write_candidates(), candidate_frequent=9)
        self.refused(task, "--candidate-per-word 10: must be from 0 to 4")

    @pytest.mark.parametrize("side", ["source", "target"])
    def test_a_file_for_another_dictionary(self, side, make_task, write_candidates):
        path = write_candidates(**{f"{side}_fingerprint": 99 << 32})
        task = make_task(candidates=path, candidate_frequent=9)
        self.refused(task, f"made for another {side} dictionary .of 99 symbols")

    def test_a_damaged_file(self, make_task, write_candidates, tmp_path):
        data = Path(write_candidates()).read_bytes()
        array = io.BytesIO()
        np.save(array, np.arange(3))
        for broken in (data[:-40], b"", b"PK\3\4 nothing", data[:200], array.getvalue()):
            (tmp_path / "broken").write_bytes(broken)
            task = make_task(candidates=str(tmp_path / "broken"), candidate_frequent=9)
            self.refused(task, "not a candidate file, or damaged")

    def test_any_wrong_byte_of_a_compressed_file(self, write_candidates, dictionaries, tmp_path):
        with np.load(write_candidates()) as arrays:
            np.savez_compressed(tmp_path / "whole.npz", **arrays)
        data, path = (tmp_path / "whole.npz").read_bytes(), tmp_path / "broken"
        whole = Translations.load(str(tmp_path / "whole.npz"), *dictionaries)
        refused = 0
        for place in range(len(data)):
            path.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
            try:  # some bytes mean nothing, as those of a time
                found = Translations.load(str(path), *dictionaries)
            except UserError:
                refused += 1
            else:
                for one, other in zip(found, whole, strict=True):
                    assert torch.equal(torch.as_tensor(one), torch.as_tensor(other)), place
        assert refused > len(data) / 2

    def test_a_missing_file(self, make_task):
        task = make_task(candidates="nowhere.npz", candidate_frequent=9)
        self.refused(task, "nowhere.npz: No such file")

    def test_an_output_layer_that_cannot_be_restricted(self, make_task):
        task = make_task(candidate_frequent=9)
        models = models_of(task)
        models[0].decoder.output_projection = torch.nn.Tanh()
        generator, batch = (
            task.build_generator(models, SimpleNamespace()),
            make_batch(task, LENGTHS),
        )
        with pytest.raises(UserError, match="output layer of LuongDecoder cannot be replaced"):
            generator.generate(models, batch)


@pytest.mark.parametrize("bias", [True, False])
def test_fairseqs_projection_is_restricted_to_the_rows_of_ids(bias):
    layer = torch.nn.Linear(3, 6, bias=bias)
    ids = torch.tensor([[4, 0], [2, 2]])
    for chosen in (None, ids):
        _, weight, found = parts_of(layer, chosen)
        rows = slice(None) if chosen is None else chosen
        assert torch.equal(weight, layer.weight[rows])
        assert found is None if not bias else torch.equal(found, layer.bias[rows])


def test_the_projection_of_fairseqs_lstm_is_found():
    decoder = SimpleNamespace(fc_out=torch.nn.Linear(3, 6))
    assert projection_of(SimpleNamespace(decoder=decoder)) is decoder.fc_out
