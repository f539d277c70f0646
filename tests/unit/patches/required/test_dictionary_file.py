"""A dictionary remembers its file."""

import copy
import io

import pytest
from fairseq.data import Dictionary, TruncatedDictionary

from fairseq_outlayers.formats.dictionary import file_of
from fairseq_outlayers.patches.replacing import apply_recorded
from fairseq_outlayers.patches.required import dictionary_file


def test_a_dictionary_that_was_read_remembers_its_file(tmp_path):
    path = tmp_path / "dict.de.txt"
    path.write_text("haus 3\nkatze 2\n")
    dictionary = Dictionary.load(str(path))
    assert dictionary.index("katze") == 5
    assert file_of(dictionary) == str(path)
    assert file_of(copy.deepcopy(dictionary)) == str(path)
    assert file_of(TruncatedDictionary(dictionary, 5)) == str(path)


def test_a_dictionary_made_in_memory_has_none():
    assert file_of(Dictionary()) is None


def test_applying_twice_wraps_once():
    before = Dictionary.add_from_file
    apply_recorded(dictionary_file)
    assert Dictionary.add_from_file is before


class Lines(io.StringIO):
    """A file that must not be read as a whole."""

    def readlines(self, *_):
        raise AssertionError("all lines at once")


def test_lines_are_read_one_by_one_and_mean_what_they_did():
    text = "haus 3\nkatze 2\nhaus 7 #fairseq:overwrite\nzwei wörter 1\n"
    dictionary = Dictionary()
    dictionary.add_from_file(Lines(text))
    assert dictionary.symbols[4:] == ["haus", "katze", "haus", "zwei wörter"]
    assert dictionary.count[4:] == [3, 2, 7, 1]
    assert dictionary.index("haus") == 6
    with pytest.raises(RuntimeError, match="Duplicate word"):
        Dictionary().add_from_file(Lines("haus 3\nhaus 2\n"))
