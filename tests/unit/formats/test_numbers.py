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


@pytest.mark.parametrize("number", LONG)
def test_a_link_is_refused(tmp_path, number):
    with pytest.raises(UserError, match=r"links:1: .*9{19}"):
        count_links([("a", "b")], [f"{number}-0"], tmp_path / "links")
