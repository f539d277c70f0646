"""Words that training has not seen are scored as a model would that had them in its dictionary."""

import math
from types import SimpleNamespace

import pytest
import torch
from fairseq.data import Dictionary
from fairseq.models import MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY

from fairseq_outlayers.__main__ import main
from fairseq_outlayers.analysis.open_vocabulary import (
    GROUPS,
    negative_log_likelihoods,
    open_vocabulary,
    perplexities,
    rarest_bias,
    unit_rows,
)
from fairseq_outlayers.errors import UserError

TABLE = {"walks": "walk s", "talked": "talk ed", "talks": "talk s"}
NEW = {"walked": "walk ed", "stalk": "s talk", "jumps": "jump s", "talkseds": "talk s ed s"}
KINDS = {"morphsum": "morphs", "sylconcat": "syllables", "charcnn": "characters"}


def make(folder, words, composition, **options):
    """A model with random parameters, biases included, for a dictionary of some words."""
    folder.mkdir()
    lines = [f"{word} {3 if word == 'walks' else 1}\n" for word in words]
    (folder / "dict.txt").write_text("".join(lines))
    rows = [f"{word}\t{units}\n" for word, units in {**TABLE, **NEW}.items()]
    for kind in ("morphs", "syllables"):
        (folder / f"{kind}.txt").write_text("".join(rows))
    dictionary = Dictionary.load(str(folder / "dict.txt"))
    task = SimpleNamespace(source_dictionary=dictionary, target_dictionary=dictionary)
    sizes = {"hidden_size": 6, "init_range": 0.7}
    if composition == "charcnn":
        sizes |= {"char_widths": 2, "char_filters": 2}
    torch.manual_seed(0)
    config = MODEL_DATACLASS_REGISTRY["subword_lm"](
        **{"composition": composition, "tie": "emb", **sizes, **options}
    )
    return MODEL_REGISTRY["subword_lm"].build_model(config, task).double().eval()


@pytest.mark.parametrize(
    ("composition", "options"), [*((kind, {}) for kind in KINDS), ("sylconcat", {"highway_dim": 5})]
)
def test_new_words_are_scored_as_by_a_model_with_a_larger_dictionary(
    tmp_path, composition, options
):
    model = make(tmp_path / "small", TABLE, composition, **options)
    new = {"walked": "walk ed", "stalk": "s talk"}
    larger = make(tmp_path / "large", {**TABLE, **new}, composition, **options)
    state = {
        name: tensor
        for name, tensor in model.state_dict().items()
        if "version" not in name and not name.endswith("output_projection.bias")
    }
    larger.load_state_dict(state, strict=False)
    words = open_vocabulary(model.decoder, list(new))
    assert words.ids == {"walked": 7, "stalk": 8}
    bias, small = larger.decoder.output_projection.bias, model.decoder.output_projection.bias
    bias.data = torch.cat([small.data, small.data[5:7].mean().expand(2)])  # seen once: two words
    tokens = torch.tensor([4, 8, 5, 3, 7, 2] * 40)
    logits, _ = larger(torch.cat([torch.tensor([2]), tokens[:-1]])[None])
    expected = -logits[0].log_softmax(-1)[torch.arange(len(tokens)), tokens]
    torch.testing.assert_close(negative_log_likelihoods(model.decoder, tokens, words), expected)
    # A text of a training with --add-bos-token.
    logits, _ = larger(torch.cat([torch.tensor([0, 2]), tokens[:-1]])[None])
    expected = -logits[0, 1:].log_softmax(-1)[torch.arange(len(tokens)), tokens]
    found = negative_log_likelihoods(model.decoder, tokens, words, after_bos=True)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("after_bos", [False, True])
def test_each_group_has_the_perplexity_of_its_own_words(tmp_path, after_bos):
    decoder = make(tmp_path / "m", TABLE, "morphsum").decoder
    text = ["walks", "walked", "jumps", "walked", "</s>"]  # a unit of jumps is unknown
    rows = {row.words: row for row in perplexities(decoder, text, after_bos)}
    words = open_vocabulary(decoder, ["walked"])
    tokens = torch.tensor([4, words.ids["walked"], 3, words.ids["walked"], 2])
    losses = negative_log_likelihoods(decoder, tokens, words, after_bos)
    groups = zip(GROUPS, ([0, 4], [1, 3], [2]), (2, 1, 1), strict=True)
    for name, places, types in (*groups, ("all", [0, 1, 2, 3, 4], 4)):
        assert rows[name][1:3] == (types, len(places))
        assert rows[name].value == pytest.approx(losses[places].mean().exp().item())


def test_a_perplexity_beyond_float64_is_infinite(tmp_path):
    decoder = make(tmp_path / "m", TABLE, "morphsum").decoder
    decoder.output_projection.bias.data[-1] = 1e4  # of a word that the text does not have
    *_, everything = perplexities(decoder, ["walks", "</s>"])
    assert everything.value == math.inf


@pytest.mark.parametrize("after_bos", [False, True])
def test_separate_sentences_do_not_depend_on_those_before(tmp_path, after_bos):
    decoder = make(tmp_path / "m", TABLE, "morphsum").decoder
    sentences = [["walks", "talked", "</s>"], ["talks", "</s>"], ["</s>"]]
    text = [word for sentence in sentences for word in sentence]
    *_, together = perplexities(decoder, text, after_bos, by_sentence=True)
    alone = [perplexities(decoder, sentence, after_bos)[-1] for sentence in sentences]
    expected = sum(math.log(row.value) * row.tokens for row in alone) / len(text)
    assert math.log(together.value) == pytest.approx(expected)
    *_, as_one = perplexities(decoder, text, after_bos)
    assert as_one.value != pytest.approx(together.value, rel=1e-3)


def test_a_word_with_a_unit_that_the_model_does_not_know_stays_unknown(tmp_path):
    decoder = make(tmp_path / "m", TABLE, "morphsum").decoder
    assert list(unit_rows(decoder, [*NEW, "missing"])) == ["walked", "stalk", "talkseds"]
    decoder = make(tmp_path / "c", TABLE, "charcnn").decoder
    assert list(unit_rows(decoder, ["walked", "jumps", "talkeds"])) == ["walked", "talkeds"]


def test_a_word_longer_than_all_in_training_is_left_out_only_where_lengths_are_fixed(tmp_path):
    decoder = make(tmp_path / "s", TABLE, "sylconcat").decoder
    assert list(unit_rows(decoder, NEW)) == ["walked", "stalk"]


@pytest.mark.parametrize("composition", ["morphsum", "charcnn"])
def test_a_longer_word_is_composed_of_its_own_units_and_changes_no_other(tmp_path, composition):
    decoder = make(tmp_path / "m", TABLE, composition).decoder
    together = open_vocabulary(decoder, ["talkseds", "walked", "stalk"])
    for word in ("talkseds", "walked", "stalk"):
        alone = open_vocabulary(decoder, [word])
        for vectors, expected in (
            (together.input_vectors, alone.input_vectors),
            (together.class_embeddings, alone.class_embeddings),
        ):
            torch.testing.assert_close(vectors[together.ids[word]], expected[alone.ids[word]])
    # As in a model that had the word in training, where it would have been the longest.
    larger = make(tmp_path / "l", {**TABLE, "talkseds": ""}, composition).decoder
    state = {
        name: tensor
        for name, tensor in decoder.state_dict().items()
        if "version" not in name and name != "output_projection.bias"
    }
    larger.load_state_dict(state, strict=False)
    torch.testing.assert_close(
        together.input_vectors[together.ids["talkseds"]], larger.embed_tokens.all_words()[-1]
    )


def test_a_new_word_gets_the_mean_bias_of_the_rarest_words(tmp_path):
    decoder = make(tmp_path / "m", TABLE, "morphsum").decoder
    bias = torch.tensor([9.0, 9, 9, 9, 5, 1, 2])
    assert rarest_bias(decoder.dictionary, bias) == 1.5
    decoder.dictionary.pad_to_multiple_(8)  # with words that no text can have
    assert rarest_bias(decoder.dictionary, torch.cat([bias, torch.tensor([-9.0])])) == 1.5


@pytest.mark.parametrize("options", [{"tie": "original"}, {"composition": "word", "tie": "re"}])
def test_a_model_with_a_vector_for_every_word_is_refused(tmp_path, options):
    decoder = make(tmp_path / "m", TABLE, **{"composition": "morphsum", **options}).decoder
    with pytest.raises(UserError, match="stores a vector for every word"):
        open_vocabulary(decoder, ["walked"])


@pytest.fixture
def scored(monkeypatch):
    """What the command passes to ``perplexities``, for a model with ``--add-bos-token``."""
    model = SimpleNamespace(decoder=SimpleNamespace(dictionary=Dictionary()))
    options = SimpleNamespace(add_bos_token=True, sample_break_mode="eos")
    task, seen = SimpleNamespace(args=options), []
    ours = "fairseq_outlayers"
    monkeypatch.setattr(f"{ours}.checkpoints.loading.load", lambda *_: (model, task))
    monkeypatch.setattr(
        f"{ours}.analysis.open_vocabulary.perplexities", lambda *given: seen.append(given[1:]) or []
    )
    return seen


def test_padding_in_the_text_is_refused(scored, tmp_path):
    path = tmp_path / "text"
    path.write_text("a <pad>\n<pad> <pad>\n")
    message = "text: has the word <pad> 3 times, fairseq's padding, which is not a word to predict"
    with pytest.raises(UserError, match=message):
        main(["open-vocabulary", "m.pt", "--text", str(path)])
    assert scored == []


def test_a_carriage_return_within_a_line_is_refused_as_in_preparing_data(scored, tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"a b\r\nc d\r\n")
    main(["open-vocabulary", "m.pt", "--text", str(path)])
    assert scored == [(["a", "b", "</s>", "c", "d", "</s>"], True, True)]
    path.write_bytes(b"a b\rc d\ne\r\n")
    with pytest.raises(UserError, match="text: 1 carriage returns within lines"):
        main(["open-vocabulary", "m.pt", "--text", str(path)])


def test_the_command_starts_the_text_as_in_training(scored, tmp_path):
    path = tmp_path / "text"
    path.write_text("a b\n")
    main(["open-vocabulary", "m.pt", "--text", str(path)])
    assert scored == [(["a", "b", "</s>"], True, True)]
    path.write_text("")
    with pytest.raises(UserError, match="empty text has no perplexity"):
        main(["open-vocabulary", "m.pt", "--text", str(path)])
