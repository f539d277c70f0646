"""Static vectors of model2vec, against vectors worked out by hand; damaged and hostile files."""

import json
import re
import struct

import numpy as np
import pytest

pytest.importorskip("safetensors", reason="the extra embed is not installed")
from safetensors.numpy import save_file

from lib.model2vec_files import Model2VecVectors
from lib.model2vec_tokens import Tokens

from tests.data_prep.conftest import DATA_PREP

ROWS = np.array(
    [
        [0, 0, 0],  # [PAD]
        [9, 9, 9],  # [UNK]
        [1, 0, 0],  # the
        [0, 1, 0],  # cat
        [0, 0, 1],  # ##s
        [2, 2, 0],  # dog
        [4, 0, 2],  # ##house
    ],
    np.float32,
)
TOKENS = ["[PAD]", "[UNK]", "the", "cat", "##s", "dog", "##house"]
ADDED = [{"id": n, "content": t, "special": True} for n, t in enumerate(TOKENS[:2])]
WORDPIECE = {
    "added_tokens": ADDED,
    "normalizer": {"type": "BertNormalizer", "lowercase": True},
    "model": {
        "type": "WordPiece",
        "continuing_subword_prefix": "##",
        "vocab": {token: number for number, token in enumerate(TOKENS)},
    },
}
TRAIN = "the dog sat\nthe cats in the doghouse\nthe Dogs\n"


@pytest.fixture
def model(tmp_path):
    """A function that writes a model2vec folder; and the training text beside it."""
    (tmp_path / "train").write_text(TRAIN)

    def write(tokenizer=WORDPIECE, **tensors):
        folder = tmp_path / "potion"
        folder.mkdir(exist_ok=True)
        text = tokenizer if isinstance(tokenizer, str) else json.dumps(tokenizer)
        (folder / "tokenizer.json").write_text(text, encoding="utf-8")
        save_file({"embeddings": ROWS, **tensors}, folder / "model.safetensors")
        return folder

    return write


@pytest.fixture
def extract(command):
    def run(vectors="potion", *more):
        options = ["--vectors", vectors, "--train", "train", "--output", "out"]
        return command("extract_embeddings", *options, "--precision", "fp32", *more)

    return run


def table(folder):
    words = (folder / "out.dict.txt").read_text(encoding="utf-8").splitlines()
    rows = np.load(folder / "out.npy")
    return dict(zip([line.split()[0] for line in words], rows[4:], strict=True))


def test_whole_words_have_their_rows_and_others_the_mean_of_their_pieces(model, tmp_path, extract):
    model()
    done = extract()
    assert done.returncode == 0, done.stderr
    found = table(tmp_path)
    expected = {
        "the": ROWS[2],
        "cat": ROWS[3],
        "dog": ROWS[5],
        "cats": (ROWS[3] + ROWS[4]) / 2,
        "doghouse": (ROWS[5] + ROWS[6]) / 2,
        "Dogs": (ROWS[5] + ROWS[4]) / 2,  # its tokenizer lower-cases
    }
    for word, vector in expected.items():
        np.testing.assert_allclose(found[word], vector, rtol=1e-6, err_msg=word)
    mean = (ROWS[2] + ROWS[3] + ROWS[5]) / 3
    np.testing.assert_allclose(found["sat"], mean, rtol=1e-6)  # no pieces make it up
    assert not {"[UNK]", "##s", "s"} & found.keys()
    assert "skipped, tokens that are not whole words: 4" in done.stdout


def test_pieces_far_apart_have_their_own_rows(model, monkeypatch):
    folder = model()
    near = Model2VecVectors(folder).compose("doghouse")
    monkeypatch.setattr("lib.model2vec_files.BLOCK_WORDS", -100)  # every read is of rows far apart
    far = Model2VecVectors(folder).compose("doghouse")
    np.testing.assert_allclose(far, (ROWS[5] + ROWS[6]) / 2)
    np.testing.assert_array_equal(far, near)


def test_the_file_alone_is_recognized_and_gives_the_same_table(model, tmp_path, extract):
    folder = model()
    extract()
    expected = (tmp_path / "out.npy").read_bytes()
    assert extract(folder / "model.safetensors").returncode == 0
    assert (tmp_path / "out.npy").read_bytes() == expected


def test_rows_are_mapped_and_weighted_where_the_model_does(model, tmp_path, extract):
    order = np.array([6, 5, 4, 3, 2, 1, 0])
    weights = np.array([1, 1, 0.5, 2, 3, 1, 1], np.float32)
    model(embeddings=ROWS[order].copy(), mapping=order, weights=weights)
    assert extract().returncode == 0
    found = table(tmp_path)
    np.testing.assert_allclose(found["the"], 0.5 * ROWS[2])
    np.testing.assert_allclose(found["cat"], 2 * ROWS[3])
    np.testing.assert_allclose(found["cats"], (2 * ROWS[3] + 3 * ROWS[4]) / 2)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8])
def test_numbers_of_other_types_are_read(model, tmp_path, extract, dtype):
    model(embeddings=ROWS.astype(dtype))
    assert extract().returncode == 0
    np.testing.assert_array_equal(table(tmp_path)["dog"], ROWS[5])


TOKENIZERS = {
    "Unigram": {
        "type": "Unigram",
        "vocab": [["<pad>", 0], ["<unk>", 0], ["▁the", -1], ["▁cat", -2], ["s", -3], ["▁dog", -4],
                  ["▁", -5]],
    },
    "byte-level BPE": {
        "type": "BPE",
        "merges": [],
        "vocab": {"<s>": 0, "u": 1, "Ġthe": 2, "Ġcat": 3, "s": 4, "Ġdog": 5, "Ġ": 6},
    },
    "BPE with word ends": {
        "type": "BPE",
        "merges": [],
        "end_of_word_suffix": "</w>",
        "vocab": {"a": 0, "b": 1, "the</w>": 2, "cat</w>": 3, "s": 4, "dog</w>": 5, "g": 6},
    },
    "WordLevel": {"type": "WordLevel", "vocab": {"the": 2, "cat": 3, "dog": 5}},
    "an old WordPiece": {
        "vocab": {"[PAD]": 0, "the": 2, "cat": 3, "##s": 4, "dog": 5},
        "continuing_subword_prefix": "##",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", TOKENIZERS)
def test_every_kind_of_tokenizer_says_which_tokens_are_words(model, tmp_path, extract, name):
    model({"added_tokens": ADDED, "model": TOKENIZERS[name]})
    done = extract()
    assert done.returncode == 0, done.stderr
    found = table(tmp_path)
    for word, row in (("the", 2), ("cat", 3), ("dog", 5)):
        np.testing.assert_array_equal(found[word], ROWS[row])
    assert "s" not in found


def test_bytes_of_a_byte_level_token_are_utf_8(model, tmp_path, extract):
    # UTF-8 of "für": 0x66 0xc3 0xbc 0x72; bytes that are printable Latin-1 stand for themselves.
    bpe = {"type": "BPE", "merges": [], "vocab": {"Ġf\xc3\xbcr": 2, "Ġdog": 5}}
    model({"model": bpe})
    assert extract().returncode == 0
    np.testing.assert_array_equal(table(tmp_path)["für"], ROWS[2])


BERT = {"type": "BertPreTokenizer"}
SIGMA, FINAL_SIGMA = "\N{GREEK SMALL LETTER SIGMA}", "\N{GREEK SMALL LETTER FINAL SIGMA}"
WORDS = ["[UNK]", "well", "known", "-", "##-", "##known", "cafe", "$", "_", "—", "##s", "Cafe", "€",
         "café", SIGMA, f"##{SIGMA}", f"##{FINAL_SIGMA}"]  # fmt: skip


def pieces_of(word, folder, normalizer=None, pre_tokenizer=None):
    """The tokens of a word, with a tokenizer of ``WORDS``."""
    vocabulary = {token: number for number, token in enumerate(WORDS)}
    model = {"type": "WordPiece", "continuing_subword_prefix": "##", "vocab": vocabulary}
    content = {"normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "model": model}
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    return [WORDS[number] for number in Tokens(folder / "tokenizer.json").pieces(word)]


PUNCTUATION = [
    BERT,
    {"type": "Punctuation", "behavior": "Isolated"},
    {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, BERT]},
]


@pytest.mark.parametrize("pre_tokenizer", PUNCTUATION)
@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("well-known", ["well", "-", "known"]),
        ("well_known$", ["well", "_", "known", "$"]),
        ("well—knowns", ["well", "—", "known", "##s"]),
        ("well-xyz", ["well", "-"]),  # model2vec drops [UNK]
        ("(xyz)", []),
        ("well€", []),  # a symbol, but not of ASCII: no punctuation
    ],
)
def test_a_word_is_split_at_punctuation_before_its_pieces(tmp_path, pre_tokenizer, word, expected):
    assert pieces_of(word, tmp_path, None, pre_tokenizer) == expected


@pytest.mark.parametrize(
    "pre_tokenizer",
    [None, {"type": "Whitespace"}, {"type": "Sequence", "pretokenizers": []},
     {"type": "Punctuation", "behavior": "Removed"}],
)  # fmt: skip
def test_a_word_is_not_split_if_the_tokenizer_does_not_isolate_punctuation(tmp_path, pre_tokenizer):
    assert pieces_of("well-known", tmp_path, None, pre_tokenizer) == ["well", "##-", "##known"]


def bert(lowercase, strip_accents):
    return {"type": "BertNormalizer", "lowercase": lowercase, "strip_accents": strip_accents}


def sequence(*kinds):
    return {"type": "Sequence", "normalizers": [{"type": kind} for kind in kinds]}


@pytest.mark.parametrize(
    ("normalizer", "word", "expected"),
    [
        (bert(True, None), "CAFÉ", ["cafe"]),
        (bert(False, None), "Café", []),
        (bert(True, False), "CAFÉ", ["café"]),
        (bert(False, True), "Café", ["Cafe"]),
        ({"type": "Lowercase"}, "CAFÉ", ["café"]),
        (sequence("Lowercase"), "CAFÉS", ["café", "##s"]),
        (sequence("NFD", "StripAccents"), "Café", ["Cafe"]),
        (sequence("NFD", "StripAccents", "Lowercase"), "CAFÉ", ["cafe"]),
        (sequence("StripAccents"), "café", ["café"]),  # one letter, as long as not decomposed
        (sequence("Prepend"), "café", ["café"]),
        ({"type": "Sequence", "normalizers": [sequence("Lowercase")]}, "CAFE", ["cafe"]),
    ],
)
def test_a_word_is_normalized_before_its_pieces(tmp_path, normalizer, word, expected):
    assert pieces_of(word, tmp_path, normalizer) == expected


def test_a_capital_sigma_at_the_end_is_not_lowered_to_a_final_sigma(tmp_path):
    assert pieces_of("ΣΣ", tmp_path, {"type": "Lowercase"}) == [SIGMA, f"##{SIGMA}"]


def test_words_in_the_table_are_normalized_and_split(model, tmp_path, extract):
    (tmp_path / "train").write_text("the Dög-cats\n", encoding="utf-8")
    model({**WORDPIECE, "pre_tokenizer": BERT})
    done = extract()
    assert done.returncode == 0, done.stderr
    mean = (ROWS[5] + ROWS[3] + ROWS[4]) / 3  # dog, cat, ##s; no token "-"
    np.testing.assert_allclose(table(tmp_path)["Dög-cats"], mean, rtol=1e-6)


def header(**tensors):
    text = json.dumps(tensors).encode()
    return struct.pack("<Q", len(text)) + text


HUGE = {"dtype": "F32", "shape": [1 << 40, 256], "data_offsets": [0, 1 << 50]}
OUTSIDE = {"dtype": "F32", "shape": [7, 3], "data_offsets": [0, 84]}
SAFETENSORS = {
    "empty": b"",
    "no safetensors": b"PK\3\4 nothing",
    "a header longer than the file": struct.pack("<Q", 1 << 62) + b"{}",
    "a header that is no JSON": struct.pack("<Q", 2) + b"{[",
    "a tensor larger than the file": header(embeddings=HUGE),
    "a tensor behind the end": header(embeddings=OUTSIDE) + b"\0" * 20,
    "a pickle": b"\x80\x04cposix\nsystem\n.",
}


@pytest.mark.parametrize("name", SAFETENSORS)
def test_damaged_and_hostile_tensors_are_one_line(model, tmp_path, extract, one_error_line, name):
    (model() / "model.safetensors").write_bytes(SAFETENSORS[name])
    line = one_error_line(extract())
    assert "model.safetensors: not a safetensors file, or damaged" in line
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize("cut", [1, 50, 90])
def test_a_file_that_is_cut_short_is_one_line(model, extract, one_error_line, cut):
    path = model() / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-cut])
    assert "model.safetensors: not a safetensors file, or damaged" in one_error_line(extract())


VOCABULARY = WORDPIECE["model"]
JSON = {
    "no JSON": ("{", "tokenizer.json: invalid JSON"),
    "nested": ("[" * 200_000, "tokenizer.json: invalid JSON"),
    "a list": ([1], "tokenizer.json: not a tokenizer, or damaged"),
    "no vocabulary": ({"model": {"type": "BPE"}}, "not a tokenizer, or damaged (KeyError"),
    "numbers that are none": (
        {"model": {**VOCABULARY, "vocab": {"the": "x"}}},
        "not a tokenizer, or damaged (ValueError",
    ),
    "a negative number": ({"model": {**VOCABULARY, "vocab": {"the": -3}}}, "the number -3"),
    "another kind": (
        {"model": {**VOCABULARY, "type": "Magic"}},
        "type 'Magic'; supported are Word",
    ),
    "too many tokens": (
        {"model": {**VOCABULARY, "vocab": {"the": 99}}},
        "embeddings of 7 rows, but tokenizer.json asks for row 99",
    ),
    "billions of tokens": (
        {"model": {**VOCABULARY, "vocab": {"the": 10**15}}},
        "embeddings of 7 rows, but tokenizer.json asks for row 1,000,000,000,000,000",
    ),
    "a normalizer without parts": (
        {**WORDPIECE, "normalizer": {"type": "Sequence"}},
        "not a tokenizer, or damaged (KeyError: 'normalizers')",
    ),
    "a pre-tokenizer of text": (
        {**WORDPIECE, "pre_tokenizer": "Punctuation"},
        "not a tokenizer, or damaged (AttributeError",
    ),
    "no words": ({"model": {**VOCABULARY, "vocab": {}}}, "the file of vectors has no usable word"),
}


@pytest.mark.parametrize("name", JSON)
def test_damaged_and_hostile_tokenizers_are_one_line(model, extract, one_error_line, name):
    content, message = JSON[name]
    model(content)
    assert message in one_error_line(extract())


WRONG = {
    "no embeddings": ({"embeddings": None, "other": ROWS}, "no tensor 'embeddings'"),
    "one dimension": ({"embeddings": ROWS[0].copy()}, "embeddings is F32 of 1 dimensions"),
    "whole numbers": ({"embeddings": ROWS.astype(np.int64)}, "embeddings is I64 of 2 dimensions"),
    "no dimensions": ({"embeddings": np.zeros((7, 0), np.float32)}, "vectors of 0 numbers"),
    "not finite": ({"embeddings": ROWS * np.float32("nan")}, "'the' contains NaN or infinity"),
    "few weights": ({"weights": np.ones(3, np.float32)}, "weights of 3 numbers, but the tokenizer"),
    "a mapping out of range": ({"mapping": np.arange(7) + 1}, "embeddings of 7 rows, but"),
}


@pytest.mark.parametrize("name", WRONG)
def test_tensors_of_another_model_are_one_line(model, extract, one_error_line, name):
    tensors, message = WRONG[name]
    folder = model()
    whole = {"embeddings": ROWS, **tensors}
    kept = {key: value for key, value in whole.items() if value is not None}
    save_file(kept, folder / "model.safetensors")
    assert message in one_error_line(extract())


def test_a_missing_file_of_the_folder_is_named(model, extract, one_error_line):
    folder = model()
    (folder / "tokenizer.json").unlink()
    assert "potion/tokenizer.json: no such file" in one_error_line(extract())
    model()
    (folder / "model.safetensors").unlink()
    assert "potion/model.safetensors: no such file" in one_error_line(extract())


def test_the_command_of_the_page_makes_a_table(model, tmp_path, command):
    page = (DATA_PREP.parent / "docs" / "static_vectors.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```\n(python data_prep/.*?)^```$", page, re.M | re.DOTALL)
    words = block.replace("\\\n", " ").removesuffix("...\n").split()
    model().rename(tmp_path / words[words.index("--vectors") + 1])
    (tmp_path / "tokenized").mkdir()
    for name in ("train", "valid", "test"):
        (tmp_path / "tokenized" / f"{name}.en").write_text(TRAIN)
    done = command("extract_embeddings", *words[2:])
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "external.en.npy").exists()
