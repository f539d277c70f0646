"""Unknown words: heuristics on attention made by hand, and through the task's decoding."""

import itertools
import json
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch
from fairseq.criterions.cross_entropy import CrossEntropyCriterion
from fairseq.data import indexed_dataset
from fairseq.tasks.translation import TranslationTask
from fairseq.token_generation_constraints import pack_constraints
from omegaconf import OmegaConf

from fairseq_outlayers.decoding.unk_replacement import (
    HEURISTICS,
    UnkReplacement,
    UnkReplacementConfig,
    attended_words,
    build_replacement,
    read_translations,
)
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.tasks.translation_outlayers import (
    TranslationOutlayersConfig,
    TranslationOutlayersTask,
)
from tests.conftest import make_batch, make_model, small_sizes

PAD, EOS, UNK = 1, 2, 3
# Columns are target tokens; rows are the source: padding, three words, </s>.
ATTENTION = torch.tensor(
    [
        [0.0, 0.0, 0.0, 0.0],
        [0.6, 0.1, 0.2, 0.0],
        [0.3, 0.1, 0.5, 0.0],
        [0.1, 0.2, 0.2, 0.0],
        [0.0, 0.6, 0.1, 1.0],
    ]
)
TABLE = "haus\thouse\t-0.5\nhaus\thome\t-0.1\nBonn\tcity\t-0.1\n"


@pytest.fixture
def table(tmp_path):
    (tmp_path / "table").write_text(TABLE)
    return str(tmp_path / "table")


def test_the_end_of_the_source_is_never_attended_to():
    is_word = torch.tensor([False, True, True, True, False])
    words = attended_words(ATTENTION, is_word)
    assert words[:3] == [0, 2, 1]
    assert words[3] in (0, 1, 2)  # all weight is on </s>: still a word


@pytest.mark.parametrize(
    ("heuristic", "expected"),
    [
        ("copy", {"haus": "haus", "Bonn": "Bonn", "neu": "neu"}),
        ("dictionary", {"haus": "home", "Bonn": "city", "neu": "neu"}),
        ("lower_case", {"haus": "home", "Bonn": "Bonn", "neu": "neu"}),
    ],
)
def test_the_heuristics_on_a_known_a_capitalized_and_an_unknown_word(heuristic, expected, table):
    translations = read_translations(table)
    found = {word: HEURISTICS[heuristic](word, translations) for word in expected}
    assert found == expected


def sample_and_hypothesis(tokens):
    sample = {"net_input": {"src_tokens": torch.tensor([[PAD, 4, UNK, 5, EOS]])},
              "id": torch.tensor([1])}  # fmt: skip
    return sample, {"tokens": torch.tensor(tokens), "attention": ATTENTION}


def words(dictionary, hypothesis):
    return [dictionary[token] for token in hypothesis["tokens"].tolist()]


def test_unknown_words_of_a_hypothesis_are_replaced_from_the_text(dictionaries, tmp_path):
    (tmp_path / "text").write_text("other line\nw0 Bonn w1\n")
    config = UnkReplacementConfig(unk_replacement="copy", source_text=str(tmp_path / "text"))
    replacement = UnkReplacement(config, *dictionaries)
    sample, hypothesis = sample_and_hypothesis([UNK, 7, UNK, EOS])
    replacement.apply(sample, [[hypothesis]])
    assert words(dictionaries[1], hypothesis) == ["w0", "w3", "Bonn", "</s>"]


@pytest.mark.parametrize(
    ("sizes", "truncates", "wrong"),
    [
        ([3, 4], False, None), ([2, 4], False, ":1: 2 words, but the binarized sentence has 1: "),
        ([3, 4, 1], False, None), ([3, 4, 2], False, ":3: 0 words, but"),
        ([3, 3], True, None), ([3, 5], True, ":2: 3 words, but the binarized sentence has 4: "),
    ],
)  # fmt: skip
def test_the_lengths_of_the_text_are_compared_before_decoding(
    dictionaries, tmp_path, sizes, truncates, wrong
):
    (tmp_path / "text").write_text("other line\nw0 Bonn w1\n")
    config = UnkReplacementConfig(unk_replacement="copy", source_text=str(tmp_path / "text"))
    config.truncate_source = truncates
    replacement = UnkReplacement(config, *dictionaries)
    expected = pytest.raises(UserError, match=f"text{wrong}") if wrong else nullcontext()
    with expected:
        replacement.check_text(torch.tensor(sizes))


def test_without_the_text_words_come_from_the_source_dictionary(dictionaries, table):
    replacement = UnkReplacement(
        UnkReplacementConfig(unk_replacement="dictionary", unk_dictionary=table), *dictionaries
    )
    replacement.translations["w0"] = "w8"
    sample, hypothesis = sample_and_hypothesis([UNK, UNK, UNK, EOS])
    replacement.apply(sample, [[hypothesis]])
    assert words(dictionaries[1], hypothesis) == ["w8", "w1", "<unk>", "</s>"]
    assert hypothesis["tokens"][0] == dictionaries[1].index("w8")  # a known word keeps its id


def test_new_words_of_interactive_input_are_copied_and_hidden_from_the_models(
    make_task, decode, dictionaries
):
    task = make_task(unk_replacement="copy")
    model = make_model("luong_lstm", task).eval()
    with torch.no_grad():
        model.decoder.output_projection.bias[UNK] = 9.0
    (tokens, _), lengths = task.get_interactive_tokens_and_lengths(
        ["w1 Bonn w2 neu", "w1 w2"], lambda line: line
    )
    assert lengths == [5, 3]
    assert tokens.tolist() == [5, len(dictionaries[0]) - 2, 6, len(dictionaries[0]) - 1, EOS]
    sample = {"net_input": {"src_tokens": tokens[None], "src_lengths": torch.tensor([5])}}
    found = decode(task, [model], sample, beam=1)[0][0]
    inside = tokens.clone()
    inside[[1, 3]] = UNK
    reference = {"net_input": {"src_tokens": inside[None], "src_lengths": torch.tensor([5])}}
    expected = decode(make_task(), [model], reference, beam=1)[0][0]
    assert torch.equal(found["positional_scores"], expected["positional_scores"])
    source = ["w1", "Bonn", "w2", "neu"]
    best = expected["attention"][:-1].argmax(0)
    assert UNK in expected["tokens"]
    assert words(dictionaries[1], found) == [
        source[best[n]] if token == UNK else dictionaries[1][token]
        for n, token in enumerate(expected["tokens"].tolist())
    ]


def test_candidates_ensembles_and_alignments_go_with_replacement(make_task, decode):
    task = make_task(unk_replacement="copy", candidate_frequent=9)
    models = [make_model("luong_lstm", task, seed=seed).eval() for seed in (1, 2)]
    for model in models:
        model.decoder.output_projection.bias.data[UNK] = 9.0
    batch = make_batch(task, [(4, 5), (2, 3)])
    for _ in range(2):  # the second batch meets the grown dictionary
        found = decode(task, models, batch, print_alignment="hard")
        for hypothesis in itertools.chain(*found):
            assert UNK not in hypothesis["tokens"]
            assert len(hypothesis["replaced"]) > 0
            assert len(hypothesis["alignment"]) > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unk_replacement": "dictionary"}, "dictionary needs --unk-dictionary"),
        ({"unk_replacement": "copy", "unk_dictionary": "x"}, "takes no --unk-dictionary"),
        ({"unk_replacement": "copy", "source_text": "nowhere"}, "nowhere: no such file"),
        ({"unk_dictionary": "x"}, "--unk-dictionary x has no effect without --unk-replacement"),
        ({"source_text": "x"}, "--source-text x has no effect without --unk-replacement"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message, make_task):
    with pytest.raises(UserError, match=message):
        make_task(**options)


def test_special_symbols_translate_no_word(tmp_path):
    table = tmp_path / "table"
    table.write_text("a\t</s>\t-0.1\na\tx\t-0.2\nb\t<unk>\t0\n", encoding="utf-8")
    assert read_translations(str(table)) == {"a": "x"}


def test_a_dictionary_that_is_no_table_is_named_with_its_line(tmp_path):
    (tmp_path / "table").write_text("a b -1\nhaus house\n")
    with pytest.raises(
        UserError, match="table:2: 'haus house' is not a line of a fast_align table"
    ):
        read_translations(str(tmp_path / "table"))


def test_another_text_is_refused(dictionaries, tmp_path):
    (tmp_path / "text").write_text("one\ntwo words\n")
    config = UnkReplacementConfig(unk_replacement="copy", source_text=str(tmp_path / "text"))
    sample, hypothesis = sample_and_hypothesis([UNK, 7, UNK, EOS])
    replacement = UnkReplacement(config, *dictionaries)
    with pytest.raises(UserError, match="text:2: 2 words, but the binarized sentence has 3"):
        replacement.apply(sample, [[hypothesis]])


def test_sentences_padded_to_buckets_have_the_words_of_the_text(make_task, tmp_path, monkeypatch):
    (tmp_path / "text").write_text("one\n")
    task = make_task(unk_replacement="copy", source_text=str(tmp_path / "text"))
    task.cfg.num_batch_buckets = 1
    monkeypatch.setattr(TranslationTask, "load_dataset", lambda *_, **__: None)
    task.dataset = lambda split: SimpleNamespace(src_sizes=[5])  # as padded
    task.load_dataset("test")
    task.cfg.num_batch_buckets = 0
    with pytest.raises(UserError, match="1 words, but the binarized sentence has 4"):
        task.load_dataset("test")


@pytest.mark.parametrize("special", ["</s>", "<pad>"])
@pytest.mark.parametrize("pads_left", [False, True])
def test_fairseqs_symbols_in_a_text_are_words_that_are_not_copied(
    special, pads_left, dictionaries, tmp_path
):
    """fairseq-preprocess warns of them and goes on."""
    (tmp_path / "text").write_text(f"w0 {special} Bonn\nw0\n")
    config = UnkReplacementConfig(unk_replacement="copy", source_text=str(tmp_path / "text"))
    source, target = dictionaries
    ids = [source.index("w0"), source.index(special), UNK, EOS]
    sentences = [[*ids, PAD], [ids[0], EOS, PAD, PAD, PAD]]
    if pads_left:
        sentences = [[PAD, *ids], [PAD, PAD, PAD, ids[0], EOS]]
    sample = {"net_input": {"src_tokens": torch.tensor(sentences)}, "id": torch.tensor([0, 1])}
    # To the special word, most of all, then to the third or to the end of the sentence.
    weights = torch.tensor([0.0, 0.5, 0.3, 0.2, 0.0]).roll(int(pads_left))
    found = [
        {"tokens": torch.tensor([UNK, EOS]), "attention": weights.repeat(2, 1).T} for _ in range(2)
    ]
    replacement = UnkReplacement(config, source, target)
    replacement.check_text([4, 2])
    replacement.apply(sample, [[one] for one in found])
    assert [words(target, one) for one in found] == [["Bonn", "</s>"], ["w0", "</s>"]]


def test_padding_words_at_the_start_of_a_text_are_not_taken_for_other_words(dictionaries, tmp_path):
    (tmp_path / "text").write_text("<pad> <pad> w0 Bonn\n")
    config = UnkReplacementConfig(unk_replacement="copy", source_text=str(tmp_path / "text"))
    source, target = dictionaries
    tokens = torch.tensor([[PAD, PAD, source.index("w0"), UNK, EOS]])
    sample = {"net_input": {"src_tokens": tokens}, "id": torch.tensor([0])}
    attention = torch.tensor([[0.4, 0.0, 0.1, 0.3, 0.2]]).T.repeat(1, 2)
    hypothesis = {"tokens": torch.tensor([UNK, EOS]), "attention": attention}
    replacement = UnkReplacement(config, source, target)
    replacement.check_text([5])
    replacement.apply(sample, [[hypothesis]])
    assert words(target, hypothesis) == ["Bonn", "</s>"]


@pytest.mark.parametrize("special", ["</s>", "<pad>"])
def test_of_a_source_of_special_symbols_nothing_is_copied(special, dictionaries):
    replacement = UnkReplacement(UnkReplacementConfig(unk_replacement="copy"), *dictionaries)
    source = [4, dictionaries[0].index(special), EOS]  # the first one is the only word
    for tokens, expected in ((source, dictionaries[0][4]), (source[1:], "<unk>")):
        attention = torch.ones(len(tokens), 2)
        hypothesis = {"tokens": torch.tensor([UNK, EOS]), "attention": attention}
        replacement.apply({"net_input": {"src_tokens": torch.tensor([tokens])}}, [[hypothesis]])
        assert words(dictionaries[1], hypothesis) == [expected, "</s>"]


@pytest.mark.parametrize("more", ["", " cut off"])
def test_the_rest_of_a_truncated_sentence_is_left_out(more, dictionaries, tmp_path):
    (tmp_path / "text").write_text(f"one\nw0 Bonn w1{more}\n")
    config = TranslationOutlayersConfig(
        unk_replacement="copy", source_text=str(tmp_path / "text"), truncate_source=True
    )
    sample, hypothesis = sample_and_hypothesis([UNK, 7, UNK, EOS])
    UnkReplacement(config, *dictionaries).apply(sample, [[hypothesis]])
    assert words(dictionaries[1], hypothesis) == ["w0", "w3", "Bonn", "</s>"]


@pytest.mark.parametrize("wrong", [False, True])
def test_the_text_of_truncated_sentences_is_compared_with_their_real_lengths(
    dictionaries, tmp_path, wrong
):
    """fairseq's sizes of those that are not cut off are too large by one."""
    text = ["w1 w2", "w1 w2 w3 w4 w5", "w1 w2 w3 w4 w5 w6 w7"]
    for language, dictionary in zip(("xx", "yy"), dictionaries, strict=True):
        dictionary.save(str(tmp_path / f"dict.{language}.txt"))
        path = str(tmp_path / f"test.xx-yy.{language}")
        builder = indexed_dataset.make_builder(f"{path}.bin", "mmap", len(dictionary))
        for line in text:
            builder.add_item(dictionary.encode_line(line, add_if_not_exist=False))
        builder.finalize(f"{path}.idx")
    (tmp_path / "text").write_text("\n".join(["w1", *text[1:]] if wrong else text))
    config = TranslationOutlayersConfig(
        data=str(tmp_path), source_lang="xx", target_lang="yy", max_source_positions=6,
        truncate_source=True, dataset_impl="mmap", unk_replacement="copy",
        source_text=str(tmp_path / "text"),
    )  # fmt: skip
    task = TranslationOutlayersTask.setup_task(config)
    message = "text:1: 1 words, but the binarized sentence has 2"
    with pytest.raises(UserError, match=message) if wrong else nullcontext():
        task.load_dataset("test")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("w0 Bonn w2", "text:2: 'w2', but the binarized sentence has 'w1'"),
        ("w1 Bonn w0", "text:2: 'w1', but the binarized sentence has 'w0'"),
        ("w0 w5 w1", "text:2: 'w5', but the binarized sentence has '<unk>'"),
        ("w0 Bonn neu", "text:2: 'neu', but the binarized sentence has 'w1'"),
    ],
)
@pytest.mark.parametrize("token", [7, UNK])
def test_a_text_with_another_known_word_is_refused(text, message, token, dictionaries, tmp_path):
    (tmp_path / "text").write_text(f"one\n{text}\n")
    config = UnkReplacementConfig(unk_replacement="copy", source_text=str(tmp_path / "text"))
    replacement = UnkReplacement(config, *dictionaries)
    sample, hypothesis = sample_and_hypothesis([token, 7, EOS])  # with <unk> and without
    with pytest.raises(UserError, match=message):
        replacement.apply(sample, [[hypothesis]])


@pytest.mark.parametrize("word", ["w1", "nowhere"])
def test_a_table_of_the_other_direction_is_warned_of(word, dictionaries, tmp_path, caplog):
    (tmp_path / "table").write_text(f"{word}\tv\t-0.1\n")
    table = str(tmp_path / "table")
    config = UnkReplacementConfig(unk_replacement="dictionary", unk_dictionary=table)
    UnkReplacement(config, *dictionaries)
    assert ("of the other direction?" in caplog.text) == (word == "nowhere")


def test_a_byte_order_mark_belongs_to_no_word(dictionaries, tmp_path):
    (tmp_path / "text").write_text("x\n", encoding="utf-8-sig")
    (tmp_path / "table").write_text("haus house -1\n", encoding="utf-8-sig")
    config = UnkReplacementConfig(unk_replacement="copy", source_text=str(tmp_path / "text"))
    assert UnkReplacement(config, *dictionaries).text == [["x"]]
    assert read_translations(str(tmp_path / "table")) == {"haus": "house"}


@pytest.mark.parametrize("logarithm", ["nan", "inf", "-inf", "0.1"])
def test_what_is_no_logarithm_of_a_probability_is_refused(logarithm, tmp_path):
    (tmp_path / "table").write_text(f"a b -1\nhaus house {logarithm}\n")
    with pytest.raises(
        UserError, match=f"table:2: 'haus house {logarithm}' is not a line of a fast_align table"
    ):
        read_translations(str(tmp_path / "table"))


def test_new_words_are_forgotten_when_the_next_lines_are_read(make_task, decode, dictionaries):
    task = make_task(unk_replacement="copy")
    model = make_model("luong_lstm", task).eval()
    with torch.no_grad():
        model.decoder.output_projection.bias[UNK] = 9.0
    sizes = [len(dictionary) for dictionary in dictionaries]
    for number in range(5):
        lines = [f"w1 new{number} w2"]
        (tokens,), _ = task.get_interactive_tokens_and_lengths(lines, lambda line: line)
        sample = {"net_input": {"src_tokens": tokens[None], "src_lengths": torch.tensor([4])}}
        found = decode(task, [model], sample, beam=1)[0][0]
        assert words(dictionaries[0], {"tokens": tokens}) == ["w1", f"new{number}", "w2", "</s>"]
        assert set(words(dictionaries[1], found)) <= {"w1", f"new{number}", "w2", "</s>"} | {
            f"w{n}" for n in range(20)
        }
        # What this line has brought, and nothing of the lines before.
        assert len(dictionaries[0]) == sizes[0] + 1
        assert len(dictionaries[1]) <= sizes[1] + 3


def test_a_validation_in_training_leaves_the_target_dictionary_as_it_was(
    make_task, dictionaries, tmp_path
):
    (tmp_path / "text").write_text("Bonn Ulm Jena\n" * 2)
    task = make_task(
        unk_replacement="copy",
        source_text=str(tmp_path / "text"),
        eval_bleu=True,
        eval_bleu_args=json.dumps({"beam": 1, "max_len_b": 9}),
    )
    config = OmegaConf.create({"_name": "luong_lstm", **small_sizes("luong_lstm")})
    model = task.build_model(config).eval()
    with torch.no_grad():
        model.decoder.output_projection.bias[UNK] = 9.0
    batch = make_batch(task, [(3, 3), (3, 4)])
    batch["net_input"]["src_tokens"][:, :3] = UNK
    *_, logged = task.valid_step(batch, model, CrossEntropyCriterion(task, sentence_avg=False))
    assert logged["_bleu_sys_len"] > 0  # a search has been made
    assert len(dictionaries[1]) == task.unk_replacement.num_target_words


def test_a_word_that_an_earlier_replacement_has_added_is_an_unknown_constraint(
    make_task, dictionaries
):
    task = make_task(unk_replacement="copy")
    added = dictionaries[1].add_symbol("new0")
    constraints = pack_constraints([[torch.tensor([5, added])], [torch.tensor([6])]])
    (tokens,), lengths = task.get_interactive_tokens_and_lengths(["w1 w2"], lambda line: line)
    data = task.build_dataset_for_inference([tokens] * 2, lengths * 2, constraints)
    expected = pack_constraints([[torch.tensor([5, UNK])], [torch.tensor([6])]])
    assert torch.equal(torch.stack([data[n]["constraints"] for n in range(2)]), expected)


@pytest.mark.parametrize("words_of", ["w1 <unk>", "w1 w2"])
def test_unknown_source_words_that_cannot_be_copied_are_warned_of_once(
    words_of, dictionaries, caplog
):
    replacement = UnkReplacement(UnkReplacementConfig(unk_replacement="copy"), *dictionaries)
    source = [dictionaries[0].index(word) for word in words_of.split()]
    attention = torch.tensor([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])  # to the second word
    for _ in range(2):
        sample = {"net_input": {"src_tokens": torch.tensor([[*source, EOS]])}}
        hypothesis = {"tokens": torch.tensor([UNK, EOS]), "attention": attention}
        replacement.apply(sample, [[hypothesis]])
    assert caplog.text.count("give the tokenized source text as --source-text") == (
        "<unk>" in words_of
    )


def test_a_model_without_attention_is_refused(dictionaries):
    replacement = UnkReplacement(UnkReplacementConfig(unk_replacement="copy"), *dictionaries)
    sample, hypothesis = sample_and_hypothesis([UNK, EOS])
    hypothesis["attention"] = torch.empty(0)
    with pytest.raises(UserError, match="needs attention"):
        replacement.apply(sample, [[hypothesis]])


@pytest.mark.parametrize(("unit", "warned"), [("un@@", True), ("▁un", True), ("un", False)])
def test_a_dictionary_of_subword_units_is_warned_of(unit, warned, dictionaries, caplog):
    source, target = dictionaries
    target.add_symbol(unit)
    build_replacement(UnkReplacementConfig(unk_replacement="copy"), source, target)
    assert ("--unk-replacement copy: the target dictionary has subword units" in caplog.text) == (
        warned
    )


def test_of_an_empty_source_nothing_is_copied(dictionaries):
    replacement = UnkReplacement(UnkReplacementConfig(unk_replacement="copy"), *dictionaries)
    hypothesis = {"tokens": torch.tensor([UNK, EOS]), "attention": torch.ones(1, 2)}
    replacement.apply({"net_input": {"src_tokens": torch.tensor([[EOS]])}}, [[hypothesis]])
    assert hypothesis["tokens"].tolist() == [UNK, EOS]


def test_sentences_without_numbers_are_not_looked_up_in_the_text(dictionaries, tmp_path):
    (tmp_path / "text").write_text("other\n")
    config = UnkReplacementConfig(unk_replacement="copy", source_text=str(tmp_path / "text"))
    sample, hypothesis = sample_and_hypothesis([UNK, 7, UNK, EOS])
    del sample["id"]
    UnkReplacement(config, *dictionaries).apply(sample, [[hypothesis]])
    assert words(dictionaries[1], hypothesis) == ["w0", "w3", "<unk>", "</s>"]


def test_the_text_is_not_compared_with_the_training_set(make_task, tmp_path, monkeypatch):
    (tmp_path / "text").write_text("one\n")
    task = make_task(unk_replacement="copy", source_text=str(tmp_path / "text"))
    task.cfg.train_subset = "train"
    monkeypatch.setattr(TranslationTask, "load_dataset", lambda *_, **__: None)
    task.dataset = lambda split: SimpleNamespace(src_sizes=[5])
    task.load_dataset("train")
    with pytest.raises(UserError, match="text:1: 1 words"):
        task.load_dataset("valid")


@pytest.mark.parametrize(("word", "expected"), [("eBay", "x"), ("1984", "1984"), ("7er", "7er")])
def test_words_that_start_in_lower_case_alone_are_translated(word, expected):
    assert HEURISTICS["lower_case"](word, {word: "x"}) == expected
