"""A perplexity is one of words."""

import pytest
from fairseq_cli import eval_lm

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.conveniences.scored_words import _refuse_no_words
from fairseq_outlayers.patches.replacing import PATCHES


def test_no_words_have_no_perplexity():
    with pytest.raises(UserError, match=r"no word was evaluated.*--tokens-per-sample"):
        _refuse_no_words(lambda text: {"loss": 0, "perplexity": 1.0}, "text")


def test_a_perplexity_of_words_is_reported():
    results = {"loss": 3.9, "perplexity": 14.9}
    assert _refuse_no_words(lambda text: results, "text") == results
    assert _refuse_no_words in getattr(eval_lm.eval_lm, PATCHES)
