"""Distinct windows of characters against a walk over all places of all words."""

import pytest
import torch

from fairseq_outlayers.compositions.character_windows import all_windows, distinct_windows

WORDS = ["<banana>", "<ban>", "<a>", "<nab>", "<bananabanana>"]
LONGEST = max(map(len, WORDS))
UNITS = {unit: number for number, unit in enumerate("<>abn", start=1)}
IDS = torch.tensor([[UNITS.get(unit, 0) for unit in word.ljust(LONGEST)] for word in WORDS])


def windows_of(word, width, widest, masks_padding):
    """What stands at the places of a word that count, as numbers."""
    row = [UNITS.get(unit, 0) for unit in word.ljust(max(LONGEST, widest))]
    places = range(len(row) - width + 1)
    if masks_padding:
        places = [place for place in places if place == 0 or place + width <= len(word)]
    return {tuple(row[place : place + width]) for place in places}


@pytest.mark.parametrize("widest", [1, 4, 6, 17], ids="up to {}".format)
@pytest.mark.parametrize("masks_padding", [False, True], ids=["padding counts", "masked"])
def test_words_have_the_windows_that_a_walk_finds(widest, masks_padding):
    found = distinct_windows(IDS, widest, masks_padding)
    assert [windows.units.size(1) for windows in found] == list(range(1, widest + 1))
    for width, windows in enumerate(found, start=1):
        members = windows.members.tensor_split(windows.starts[1:])
        for word, numbers in zip(WORDS, members, strict=True):
            here = {tuple(row) for row in windows.units[numbers].tolist()}
            assert here == windows_of(word, width, widest, masks_padding)


def test_each_window_is_listed_once_and_padding_alone_at_most_once_a_word():
    for windows in distinct_windows(IDS, 6, masks_padding=False):
        assert len(windows.units.unique(dim=0)) == len(windows.units)
        padding = windows.units.eq(0).all(1)[windows.members]
        counts = [int(part.sum()) for part in padding.tensor_split(windows.starts[1:])]
        assert max(counts) <= 1


def test_windows_of_a_large_alphabet_do_not_collide():
    # 100,000 ** 7 is beyond 64 bits, so the windows cannot be numbers in that base.
    torch.manual_seed(0)
    ids = torch.randint(1, 100_000, (50, 9))
    for windows in distinct_windows(ids, 7, masks_padding=True):
        again = windows.units[windows.members].view(50, -1, windows.units.size(1))
        assert again.equal(ids.unfold(1, windows.units.size(1), 1))


@pytest.mark.parametrize("masks_padding", [False, True])
@pytest.mark.parametrize("widest", [1, 4, 7])
def test_windows_that_repeat_have_the_same_maxima_as_the_distinct_ones(widest, masks_padding):
    generator = torch.Generator().manual_seed(1)
    vectors = torch.randn(int(IDS.max()) + 1, 3, generator=generator)
    kinds = (distinct_windows, all_windows)
    for distinct, repeated in zip(*(k(IDS, widest, masks_padding) for k in kinds), strict=True):
        maxima = [
            torch.nn.functional.embedding_bag(
                w.members, vectors[w.units].sum(1), w.starts, mode="max"
            )
            for w in (distinct, repeated)
        ]
        assert torch.equal(*maxima)
