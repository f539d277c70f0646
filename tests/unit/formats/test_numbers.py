"""Numbers in text files that are longer than Python reads (4,300 digits), or than 64 bits hold."""

import pytest

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import DictionaryFile
from fairseq_outlayers.formats.lexicon import count_links

LONG = ["9" * 5000, "9" * 19]


@pytest.mark.parametrize("number", LONG)
def test_a_count_of_a_dictionary_is_refused(tmp_path, number):
    (tmp_path / "dict.txt").write_text(f"a 1\nb {number}\n")
    with pytest.raises(UserError, match=r"dict.txt:2: 'b 9+' is not WORD COUNT"):
        DictionaryFile.read(tmp_path / "dict.txt")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("a 3\nb 1\na 2\n", "dict.txt:3: 'a' a second time"),
        ("a 3\n</s> 2\n", "dict.txt:2: '</s>' a second time"),
        ("a\rb 3\n", r"dict.txt:1: 'a\\rb 3' is not WORD COUNT"),
    ],
)
def test_lines_that_fairseq_refuses_are_refused(tmp_path, lines, message):
    (tmp_path / "dict.txt").write_text(lines)
    with pytest.raises(UserError, match=message):
        DictionaryFile.read(tmp_path / "dict.txt")


def test_a_word_may_come_again_if_its_line_says_so(tmp_path):
    (tmp_path / "dict.txt").write_text("a 3\na 2 #fairseq:overwrite\n")
    assert DictionaryFile.read(tmp_path / "dict.txt").words() == ["a", "a"]


@pytest.mark.parametrize("number", LONG)
def test_a_link_is_refused(tmp_path, number):
    with pytest.raises(UserError, match=r"links:1: .*9{19}"):
        count_links([("a", "b")], [f"{number}-0"], tmp_path / "links")
