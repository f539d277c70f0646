"""The metric of the best checkpoint, as a command line names it."""

import pytest
from fairseq import options
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.logging import metrics
from fairseq.tasks import TASK_REGISTRY

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.registered_options import parts_of_ours
from fairseq_outlayers.stock.known_metrics import CRITERIONS, TASKS

MINIMAL = ["data-bin", "--arch", "luong_lstm", "--lr", "0.1"]


def parse(words):
    return options.parse_args_and_arch(
        options.get_training_parser(), input_args=[*MINIMAL, *words.split()]
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--best-checkpoint-metric bleu", "cross_entropy: add --eval-bleu$"),
        (
            "--best-checkpoint-metric bleu --criterion full_softmax --task translation_outlayers",
            "full_softmax: add --eval-bleu$",
        ),
        (
            "--best-checkpoint-metric nl_loss --criterion sampled_softmax --num-sampled 5",
            "choose from loss, nll_loss, ppl; did you mean nll_loss",
        ),
        (
            "--best-checkpoint-metric perplexity --criterion full_softmax --eval-bleu",
            "--best-checkpoint-metric perplexity: .* choose from loss, nll_loss, ppl, bleu",
        ),
        ("--best-checkpoint-metric nll_loss --criterion cross_entropy", "choose from loss, ppl"),
        (
            "--best-checkpoint-metric accuracy --criterion label_smoothed_cross_entropy",
            "choose from loss, nll_loss, ppl",
        ),
        (
            "--best-checkpoint-metric bleu --task language_modeling --arch word_lm",
            "choose from loss, ppl",
        ),
        (
            "--best-checkpoint-metric bleu --eval-bleu --criterion full_softmax",
            "the lowest value would be the best: add --maximize-best-checkpoint-metric",
        ),
        (
            "--maximize-best-checkpoint-metric --criterion full_softmax",
            "the highest loss would be the best: leave it out",
        ),
    ],
)
def test_a_metric_that_cannot_choose_the_best_checkpoint_is_refused_before_training(words, said):
    with pytest.raises(UserError, match=said):
        parse(words)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "--best-checkpoint-metric ppl --criterion cross_entropy",
        "--best-checkpoint-metric nll_loss --criterion cross_entropy --sentence-avg",
        "--best-checkpoint-metric bleu --eval-bleu --criterion full_softmax "
        "--maximize-best-checkpoint-metric",
        "--best-checkpoint-metric accuracy --criterion label_smoothed_cross_entropy "
        "--report-accuracy --maximize-best-checkpoint-metric",
        "--best-checkpoint-metric no_such --criterion full_softmax --disable-validation",
        "--best-checkpoint-metric any --criterion label_smoothed_cross_entropy_with_alignment",
        "--best-checkpoint-metric any --task translation_lev",
    ],
)
def test_other_metrics_and_those_of_unknown_criterions_and_tasks_pass(words):
    parse(words)


@pytest.mark.parametrize("sentence_avg", [True, False])
@pytest.mark.parametrize("criterion", CRITERIONS)
def test_the_known_names_are_those_that_a_criterion_logs(criterion, sentence_avg):
    given = f"--criterion {criterion}" + " --sentence-avg" * sentence_avg
    given += " --num-sampled 5" if criterion == "sampled_softmax" else ""
    given += " --task translation_outlayers" if criterion == "partition_softmax" else ""
    parsed = parse(given)
    sums = {"loss": 3.0, "nll_loss": 3.0, "ntokens": 5, "nsentences": 2}
    parsed.report_accuracy = False
    with metrics.aggregate(new_root=True) as logged:
        CRITERION_REGISTRY[criterion].reduce_metrics(
            [{**sums, "sample_size": 2 if sentence_avg else 5}]
        )
    assert sorted(CRITERIONS[criterion](parsed)) == sorted(logged.get_smoothed_values())


def test_all_criterions_and_tasks_of_ours_are_known():
    assert set(parts_of_ours(CRITERION_REGISTRY)) <= set(CRITERIONS)
    assert set(parts_of_ours(TASK_REGISTRY)) <= set(TASKS)
