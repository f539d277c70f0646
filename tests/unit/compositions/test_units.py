"""Units of a dictionary's words: from the table beside it, or its characters."""

import pytest
from fairseq.data import Dictionary

from fairseq_outlayers.compositions.units import number_units, units_of_dictionary
from fairseq_outlayers.errors import UserError
from tests.conftest import make_dictionary

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]
TABLE = "walks\twalk s\ntalks\ttalk s\nlonger\tlong er\n"


@pytest.fixture
def dictionary(tmp_path):
    path = tmp_path / "dict.en.txt"
    path.write_text("walks 9\ntalks 4\n")
    return Dictionary.load(str(path))


def words(units):
    return [[units.symbols[unit - 1] for unit in row if unit] for row in units.ids.tolist()]


def test_the_table_beside_the_dictionary_is_read_and_specials_are_one_unit_each(
    dictionary, tmp_path
):
    (tmp_path / "morphs.en.txt").write_text(TABLE)
    (tmp_path / "morphs.txt").write_text("of another dictionary\n")
    units = units_of_dictionary(dictionary, "morphs")
    assert words(units) == [[special] for special in SPECIALS] + [["walk", "s"], ["talk", "s"]]
    assert units.num_units == 4 + 3  # words of the table that the dictionary lacks have no units


def test_characters_need_no_table_and_have_marks_around_them(dictionary, tmp_path):
    made = units_of_dictionary(dictionary, "characters")
    assert words(made)[4] == ["<w>", "w", "a", "l", "k", "s", "</w>"]
    assert words(made)[2] == ["<w>", "</s>", "</w>"]
    (tmp_path / "characters.en.txt").write_text("walks\tw a l k s\ntalks\tt a l k s\n")
    read = units_of_dictionary(dictionary, "characters")
    assert read.fingerprint() == made.fingerprint()


def test_another_table_has_another_fingerprint(dictionary, tmp_path):
    prints = set()
    for table in (TABLE, TABLE.replace("walk s", "wal ks"), TABLE.replace("walk s", "s walk")):
        (tmp_path / "morphs.en.txt").write_text(table)
        prints.add(units_of_dictionary(dictionary, "morphs").fingerprint())
    assert len(prints) == 3


def test_a_fingerprint_is_of_the_units_of_each_word_and_of_their_symbols():
    rows = [["a", "b"], ["b"]]
    of_other_rows, of_other_symbols = [["a", "b"], ["a"]], [["a", "c"], ["c"]]
    for other in (of_other_rows, of_other_symbols):
        assert number_units(other).fingerprint() != number_units(rows).fingerprint()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (None, r"morphs\.en\.txt: no such file.*build_subword_table\.py .*dict\.en\.txt --units"),
        ("walks\twalk s\ntalks\t\n", r"morphs\.en\.txt:2: the word 'talks' has no units"),
        ("walks\twalk s\ntalks\n", r"morphs\.en\.txt:2: the word 'talks' has no units"),
        ("walks\twalk  s\n", r"morphs\.en\.txt:1: the word 'walks' has no units, or an empty"),
        (TABLE + "walks\tw s\n", r"morphs\.en\.txt:4: the word 'walks' is repeated"),
        ("haus\thaus\nwalks\twalk s\n", r"lacks 1 of the 2 words of .*\(the first: 'talks'\)"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(dictionary, tmp_path, table, message):
    if table is not None:
        (tmp_path / "morphs.en.txt").write_text(table)
    with pytest.raises(UserError, match=message):
        units_of_dictionary(dictionary, "morphs")


def test_a_dictionary_without_a_file_has_characters_only():
    dictionary = Dictionary()
    dictionary.add_symbol("ab")
    assert words(units_of_dictionary(dictionary, "characters"))[-1] == ["<w>", "a", "b", "</w>"]
    with pytest.raises(UserError, match="the dictionary was not read from a file"):
        units_of_dictionary(dictionary, "syllables")


@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_what_an_editor_adds_to_lines_belongs_to_no_unit(dictionary, tmp_path, start):
    (tmp_path / "morphs.en.txt").write_text(TABLE)
    expected = units_of_dictionary(dictionary, "morphs").symbols
    changed = (start + TABLE).replace("\n", "\r\n").encode()
    (tmp_path / "morphs.en.txt").write_bytes(changed)
    assert units_of_dictionary(dictionary, "morphs").symbols == expected


def test_a_table_in_another_encoding_is_named(dictionary, tmp_path):
    (tmp_path / "morphs.en.txt").write_bytes("größe\tgröß e\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"morphs\.en\.txt:1: not UTF-8"):
        units_of_dictionary(dictionary, "morphs")


def test_a_word_of_more_units_than_memory_allows_is_refused():
    dictionary = make_dictionary(3)
    dictionary.add_symbol("x" * 20_001)
    with pytest.raises(UserError, match=r"the word 'x{40}'... has 20,001 characters"):
        units_of_dictionary(dictionary, "characters")


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        (
            "morphs",
            r"make the table with .*build_subword_table\.py .* --units morphs",
        ),
        ("bigrams", r"write it: a line for each word, WORD<tab>UNIT UNIT \(docs/formats\.md\)"),
    ],
)
def test_who_makes_a_table_depends_on_the_kind_of_units(tmp_path, kind, advice):
    (tmp_path / "dict.txt").write_text("a 1\n")
    dictionary = Dictionary.load(str(tmp_path / "dict.txt"))
    with pytest.raises(UserError, match=rf"{kind}\.txt: no such file, .*; {advice}$"):
        units_of_dictionary(dictionary, kind)
