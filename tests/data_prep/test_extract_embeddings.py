"""Tables of external vectors, against values worked out by hand."""

import gzip
import json
import re
import struct
import zlib
from collections import Counter

import numpy as np
import pytest

from lib.back_off import diagnose, other_forms
from lib.coverage import NONE, OWN, Coverage
from lib.vector_files import BinaryVectors, TextVectors

import extract_embeddings
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.external_table_writer import PRECISIONS, TableWriter
from fairseq_outlayers.formats.output_file import write_together

VECTORS = {
    "the": [1, 0, 0],
    "cats": [0, 1, 0],
    "####": [0, 0, 1],
    "dog": [1, 1, 0],
    '"': [1, 2, 3],
    "unseen": [0.5, 0.5, 0.25],
}
TRAIN = "the Cats sat\nthe dog in 1984\n&quot; the\n"
TEST = "unseen Dog don't 1999\n"
# Back-off: Cats -> cats, 1984 -> ####; "in", "sat" and "&quot;" have no vector.
MEAN = np.mean(list(VECTORS.values()), axis=0)
DEVIATION = np.std(list(VECTORS.values()), axis=0)


def text_form(vectors, header=True):
    lines = [f"{len(vectors)} 3"] if header else []
    lines += [f"{word} {' '.join(map(str, vector))}" for word, vector in vectors.items()]
    return "\n".join(lines) + "\n"


def binary_form(vectors):
    entries = [word.encode() + b" " + struct.pack("<3f", *v) for word, v in vectors.items()]
    return f"{len(vectors)} 3\n".encode() + b"\n".join(entries) + b"\n"


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "train").write_text(TRAIN)
    (tmp_path / "test").write_text(TEST)
    (tmp_path / "v.vec").write_text(text_form(VECTORS))
    return tmp_path


@pytest.fixture
def extract(command):
    def run(vectors="v.vec", *more):
        options = ["--vectors", vectors, "--train", "train", "--text", "test", "--output", "out"]
        return command("extract_embeddings", *options, "--precision", "fp32", *more)

    return run


def table(folder):
    """Rows of the table by the symbol of the dictionary."""
    words = [line.split()[0] for line in (folder / "out.dict.txt").read_text().splitlines()]
    rows = np.load(folder / "out.npy")
    assert len(rows) == len(words) + 4
    return dict(zip(["<s>", "<pad>", "</s>", "<unk>", *words], rows, strict=True))


def test_every_symbol_has_its_own_vector_or_that_of_its_back_off(texts, extract):
    assert extract().returncode == 0
    rows = table(texts)
    expected = {
        **VECTORS,
        "Cats": VECTORS["cats"],
        "1984": VECTORS["####"],
        "1999": VECTORS["####"],
        "Dog": VECTORS["dog"],
        "sat": MEAN,
        "in": MEAN,
        "&quot;": MEAN,
        "<s>": MEAN,
        "<unk>": MEAN,
        "<pad>": [0, 0, 0],
        "</s>": MEAN + DEVIATION,
    }
    assert rows.keys() == expected.keys()  # "don't" has no vector and no place in training
    for word, vector in expected.items():
        np.testing.assert_allclose(rows[word], vector, rtol=1e-6, err_msg=word)


def test_the_dictionary_lists_training_words_by_frequency_then_those_of_the_vectors(texts, extract):
    extract()
    lines = (texts / "out.dict.txt").read_text().splitlines()
    assert lines[:7] == ["the 3", "&quot; 1", "1984 1", "Cats 1", "dog 1", "in 1", "sat 1"]
    assert lines[7:] == ["cats 0", "#### 0", '" 0', "unseen 0", "Dog 0", "1999 0"]


def test_the_sidecar_describes_table_and_dictionary(texts, extract):
    extract()
    facts = json.loads((texts / "out.npy.json").read_text())
    data = (texts / "out.npy").read_bytes()
    words = [line.split()[0] for line in (texts / "out.dict.txt").read_text().splitlines()]
    symbols = "\n".join(["<s>", "<pad>", "</s>", "<unk>", *words])
    assert facts["dictionary"] == {"symbols": 17, "crc32": zlib.crc32(symbols.encode())}
    assert (facts["rows"], facts["dimensions"], facts["training_rows"]) == (17, 3, 11)
    assert (facts["bytes"], facts["crc32"]) == (len(data), zlib.crc32(data))
    assert facts["blocks"] == {"0": zlib.crc32(data)}


OTHER_FORMS = {
    "other.txt": text_form(VECTORS, header=False).encode(),
    "other.bin": binary_form(VECTORS),
    "other.bin.gz": gzip.compress(binary_form(VECTORS)),
    "other.vec.gz": gzip.compress(text_form(VECTORS).encode()),
}


@pytest.mark.parametrize("name", OTHER_FORMS)
def test_every_format_gives_the_same_table(texts, extract, name):
    extract()
    expected = (texts / "out.npy").read_bytes()
    (texts / name).write_bytes(OTHER_FORMS[name])
    process = extract(name)
    assert process.returncode == 0, process.stderr
    assert (texts / "out.npy").read_bytes() == expected


def test_half_precision_is_the_rounded_table_in_half_the_bytes(texts, command):
    command(*["extract_embeddings", "--vectors", "v.vec", "--train", "train", "--output", "out"])
    rows = np.load(texts / "out.npy")
    assert rows.dtype == np.float16
    np.testing.assert_array_equal(rows[2], (MEAN + DEVIATION).astype(np.float16))


def test_coverage_and_what_seems_wrong_with_words_are_printed(texts, extract):
    printed = extract().stdout
    assert "test: 4 tokens, 4 types" in printed
    assert "own vector              1 tokens (25.00%)" in printed
    assert "by another form         2 tokens (50.00%)" in printed
    assert "unknown to the training words         4 tokens (100.00%)" in printed
    assert "unknown to both                       1 tokens (25.00%)" in printed
    assert 'without a vector, escapes: 1 types: &quot; (1; known: ")' in printed
    assert "11 symbols (the default of --internal-vocabulary of the model)" in printed


def test_unknown_words_by_a_five_sentence_corpus_worked_out_by_hand():
    corpus = ["a b", "a c", "d d", "e", "b f"]
    counts = Counter(" ".join(corpus).split())
    with_vector = {"a", "d", "f"}
    coverage = Coverage(
        "five",
        counts,
        source=lambda word: OWN if word in with_vector else NONE,
        internal=lambda word: word in {"a", "b"},
    )
    total, own, none, internal, both = coverage.lines()
    assert total == "five: 9 tokens, 6 types"
    assert own.split()[3:] == ["5", "tokens", "(55.56%),", "3", "types", "(50.00%)"]
    assert none.split()[2:] == ["4", "tokens", "(44.44%),", "3", "types", "(50.00%)"]
    assert internal.split()[5:] == ["5", "tokens", "(55.56%),", "4", "types", "(66.67%)"]
    assert both.split()[3:] == ["2", "tokens", "(22.22%),", "2", "types", "(33.33%)"]


@pytest.mark.parametrize(
    ("word", "first"), [("Cats", "cats"), ("1984", "####"), ("cats", "Cats"), ("B2b", "b2b")]
)
def test_back_off_tries_case_before_digits(word, first):
    forms = list(other_forms(word))
    assert forms[0] == first
    assert word not in forms
    assert len(forms) == len(set(forms))
    digits = ["#" in form for form in forms]
    assert digits == sorted(digits)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("&apos;s", ("escapes", "'s")),
        ("well@-@known", ("segmentation markers", "well-known")),
        ("ste@@", ("segmentation markers", "ste")),
        ("Dog,", ("different tokenization", "Dog ,")),
        ("zyx", None),
        ("zyx@@", None),
        ("dog@-@zyx", None),
    ],
)
def test_a_word_without_a_vector_is_diagnosed(word, expected):
    assert diagnose(word, {"'s", "well-known", "ste", "dog", ","}.__contains__) == expected


BAD = {
    "wrong dimension": (
        "3 3\na 1 2 3\nb 1 2\nc 1 2 3\n",
        "v.vec:3: expected a word and 3 number(s), found 2 field(s) after 'b'",
    ),
    "one number too many": (
        "2 3\na 1 2 3\nb 1 2 3 4\n",
        "v.vec:3: expected a word and 3 number(s), found 4 field(s) after 'b'",
    ),
    "no number": (
        "1 3\na 1 x 3\n",
        "v.vec:2: expected a word and 3 number(s), found 3 field(s) after 'a', not all numbers",
    ),
    "NaN": ("2 3\na 1 2 3\nb 1 nan 3\n", "v.vec:3: the vector of 'b' contains NaN"),
    "cut short": ("3 3\na 1 2 3\nb 1 2 3\n", "v.vec: 2 words, but its first line says 3"),
    "GloVe": ("a 1 2 3\nb 1 2 3\n", "v.vec:1: 4 fields, but a .vec file starts"),
    "empty": ("", "v.vec:1: 0 fields"),
    "no word of use": ("1 3\n</s> 1 2 3\n", "no usable word"),
    "a number beyond Python's": (f"{'9' * 5000} 3\na 1 2 3\n", "v.vec:1: a number of 5,000 digits"),
    "dimensions beyond Python's": (f"1 {'9' * 5000}\na 1 2 3\n", "v.vec:1: a number of 5,000 d"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_file_of_vectors_is_refused_with_its_line(
    texts, extract, one_error_line, contents, case
):
    text, said = BAD[case]
    (texts / "v.vec").write_text(text)
    before = contents()
    assert said in one_error_line(extract("v.vec", "--format", "vec"))
    assert contents() == before


def test_a_vec_file_read_as_glove_is_refused(texts, extract, one_error_line):
    assert "pass --format vec" in one_error_line(extract("v.vec", "--format", "glove"))


@pytest.mark.parametrize("left", [-3, 20, 9])
def test_a_truncated_binary_is_refused(texts, extract, one_error_line, left):
    data = binary_form(VECTORS).removesuffix(b"\n")
    (texts / "v.bin").write_bytes(data[:left])
    assert "of 6: the file ends within it" in one_error_line(extract("v.bin"))


def damaged(data, position):
    return data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :]


WORD2VEC_GZ = gzip.compress(binary_form(VECTORS), mtime=0)
DAMAGED_GZ = {
    "not compressed": (binary_form(VECTORS), "v.bin.gz: not a compressed file, or damaged"),
    "cut off in the header": (WORD2VEC_GZ[:12], "v.bin.gz: the compressed file is truncated"),
    "cut off in the vectors": (WORD2VEC_GZ[:-20], "v.bin.gz: the compressed file is truncated"),
    "cut off in the checksum": (WORD2VEC_GZ[:-6], "v.bin.gz: the compressed file is truncated"),
    "a block of no type": (damaged(WORD2VEC_GZ, 10), "v.bin.gz: not a compressed file, or damaged"),
    "another checksum": (damaged(WORD2VEC_GZ, -8), "v.bin.gz: not a compressed file, or damaged"),
    "too few words": (
        gzip.compress(binary_form(VECTORS)[:-20]),
        "v.bin.gz: word 6 of 6: the file ends within it",
    ),
}


@pytest.mark.parametrize("case", DAMAGED_GZ)
@pytest.mark.parametrize("options", [(), ("--format", "word2vec")])
def test_a_damaged_compressed_binary_is_one_line(texts, extract, one_error_line, case, options):
    data, said = DAMAGED_GZ[case]
    (texts / "v.bin.gz").write_bytes(data)
    assert said in one_error_line(extract("v.bin.gz", *options))
    assert not (texts / "out.npy").exists()


def test_a_damaged_compressed_text_is_one_line_while_its_format_is_detected(
    texts, extract, one_error_line
):
    (texts / "v.vec.gz").write_bytes(gzip.compress(text_form(VECTORS).encode())[:12])
    assert "v.vec.gz: the compressed file is truncated" in one_error_line(extract("v.vec.gz"))


def test_a_number_too_large_for_half_precision_is_refused(texts, command, one_error_line):
    (texts / "v.vec").write_text("1 3\na 1 1e6 3\n")
    line = ["extract_embeddings", "--vectors", "v.vec", "--train", "train", "--output", "out"]
    assert "1e+06 is too large for half precision" in one_error_line(command(*line))


def test_useless_words_are_passed_over_and_counted(texts, extract):
    (texts / "v.vec").write_bytes(
        b"name a@b 9 9 9\nthe 1 2 3\nthe 7 7 7\n</s> 5 5 5\n\xff\xfe 4 4 4\nnew\xc2\xa0line 3 3 3\n"
    )
    (texts / "first").write_bytes(b"dog 1 1 1\n" + (texts / "v.vec").read_bytes())
    process = extract("first")
    assert process.returncode == 0, process.stderr
    rows = table(texts)
    np.testing.assert_array_equal(rows["the"], [1, 2, 3])
    np.testing.assert_array_equal(rows["<unk>"], [1, 1.5, 2])
    assert len(rows) == 4 + 7 + 1  # specials, training words, "Dog"
    for said in (
        "contain white space: 2",
        "not UTF-8: 1",
        "own symbols: 1",
        "twice; the first is used: 1",
    ):
        assert said in process.stdout


def test_a_limit_reads_the_first_words_alone(texts, extract):
    extract("v.vec", "--limit", 2)
    rows = table(texts)
    assert "unseen" not in rows
    np.testing.assert_array_equal(rows["<unk>"], [0.5, 0.5, 0])


def test_a_limit_counts_over_all_blocks(texts, monkeypatch):
    monkeypatch.chdir(texts)
    monkeypatch.setattr("lib.vector_files.BLOCK_WORDS", 2)
    options = "--vectors v.vec --train train --text test --output out --precision fp32 --limit 3"
    extract_embeddings.main(options.split())
    np.testing.assert_allclose(table(texts)["<unk>"], [1 / 3] * 3)


def test_a_binary_of_several_reads_and_blocks_is_read_whole(tmp_path):
    rows = np.random.RandomState(0).rand(5000, 100).astype(np.float32)  # 2 MB
    entries = [b"w%d " % number + row.tobytes() + b"\n" for number, row in enumerate(rows)]
    (tmp_path / "v.bin").write_bytes(b"5000 100\n" + b"".join(entries))
    found = [(list(words), vectors.copy()) for words, vectors in
             BinaryVectors(tmp_path / "v.bin").blocks()]  # fmt: skip
    assert len(found) > 1
    assert [word for words, _ in found for word in words] == [f"w{n}" for n in range(5000)]
    np.testing.assert_array_equal(np.concatenate([vectors for _, vectors in found]), rows)


@pytest.mark.parametrize("rows", [[3, 9, 5], [2, 3, 4], [7], []])
def test_rows_are_written_where_they_belong_in_any_order(tmp_path, rows):
    vectors = np.arange(2.0 * len(rows)).reshape(len(rows), 2)
    with write_together([tmp_path / "t.npy"]) as (output,):
        writer = TableWriter(output, 2, PRECISIONS["fp32"])
        writer.write_rows(range(10), np.full((10, 2), -1.0))
        writer.write_rows(rows, vectors)
        writer.finish(10)
    expected = np.full((10, 2), -1.0)
    expected[rows] = vectors
    np.testing.assert_array_equal(np.load(tmp_path / "t.npy"), expected)


# word2vec binaries of three words in two dimensions: 0.1 has no zero byte; without line ends.
THREE = b"".join(word + b" " + struct.pack("<2f", 0.1, 0.1) + b"\n" for word in (b"a", b"b", b"c"))
ZEROS = b"".join(word + b" " + struct.pack("<2f", 0.0, 0.0) for word in (b"a", b"b", b"c"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.vec", b"2 2\na 1 2\nb 3 4.1", "a.vec:3: no line end"),
        ("a.vec", b"2 0\na\nb\n", "vectors of 0 numbers"),
        ("a.glove", b"a 1 2\nb 3 4", "a.glove:2: no line end"),
        ("a.bin", b"2 0\na b ", "vectors of 0 numbers"),
        ("a.bin", b"2 1000000000000\na b ", "vectors of 1,000,000,000,000 numbers"),
        ("a.bin", b"9" * 5000 + b" 2\na b ", "a.bin:1: a number of 5,000 digits"),
        ("a.glove", b"2 " + b"9" * 5000 + b"\n", "a.glove:1: a number of 5,000 digits"),
        ("a.vec", b"2 2\na 1 2\n\n", "a.vec:3: empty line"),
        ("a.bin", b"2 2\n" + THREE, "a.bin: continues after the 2 words of its first line"),
        ("a.bin", b"2 1\n" + THREE, r"word 2 of 2: b'\\xcd\\xcc\\xcc=\\nb' is no word"),
        ("a.bin", b"3 1\n" + ZEROS, r"word 2 of 3: b'\\x00\\x00\\x00\\x00b' is no word"),
    ],
)
def test_a_file_of_vectors_that_cannot_be_whole_is_refused(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)

    def read():
        if name == "a.bin":
            return list(BinaryVectors(path).blocks())
        return list(TextVectors(path, has_header="vec" in name).blocks())

    with pytest.raises(UserError, match=message):
        read()


def until_the_first_mistake(text, dtype, sep):
    """``numpy.fromstring`` of NumPy 2.2, which returns what it has read and warns."""
    number = rb"[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?"
    read = re.match(rb"\s*%b(?:\s+%b)*" % (number, number), text)
    return np.array(read[0].split() if read else [], dtype)


@pytest.fixture(params=["installed", "2.2"])
def numpy_version(request, monkeypatch):
    if request.param == "2.2":
        monkeypatch.setattr(np, "fromstring", until_the_first_mistake)


@pytest.mark.usefixtures("numpy_version")
@pytest.mark.parametrize(
    "damaged",
    [
        "of 0.4 0.5 0.6x",
        "of 0.4 0.5 0.6 x",
        "of 0.4 0.5x 0.6",
        "of 0.4 0.5 0.6 7 x",
        "of 0.4 0.5 0.6x 7",
        "of 0.4 0.5 0.6-7",
        "of 0.4 0.5 0.6,7",
        "of 0.4 0.5 0.6 \0",
        "of 0.4 0.5",
        "of 0.4 0.5 0.6 0.7",
        "of a 0.5 0.6 0.7 0.8",
    ],
)
def test_a_line_of_something_else_than_a_word_and_numbers_is_refused(tmp_path, damaged):
    path = tmp_path / "v.glove"
    path.write_text(f"the 0.1 0.2 0.3\n{damaged}\n")
    with pytest.raises(UserError, match=r"v.glove:2: expected a word and 3 number\(s\), found"):
        list(TextVectors(path, has_header=False).blocks())


@pytest.mark.usefixtures("numpy_version")
def test_words_of_a_text_may_contain_spaces(tmp_path):
    words = ["the", "at name@domain.com", ". . .", "1-800 x"]
    path = tmp_path / "v.glove"
    path.write_text("".join(f"{word} {n} -2e-1  0.3 \n" for n, word in enumerate(words)))
    (block,) = TextVectors(path, has_header=False).blocks()
    assert block.words == words
    expected = [[n, np.float32(-0.2), np.float32(0.3)] for n in range(len(words))]
    np.testing.assert_array_equal(block.vectors, expected)


@pytest.mark.parametrize("header", [b"", b"2 2\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path, header, mark):
    from lib.vector_formats import detect_format

    path = tmp_path / "words.txt"
    path.write_bytes(mark + header + b"a 1 2\nb 3 4\n")
    (block,) = TextVectors(path, has_header=bool(header)).blocks()
    assert block.words == ["a", "b"]
    assert detect_format(path) == ("vec" if header else "glove")


def test_a_compressed_line_of_gigabytes_is_refused_after_a_few_bytes_of_it(tmp_path):
    path = tmp_path / "bomb.vec.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"1 2\n" + b"1 " * 5_000_000)
    with pytest.raises(UserError, match=r"a line of more than 10,128 bytes"):
        list(TextVectors(path, has_header=True).blocks())
    path = tmp_path / "first.vec.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"1 " * 5_000_000)
    with pytest.raises(UserError, match=r"first.vec.gz:1: "):
        TextVectors(path, has_header=True)


def test_vectors_without_a_word_of_the_text_are_refused(texts, extract, one_error_line):
    (texts / "train").write_text("andere sprache\n")
    line = one_error_line(extract())
    assert "v.vec: has no word of train; check the language" in line
    assert not (texts / "out.npy").exists()


def test_words_beyond_the_internal_vocabulary_are_unknown_to_the_model(texts, extract):
    printed = extract("v.vec", "--internal-vocabulary", 6).stdout  # the, &quot;
    assert re.search(r"training words +5 tokens \(55\.56%\), +5 types \(71\.43%\)", printed)
    assert "6 symbols (pass --internal-vocabulary of the model)" in printed
