"""Refuse a perplexity of no words.

``eval_lm`` (fairseq_cli/eval_lm.py) skips samples that are longer than the model allows, with a
warning, and reports a perplexity of 1 if that leaves none.
"""

from typing import Any, Callable, Dict

from fairseq_cli import eval_lm

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces


@replaces(eval_lm, "eval_lm")
def _refuse_no_words(stock: Callable[..., Any], *args: Any, **kwargs: Any) -> Dict[str, Any]:
    results = stock(*args, **kwargs)
    if results["loss"] == 0:
        raise UserError(
            "no word was evaluated, so there is no perplexity: every sample of --gen-subset was "
            "skipped, as the warning above says: give --tokens-per-sample and --sample-break-mode "
            "of the training, or fewer shards"
        )
    return results
