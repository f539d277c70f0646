"""What is gathered of a test set, against the search and against sacreBLEU."""

import tracemalloc
from types import SimpleNamespace

import pytest
import torch
from sacrebleu.metrics import BLEU, CHRF

from fairseq_outlayers import load
from fairseq_outlayers.analysis import sentence_details
from fairseq_outlayers.analysis.inspection import (
    System,
    inspect_test_set,
    read_pairs,
    scored_reference,
)
from fairseq_outlayers.analysis.sentence_details import (
    Vocabulary,
    attention_text,
    candidate_data,
    word_spaces,
    words_by_frequency,
)
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.hub.candidate_units import CandidateUnits
from tests.conftest import TRANSLATION_ARCHITECTURES
from tests.unit.hub.conftest import save_checkpoint
from tests.unit.pages.conftest import decoded, prefer_unknown, write_candidates

PAIRS = [
    ("w1 w2 w3", "w3 w16 w1"),
    ("w4 stranger w5", "w4 foreigner"),
    ("w0 w5 w6 w7 w8 w9", "w9 w8 w2 w1"),
    ("w10 w11", "w15"),
]


def inspect(*paths, options=(), search=(), **more):
    systems = []
    for path in paths:
        model = load(path, **dict(options))
        found = model.translate([source for source, _ in PAIRS], max_len_b=3, **dict(search))
        systems.append(System(path, path, model, found))
    return systems, inspect_test_set(PAIRS, systems, **more)


def test_attention_is_kept_to_one_percent():
    torch.manual_seed(1)
    weights = torch.cat([torch.randn(9, 7).mul(4).softmax(0), torch.zeros(9, 2)], dim=1)
    weights[3, 8] = 1
    rows = torch.tensor(decoded(attention_text(weights), 9)) / 100
    assert rows.shape == (9, 9)
    assert (rows.T - weights).abs().max() <= 0.01 + 1e-6


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("scope", ["sentence", "batch"])
def test_candidates_are_those_that_the_search_could_choose(tmp_path, scope, copies):
    options = {
        "candidate_copies": copies,
        "candidates": write_candidates(tmp_path),
        "candidate_frequent": 6,
        "candidate_per_word": 3,
        "candidate_scope": scope,
    }
    path = save_checkpoint(tmp_path, "luong_lstm")
    ((system,), data) = inspect(path, options=options, search={"batch_size": 2})
    (lists,) = data["candidates"]
    words = data["words"]
    for number, found in enumerate(system.translations):
        listed = {words[k] for k in lists["shared"] + lists["others"][number]}
        for unit in found.source:
            listed |= {words[k] for k in lists["translations"].get(unit, [])}
        assert listed == set(found.candidates)
        if scope == "sentence":
            assert lists["others"][number] == []
    sizes = [len(found.candidates) for found in system.translations]
    assert lists["mean"] == pytest.approx(sum(sizes) / len(sizes))


def test_candidates_of_all_sentences_are_not_in_memory_as_texts_at_once(monkeypatch):
    monkeypatch.setattr(sentence_details, "translations_of", lambda translator, unit: [])
    number, symbols = 100, [f"w{k}" for k in range(2_000)]
    candidates = CandidateUnits(symbols, torch.arange(len(symbols)))
    translations = [SimpleNamespace(source=["w"], candidates=candidates)] * number
    tracemalloc.start()
    try:
        found = candidate_data(None, translations, Vocabulary())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(found["shared"]), found["mean"]) == (2_000, 2_000)
    # A list has 8 bytes a word, a set more.
    assert peak < number * 8 * len(symbols)


def test_marks_are_the_words_that_models_and_lists_lack(tmp_path):
    path = save_checkpoint(tmp_path, "luong_lstm")
    options = {"candidate_frequent": 6, "unk_replacement": "copy"}
    _, data = inspect(prefer_unknown(path, 50.0), options=options)
    views = [sentence["models"][0] for sentence in data["sentences"]]
    assert views[1]["unknown_source"] == [1]
    assert views[1]["unknown_reference"] == [1]
    assert views[1]["misses"] == [0, 1]  # w4 and what no dictionary has; w0 to w3 are candidates
    assert views[0]["misses"] == [1]
    for view in views:
        assert view["replaced"] == view["unknown"] == list(range(len(view["target"])))
        assert view["target"] == [view["source"][k] for k in view["alignment"]]
    (model,) = data["models"]
    assert model["replaced_words"] == sum(len(view["target"]) for view in views) > 0


def test_unknown_words_that_nothing_replaces_are_marked(tmp_path):
    _, data = inspect(prefer_unknown(save_checkpoint(tmp_path, "luong_lstm"), 50.0))
    views = [sentence["models"][0] for sentence in data["sentences"]]
    for view in views:
        assert set(view["target"]) == {"<unk>"}
        assert view["unknown"] == list(range(len(view["target"])))
        assert view["replaced"] == []
    (model,) = data["models"]
    assert model["unknown_words"] == model["target_words"] > model["replaced_words"] == 0


def test_scores_are_those_of_sacrebleu_and_of_the_search(tmp_path):
    paths = [save_checkpoint(tmp_path, "luong_lstm", seed) for seed in (1, 2)]
    systems, data = inspect(*paths)
    for number, (sentence, (_, reference)) in enumerate(zip(data["sentences"], PAIRS, strict=True)):
        for view, system in zip(sentence["models"], systems, strict=True):
            found = system.translations[number]
            assert view["score"] == found.score
            assert view["chrf"] == CHRF().sentence_score(found.text, [reference]).score
    for model, system in zip(data["models"], systems, strict=True):
        texts, references = [t.text for t in system.translations], [r for _, r in PAIRS]
        assert model["chrf"] == CHRF().corpus_score(texts, [references]).score
        bleu = BLEU(tokenize="none", force=True).corpus_score(texts, [references]).score
        assert model["bleu"]["value"] == pytest.approx(bleu)
    assert "tok:none" in data["signatures"][0]
    assert data["difference"]["value"] == pytest.approx(
        data["models"][1]["bleu"]["value"] - data["models"][0]["bleu"]["value"]
    )


def test_references_are_scored_without_marks_of_segmentation_that_the_model_cannot_undo():
    text = SimpleNamespace(tokenizer=None, bpe=None, decode=lambda s: s.replace("@@ ", ""))
    assert scored_reference(SimpleNamespace(text=text), "lo@@  w x") == "low x"
    text.bpe = object()
    assert scored_reference(SimpleNamespace(text=text), "lo@@ w") == "lo@@ w"


def test_scores_are_of_references_without_marks_of_segmentation(tmp_path):
    model = load(save_checkpoint(tmp_path, "luong_lstm"))
    model.text.marker = "subword_nmt"  # as for a dictionary of such units
    found = model.translate(["w1 w2", "w3"], max_len_b=3)
    found = [one._replace(text=text) for one, text in zip(found, ["w3w1 w2", "w4"], strict=True)]
    pairs = [("w1 w2", "w3@@ w1 w2"), ("w3", "w4")]
    (summary,) = inspect_test_set(pairs, [System("name", "path", model, found)])["models"]
    assert summary["chrf"] == pytest.approx(100)


def test_plain_text_is_tokenized_by_bleu(tmp_path):
    path = save_checkpoint(tmp_path, "luong_lstm")
    _, data = inspect(path, options={"tokenizer": "space"})
    assert "tok:13a" in data["signatures"][0]


@pytest.mark.parametrize("arch", TRANSLATION_ARCHITECTURES)
@pytest.mark.parametrize("layer", ["tied", "joint"])
def test_neighbours_are_the_words_with_the_largest_cosines(tmp_path, arch, layer):
    path = save_checkpoint(tmp_path, arch, output_layer=layer)
    ((system,), data) = inspect(path, number=4)
    (found,) = data["neighbours"]
    dictionary = system.translator.task.target_dictionary
    spaces = word_spaces(system.translator.models[0])
    assert found["tied"] == (layer == "tied")
    assert found["words"]
    for number, sides in found["words"].items():
        query = dictionary.index(data["words"][int(number)])
        for vectors, pairs in zip(spaces, sides, strict=False):
            rows = vectors.double()
            cosines = (rows @ rows[query]) / rows.norm(dim=1) / rows[query].norm()
            cosines[: dictionary.nspecial] = cosines[query] = -2
            best = cosines.topk(4)
            assert [dictionary.index(data["words"][k]) for k in pairs[::2]] == best.indices.tolist()
            expected = [100 * cosine for cosine in best.values.tolist()]
            assert pairs[1::2] == pytest.approx(expected, abs=0.51)


def test_as_many_words_have_neighbours_as_asked_for(tmp_path):
    path = save_checkpoint(tmp_path, "luong_lstm")
    assert len(inspect(path, neighbour_words=2)[1]["neighbours"][0]["words"]) == 2
    assert inspect(path, neighbour_words=0)[1]["neighbours"] == [None]


def test_texts_of_different_lengths_are_refused(tmp_path):
    (tmp_path / "a").write_text("one\ntwo\n")
    (tmp_path / "b").write_text("one\n")
    (tmp_path / "none").write_text("")
    with pytest.raises(UserError, match=r"b:1: last of 1 lines, but .*a has 2; line n of every"):
        read_pairs(str(tmp_path / "a"), str(tmp_path / "b"))
    with pytest.raises(UserError, match="0 lines"):
        read_pairs(str(tmp_path / "none"), str(tmp_path / "none"))


def test_words_of_all_systems_and_references_are_ordered_by_their_number():
    first = {"target": ["a", "b"], "reference": ["c", "b"]}
    second = {"target": ["c", "b"], "reference": ["c", "b"]}
    assert words_by_frequency([[first], [second]]) == ["b", "c", "a"]
