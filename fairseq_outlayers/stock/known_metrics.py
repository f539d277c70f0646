"""Check ``--best-checkpoint-metric`` before training.

``validate`` (fairseq_cli/train.py) looks the metric up after the first validation, so that a name
that nothing logs ends in a KeyError which loses the epoch. fairseq takes the lowest value for the
best, also of BLEU, unless ``--maximize-best-checkpoint-metric`` is given: it would keep the worst
checkpoint, and stop at the first gain. Called right after the command line is parsed
(``patches/conveniences/option_hints.py``).
"""

from typing import Any, Callable, Dict, List

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.suggestions import did_you_mean


def _of_ours(options: Any) -> List[str]:
    return ["loss", "nll_loss", "ppl"]


def _of_cross_entropy(options: Any) -> List[str]:
    # Without --sentence-avg the two losses are the same number, and fairseq logs one.
    return ["loss", *(["nll_loss"] if getattr(options, "sentence_avg", False) else []), "ppl"]


def _of_label_smoothing(options: Any) -> List[str]:
    counts = ["accuracy", "n_correct", "total"]
    return ["loss", "nll_loss", "ppl", *(counts if options.report_accuracy else [])]


CRITERIONS: Dict[str, Callable[[Any], List[str]]] = {
    "full_softmax": _of_ours,
    "sampled_softmax": _of_ours,
    "partition_softmax": _of_ours,
    "cross_entropy": _of_cross_entropy,
    "label_smoothed_cross_entropy": _of_label_smoothing,
}
LOWER_IS_BETTER = ("loss", "nll_loss", "ppl")
HIGHER_IS_BETTER = ("bleu", "accuracy", "n_correct")
# Other tasks may log more.
TASKS = (
    "translation",
    "translation_outlayers",
    "language_modeling",
    "subword_language_modeling",
)


def check_best_metric(options: Any) -> None:
    """Refuse a metric that validation does not compute, or whose worst value would be the best.

    Args:
        options: a parsed command line; criterions and tasks whose metrics are not known, and a
            training without validation, are left to fairseq.
    Raises:
        UserError: with the known names.
    """
    metric = getattr(options, "best_checkpoint_metric", None)
    criterion = getattr(options, "criterion", None)
    if metric is None or criterion not in CRITERIONS or options.task not in TASKS:
        return
    translated = getattr(options, "eval_bleu", False)
    known = [*CRITERIONS[criterion](options), *(["bleu"] if translated else [])]
    if options.disable_validation:
        return
    if metric in known:
        _check_direction(metric, options.maximize_best_checkpoint_metric)
        return
    if metric == "bleu" and hasattr(options, "eval_bleu"):
        remedy = "add --eval-bleu"
    else:
        remedy = f"choose from {', '.join(known)}{did_you_mean(metric, known)}"
    raise UserError(
        f"--best-checkpoint-metric {metric}: validation does not compute it with --criterion "
        f"{criterion}: {remedy}"
    )


def _check_direction(metric: str, maximize: bool) -> None:
    if metric in HIGHER_IS_BETTER and not maximize:
        raise UserError(
            f"--best-checkpoint-metric {metric}: the lowest value would be the best: add "
            "--maximize-best-checkpoint-metric"
        )
    if metric in LOWER_IS_BETTER and maximize:
        raise UserError(
            f"--maximize-best-checkpoint-metric: the highest {metric} would be the best: leave it "
            "out, or choose another --best-checkpoint-metric"
        )
