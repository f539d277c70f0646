"""Training and validation statistics of our criterions."""

import math
from typing import Any, Dict, List

from fairseq import utils
from fairseq.logging import metrics


def logging_output(
    sample: Dict[str, Any], loss: Any, nll: Any, sample_size: int, **sums: int
) -> Dict[str, Any]:
    """Sums over one batch, in nats: the objective ``loss`` and the unsmoothed ``nll``."""
    return {
        **sums,
        "loss": loss.detach(),
        "nll_loss": nll.detach(),
        "ntokens": sample["ntokens"],
        "nsentences": sample["target"].size(0),
        "sample_size": sample_size,
    }


def reduce_metrics(logging_outputs: List[Dict[str, Any]]) -> None:
    """Log ``loss`` and ``nll_loss`` in bits as fairseq does, ``ppl``, and ``sampled_share``.

    ``sampled_share`` is the share of classes scored, averaged over batches.
    """

    def total(key: str) -> Any:
        return sum(output.get(key, 0) for output in logging_outputs)

    sample_size, ntokens = total("sample_size"), total("ntokens")
    metrics.log_scalar("loss", total("loss") / sample_size / math.log(2), sample_size, round=3)
    metrics.log_scalar("nll_loss", total("nll_loss") / ntokens / math.log(2), ntokens, round=3)
    metrics.log_derived("ppl", lambda meters: utils.get_perplexity(meters["nll_loss"].avg))
    if total("all_classes") > 0:
        share = total("scored_classes") / total("all_classes")
        metrics.log_scalar("sampled_share", share, total("all_classes"), round=4)
