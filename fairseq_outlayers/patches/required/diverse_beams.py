"""Repair ``--diverse-beam-groups``: sentences apart, and nothing after ``</s>``.

``DiverseBeamSearch`` (fairseq/search.py) holds the overlap of groups in one row per sentence of the
batch, but selects rows by ``sample["id"]``, the sentences' numbers in the data set.
``fairseq-generate`` ends in an IndexError, or if the numbers happen to be those of other rows,
sentences are penalized by each other's overlap. It reads ``id`` for nothing else, and without it
counts the rows of the batch. (Another search needs the numbers: a ``prefix_allowed_tokens_fn`` is
called with them.)

It also returns as many candidates as the beam, and the generator takes the candidate at the place
of a finished hypothesis for its continuation, to be dropped. This is true for groups of one
hypothesis only. In larger groups finished hypotheses stayed in the beam and went on after
``</s>``, and others were dropped instead. Here each place of a finished hypothesis keeps ``</s>``
with a probability of 0, and the best candidates of the group take the other places.
"""

import math
from typing import Any, Callable, Dict, Optional, Tuple

import torch
from fairseq.search import DiverseBeamSearch
from fairseq.sequence_generator import SequenceGenerator, SequenceGeneratorWithAlignment
from torch import Tensor

from fairseq_outlayers.patches.replacing import replaces

# Scores, words and rows of the candidates.
Candidates = Tuple[Tensor, Tensor, Tensor]


# TorchScript compiles ``_generate``.
@replaces(SequenceGeneratorWithAlignment, "generate")
@replaces(SequenceGenerator, "generate")
def _drop_sentence_ids(
    stock: Callable[..., Any], self: Any, models: Any, sample: Dict[str, Any], **kwargs: Any
) -> Any:
    search = getattr(self.search, "strategy", self.search)  # within our limits of the length
    if not isinstance(search, DiverseBeamSearch):
        return stock(self, models, sample, **kwargs)
    unnumbered = {name: value for name, value in sample.items() if name != "id"}
    return stock(self, models, unnumbered, **kwargs)


@replaces(DiverseBeamSearch, "step")
def _keep_finished(
    stock: Callable[..., Candidates],
    self: Any,
    step: int,
    lprobs: Tensor,
    scores: Tensor,
    prev_output_tokens: Optional[Tensor] = None,
    original_batch_idxs: Optional[Tensor] = None,
) -> Candidates:
    sentences, beam, _ = lprobs.size()
    if step == 0 or prev_output_tokens is None or self.candidate_multiple != 1:
        return stock(self, step, lprobs, scores, prev_output_tokens, original_batch_idxs)
    finished = prev_output_tokens[:, step].view(sentences, beam) == self.eos
    # A group without other hypotheses selects <pad>, so it penalizes no word of the next groups.
    worst = torch.finfo(scores.dtype).min / 4
    only_pad = torch.full_like(lprobs[0, 0], -math.inf)
    only_pad[self.pad] = 0
    lprobs = torch.where(finished.unsqueeze(-1), only_pad, lprobs)
    scores = scores.masked_fill(finished.unsqueeze(-1), worst)
    found = stock(self, step, lprobs, scores, prev_output_tokens, original_batch_idxs)
    # A group's hypotheses lie num_groups apart, as do its candidates, best first.
    ended = finished.view(sentences, -1, self.num_groups).long()
    going = 1 - ended
    rank = torch.where(
        ended.bool(), going.sum(1, keepdim=True) + ended.cumsum(1) - 1, going.cumsum(1) - 1
    )
    group = torch.arange(self.num_groups, device=rank.device)
    places = (rank * self.num_groups + group).view(sentences, beam)
    found_scores, words, rows = (part.gather(1, places) for part in found)
    return (
        found_scores.masked_fill(finished, -math.inf),
        words.masked_fill(finished, self.eos),
        rows,
    )
