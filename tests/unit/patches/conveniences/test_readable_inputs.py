"""What users hand over is read whole or refused by its name: dictionaries, texts, folders."""

import argparse
import re
import struct
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.data import Dictionary, data_utils, indexed_dataset
from fairseq_cli import interactive

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import DictionaryFile
from fairseq_outlayers.formats.lexicon import read_lexicon
from fairseq_outlayers.formats.text import read_words
from fairseq_outlayers.patches.conveniences import named_checkpoint, parallel_texts
from fairseq_outlayers.patches.conveniences.checkpoint_structure import structure_error
from fairseq_outlayers.patches.conveniences.known_words import check_words
from fairseq_outlayers.patches.conveniences.parallel_texts import check_lines, count_lines
from fairseq_outlayers.stock.data_folders import check_data_folders
from fairseq_outlayers.stock.texts import check_stock_texts
from tests.conftest import make_dictionary


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no words"),
        (b"a 3\na 2\n", "the word 'a' is repeated"),
        (b"a\n", "'a' has no count"),
        (b"a many\n", "'a' has no count"),
        (b"\xff\xfe 3\n", "not UTF-8 text"),
        (b"a 3\nb -5\n", "'b' has the count -5"),
        (b"a " + b"9" * 400 + b"\n", "'a' has the count 99999999999999999999;"),
    ],
)
def test_a_dictionary_that_is_none_is_refused_by_its_name(tmp_path, content, message):
    (tmp_path / "dict.de.txt").write_bytes(content)
    with pytest.raises(UserError, match=f"dict.de.txt: {message}"):
        Dictionary.load(str(tmp_path / "dict.de.txt"))


def folders(tmp_path, *dictionaries):
    for number, text in enumerate(dictionaries):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "dict.de.txt").write_text(text)
    return argparse.Namespace(
        data=":".join(str(tmp_path / str(n)) for n in range(len(dictionaries)))
    )


def test_data_folders_of_different_dictionaries_are_refused(tmp_path):
    with pytest.raises(UserError, match=r"2/dict.de.txt: another dictionary than .*0/dict.de.txt"):
        check_data_folders(folders(tmp_path, "a 3\nb 2\n", "a 9\nb 7\n", "b 3\na 2\n"))


def test_data_folders_of_one_dictionary_are_read_as_ever(tmp_path):
    check_data_folders(folders(tmp_path, "a 3\nb 2\n", "a 9\nb 7\n"))
    (tmp_path / "1" / "dict.de.txt").unlink()  # not read by fairseq
    check_data_folders(argparse.Namespace(data=f"{tmp_path / '0'}:{tmp_path / '1'}"))
    check_data_folders(argparse.Namespace(data="nowhere"))


MARKED = b"\xef\xbb\xbf"


def test_a_byte_order_mark_is_no_part_of_a_dictionarys_first_word(tmp_path):
    (tmp_path / "dict.de.txt").write_bytes(MARKED + b"a 3\nb 2\n")
    dictionary = Dictionary.load(str(tmp_path / "dict.de.txt"))
    assert dictionary.symbols[4:] == ["a", "b"]
    assert DictionaryFile.read(tmp_path / "dict.de.txt").words() == ["a", "b"]


def test_a_byte_order_mark_is_no_part_of_the_first_sentence_to_translate(tmp_path):
    (tmp_path / "text").write_bytes(MARKED + b"a b\nc\nd\n")
    assert list(interactive.buffered_read(str(tmp_path / "text"), 2)) == [["a b", "c"], ["d"]]


def test_words_of_interactive_input_may_be_separated_by_any_white_space():
    """BPE codes split at spaces only."""
    lines, read = ["a\tb\u00a0c\u2028d  e", ""], []
    task = SimpleNamespace(
        get_interactive_tokens_and_lengths=lambda lines, encode: (read.extend(lines), []),
        build_dataset_for_inference=lambda *_, **__: None,
        get_batch_iterator=lambda **_: SimpleNamespace(next_epoch_itr=lambda shuffle: []),
    )
    cfg = SimpleNamespace(
        generation=SimpleNamespace(constraints=None),
        dataset=SimpleNamespace(
            max_tokens=9, batch_size=9, skip_invalid_size_inputs_valid_test=False
        ),
    )
    assert not list(interactive.make_batches(lines, cfg, task, 9, str))
    assert read == ["a b c d  e", ""]


@pytest.mark.parametrize(("text", "symbols"), [("a </s> b", "</s>"), ("<pad> <s>", "<pad>, <s>")])
def test_symbols_of_fairseq_in_a_text_to_translate_are_warned_of(tmp_path, caplog, text, symbols):
    (tmp_path / "text").write_text(f"a <unk> x<s>\n{text}\n")
    list(interactive.buffered_read(str(tmp_path / "text"), 1))
    (warning,) = (record.message for record in caplog.records)
    assert warning.startswith(f"line 2 of the input has {symbols}, which fairseq reads")


def test_a_text_to_translate_that_is_not_utf8_is_refused_with_its_line(monkeypatch):
    lines = ["a", "b " + b"\xe4".decode(errors="surrogateescape")]  # as in the locale C
    monkeypatch.setattr(interactive.fileinput, "input", lambda **options: nullcontext(lines))
    with pytest.raises(UserError, match=r"line 2 of the input is not UTF-8 \(character 3\)"):
        list(interactive.buffered_read("-", 1))


@pytest.mark.parametrize("subsets", ["valid", "valid,valid2"])
def test_validation_sets_that_no_option_names_are_refused(tmp_path, subsets):
    for name in ("valid.de-en.de.idx", "valid1.de-en.de.idx", "valid2.de-en.de.idx"):
        (tmp_path / name).touch()

    def check(**options):
        flags = ("ignore_unused_valid_subsets", "combine_valid_subsets", "disable_validation")
        given = {**dict.fromkeys(flags, False), "valid_subset": subsets, **options}
        task = argparse.Namespace(data=str(tmp_path))
        data_utils.raise_if_valid_subsets_unintentionally_ignored(
            argparse.Namespace(dataset=argparse.Namespace(**given), task=task)
        )

    unused = sorted({"valid1", "valid2"} - set(subsets.split(",")))
    every = ",".join([subsets, *unused])
    with pytest.raises(
        UserError, match=f"not used: {', '.join(unused)}: add --valid-subset {every}"
    ):
        check()
    check(valid_subset="valid,valid1,valid2")
    check(ignore_unused_valid_subsets=True)


def test_a_byte_order_mark_is_no_part_of_a_lexicons_or_descriptions_first_word(tmp_path):
    (tmp_path / "lexicon").write_bytes(MARKED + b"a\tb\t-1\n")
    assert read_lexicon(tmp_path / "lexicon", "fast_align").source_words == ["a"]
    (tmp_path / "descriptions").write_bytes(MARKED + b"new\ta b\n")
    assert next(read_words(tmp_path / "descriptions", "\t")) == ["new", "a b"]


@pytest.fixture
def corpus(tmp_path):
    """A binarized text of three sentences, and the beginning of its files' names."""
    builder = indexed_dataset.make_builder(str(tmp_path / "text.bin"), "mmap", vocab_size=20)
    for words in ([4, 5, 2], [6, 2], [7, 8, 9, 2]):
        builder.add_item(torch.tensor(words))
    builder.finalize(str(tmp_path / "text.idx"))
    return tmp_path / "text"


def load(corpus, words=20):
    return data_utils.load_indexed_dataset(str(corpus), make_dictionary(words), None)


@pytest.mark.parametrize("asked", ["lazy", "cached", "raw", "huffman", "fasta"])
def test_a_format_that_the_text_does_not_have_is_named_not_called_damage(corpus, asked):
    """To binarize it again, as for a damaged text, would end here again."""
    message = f"--dataset-impl {asked}: {corpus} is in the format mmap: leave the option out"
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        data_utils.load_indexed_dataset(str(corpus), make_dictionary(20), asked)
    assert len(data_utils.load_indexed_dataset(str(corpus), make_dictionary(20), "mmap")) == 3


def test_of_two_formats_side_by_side_either_may_be_asked_for(corpus):
    corpus.write_text("w0 w1\n", encoding="utf-8")
    dictionary = make_dictionary(20)
    binary = data_utils.load_indexed_dataset(str(corpus), dictionary, "mmap")
    assert isinstance(binary, indexed_dataset.MMapIndexedDataset)
    raw = data_utils.load_indexed_dataset(str(corpus), dictionary, "raw")
    assert isinstance(raw, indexed_dataset.IndexedRawTextDataset)
    with pytest.raises(UserError, match="is in the format mmap and raw: leave"):
        data_utils.load_indexed_dataset(str(corpus), dictionary, "cached")


def test_a_whole_text_is_loaded(corpus):
    assert [sentence.tolist() for sentence in load(corpus)] == [[4, 5, 2], [6, 2], [7, 8, 9, 2]]


@pytest.mark.parametrize("size", range(0, 62, 7))
@pytest.mark.parametrize("name", ["idx", "bin"])
def test_a_text_that_is_cut_short_is_refused_by_its_name(corpus, name, size):
    path = corpus.with_suffix(f".{name}")
    content = path.read_bytes()[:-1][:size]
    path.write_bytes(content)
    with pytest.raises(UserError, match=rf"text(\.{name}|\.idx or \.bin): "):
        load(corpus)


def test_a_text_whose_other_half_is_missing_is_refused(corpus):
    corpus.with_suffix(".bin").unlink()
    with pytest.raises(UserError, match=r"text.bin: no such file, but the other half exists"):
        load(corpus)


def test_an_index_that_tells_of_more_than_there_is_is_refused(corpus):
    path = corpus.with_suffix(".idx")
    content = bytearray(path.read_bytes())
    content[18:26] = struct.pack("<Q", 10**12)
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"text.idx: truncated or damaged"):
        load(corpus)


def test_a_text_with_words_that_the_dictionary_lacks_is_refused(corpus):
    assert load(corpus, words=6)  # 10 symbols: 0 to 9
    with pytest.raises(UserError, match="has word id 9, but the dictionary has only 9 symbols"):
        load(corpus, words=5)


WHOLE = {"model": {"w": torch.ones(1)}, "cfg": {"model": {}, "task": {}}}


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ([1], "it is a list"),
        ({}, "it has no 'model' with parameters"),
        ({"model": 3}, "it has no 'model' with parameters"),
        ({"model": {"w": 3}}, "w in its 'model' is a int"),
        (
            {"model": {"w": torch.ones(1)}},
            "it has neither 'args' nor 'cfg', the options of the training",
        ),
        ({**WHOLE, "cfg": {"model": {}, "task": 1}}, "its 'cfg' has no options of the task"),
        ({**WHOLE, "cfg": {"task": {}}}, "its 'cfg' has no options of the model"),
        ({**WHOLE, "cfg": "text"}, "its 'cfg' has no options of the task"),
        (
            {**WHOLE, "cfg": {"model": argparse.Namespace(), "task": argparse.Namespace()}},
            None,
        ),
        ({**WHOLE, "last_optimizer_state": "x"}, "its 'last_optimizer_state' is a str"),
        (
            {**WHOLE, "optimizer_history": [{"num_updates": float("nan")}]},
            "its 'num_updates' is 'nan', not a whole number of at least 0",
        ),
        (
            {**WHOLE, "extra_state": {"train_iterator": {"epoch": "x"}}},
            "its 'epoch' is 'x', not a whole number of at least 0",
        ),
        ({**WHOLE, "extra_state": {"train_iterator": None}, "optimizer_history": [{}]}, None),
        (WHOLE, None),
    ],
)
def test_a_checkpoint_of_another_structure_is_told_by_what_it_lacks(state, message):
    assert structure_error(state) == message


@pytest.mark.parametrize("state", [[1, 2], torch.ones(3), {}, {"model": {}, "args": None}])
def test_a_file_that_is_no_checkpoint_is_refused_by_its_name(tmp_path, state):
    torch.save(state, tmp_path / "model.pt")
    with pytest.raises(UserError, match=r"model.pt.*not a fairseq checkpoint"):
        checkpoint_utils.load_checkpoint_to_cpu(str(tmp_path / "model.pt"))
    with pytest.raises(UserError, match="a folder"):
        checkpoint_utils.load_checkpoint_to_cpu(str(tmp_path))


def test_a_save_folder_that_is_a_file_is_refused_by_its_option(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UserError, match=f"--save-dir {path}: "):
            checkpoint_utils.verify_checkpoint_directory(str(path))


@pytest.mark.parametrize(
    ("option", "given", "message"),
    [
        ("restore_file", "nowhere.pt", "--restore-file nowhere.pt: no such checkpoint"),
        ("restore_file", ".", "--restore-file .: a folder, not a checkpoint"),
        ("continue_once", "nowhere.pt", "--continue-once nowhere.pt: no such checkpoint"),
        ("continue_once", ".", "--continue-once .: a folder, not a checkpoint"),
        ("finetune_from_model", "nowhere.pt", "--finetune-from-model nowhere.pt: no such"),
        ("finetune_from_model", ".", "--finetune-from-model .: a folder"),
    ],
)
def test_a_named_checkpoint_that_is_not_there_is_refused(tmp_path, option, given, message):
    options = {"restore_file": "checkpoint_last.pt", "finetune_from_model": None}
    cfg = argparse.Namespace(**{**options, option: given}, save_dir=str(tmp_path))
    with pytest.raises(UserError, match=f"^{message}"):
        checkpoint_utils.load_checkpoint(cfg, None)


def test_a_folder_in_the_place_of_the_last_checkpoint_is_refused(tmp_path):
    (tmp_path / "checkpoint_last.pt").mkdir()
    cfg = argparse.Namespace(
        restore_file="checkpoint_last.pt", finetune_from_model=None, save_dir=str(tmp_path)
    )
    with pytest.raises(UserError, match=r"--save-dir .*checkpoint_last.pt: a folder"):
        checkpoint_utils.load_checkpoint(cfg, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", (0, 0)),
        (b"a", (1, 0)),
        (b"a\nb", (2, 0)),
        (b"a\r\nb\r\n", (2, 0)),
        (b"a\rb\n", (1, 1)),
        (b"\r\r\n\n", (2, 1)),
    ],
)
def test_lines_end_in_line_feeds_and_other_returns_are_counted(
    tmp_path, monkeypatch, text, expected
):
    (tmp_path / "text").write_bytes(text)
    assert count_lines(str(tmp_path / "text")) == expected
    # A block may end between a return and its line feed.
    monkeypatch.setattr("fairseq_outlayers.patches.conveniences.parallel_texts.BLOCK", 1)
    assert count_lines(str(tmp_path / "text")) == expected


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (b"1\n2\n", "line n of one must translate line n of the other"),
        (b"1\r2\n3\n", "1 carriage returns within lines"),
        (b"", "empty file"),
        (b"\xff\n2\n3\n", "not UTF-8 text"),
    ],
)
def test_texts_that_are_out_of_step_are_refused(tmp_path, other, message):
    paths = [tmp_path / "a.de", tmp_path / "a.en"]
    paths[0].write_bytes(b"a\nb\nc\n")
    paths[1].write_bytes(other)
    with pytest.raises(UserError, match=message):
        check_lines([str(path) for path in paths])


def test_a_byte_order_mark_is_refused(tmp_path):
    (tmp_path / "text").write_text("a\n", encoding="utf-8-sig")
    with pytest.raises(UserError, match="text: begins with a byte order mark"):
        check_lines([str(tmp_path / "text")])


def test_words_that_fairseq_takes_for_its_symbols_are_counted_by_line(tmp_path, caplog):
    (tmp_path / "text.de").write_text("a <pad> b <pad>\n</s> c\n<unk> x<s> <pads>\n<pad>\n")
    args = argparse.Namespace(
        trainpref=str(tmp_path / "text"), validpref=None, testpref=None, align_suffix=None,
        source_lang="de", target_lang=None, only_source=True,
    )  # fmt: skip
    parallel_texts._check_texts(lambda args: None, args)
    said = [record.message.partition("text.de: ")[2] for record in caplog.records]
    assert [line.partition(", which")[0] for line in said] == [
        "1 lines contain the word </s>",
        "2 lines contain the word <pad>",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [("\n\n", "has no words"), ("x y\nz\n", "none of its first 3 words .'x', .* <unk>")],
)
def test_a_text_of_which_the_dictionary_has_no_word_is_refused(tmp_path, text, message):
    (tmp_path / "text").write_text(text)
    with pytest.raises(UserError, match=message):
        check_words(str(tmp_path / "text"), make_dictionary(5))
    (tmp_path / "text").write_text(f"{text}{make_dictionary(5)[4]}\n")
    check_words(str(tmp_path / "text"), make_dictionary(5))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eval_bleu_args": "{beam:5}"}, "--eval-bleu-args {beam:5}: must be JSON"),
        ({"eval_bleu_args": "[4]"}, r"--eval-bleu-args \[4\]: must be JSON.*not an object"),
        (
            {"eval_bleu_args": '{"beam": 2, "max-len": 3}'},
            "max-len is no option.*; did you mean max_len_",
        ),
        ({"eval_bleu_args": '{"beam_size": 3}'}, r"beam_size is no .*; did you mean beam\?"),
        ({"eval_bleu_args": '{"no_such": 1}'}, r"no_such is no option of a search\)$"),
        ({"eval_bleu_detok_args": "3"}, "--eval-bleu-detok-args 3: must be JSON.*not an object"),
        (
            {"optimizer_overrides": "open('x')"},
            r"--optimizer-overrides open\('x'\): must be a dict",
        ),
        ({"model_overrides": "{"}, "--model-overrides {: must be a dictionary"),
        (
            {"model_overrides": "{data:1}"},
            "--model-overrides {data:1}: must be a dictionary of lit",
        ),
        ({"model_overrides": "3"}, "--model-overrides 3: must be a dictionary .*not a dictionary"),
        ({"eval_bleu_detok": "no_such"}, "--eval-bleu-detok no_such: .*known are .*moses"),
        ({"bpe": "subword_nmt", "bpe_codes": "???"}, "--bpe subword_nmt needs --bpe-codes"),
    ],
)
def test_a_text_in_a_language_of_its_own_is_parsed_at_once(options, message):
    with pytest.raises(UserError, match=message):
        check_stock_texts(argparse.Namespace(**options))


def test_good_texts_pass_and_code_is_neither_accepted_nor_run(tmp_path):
    good = {"eval_bleu_args": '{"beam": 4}', "optimizer_overrides": "{'lr': 0.1}", "bpe": None}
    check_stock_texts(argparse.Namespace(**good, model_overrides="{'data': 'x', 'beam': None}"))
    code = f"{{'data': __import__('os').mkdir({str(tmp_path / 'ran')!r})}}"
    with pytest.raises(UserError, match="must be a dictionary of literals"):
        check_stock_texts(argparse.Namespace(**good, model_overrides=code))
    assert not (tmp_path / "ran").exists()


def test_a_shards_last_checkpoint_is_looked_for_by_its_suffix(tmp_path, monkeypatch):
    """It is there, so the file of --finetune-from-model is no longer needed."""
    (tmp_path / "checkpoint_lastx.pt").write_bytes(b"")
    trainer = SimpleNamespace(checkpoint_suffix="x")
    cfg = argparse.Namespace(
        restore_file="checkpoint_last.pt", finetune_from_model="nowhere.pt", save_dir=str(tmp_path)
    )
    found = []
    named_checkpoint._require_named(lambda *given: found.append(given), cfg, trainer)
    assert found == [(cfg, trainer)]


def test_every_part_of_a_text_is_looked_at(corpus):
    """fairseq reads train, train1, ... as one text."""
    for suffix in (".idx", ".bin"):
        content = corpus.with_suffix(suffix).read_bytes()
        corpus.with_name(f"text1{suffix}").write_bytes(content)
    dictionary = make_dictionary(20)
    whole = data_utils.load_indexed_dataset(str(corpus), dictionary, None, combine=True)
    assert len(whole) == 6
    corpus.with_name("text1.bin").write_bytes(content[:-1])
    with pytest.raises(UserError, match="truncated"):
        data_utils.load_indexed_dataset(str(corpus), dictionary, None, combine=True)


def test_a_tab_stays_one_where_it_separates_constraints():
    read, constraints = [], []
    task = SimpleNamespace(
        target_dictionary=make_dictionary(20),
        get_interactive_tokens_and_lengths=lambda lines, encode: (read.extend(lines), []),
        build_dataset_for_inference=lambda *_, **given: constraints.append(given["constraints"]),
        get_batch_iterator=lambda **_: SimpleNamespace(next_epoch_itr=lambda shuffle: []),
    )
    cfg = SimpleNamespace(
        generation=SimpleNamespace(constraints="ordered"),
        dataset=SimpleNamespace(
            max_tokens=9, batch_size=9, skip_invalid_size_inputs_valid_test=False
        ),
    )
    assert not list(interactive.make_batches(["a\u00a0b\tw1"], cfg, task, 9, str))
    assert read == ["a b"]
    assert constraints[0][0, 0] == 1  # one constraint


def test_a_text_that_ends_within_a_character_is_refused(tmp_path):
    (tmp_path / "text.de").write_bytes("a ä".encode()[:-1])
    with pytest.raises(UserError, match=r"text\.de: not UTF-8 text"):
        check_lines([str(tmp_path / "text.de")])


@pytest.mark.parametrize("end", [b"", b"\r\n"])
def test_a_return_within_a_line_of_a_file_to_translate_is_refused(end, tmp_path):
    """Standard input has another number of lines there."""
    path = tmp_path / "text"
    path.write_bytes(b"a\r\nb\rc" + end)
    with pytest.raises(UserError, match="text: 1 carriage returns within lines"):
        list(interactive.buffered_read(str(path), 2))
    path.write_bytes(b"a\r\nb c" + end)
    assert list(interactive.buffered_read(str(path), 2)) == [["a", "b c"]]
