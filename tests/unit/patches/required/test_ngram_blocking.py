"""N-grams that a hypothesis has already are blocked, by brute force over all words."""

import math
from itertools import pairwise

import pytest
import torch
from fairseq.ngram_repeat_block import NGramRepeatBlock

from fairseq_outlayers import load
from tests.unit.hub.conftest import save_checkpoint

EOS, PAD, WORDS = 2, 1, 7  # few words, so that n-grams repeat


def buffer(step, hypotheses, length=12):
    """Tokens of a search: ``</s>``, ``step`` words, and padding to the end."""
    tokens = torch.full((hypotheses, length), PAD)
    tokens[:, 0] = EOS
    tokens[:, 1 : step + 1] = torch.randint(4, WORDS, (hypotheses, step))
    return tokens


def repeats(written, word, size):
    """Whether ``word`` would end an n-gram that is there already."""
    ngram = [*written[len(written) - size + 1 :], word] if size > 1 else [word]
    starts = range(1 if size == 1 else 0, len(written) - size + 1)
    return len(written) >= size and any(written[n : n + size] == ngram for n in starts)


@pytest.mark.parametrize("scripted", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_a_word_is_blocked_if_it_would_repeat_an_ngram_of_the_hypothesis(size, scripted):
    torch.manual_seed(size)
    block = NGramRepeatBlock(size, use_extension=False)
    block = torch.jit.script(block) if scripted else block
    blocked = 0
    for step in range(12):
        tokens, scores = buffer(step, 2 * 3), torch.randn(2 * 3, WORDS)
        found = block(tokens, scores.clone(), 2, 3, step)
        for row, written in enumerate(tokens[:, : step + 1].tolist()):
            for word in range(WORDS):
                is_blocked = repeats(written, word, size)
                blocked += is_blocked
                assert found[row, word] == (-math.inf if is_blocked else scores[row, word])
    assert blocked > 10


@pytest.mark.parametrize("options", [{}, {"candidate_frequent": 12}])
def test_translations_repeat_no_bigram(tmp_path, options):
    model = load(save_checkpoint(tmp_path, "luong_lstm"), **options)
    lengths = {"max_len_a": 0, "max_len_b": 9, "min_len": 9}

    def repeated(**search):
        target = model.translate("w1 w2 w3", **lengths, **search).target
        return len(target) - 1 - len(set(pairwise(target)))

    assert repeated() > 0
    assert repeated(no_repeat_ngram_size=2) == 0
    words = model.translate("w1 w2 w3", max_len_a=0, max_len_b=5, no_repeat_ngram_size=1).target
    assert len(words) == len(set(words))


@pytest.mark.parametrize("size", [1, 2])
def test_a_forced_word_is_not_blocked(size):
    """Otherwise every hypothesis ends at a prefix that repeats words itself."""
    block = NGramRepeatBlock(size, use_extension=False)
    tokens = torch.tensor([[EOS, 5, 6, 5, PAD], [EOS, 5, 6, 5, PAD]])
    scores = torch.zeros(2, WORDS)
    scores[0] = -math.inf
    scores[0, 6] = -1  # the first hypothesis has a prefix 5 6 5 6
    found = block(tokens, scores.clone(), 1, 2, 3)
    assert found[0].tolist() == scores[0].tolist()
    assert found[1, 6] == -math.inf


def test_a_prompt_may_repeat_what_its_continuation_may_not(tmp_path):
    model = load(save_checkpoint(tmp_path, "subword_lm"))
    found = model.continue_("w1 w2 w1 w2", max_units=6, min_len=10, no_repeat_ngram_size=2)
    words = ["w1", "w2", *found.units]
    assert found.text.startswith("w1 w2 w1 w2 ")
    assert len(words) - 1 == len(set(pairwise(words)))
