"""What a model trained by partitions converges to, where the optimum is known."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq import options

from fairseq_outlayers.criterions.partition_softmax import PartitionSoftmax
from fairseq_outlayers.output_layers import OutputLayer
from fairseq_outlayers.partitions.options import is_corrected
from fairseq_outlayers.partitions.plan import Side, Text, Words, partition
from fairseq_outlayers.partitions.shares import log_shares, token_shares
from tests.conftest import make_task

# Counts of target words by partition and context. Words 0 and 1 are in all three partitions, 2 to 4
# in two of them, 5 to 10 in one. In each context the words of one partition have the same mass in
# all partitions, and so have those of two: then the scores of V' sum to the same everywhere, and
# the optimum is known exactly.
COUNTS = {
    0: [
        {0: 3, 1: 5, 2: 2, 4: 1, 5: 1, 6: 7},
        {0: 3, 1: 5, 2: 1, 3: 2, 7: 2, 8: 6},
        {0: 3, 1: 5, 3: 1, 4: 2, 9: 4, 10: 4},
    ],
    1: [
        {0: 6, 1: 2, 2: 1, 4: 3, 5: 1, 6: 3},
        {0: 6, 1: 2, 2: 3, 3: 1, 7: 2, 8: 2},
        {0: 6, 1: 2, 3: 3, 4: 1, 9: 3, 10: 1},
    ],
}
NUM_WORDS = 11


class Table(OutputLayer):
    """A score for each word in each of two contexts, of which the words in use are shown."""

    def __init__(self, bias=True):
        super().__init__(NUM_WORDS, bias)
        self.double()
        self.weight = torch.nn.Parameter(torch.zeros(NUM_WORDS, 2, dtype=torch.float64))
        self.in_use = torch.arange(NUM_WORDS)

    @classmethod
    def build(cls, config, embedding, hidden_size, dictionary):
        raise NotImplementedError

    def class_embeddings(self, ids=None):
        return self.weight[self.in_use if ids is None else ids]

    def class_bias(self, ids=None):
        return None if self.bias is None else self.bias[self.in_use if ids is None else ids]


def corpus():
    """Words and contexts of each partition, and the words that partition() finds."""
    texts, contexts = [], []
    for partitions in zip(*COUNTS.values(), strict=True):
        pairs = [
            (word, context)
            for context, counts in enumerate(partitions)
            for word, number in counts.items()
            for _ in range(number)
        ]
        words, of_words = zip(*pairs, strict=True)
        texts.append(np.array(words))
        contexts.append(torch.eye(2, dtype=torch.float64)[list(of_words)])
    starts = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    side = Side(Text(np.concatenate(texts), starts), NUM_WORDS, 6, (), "target")
    order = np.arange(3)
    words = Words(side, order, partition([side], order), keep_full=False)
    assert len(words.bounds) == 4
    return texts, contexts, words


def truth():
    """``p(word | context)``, ``(2, V)``, counted."""
    table = np.zeros((2, NUM_WORDS))
    for context, partitions in COUNTS.items():
        for counts in partitions:
            for word, number in counts.items():
                table[context, word] += number
    return torch.from_numpy(table / table.sum(1, keepdims=True))


def shares():
    """How much of the text is in the partitions of each word: all three are equally long."""
    return torch.tensor([1, 1, *[2 / 3] * 3, *[1 / 3] * 6], dtype=torch.float64)


def converged(correction, bias=True):
    """Train by partitions until the gradient vanishes; probabilities over all words, ``(2, V)``."""
    texts, contexts, words = corpus()
    task = make_task()
    task.cfg = SimpleNamespace(partition_size=6, partition_mode="paper")
    config = SimpleNamespace(
        label_smoothing=0.0,
        loss_chunk_size=0,
        sentence_avg=False,
        smooth_real_classes=False,
        partition_correction=correction,
    )
    criterion = PartitionSoftmax.build_criterion(config, task).train()
    layer = Table(bias)
    logs = torch.from_numpy(log_shares(token_shares(words), len(words.side.text.tokens)))
    task.log_shares_in_use = lambda: logs[layer.in_use]
    optimizer = torch.optim.LBFGS(layer.parameters(), max_iter=500, tolerance_grad=1e-11,
                                  tolerance_change=0, line_search_fn="strong_wolfe")  # fmt: skip

    def step():
        optimizer.zero_grad()
        total = 0
        for number, (text, states) in enumerate(zip(texts, contexts, strict=True)):
            layer.in_use = torch.from_numpy(words.of(number))
            targets = torch.searchsorted(layer.in_use, torch.from_numpy(text))
            total = total + criterion.training_loss(layer, states, targets, True).loss
        (total / 100).backward()
        return total / 100

    optimizer.step(step)
    step()
    assert max(parameter.grad.abs().max() for parameter in layer.parameters()) < 1e-8
    layer.in_use = torch.arange(NUM_WORDS)
    return torch.softmax(layer.logits(torch.eye(2, dtype=torch.float64)), -1).detach()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("correction", ["log_share", "by_mode"])
def test_the_corrected_model_converges_to_the_truth_over_all_words(correction, bias):
    torch.testing.assert_close(converged(correction, bias), truth(), rtol=1e-6, atol=1e-9)


def test_the_uncorrected_model_overestimates_words_by_the_inverse_of_their_share():
    found = converged("none")
    expected = truth() / shares()
    torch.testing.assert_close(
        found, expected / expected.sum(1, keepdim=True), rtol=1e-6, atol=1e-9
    )
    ratio = found / truth()
    # A word of one partition gets three times the probability of one of all, the truth being equal.
    times = ratio[:, 5:] / ratio[:, :1]
    torch.testing.assert_close(times, torch.full_like(times, 3.0), rtol=1e-5, atol=0)


def test_adding_the_logarithm_of_the_share_afterwards_leads_to_the_truth():
    corrected = torch.softmax(converged("none").log() + shares().log(), -1)
    torch.testing.assert_close(corrected, truth(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("given", "mode", "corrected"),
    [
        ([], "paper", True),
        ([], "authors", False),
        (["--partition-correction", "none"], "paper", False),
        (["--partition-correction", "log_share"], "paper", True),
        (["--partition-correction", "none"], "authors", False),
        (["--partition-correction", "log_share"], "authors", True),
        (["--partition-correction", "by_mode"], "authors", False),
    ],
)
def test_the_mode_decides_unless_the_option_does(given, mode, corrected):
    parser = options.get_training_parser()
    line = ["data", "--task", "translation_outlayers", "--arch", "rnnsearch", "--partition-size"]
    line += ["9", "--partition-mode", mode, "--criterion", "partition_softmax", *given]
    found = options.parse_args_and_arch(parser, line)
    assert is_corrected(found, found) == corrected


def test_a_checkpoint_from_before_the_option_was_not_corrected():
    assert not is_corrected(SimpleNamespace(), SimpleNamespace(partition_mode="paper"))
