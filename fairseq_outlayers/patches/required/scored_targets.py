"""Score given texts without a table of all classes at all positions.

``SequenceScorer`` (fairseq/sequence_scorer.py) computes the log-softmax over all classes at every
position of a batch and reads one number from each: with 500,000 words and 2,000 tokens 4 GB for
every copy. ``fairseq-eval-lm`` and ``fairseq-generate --score-reference`` use it.
``--softmax-batch`` limits the copies, not the scores. Models with an output layer of ours compute
the targets' scores block by block here.
"""

from typing import Any, Callable, Sequence

from fairseq.sequence_scorer import SequenceScorer

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces


@replaces(SequenceScorer, "generate")
def _score_targets_only(
    stock: Callable[..., Any], self: Any, models: Sequence[Any], sample: Any, **kwargs: Any
) -> Any:
    if sample["target"] is None:
        raise UserError(
            "--score-reference: the set has no target side, so there is nothing to score: binarize "
            "both sides, or leave it out"
        )
    # Imported here, because patches are applied before other parts are imported.
    from fairseq_outlayers.decoding.target_scores import ScoredAtTargets

    return stock(self, [ScoredAtTargets.wrap(model) for model in models], sample, **kwargs)
