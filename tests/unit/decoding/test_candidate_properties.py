"""What holds of candidate lists, whatever the translations, the batch and the sizes."""

import numpy as np
import torch
from fairseq.data import Dictionary
from hypothesis import given, settings
from hypothesis import strategies as st

from fairseq_outlayers.decoding.candidates import BatchLists, CandidateLists
from fairseq_outlayers.decoding.translations import Translations

SPECIALS = 4
BOS, PAD, EOS, UNK = range(SPECIALS)


@st.composite
def situations(draw):
    """A target dictionary, rows of translations, a batch of source words, K and K'."""
    dictionary = Dictionary()
    for word in range(draw(st.integers(2, 20))):
        dictionary.add_symbol(f"w{word}", n=draw(st.integers(1, 50)))
    words = st.integers(SPECIALS, len(dictionary) - 1)
    rows = [[], [], [], []]
    rows += draw(st.lists(st.lists(words, unique=True, max_size=4), min_size=1, max_size=8))
    blocked = draw(st.lists(words, unique=True, max_size=2))
    width = draw(st.integers(1, 5))
    source = st.lists(st.integers(0, len(rows) + 1), min_size=width, max_size=width)
    batch = draw(st.lists(source, min_size=1, max_size=4))
    return dictionary, rows, blocked, batch, draw(st.integers(2, 25)), draw(st.integers(0, 4))


def translations(rows, blocked):
    offsets = torch.from_numpy(np.concatenate([[0], np.cumsum([len(row) for row in rows])]))
    targets = torch.tensor([word for row in rows for word in row], dtype=torch.long)
    return Translations(offsets, targets, torch.tensor(blocked, dtype=torch.long), 4)


def expected_of(sentence, situation):
    """The list of one sentence, by sets."""
    dictionary, rows, blocked, _, frequent, per_word = situation
    words = [word for word in range(SPECIALS, len(dictionary)) if word not in blocked]
    words.sort(key=lambda word: -dictionary.count[word])  # stable: ties by id
    found = {EOS, UNK, *words[: frequent - 2]}
    for word in sentence:
        if word < len(rows):
            found |= {target for target in rows[word][:per_word] if target not in blocked}
    return found


def listed(kind, situation, batch):
    dictionary, rows, blocked, _, frequent, per_word = situation
    return kind(dictionary, translations(rows, blocked), frequent, per_word).of(torch.tensor(batch))


def of_sentence(found, row):
    """What a sentence may produce."""
    allowed = torch.ones(len(found.ids), dtype=torch.bool)
    if found.allowed is not None:
        allowed = found.allowed[row].clone()
    allowed[found.closed] = False
    return set(found.ids[allowed].tolist())


@settings(max_examples=150, deadline=None)
@given(situation=situations())
def test_each_sentence_has_its_own_list_whatever_else_is_in_the_batch(situation):
    dictionary, _, blocked, batch, frequent, _ = situation
    found = listed(CandidateLists, situation, batch)
    assert (found.ids[1:] > found.ids[:-1]).all()
    assert found.ids[:SPECIALS].tolist() == list(range(SPECIALS))
    everything = {BOS, PAD} if frequent >= len(dictionary) and not blocked else set()
    for row, sentence in enumerate(batch):
        assert of_sentence(found, row) == expected_of(sentence, situation) | everything
    assert found.smallest() == min(len(of_sentence(found, row)) for row in range(len(batch)))


@settings(max_examples=100, deadline=None)
@given(situation=situations())
def test_the_list_of_a_batch_is_the_union_of_its_sentences(situation):
    batch = situation[3]
    alone = listed(CandidateLists, situation, batch)
    union = set().union(*(of_sentence(alone, row) for row in range(len(batch))))
    found = listed(BatchLists, situation, batch)
    assert of_sentence(found, 0) == union
