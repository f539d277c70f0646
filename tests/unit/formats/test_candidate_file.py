"""Candidate files: which arrays are no lists, and of which types they may be."""

import numpy as np
import pytest

from fairseq_outlayers.decoding.translations import Translations
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.candidate_file import CandidateFile
from fairseq_outlayers.formats.output_file import write_together
from tests.conftest import make_dictionary

SOURCE, TARGET = make_dictionary(0), make_dictionary(9)  # the source has the four specials alone
GOOD = np.array([0, 1, 1, 1, 3])
LARGEST = np.iinfo(np.int64).max


@pytest.fixture
def changed(tmp_path):
    """Writes a good file with other arrays; the path."""

    def write(**arrays):
        path = tmp_path / "c.npz"
        lists = CandidateFile(GOOD, np.array([4, 5, 6]), np.array([7]), 2)
        with write_together([path]) as (output,):
            lists.write(output, SOURCE, TARGET)
        with np.load(path) as file:
            np.savez(path, **{**{name: file[name] for name in file.files}, **arrays})
        return str(path)

    return write


@pytest.mark.parametrize(
    "offsets",
    [
        [0, LARGEST, -2, 1, 3],  # from the second to the third, the difference wraps around
        [0, 5, 5, 5, 3],
        [0, -1, 0, 1, 3],
        [1, 1, 1, 1, 3],
        [0, 1, 1, 1, 2],
        [0, 1, 1, 1, 4],
    ],
)
def test_offsets_that_do_not_increase_to_the_end_are_refused(changed, offsets):
    path = changed(offsets=np.array(offsets), per_word=LARGEST)
    with pytest.raises(UserError, match=r"the offsets do not increase from 0 to .* 3;"):
        CandidateFile.read(path, SOURCE, TARGET)


def test_offsets_beyond_signed_integers_are_refused(changed):
    offsets = np.array([0, 2**64 - 1, 2**64 - 1, 2**64 - 1, 3], np.uint64)
    with pytest.raises(UserError, match="the offsets do not increase"):
        CandidateFile.read(changed(offsets=offsets, per_word=LARGEST), SOURCE, TARGET)


@pytest.mark.parametrize("dtype", ["<i8", ">i8", "<u8", ">u4", "i1"])
def test_integers_of_every_type_are_the_same_lists(changed, dtype):
    arrays = {"offsets": GOOD, "targets": np.array([4, 5, 6]), "blocked": np.array([7])}
    path = changed(**{name: array.astype(dtype) for name, array in arrays.items()})
    read = Translations.load(path, SOURCE, TARGET)
    assert [part.tolist() for part in read[:3]] == [array.tolist() for array in arrays.values()]
