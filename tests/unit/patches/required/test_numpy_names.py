"""Data sets of fairseq that ask numpy for a name that it no longer has."""

import numpy as np
import torch
from fairseq.data import LanguagePairDataset, TokenBlockDataset

from tests.conftest import make_dictionary


def test_language_models_can_break_samples_at_sentence_ends():
    sentences = [torch.tensor([5, 6, 2]), torch.tensor([7, 2])]
    blocks = TokenBlockDataset(sentences, [3, 2], None, pad=1, eos=2, break_mode="eos")
    assert [block.tolist() for block in blocks] == [[5, 6, 2], [7, 2]]


def test_translation_can_sort_sentences_into_buckets():
    dictionary = make_dictionary(9)
    sentences = [torch.tensor([5, 6, 2]), torch.tensor([7, 2])]
    pairs = LanguagePairDataset(
        sentences, np.array([3, 2]), dictionary, sentences, np.array([3, 2]), dictionary,
        num_buckets=1,
    )  # fmt: skip
    assert pairs.bucketed_num_tokens.tolist() == [3, 3]


def test_numpy_itself_is_left_alone():
    assert hasattr(np, "compat") == np.__version__.startswith("1.")
