"""Translation models from Python do what fairseq's commands do."""

import copy
import math
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq.hub_utils import GeneratorHubInterface
from fairseq.sequence_scorer import SequenceScorer
from torch.utils._python_dispatch import TorchDispatchMode

from fairseq_outlayers import load
from fairseq_outlayers.decoding import int8_projection
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.hub import PairScore, Translator
from fairseq_outlayers.hub.batches import as_sample
from tests.unit.hub.conftest import STOCK, TRANSLATION_ARCHITECTURES, save_checkpoint
from tests.unit.pages.conftest import write_candidates

SENTENCES = ["w1 w2 w3", "w4", "w0 w5 w6 w7 w8 w9", "w3 w3", "w10 w11 unseen w2"]


def test_translations_do_not_depend_on_the_batch(translation_checkpoint):
    model = load(translation_checkpoint)
    together = model.translate(SENTENCES, batch_size=5)
    for sentence, translation in zip(SENTENCES, together, strict=True):
        alone = model.translate(sentence)
        assert alone.target == translation.target
        assert alone.alignment == translation.alignment
        assert alone.score == pytest.approx(translation.score, abs=1e-5)


def test_the_search_s_score_is_that_of_its_translation(translation_checkpoint):
    model = load(translation_checkpoint)
    found = model.translate(SENTENCES, length_penalty=0, beam=3)
    scores = model.score([(s, " ".join(t.target)) for s, t in zip(SENTENCES, found, strict=True)])
    for translation, score in zip(found, scores, strict=True):
        assert score.target == translation.target
        assert score.score == pytest.approx(translation.score, abs=1e-4)


def test_scores_are_those_of_the_model_word_by_word(translation_checkpoint):
    translator = load(translation_checkpoint)
    (score,) = translator.score([("w1 w2", "w3 w0")])
    (model,) = translator.models
    target = translator.task.target_dictionary
    ids = [target.eos(), target.index("w3"), target.index("w0"), target.eos()]
    source = translator.task.source_dictionary.encode_line("w1 w2").long()[None]
    expected = []
    for end in range(1, len(ids)):
        logits, _ = model(source, torch.tensor([3]), torch.tensor([ids[:end]]))
        expected.append(logits[0, -1].double().log_softmax(-1)[ids[end]].item())
    assert score.tokens == pytest.approx(expected, abs=1e-5)
    assert score.perplexity == pytest.approx(math.exp(-sum(expected) / 3), rel=1e-5)


class Shapes(TorchDispatchMode):
    """Notes the shapes of the tensors that any operation returns."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        leaves = torch.utils._pytree.tree_leaves(result)
        self.seen |= {tuple(leaf.shape) for leaf in leaves if isinstance(leaf, torch.Tensor)}
        return result


@pytest.mark.parametrize("arch", TRANSLATION_ARCHITECTURES)
def test_scoring_makes_no_table_of_scores_of_a_whole_batch(tmp_path, arch):
    model = load(save_checkpoint(tmp_path, arch))
    with Shapes() as shapes:
        model.score([("w1 w2 w3", "w4 w5 w6")] * 1200, batch_size=1200)
    classes = len(model.task.target_dictionary)
    assert shapes.seen.isdisjoint({(1200, 4, classes), (1200 * 4, classes)})


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("arch", [*TRANSLATION_ARCHITECTURES, *STOCK])
def test_scores_are_those_of_fairseqs_scorer(tmp_path, arch, number):
    paths = [save_checkpoint(tmp_path, arch, seed) for seed in range(1, number + 1)]
    model = load(paths, data=tmp_path, ensemble_average="probabilities")
    pairs = [("w1 w2 w4", "w3 w0"), ("w4", "w5 w6 w7")]
    source, target = model.task.source_dictionary, model.task.target_dictionary
    encoded = [
        (source.encode_line(read).long(), target.encode_line(written).long())
        for read, written in pairs
    ]
    left = getattr(model.task.cfg, "left_pad_source", True)
    scorer, sample = SequenceScorer(target), as_sample(encoded, source, left)
    # One at a time: fairseq adds to the first one's attention in place, which may be expanded.
    of_models = [scorer.generate([each], sample) for each in model.models]
    for found, *of_fairseq in zip(model.score(pairs), *of_models, strict=True):
        logs = torch.stack([each[0]["positional_scores"].double() for each in of_fairseq])
        expected = logs.exp().mean(0).log()
        assert found.tokens == pytest.approx(expected.tolist(), abs=1e-5)


def test_a_model_with_a_softmax_of_its_own_is_scored_by_it(tmp_path, monkeypatch):
    model, pairs = load(save_checkpoint(tmp_path, "luong_lstm")), [("w1 w2", "w3 w0")]
    (plain,) = model.score(pairs)
    stock = type(model.models[0]).get_normalized_probs
    monkeypatch.setattr(
        type(model.models[0]),
        "get_normalized_probs",
        lambda *args, **more: stock(*args, **more) - 1,
    )
    (found,) = model.score(pairs)
    assert found.tokens == pytest.approx([token - 1 for token in plain.tokens], abs=1e-5)


def test_scoring_records_no_gradients(tmp_path):
    model, recorded = load(save_checkpoint(tmp_path, "luong_lstm")), []
    model.models[0].register_forward_hook(lambda *_: recorded.append(torch.is_grad_enabled()))
    model.score([("w1 w2", "w3")])
    assert recorded == [False]


def test_the_best_of_all_translations_is_returned(tmp_path):
    model = load(save_checkpoint(tmp_path, "luong_lstm"))
    words = ["<s>", *model.task.target_dictionary.symbols[3:]]  # all but </s> and padding
    scores = [score.score for score in model.score([("w1 w2", word) for word in words])]
    found = model.translate("w1 w2", beam=len(words), max_len_a=0, max_len_b=1, length_penalty=0)
    assert found.score == pytest.approx(max(scores), abs=1e-5)
    assert found.target == [words[scores.index(max(scores))]]


def test_an_iterator_is_read_as_translations_are_asked_for(tmp_path):
    read = []

    def sentences():
        for number in range(100):
            read.append(number)
            yield f"w{number % 10}"

    found = load(save_checkpoint(tmp_path, "luong_lstm")).translate(sentences(), batch_size=2)
    assert read == []
    next(found)
    assert len(read) == 32  # two sentences in a batch, 16 batches sorted together
    assert 1 + sum(1 for _ in found) == 100


def test_a_progress_bar_changes_no_result(tmp_path, capsys):
    model = load(save_checkpoint(tmp_path, "luong_lstm"))
    expected = [translation.text for translation in model.translate(SENTENCES)]
    assert "sentence" not in capsys.readouterr().err
    assert [each.text for each in model.translate(SENTENCES, progress=True)] == expected
    assert "5/5" in capsys.readouterr().err
    assert next(model.translate(iter(SENTENCES), progress=True)).text == expected[0]


def test_a_text_without_words_has_an_empty_translation(tmp_path):
    model = load(save_checkpoint(tmp_path, "luong_lstm"))
    between = model.translate(["w1 w2", "", " ", "w3"])
    assert [(t.text, t.score, t.source, t.target) for t in between[1:3]] == [("", 0.0, [], [])] * 2
    assert [t.text for t in between[::3]] == [t.text for t in model.translate(["w1 w2", "w3"])]
    assert model.translate("").text == ""


def test_a_byte_order_mark_before_the_first_text_is_no_part_of_its_first_word(tmp_path):
    """As in files that fairseq-interactive reads; elsewhere it is a part of the word."""
    model = load(save_checkpoint(tmp_path, "luong_lstm"))
    marked, plain = ["\ufeffw1 w2", "\ufeffw1", "w3"], [["w1", "w2"], ["<unk>"], ["w3"]]
    assert [found.source for found in model.translate(iter(marked), batch_size=1)] == plain
    assert model.translate(marked[0]).source == plain[0]
    assert model.translate(marked[0]).text == model.translate("w1 w2").text
    pairs, expected = ([(mark + "w1", mark + "w2"), ("w3", "w4")] for mark in ("\ufeff", ""))
    assert model.score(pairs) == model.score(expected)
    assert model.score([expected[1], pairs[0]])[1].target == ["<unk>"]


def test_the_order_is_that_of_the_text(tmp_path):
    model = load(save_checkpoint(tmp_path, "luong_lstm"))
    assert [t.source for t in model.translate(SENTENCES, batch_size=2)] == [
        [word if word != "unseen" else "<unk>" for word in sentence.split()]
        for sentence in SENTENCES
    ]


def test_candidates_bound_what_is_produced_and_misses_are_named(tmp_path):
    path = save_checkpoint(tmp_path, "luong_lstm")
    model = load(path, candidate_frequent=7)
    frequent = {"<unk>", "w0", "w1", "w2", "w3", "w4"}
    for translation in model.translate(SENTENCES, beam=2):
        assert set(translation.candidates) == frequent
        assert set(translation.target) <= frequent
        assert translation.misses(["w2", "w9"]) == ["w9"]
    assert load(path).translate("w1").misses(["w2", "w9"]) == []


def test_an_ensemble_of_equal_models_is_the_model(tmp_path):
    path = save_checkpoint(tmp_path, "luong_lstm")
    one, two = load(path).translate(SENTENCES), load([path, path]).translate(SENTENCES)
    for alone, both in zip(one, two, strict=True):
        assert alone.target == both.target
        assert alone.score == pytest.approx(both.score, abs=1e-5)


def test_unknown_source_words_are_copied_where_attention_points(tmp_path):
    path = save_checkpoint(tmp_path, "luong_lstm")
    state = torch.load(path, weights_only=False)
    state["model"]["decoder.output_projection.bias"][3] = 50.0  # <unk>, always
    torch.save(state, path)
    translation = load(path, unk_replacement="copy").translate("w1 w2", max_len_a=0, max_len_b=3)
    assert translation.target == [["w1", "w2"][place] for place in translation.alignment]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": "/nowhere"}, "/nowhere, the data of .*, has no dictionaries"),
        (
            {"candidate_frequant": 5},
            "candidate_frequant: unknown option.*did you mean candidate_frequent",
        ),
        ({"devise": "cpu"}, "devise: unknown option.*did you mean device"),
        (
            {"device": "gpu"},
            "device=gpu: PyTorch has no such device here; leave it out",
        ),
        ({"device": "cuda:99"}, "device=cuda:99: PyTorch has no such device here"),
        ({"bpe_codes": "codes"}, "bpe_codes=codes needs bpe"),
        ({"bpe": "subword_nmt", "bpe_codes": "kodes"}, "bpe_codes=kodes: no such file"),
        ({"candidates": "no.npz"}, "no.npz"),
    ],
)
def test_mistakes_are_one_line(tmp_path, options, message):
    path = save_checkpoint(tmp_path, "luong_lstm")
    with pytest.raises(UserError, match=message):
        load(path, **options)


def test_a_missing_checkpoint_is_named():
    with pytest.raises(UserError, match=r"none.pt: no such checkpoint"):
        load("none.pt")


def test_a_folder_is_no_checkpoint(tmp_path):
    with pytest.raises(UserError, match="a folder; give a checkpoint in it"):
        load(tmp_path)


def test_an_unknown_option_of_the_search_is_corrected(tmp_path):
    model = load(save_checkpoint(tmp_path, "luong_lstm"))
    with pytest.raises(UserError, match=r"bem: unknown search option; did you mean beam\?"):
        model.translate("w1", bem=3)
    with pytest.raises(UserError, match="batch_size=0: must be at least 1"):
        model.translate(["w1"], batch_size=0)


def test_parameters_get_the_type_asked_for(tmp_path):
    path = save_checkpoint(tmp_path, "luong_lstm")
    model = load([path, path], dtype=torch.float64)
    assert isinstance(model, Translator)
    for each in model.models:
        assert {parameter.dtype for parameter in each.parameters()} == {torch.float64}
    model.translate(SENTENCES)


def always_unknown(path):
    """Make a model write nothing but ``<unk>``."""
    state = torch.load(path, weights_only=False)
    state["model"]["decoder.output_projection.bias"][3] = 50.0
    torch.save(state, path)
    return path


def test_words_that_no_dictionary_has_are_copied_and_their_places_told(tmp_path):
    path = always_unknown(save_checkpoint(tmp_path, "luong_lstm"))
    model = load(path, unk_replacement="copy", candidate_frequent=7)
    found = model.translate("w1 unseen", max_len_a=0, max_len_b=3)
    assert found.source == ["w1", "unseen"]
    assert found.target == [found.source[place] for place in found.alignment]
    assert found.replaced == [0, 1, 2]
    # What was copied has joined the dictionaries; no model may see its number.
    assert model.translate("unseen w1 other", max_len_a=0, max_len_b=3).replaced == [0, 1, 2]
    (score,), (same,) = model.score([("unseen", "w2 unseen")]), load(path).score([("x", "w2 x")])
    assert score.tokens == same.tokens
    assert score.target == same.target == ["w2", "<unk>"]


def test_a_search_after_words_were_copied_is_the_first_again(tmp_path):
    path = always_unknown(save_checkpoint(tmp_path, "luong_lstm"))
    model, limits = load(path, unk_replacement="copy"), {"max_len_a": 0, "max_len_b": 3}
    dictionaries = model.task.source_dictionary, model.task.target_dictionary
    sizes = [len(dictionary) for dictionary in dictionaries]
    first = model.translate("w1 unseen", **limits)
    for _ in range(3):
        assert model.translate("w1 unseen", **limits).target == first.target
        assert [len(dictionary) for dictionary in dictionaries] == sizes


@pytest.mark.parametrize("fails", ["text", "search"])
def test_a_translation_that_fails_leaves_the_dictionaries_as_they_were(
    fails, tmp_path, monkeypatch
):
    path = always_unknown(save_checkpoint(tmp_path, "luong_lstm"))
    model = load(path, unk_replacement="copy")
    dictionaries = model.task.source_dictionary, model.task.target_dictionary
    symbols = [list(dictionary.symbols) for dictionary in dictionaries]
    texts = ["w1 unseen", "w2 </s> w3"] if fails == "text" else ["w1 unseen", "w2"]
    if fails == "search":
        found = model._translation
        monkeypatch.setattr(model, "_translation", lambda *given: found(*given).missing)
    with pytest.raises(UserError if fails == "text" else AttributeError):
        model.translate(texts)
    assert [dictionary.symbols for dictionary in dictionaries] == symbols


def test_fairseqs_own_interface_searches_again_after_words_were_copied(tmp_path):
    path = always_unknown(save_checkpoint(tmp_path, "luong_lstm"))
    (tmp_path / "table").write_text("w1\tnew\t-1\nw2\tother\t-1\n")
    table = str(tmp_path / "table")
    model = load(path, unk_replacement="dictionary", unk_dictionary=table)
    hub = GeneratorHubInterface(model.config, model.task, model.models)
    for text, words in (("w1", "new new"), ("w2", "other other")):
        ids = model.task.source_dictionary.encode_line(text, append_eos=True).long()
        found = hub.generate(ids, beam=2, max_len_a=0, max_len_b=2)
        assert hub.decode(found[0]["tokens"]) == words


def test_threads_take_turns(tmp_path):
    model = load(always_unknown(save_checkpoint(tmp_path, "luong_lstm")), unk_replacement="copy",
                 candidate_frequent=9)  # fmt: skip
    texts = [f"w{number} other{number} w{number + 1}" for number in range(8)]
    alone = [model.translate(text).text for text in texts]
    with ThreadPoolExecutor(5) as pool:
        scored = pool.submit(lambda: [model.score([("w1", "w2")]) for _ in range(40)])
        assert list(pool.map(lambda text: model.translate(text).text, texts * 4)) == alone * 4
        assert all(score == scored.result()[0] for score in scored.result())


@pytest.mark.parametrize("symbol", ["<pad>", "</s>"])
@pytest.mark.parametrize("replacement", ["none", "copy"])
def test_symbols_that_end_a_sentence_are_refused_within_one(symbol, replacement, tmp_path):
    model = load(save_checkpoint(tmp_path, "luong_lstm"), unk_replacement=replacement)
    with pytest.raises(UserError, match=rf"texts\[1\]: has {symbol}, which no text may have"):
        model.translate(["w1", f"w1 {symbol} w2"])
    with pytest.raises(UserError, match=rf"pairs\[0\]\[1\]: has {symbol}"):
        model.score([("w1", f"w1 {symbol}")])


@pytest.mark.parametrize("average", ["probabilities", "log_probabilities"])
def test_an_ensemble_scores_as_it_searches(tmp_path, average):
    paths = [save_checkpoint(tmp_path, "luong_lstm", seed) for seed in (1, 2)]
    model = load(paths, data=tmp_path, ensemble_average=average)
    found = model.translate("w1 w2 w3", beam=3, max_len_a=0, max_len_b=4, length_penalty=0)
    (scored,) = model.score([("w1 w2 w3", " ".join(found.target))])
    assert scored.score == pytest.approx(found.score, rel=1e-5)


def test_other_dictionaries_in_an_ensemble_are_refused(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    # fairseq's own model, which stores no fingerprint of its dictionaries.
    paths = [save_checkpoint(folder, "transformer") for folder in (first, second)]
    load(paths)
    words = (second / "dict.tgt.txt").read_text().replace("w1 ", "x1 ")
    (second / "dict.tgt.txt").write_text(words)
    with pytest.raises(UserError, match=r"second/dict.tgt.txt is not that of the first model"):
        load(paths)


def test_only_an_iterator_is_read_lazily(tmp_path):
    model = load(save_checkpoint(tmp_path, "luong_lstm"))
    expected = [translation.text for translation in model.translate(SENTENCES)]
    for texts in (np.array(SENTENCES), dict.fromkeys(SENTENCES)):
        assert [translation.text for translation in model.translate(texts)] == expected
        assert isinstance(model.translate(texts), list)
    assert [found.text for found in model.translate(iter(SENTENCES))] == expected


def test_a_loaded_model_is_not_copied(tmp_path):
    model = load(save_checkpoint(tmp_path, "luong_lstm"))
    for attempt in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="a Translator cannot be copied or pickled"):
            attempt(model)


@pytest.mark.parametrize("pair", [{"source": "w1", "target": "w2"}, {"w1", "w2"}, "w1", None])
def test_pairs_have_an_order(pair, tmp_path):
    model = load(save_checkpoint(tmp_path, "luong_lstm"))
    with pytest.raises(UserError, match=r"pairs\[0\]=.*must be a pair \(source, translation\)"):
        model.score([pair])


def test_as_many_words_are_sampled_from_as_a_list_has_beyond_the_most_frequent_ones(tmp_path):
    model = load(save_checkpoint(tmp_path, "luong_lstm"), candidate_frequent=7,
                 candidate_copies=True)  # fmt: skip
    source = "w8 w9 w10 w11"
    assert len(model.translate(source).candidates) > 9
    assert model.translate(source, sampling=True, sampling_topk=9)
    with pytest.raises(UserError, match=r"=20: this search needs 20 .* only 11"):
        model.translate(source, sampling=True, sampling_topk=20)


def test_a_file_of_candidates_has_two_thousand_frequent_words_beside_it(tmp_path):
    path = save_checkpoint(tmp_path, "luong_lstm")
    options = {"candidates": write_candidates(tmp_path), "candidate_per_word": 3}
    assert load(path, **options).task.cfg.candidate_frequent == 2000
    assert load(path, **options, candidate_frequent=7).task.cfg.candidate_frequent == 7


def test_misses_are_units_of_a_list(tmp_path):
    model = load(save_checkpoint(tmp_path, "luong_lstm"), candidate_frequent=7)
    with pytest.raises(UserError, match="reference='w2 w9': must be the units"):
        model.translate("w1").misses("w2 w9")


@pytest.mark.parametrize("left", [True, False])
def test_attention_is_that_of_the_sentence_on_either_side_of_the_padding(left, tmp_path):
    model = load(save_checkpoint(tmp_path, "luong_lstm"))
    model.task.cfg.left_pad_source = left
    for sentence, together in zip(SENTENCES, model.translate(SENTENCES), strict=True):
        alone = model.translate(sentence)
        assert alone.alignment == together.alignment
        words = together.attention[:-1, :-1]  # without </s>
        assert together.alignment == words.argmax(0).tolist()
        torch.testing.assert_close(alone.attention, together.attention)
        torch.testing.assert_close(
            together.attention.sum(0), torch.ones(together.attention.shape[1])
        )


def test_the_candidates_of_a_common_list_are_those_that_were_searched(tmp_path):
    model = load(save_checkpoint(tmp_path, "luong_lstm"), candidate_frequent=8,
                 candidate_copies=True, candidate_scope="common")  # fmt: skip
    lists = []
    for turn in range(4):
        texts = [f"w{5 + turn + n} w1" for n in range(3)]
        found = model.translate(texts, beam=1, batch_size=3, max_len_a=0, max_len_b=3)
        lists.append(model.task.candidate_lists.sentences)
        for text, translation in zip(texts, found, strict=True):
            assert text.split()[0] in translation.candidates
            assert set(translation.target) <= set(translation.candidates)
    assert lists[0] == 3  # counted once
    assert model.translate("").candidates == ["<unk>", "w0", "w1", "w2", "w3", "w4", "w5"]


def test_a_symbol_of_the_beginning_that_a_model_writes_is_not_in_the_text(tmp_path):
    path = save_checkpoint(tmp_path, "luong_lstm")
    state = torch.load(path, weights_only=False)
    state["model"]["decoder.output_projection.bias"][0] = 50.0  # <s>, always
    torch.save(state, path)
    found = load(path).translate("w1", max_len_a=0, max_len_b=2)
    assert (found.target, found.text) == (["<s>", "<s>"], "")


def test_no_place_is_told_without_replacement(tmp_path):
    path = always_unknown(save_checkpoint(tmp_path, "luong_lstm"))
    found = load(path).translate("w1 unseen", max_len_a=0, max_len_b=3)
    assert (found.target, found.replaced) == (["<unk>"] * 3, [])


@pytest.mark.parametrize("limits", [{}, {"max_len_a": 0, "max_len_b": 9}])
def test_a_model_whose_scores_are_nan_is_an_error(translation_checkpoint, limits):
    model = load(translation_checkpoint)
    with torch.no_grad():
        for parameter in model.models[0].parameters():
            parameter.fill_(math.nan)
    with pytest.raises(UserError, match=r"no finished hypothesis.*may be nan"):
        model.translate(SENTENCES, **limits)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length_penalty": 99}, "length_penalty=99.0: must be at least -10 and at most 10"),
        ({"beam": 0}, "beam=0: must be at least 1"),
        ({"min_len": 50}, "min_len=50: with max_len_a=1.2 max_len_b=10, the translation of one"),
        ({"sampling": True, "sampling_topp": 0}, "sampling_topp=0.0: must be above 0; leave it"),
        ({"sampling": True, "sampling_topk": 0}, "sampling_topk=0: must be above 0; leave it out"),
    ],
)
def test_numbers_out_of_range_are_named_as_arguments(tmp_path, options, message):
    model = load(save_checkpoint(tmp_path, "luong_lstm"))
    with pytest.raises(UserError, match=f"^{re.escape(message)}"):
        model.translate("w1", **options)


def test_the_perplexity_of_an_impossible_pair_is_infinite():
    assert PairScore(-1e4, [-1e4], ["x"]).perplexity == math.inf
    assert PairScore(-2.0, [-1.0, -1.0], ["x"]).perplexity == pytest.approx(math.e)


def test_other_dictionaries_of_inferred_languages_are_refused(tmp_path):
    paths = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        paths.append(save_checkpoint(tmp_path / name, "transformer"))
        (tmp_path / name / "train.src-tgt.src.idx").touch()
        state = torch.load(paths[-1], weights_only=False)
        state["cfg"]["task"].update(source_lang=None, target_lang=None)
        torch.save(state, paths[-1])
    load(paths)
    file = tmp_path / "second" / "dict.tgt.txt"
    file.write_text(file.read_text().replace("w1 ", "x1 "))
    with pytest.raises(UserError, match="is not that of the first model"):
        load(paths)


def test_a_given_translation_is_encoded_as_a_target(tmp_path):
    model = load(save_checkpoint(tmp_path, "luong_lstm"))
    model.text.of_targets = SimpleNamespace(encode=str.lower)
    assert model.score([("w1", "W3 w0")])[0].target == ["w3", "w0"]


def test_the_class_matrix_is_rounded_once(tmp_path, monkeypatch):
    made, build = [], int8_projection.Int8Projection.__init__

    def counted(self, layer):
        made.append(layer)
        build(self, layer)

    monkeypatch.setattr(int8_projection.Int8Projection, "__init__", counted)
    model = load(save_checkpoint(tmp_path, "luong_lstm"), int8_projection=True)
    for text in ("w1", "w2 w3"):
        model.translate(text)
    assert len(made) == 1
