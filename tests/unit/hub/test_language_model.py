"""Language models from Python."""

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from fairseq.data import MonolingualDataset, TokenBlockDataset

from fairseq_outlayers import load
from fairseq_outlayers.decoding import target_scores
from fairseq_outlayers.errors import UserError
from tests.unit.hub.conftest import save_checkpoint
from tests.unit.losses.test_full import LargestTensor

TEXTS = ["w1 w2 w3", "w4", "w0 w5 w6 w7 unseen w9"]
WITH_BOS = {"add_bos_token": True}


def log_probabilities(model, ids):
    """Of every id but the first after those before it, one prefix at a time."""
    found = []
    for end in range(1, len(ids)):
        output = model(torch.tensor([ids[:end]]), src_lengths=torch.tensor([end]))
        scores = model.get_normalized_probs(output, log_probs=True)
        found.append(scores[0, -1, ids[end]].item())
    return found


@torch.no_grad()
def test_scores_are_those_of_the_model_word_by_word(language_checkpoint):
    loaded = load(language_checkpoint)
    dictionary = loaded.task.target_dictionary
    for text, score in zip(TEXTS, loaded.score(TEXTS), strict=True):
        words = [dictionary.index(word) for word in text.split()]
        expected = log_probabilities(loaded.models[0], [dictionary.eos(), *words, dictionary.eos()])
        assert score.tokens == pytest.approx(expected, abs=1e-5)
        assert score.perplexity == pytest.approx(math.exp(-sum(expected) / len(expected)), rel=1e-5)


@torch.no_grad()
def test_texts_of_a_model_with_a_symbol_of_the_beginning_start_as_in_training(tmp_path):
    loaded = load(save_checkpoint(tmp_path, "transformer_lm_outlayers", of_task=WITH_BOS))
    dictionary = loaded.task.target_dictionary
    rows = [dictionary.encode_line(text, add_if_not_exist=False).long() for text in TEXTS]
    blocks = TokenBlockDataset(rows, list(map(len, rows)), None, dictionary.pad(), dictionary.eos(),
                               break_mode="eos", include_targets=True)  # fmt: skip
    dataset = MonolingualDataset(blocks, blocks.sizes, dictionary, add_bos_token=True,
                                 add_eos_for_other_targets=True, targets=["future"])  # fmt: skip
    batch = dataset.collater([dataset[number] for number in range(len(TEXTS))])
    model = loaded.models[0]
    scores = model.get_normalized_probs(model(**batch["net_input"]), log_probs=True)
    scores = scores.gather(2, batch["target"].unsqueeze(2)).squeeze(2)
    for row, target, score in zip(scores, batch["target"], loaded.score(TEXTS), strict=True):
        assert target[0] == dictionary.bos()  # which fairseq-eval-lm does not count
        expected = row[target.ne(dictionary.pad())][1:]
        assert score.tokens == pytest.approx(expected.tolist(), abs=1e-5)


@pytest.mark.parametrize("prompt", ["w1 w2", ""])
def test_a_model_with_a_symbol_of_the_beginning_goes_on_after_it(tmp_path, prompt):
    """Its continuation has the scores that it has as a text."""
    loaded = load(save_checkpoint(tmp_path, "transformer_lm_outlayers", of_task=WITH_BOS))
    given = len(prompt.split())
    for _ in range(2):  # the models are as before
        found = loaded.continue_(prompt, max_units=4, min_len=given + 4)
        assert len(found.units) == 4
        assert found.text.startswith(prompt)
        tokens = loaded.score(found.text).tokens[given:]  # of the continuation and </s>
        assert found.score == pytest.approx(sum(tokens) / len(tokens), abs=1e-5)


def test_a_prompt_of_a_model_with_a_symbol_of_the_beginning_leaves_it_a_position(tmp_path):
    loaded = load(save_checkpoint(tmp_path, "transformer_lm_outlayers", of_task=WITH_BOS))
    limit = min(model.max_decoder_positions() for model in loaded.models)
    longest = " ".join(["w1"] * (limit - 3))
    assert len(loaded.continue_(longest, beam=1).units) <= 1
    with pytest.raises(UserError, match=f"it can have at most {limit - 3}"):
        loaded.continue_(f"{longest} w1", beam=1)


def test_a_text_of_a_model_with_a_symbol_of_the_beginning_leaves_it_a_position(tmp_path):
    sizes = {"decoder_learned_pos": True, "max_target_positions": 12, "tokens_per_sample": 12}
    path = save_checkpoint(tmp_path, "transformer_lm_outlayers", of_task=WITH_BOS, **sizes)
    model = load(path)
    assert len(model.score("w1 " * 10).tokens) == 11
    with pytest.raises(UserError, match=r"12 units, with </s>, but the model has only 11 positio"):
        model.score("w1 " * 11)


def test_a_model_of_a_part_of_the_words_is_refused(tmp_path):
    path = save_checkpoint(
        tmp_path, "transformer_lm_outlayers", of_task={"output_dictionary_size": 10},
        output_layer="linear",
    )  # fmt: skip
    with pytest.raises(UserError, match=r"--output-dictionary-size 10 cannot be used in Python"):
        load(path)


def test_models_whose_texts_start_otherwise_are_no_ensemble(tmp_path):
    (tmp_path / "bos").mkdir()
    paths = [
        save_checkpoint(tmp_path, "transformer_lm_outlayers"),
        save_checkpoint(tmp_path / "bos", "transformer_lm_outlayers", of_task=WITH_BOS),
    ]
    with pytest.raises(UserError, match=r"bos/.*: was trained with --add-bos-token"):
        load(paths)
    with pytest.raises(UserError, match=r"was trained without --add-bos-token"):
        load(paths[::-1])
    load([paths[1], paths[1]]).score("w1 w2")


def test_an_ensemble_scores_and_continues_by_the_mean_probability(tmp_path):
    paths = [save_checkpoint(tmp_path, "transformer_lm_outlayers", seed) for seed in (1, 2)]
    model = load(paths)
    found = model.continue_("w1 w2", max_units=2, min_len=4)
    of_each = [load(path).score(found.text).tokens for path in paths]
    expected = [math.log((math.exp(a) + math.exp(b)) / 2) for a, b in zip(*of_each, strict=True)]
    assert model.score(found.text).tokens == pytest.approx(expected, abs=1e-5)
    assert found.score == pytest.approx(sum(expected[2:]) / 3, abs=1e-5)


def test_scores_do_not_depend_on_the_batch(language_checkpoint):
    model = load(language_checkpoint)
    for text, together in zip(TEXTS, model.score(TEXTS), strict=True):
        (alone,) = model.score([text])
        assert alone.score == pytest.approx(together.score, rel=1e-6)


def test_no_table_of_scores_has_all_positions_of_a_batch(language_checkpoint):
    model = load(language_checkpoint)
    classes = len(model.task.target_dictionary)
    with LargestTensor() as largest:
        model.score(["w1 w2 w3"] * 200, batch_size=200)
    assert largest.elements < 200 * 4 * classes


def test_scoring_records_no_gradients(tmp_path):
    model, recorded = load(save_checkpoint(tmp_path, "subword_lm")), []
    model.models[0].register_forward_hook(lambda *_: recorded.append(torch.is_grad_enabled()))
    model.score("w1 w2")
    assert recorded == [False]


def test_a_model_with_fairseqs_own_projection_scores_the_same(language_checkpoint, monkeypatch):
    model = load(language_checkpoint)
    found = model.score(TEXTS)
    monkeypatch.setattr(target_scores, "OutputLayer", ())  # no layer is ours
    for own, stock in zip(found, model.score(TEXTS), strict=True):
        assert own.tokens == pytest.approx(stock.tokens, rel=1e-6, abs=1e-6)


def test_a_byte_order_mark_before_the_first_text_is_no_part_of_its_first_word(tmp_path):
    model = load(save_checkpoint(tmp_path, "transformer_lm_outlayers"))
    units = [score.units for score in model.score(["\ufeffw1 w2", "\ufeffw1"])]
    assert units == [["w1", "w2"], ["<unk>"]]
    assert model.score("\ufeffw1") == model.score("w1")
    assert model.continue_("\ufeffw1", max_units=2) == model.continue_("w1", max_units=2)


def test_texts_of_one_length_share_batches(tmp_path):
    model = load(save_checkpoint(tmp_path, "subword_lm"))
    texts = ["w1 w2 w3 w4 w5", "w1", "w6 w7 w8 w9 w10", "w2"]
    shapes = []
    model.models[0].register_forward_pre_hook(
        lambda module, _, given: shapes.append(given["src_tokens"].shape), with_kwargs=True
    )
    found = model.score(texts, batch_size=2)
    assert shapes == [(2, 6), (2, 2)]  # with </s>
    assert [" ".join(score.units) for score in found] == texts


@torch.no_grad()
def test_greedy_continuation_takes_the_most_probable_word_each_time(language_checkpoint):
    loaded = load(language_checkpoint)
    dictionary = loaded.task.target_dictionary
    ids = [dictionary.eos(), dictionary.index("w1"), dictionary.index("w2")]
    for _ in range(3):
        output = loaded.models[0](torch.tensor([ids]), src_lengths=torch.tensor([len(ids)]))
        scores = loaded.models[0].get_normalized_probs(output, log_probs=True)[0, -1]
        # What fairseq's search never produces.
        scores[[dictionary.pad(), dictionary.eos()]] = -math.inf
        ids.append(int(scores.argmax()))
    found = loaded.continue_("w1 w2", max_units=3, beam=1, min_len=5)
    assert found.units == [dictionary[number] for number in ids[3:]]
    assert found.text == " ".join(["w1 w2", *found.units])


def test_the_best_of_all_continuations_is_returned(tmp_path):
    model = load(save_checkpoint(tmp_path, "transformer_lm_outlayers"))
    words = model.task.target_dictionary.symbols[3:]  # <unk> is one
    scores = [sum(score.tokens[1:]) / 2 for score in model.score([f"w1 {word}" for word in words])]
    found = model.continue_("w1", max_units=1, min_len=2, beam=len(words))
    assert found.score == pytest.approx(max(scores), abs=1e-5)
    assert found.units == [words[scores.index(max(scores))]]


def test_draws_repeat_with_their_seed_and_leave_the_generator_alone(language_checkpoint):
    model = load(language_checkpoint)
    before = torch.get_rng_state()
    first = model.continue_("w1", sampling=True, beam=1, seed=1)
    assert torch.equal(torch.get_rng_state(), before)
    assert model.continue_("w1", sampling=True, beam=1, seed=1) == first
    assert model.continue_("w1", sampling=True, beam=1) == first  # the default
    others = [model.continue_("w1", sampling=True, beam=1, seed=seed) for seed in range(2, 8)]
    assert any(other != first for other in others)


@pytest.mark.parametrize("option", [{"unk_replacement": "copy"}, {"candidates": "lists.npz"}])
def test_options_of_translation_are_refused_by_their_name(option, tmp_path):
    path = save_checkpoint(tmp_path, "subword_lm")
    with pytest.raises(UserError, match=f"^{next(iter(option))}: .*--task subword_language_model"):
        load(path, **option)


def test_nothing_to_add_is_refused(tmp_path):
    with pytest.raises(UserError, match="max_units=0: must be at least 1"):
        load(save_checkpoint(tmp_path, "subword_lm")).continue_("w1", max_units=0)


def test_samples_of_two_models_in_two_threads_are_those_of_one(language_checkpoint):
    models, seeds = [load(language_checkpoint) for _ in range(2)], range(1, 9)
    alone = [models[0].continue_("w1", sampling=True, beam=1, seed=seed) for seed in seeds]
    before = torch.get_rng_state()

    def draw(model):
        return [model.continue_("w1", sampling=True, beam=1, seed=seed) for seed in seeds]

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(draw, models))
    assert found == [alone, alone]
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("options", [{}, {"sampling": True, "beam": 1, "seed": 9}])
def test_no_generator_of_another_device_is_seeded(language_checkpoint, monkeypatch, options):
    model = load(language_checkpoint)
    for owner, name in ((torch, "manual_seed"), (torch.cuda, "manual_seed_all")):
        monkeypatch.setattr(owner, name, lambda *_: pytest.fail("seeds all devices"))
    assert model.continue_("w1", **options)


def test_samples_at_a_low_temperature_follow_any_prompt_and_end(tmp_path):
    model = load(save_checkpoint(tmp_path, "transformer_lm_outlayers"))
    dictionary = model.task.target_dictionary
    with torch.no_grad():
        bias = model.models[0].decoder.output_projection.bias
        bias[[dictionary.eos(), dictionary.index("w1")]] = -50.0
    found = model.continue_("w1", max_units=2, sampling=True, beam=1, temperature=0.02)
    assert len(found.units) == 2


def test_unknown_words_of_a_prompt_stay_in_the_text(language_checkpoint):
    found = load(language_checkpoint).continue_("w1 unseen w2", max_units=2)
    assert found.text.split()[:3] == ["w1", "unseen", "w2"]
