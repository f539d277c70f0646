"""Block repeated n-grams (``--no-repeat-ngram-size``) where fairseq's CUDA extension is missing.

``NGramRepeatBlock._no_repeat_ngram`` (fairseq/ngram_repeat_block.py) compares every n-gram with the
end of the search's buffer, which is padding until the last step, instead of the last words. So on
CPUs, and on GPUs without the compiled extension, the option silently does nothing. With a size of 1
it compares nothing at all.

The patch compares with the last words, for all hypotheses at once. A word that is the only one
possible, as in a forced prefix, is not blocked: nothing could follow. TorchScript compiles the
method, so it is replaced by a plain one instead of a wrapper.
"""

import math

import torch
from fairseq.ngram_repeat_block import NGramRepeatBlock
from torch import Tensor


def apply() -> None:
    """Replace the method."""
    NGramRepeatBlock._no_repeat_ngram = _no_repeat_ngram


def _no_repeat_ngram(
    self: NGramRepeatBlock, tokens: Tensor, lprobs: Tensor, bsz: int, beam_size: int, step: int
) -> Tensor:
    size = self.no_repeat_ngram_size
    # The first token is the end of a sentence, with which a search starts: no word to block.
    written = tokens[:, int(size == 1) : step + 1]
    if written.size(1) < size:
        return lprobs
    ngrams = written.unfold(1, size, 1)  # (hypotheses, positions, size)
    last_words = written[:, written.size(1) - size + 1 :].unsqueeze(1)
    repeats = (ngrams[:, :, : size - 1] == last_words).all(2)
    bound = torch.full_like(repeats, math.inf, dtype=lprobs.dtype).masked_fill(repeats, -math.inf)
    blocked = lprobs.scatter_reduce(1, ngrams[:, :, size - 1], bound, "amin")
    forced = lprobs.isfinite().sum(1, keepdim=True) == 1
    return torch.where(forced, lprobs, blocked)
