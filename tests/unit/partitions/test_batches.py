"""How the batches of a partition are dealt out to processes and updates."""

import itertools
from collections import Counter
from itertools import chain, pairwise

import numpy as np
import pytest
import torch
from fairseq.data import (
    AppendTokenDataset,
    LanguagePairDataset,
    ListDataset,
    StripTokenDataset,
    TruncateDataset,
)

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.partitions.batches import divide
from fairseq_outlayers.partitions.corpus import text_of
from fairseq_outlayers.tasks.translation_outlayers import (
    TranslationOutlayersConfig,
    TranslationOutlayersTask,
)
from tests.conftest import make_dictionary

BATCHES = [[3, 1, 4], [5, 9], [2, 6, 8, 7, 0]]


@pytest.mark.parametrize("multiple_of", range(1, 12))
def test_batches_are_halved_until_their_number_is_a_multiple(multiple_of):
    divided = divide(BATCHES, multiple_of)
    assert len(divided) % multiple_of == 0
    assert all(divided)
    found = Counter(chain(*divided))
    assert set(found) == set(chain(*BATCHES))
    # Ten sentences make no more than ten batches: one is repeated only where they do not suffice.
    assert max(found.values()) == (2 if multiple_of == 11 else 1)


@pytest.mark.parametrize("sentences", [1, 2, 3])
def test_a_partition_of_few_sentences_repeats_them_in_turn_and_has_no_empty_batch(sentences):
    divided = divide([list(range(sentences))], 8)
    assert len(divided) == 8
    assert all(len(batch) == 1 for batch in divided)
    times = Counter(chain(*divided)).values()
    assert max(times) - min(times) <= 1


def test_no_sentences_make_no_batches():
    assert divide([], 4) == []


def test_words_of_a_truncated_text_are_those_of_its_sentences():
    """fairseq's sizes count an end of sentence that truncation has removed and adds again."""
    eos, longest = 2, 4
    sentences = [torch.tensor([*range(10, 10 + length), eos]) for length in (2, 6, 3, 1)]
    data = ListDataset(sentences, np.array([len(sentence) for sentence in sentences]))
    data = TruncateDataset(StripTokenDataset(data, eos), longest - 1)
    data = AppendTokenDataset(data, eos)
    text = text_of(data, data.sizes)
    read = [text.tokens[begin:end].tolist() for begin, end in pairwise(text.starts)]
    assert read == [[10, 11, eos], [10, 11, 12, eos], [10, 11, 12, eos], [10, eos]]


def test_a_text_that_is_read_into_memory_on_demand_is_read_first():
    """As data of ``fairseq-preprocess --dataset-impl lazy``."""

    class Lazy(ListDataset):
        supports_prefetch, loaded = True, ()

        def prefetch(self, indices):
            self.loaded = list(indices)

        def __getitem__(self, index):
            return self.dataset[self.loaded.index(index)]

    sentences = [torch.tensor([7, 2]), torch.tensor([8, 9, 2])]
    text = text_of(Lazy(sentences, np.array([2, 3])), np.array([2, 3]))
    assert text.tokens.tolist() == [7, 2, 8, 9, 2]


def batches_of(
    processes, max_sentences=5, max_tokens=None, size=14, seed=1, words=(3,), update_freq=(1,),
    max_positions=None, **options,
):  # fmt: skip
    """The iterator that the task makes of 40 sentence pairs, each side the same.

    Args:
        words: numbers of words of sentences, in turns.
        max_positions: of the model; longer sentences are left out.
        options: of the task.
    """
    dictionary = make_dictionary(30)
    generator = np.random.default_rng(1)
    lengths = [words[number % len(words)] for number in range(40)]
    rows = [torch.tensor([*generator.integers(4, 34, length), 2]) for length in lengths]
    texts = [ListDataset(rows, np.array(lengths) + 1) for _ in range(2)]
    dataset = LanguagePairDataset(
        texts[0], texts[0].sizes, dictionary, texts[1], texts[1].sizes, dictionary
    )
    config = TranslationOutlayersConfig(partition_size=size, **options)
    config.train_subset = "train"
    task = TranslationOutlayersTask(config, dictionary, dictionary)
    task.datasets["train"] = dataset
    task.update_freq = list(update_freq)
    return task.get_batch_iterator(
        dataset, max_tokens, max_sentences, max_positions, ignore_invalid_inputs=True, seed=seed,
        num_shards=processes,
    )  # fmt: skip


def ordered(batches, epoch, shuffle=True):
    """Sentences of each batch of an epoch, in order."""
    return [list(batch) for batch in batches.ordered_batches(epoch, False, shuffle)]


def divided_by_partition(batches, epoch, shuffle=True):
    """Sentences of each batch of an epoch, for each partition."""
    found = ordered(batches, epoch, shuffle)
    groups = itertools.groupby(found, key=lambda batch: batches.partitions.number_of[batch[0]])
    return [list(group) for _, group in groups]


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_every_process_is_in_the_same_partition_at_every_step(processes):
    batches = batches_of(processes)
    shards = []
    for shard in range(processes):
        batches.shard_id = shard
        shards.append(batches.ordered_batches(1, False, shuffle=True))
    number_of = batches.partitions.number_of
    assert number_of.max() > 2
    for step in zip(*shards, strict=True):
        assert len({number_of[sentence] for batch in step for sentence in batch}) == 1


def test_batches_are_shuffled_within_their_partitions_by_seed_and_epoch():
    batches = batches_of(1, max_sentences=1)
    kept = divided_by_partition(batches, 1, shuffle=False)
    orders = [divided_by_partition(batches, epoch) for epoch in (1, 2)]
    orders.append(divided_by_partition(batches_of(1, max_sentences=1, seed=2), 1))
    for order in orders:
        assert order != kept
        assert [sorted(each) for each in order] == [sorted(each) for each in kept]
    assert orders[0] != orders[1]
    assert orders[0] != orders[2]


@pytest.mark.parametrize("seed", [1, 7])
def test_reshuffled_partitions_are_of_a_new_order_in_every_epoch(seed):
    batches = batches_of(1, reshuffle_partitions=True, seed=seed)
    for epoch in (1, 2, 3):
        found = divided_by_partition(batches, epoch)
        order = np.random.default_rng((seed, epoch)).permutation(40)
        begin = 0
        for sentences in map(chain.from_iterable, found):
            sentences = sorted(sentences)
            assert sentences == sorted(order[begin : begin + len(sentences)])
            begin += len(sentences)
        assert begin == 40


def test_batches_have_sentences_of_similar_length_and_no_more_than_their_tokens():
    words = (1, 6, 2, 9, 4)
    batches = batches_of(1, max_sentences=None, max_tokens=12, size=20, words=words)
    for partition in divided_by_partition(batches, 1, shuffle=False):
        lengths = [[1 + words[sentence % len(words)] for sentence in batch] for batch in partition]
        assert all(len(each) * max(each) <= 12 for each in lengths)
        flat = list(chain(*lengths))
        assert flat == sorted(flat)
    assert max(map(len, ordered(batches, 1))) > 1


def test_an_update_of_several_batches_is_of_one_partition_in_every_epoch():
    batches = batches_of(1, update_freq=(1, 3))
    first, second, third = (divided_by_partition(batches, epoch) for epoch in (1, 2, 3))
    assert any(len(partition) % 3 for partition in first)
    assert [len(partition) % 3 for partition in second + third] == [0] * 2 * len(first)


@pytest.mark.parametrize("size", [14, 34, 1000])
def test_one_partition_of_the_whole_text_is_warned_of_once(size, caplog):
    batches = batches_of(1, size=size)
    for epoch in (1, 2):
        batches.ordered_batches(epoch, False, shuffle=True)
    warned = (
        f"--partition-size {size}: the whole training text is one partition, whose 34 target words "
        "fit, so training is as slow as without partitions: choose a smaller one"
    )
    assert caplog.messages == ([] if size == 14 else [warned])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"processes": 2}, "processes 1, but this run has 2"),
        ({"size": 15}, "--partition-size 14, but this run has 15"),
        ({"partition_mode": "authors"}, "--partition-mode paper, but this run has authors"),
        ({"source_partition_size": 20}, "--source-partition-size 0, but this run has 20"),
        ({"reshuffle_partitions": True}, "--reshuffle-partitions False, but this run has True"),
        ({"seed": 2}, "--seed 1, but this run has 2"),
        ({"max_tokens": 40}, "--max-tokens None, but this run has 40"),
        ({"max_sentences": 4}, "--batch-size 5, but this run has 4"),
        ({"update_freq": (2,)}, r"--update-freq \[1\], but this run has \[2\]"),
    ],
)
def test_a_run_with_other_partitions_or_batches_does_not_go_on(changed, said):
    batches = batches_of(1)
    batches.next_epoch_itr()
    saved = batches.state_dict()
    batches_of(1).load_state_dict(saved)
    with pytest.raises(UserError, match=f"trained with {said}, so the partitions differ"):
        batches_of(**{"processes": 1, **changed}).load_state_dict(saved)


def test_a_checkpoint_of_a_run_without_partitions_does_not_go_on():
    batches = batches_of(1)
    batches.next_epoch_itr()
    saved = batches.state_dict()
    del saved["partitions"]
    with pytest.raises(UserError, match="--partition-size not given, but this run has 14"):
        batches_of(1).load_state_dict(saved)


@pytest.mark.parametrize("shuffle", [True, False])
def test_an_epoch_goes_on_where_it_was_left_shuffled_or_not(shuffle):
    """Unshuffled: the first epochs of ``--curriculum``."""
    unbroken = batches_of(1, max_sentences=1)
    expected = [batch["id"].tolist() for batch in unbroken.next_epoch_itr(shuffle=shuffle)]
    begun, resumed = batches_of(1, max_sentences=1), batches_of(1, max_sentences=1)
    left = begun.next_epoch_itr(shuffle=shuffle)
    done = [next(left)["id"].tolist() for _ in range(3)]
    resumed.load_state_dict(begun.state_dict())
    rest = [batch["id"].tolist() for batch in resumed.next_epoch_itr(shuffle=shuffle)]
    assert done + rest == expected


def test_partitions_of_the_authors_are_filled_up_on_both_sides():
    sizes = {}
    for mode in ("paper", "authors"):
        batches = batches_of(1, partition_mode=mode)
        batches.ordered_batches(1, False, shuffle=True)
        numbers = range(len(batches.partitions.batches))
        sizes[mode] = {
            side: {len(words.of(n)) for n in numbers}
            for side, words in batches.partitions.words.items()
        }
    assert {14} == set().union(*sizes["authors"].values())
    assert min(sizes["paper"]["target"]) < 14


def test_a_batch_of_an_earlier_epoch_is_of_the_partition_that_its_sentence_is_in_now():
    """As fairseq's dummy batch, which is of the first epoch."""
    batches = batches_of(1, max_sentences=1, reshuffle_partitions=True)
    first = list(batches.next_epoch_itr())
    batches.next_epoch_itr()
    found = [batches.partition_of(sample) for sample in first]
    assert found == [batches.partitions.number_of[int(sample["id"][0])] for sample in first]
    assert found != [sample["partition"][1] for sample in first]


def test_sentences_longer_than_the_model_allows_are_in_no_partition():
    batches = batches_of(1, words=(3, 8), max_positions=(6, 6))
    assert sorted(chain(*ordered(batches, 1))) == list(range(0, 40, 2))
    assert (batches.partitions.number_of[1::2] == -1).all()
