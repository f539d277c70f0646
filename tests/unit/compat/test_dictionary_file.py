"""A dictionary remembers its file."""

import copy

from fairseq.data import Dictionary, TruncatedDictionary

from fairseq_outlayers.compat.dictionary_file import apply, file_of


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
    apply()
    assert Dictionary.add_from_file is before
