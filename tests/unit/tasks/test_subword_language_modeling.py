"""What the task refuses, and what it leaves to fairseq."""

import os
from types import SimpleNamespace

import pytest
import torch
from fairseq.data import data_utils
from fairseq.tasks.language_modeling import LanguageModelingTask

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.tasks.subword_language_modeling import (
    SubwordLanguageModelingConfig,
    SubwordLanguageModelingTask,
)
from fairseq_outlayers.tasks.text_columns import TokenStream
from tests.conftest import make_dictionary


def options(**changed):
    stock = {"sample_break_mode": None, "shorten_method": "none"}
    stock |= dict.fromkeys(("add_bos_token", "self_target", "past_target"), False)
    stock |= dict.fromkeys(("pad_to_fixed_length", "pad_to_fixed_bsz"), False)
    return SimpleNamespace(**{"data": None, "tokens_per_sample": 35, **stock, **changed})


@pytest.fixture
def task():
    made = SubwordLanguageModelingTask(options(), make_dictionary(5))
    made.datasets["train"] = TokenStream(torch.arange(4, 9), eos=2, pad=1)
    return made


def test_windows_are_35_words_as_in_the_paper_unless_told_otherwise():
    assert SubwordLanguageModelingConfig().tokens_per_sample == 35


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"tokens_per_sample": 0}, "--tokens-per-sample 0: windows of truncated"),
        ({"sample_break_mode": "eos"}, "--sample-break-mode eos does not apply"),
        ({"add_bos_token": True}, "--add-bos-token True does not apply"),
        ({"past_target": True}, "--past-target True does not apply"),
        ({"self_target": True}, "--self-target True does not apply"),
        ({"shorten_method": "truncate"}, "--shorten-method truncate does not apply"),
        ({"pad_to_fixed_length": True}, "--pad-to-fixed-length True does not apply"),
        ({"pad_to_fixed_bsz": True}, "--pad-to-fixed-bsz True does not apply"),
    ],
)
def test_options_that_cut_a_text_into_samples_are_refused(changed, message):
    with pytest.raises(UserError, match=message):
        SubwordLanguageModelingTask.setup_task(options(**changed))
    SubwordLanguageModelingTask.setup_task(options())


def test_a_batch_size_is_needed_and_must_not_exceed_the_text(task):
    with pytest.raises(UserError, match=r"needs --batch-size.* instead of --max-tokens"):
        task.get_batch_iterator(task.datasets["train"], max_tokens=100)
    with pytest.raises(UserError, match=r"--batch-size 6 on 1 process.* the train text into 6 col"):
        task.get_batch_iterator(task.datasets["train"], max_sentences=6)
    with pytest.raises(UserError, match=r"needs --batch-size.* instead of --max-tokens"):
        task.get_batch_iterator(task.datasets["train"], max_tokens=100, max_sentences=2)


@pytest.mark.parametrize("subset", ["train", "half"])
def test_a_text_too_short_for_validation_is_found_before_training(task, subset):
    task.datasets["valid"] = TokenStream(torch.arange(4, 7), eos=2, pad=1)
    text = task.datasets[subset] = task.datasets.pop("train")
    task.args.train_subset = subset
    with pytest.raises(UserError, match=r"the valid text into 4 col.*3 words.*--batch-size-valid"):
        task.get_batch_iterator(text, max_sentences=4)
    task.args.batch_size_valid = 3
    assert len(task.get_batch_iterator(text, max_sentences=4)) == 1
    with pytest.raises(UserError, match="--batch-size 3 on 2 process"):
        task.get_batch_iterator(text, max_sentences=2, num_shards=2)


def test_an_empty_text_is_refused(task, monkeypatch):
    task.args.data = "data"
    monkeypatch.setattr(data_utils, "load_indexed_dataset", lambda *args, **options: [])
    task.args.dataset_impl = None
    with pytest.raises(UserError, match=r"data/valid: has no sentences"):
        task.load_dataset("valid")


def test_padding_as_a_word_is_refused(task, monkeypatch):
    """It is no target, but fairseq counts it as one."""
    sentences = [task.dictionary.encode_line("w1 <pad> w2 <pad>", add_if_not_exist=False)]
    task.args.data, task.args.dataset_impl = "data", None
    monkeypatch.setattr(data_utils, "load_indexed_dataset", lambda *args, **options: sentences)
    with pytest.raises(UserError, match=r"data/valid: has the word <pad> 2 times"):
        task.load_dataset("valid")


def test_a_model_that_carries_no_state_is_refused(task, monkeypatch):
    plain = SimpleNamespace(decoder=SimpleNamespace(forward=lambda words: words))
    monkeypatch.setattr(LanguageModelingTask, "build_model", lambda *args, **options: plain)
    with pytest.raises(UserError, match=r"carries no state .* use --arch subword_lm"):
        task.build_model(SimpleNamespace())


def test_evaluation_reads_one_column_and_refuses_other_ways_of_batching(task):
    (batch,) = task.eval_lm_dataloader(task.datasets["train"], max_tokens=36_000, num_workers=0)
    assert batch["target"].tolist() == [[4, 5, 6, 7, 8]]
    with pytest.raises(UserError, match="--context-window 3 does not apply"):
        task.eval_lm_dataloader(task.datasets["train"], context_window=3)
    with pytest.raises(UserError, match="--max-tokens 4000 does not apply"):
        task.eval_lm_dataloader(task.datasets["train"], max_tokens=4000)


def test_sentences_to_be_scored_are_batched_by_fairseq(task):
    sentences = task.build_dataset_for_inference([torch.tensor([4, 5, 2])], [3])
    iterator = task.get_batch_iterator(sentences, max_sentences=2)
    (batch,) = iterator.next_epoch_itr(shuffle=False)
    assert batch["net_input"]["src_tokens"].tolist() == [[2, 4, 5]]
    assert "carried" not in batch["net_input"]


def test_windows_of_a_text_are_not_continued(task):
    batches = task.get_batch_iterator(task.datasets["train"], max_sentences=1)
    sample = next(iter(batches.next_epoch_itr(shuffle=False)))
    with pytest.raises(UserError, match="fairseq-generate continues sentences, but"):
        task.inference_step(None, [], sample)


def test_each_epoch_reads_the_next_data_folder(task, monkeypatch):
    read = []

    def load(path, *args, **options):
        read.append(path)
        return [torch.tensor([4, 2])]

    monkeypatch.setattr(data_utils, "load_indexed_dataset", load)
    task.args.data, task.args.dataset_impl = f"a{os.pathsep}b", None
    for epoch in (1, 2, 3):
        task.load_dataset("train", epoch=epoch)
    assert read == ["a/train", "b/train", "a/train"]


def test_a_text_in_several_files_is_read_as_one_if_asked_for(task, monkeypatch):
    """fairseq asks for it in training: train, train1 and so on are one set."""
    asked = []

    def load(path, dictionary, implementation, combine):
        asked.append(combine)
        return [torch.tensor([4, 2])]

    monkeypatch.setattr(data_utils, "load_indexed_dataset", load)
    task.args.data, task.args.dataset_impl = "data", None
    task.load_dataset("train", combine=True)
    task.load_dataset("valid")
    assert asked == [True, False]


def test_states_of_all_processes_are_gathered_after_each_update(task, monkeypatch):
    """They are saved with the next checkpoint."""
    done = []
    step = lambda *_, **__: done.append("step") or (0.0, 1, {})  # noqa: E731
    monkeypatch.setattr(LanguageModelingTask, "train_step", step)
    carried = SimpleNamespace(gather=lambda: done.append("gather"))
    assert task.train_step({"net_input": {"carried": carried}}) == (0.0, 1, {})
    assert done == ["step", "gather"]


class OnDemand(list):
    """Sentences as of ``--dataset-impl lazy``: those that were not read before are missing."""

    supports_prefetch = True
    ready = ()

    def prefetch(self, numbers):
        self.ready = set(numbers)

    def __getitem__(self, number):
        if number not in self.ready:
            raise KeyError(number)
        return super().__getitem__(number)


def test_a_text_that_is_read_on_demand_is_read_as_a_whole(task, monkeypatch):
    text = OnDemand([torch.tensor([4, 2]), torch.tensor([5, 2])])
    monkeypatch.setattr(data_utils, "load_indexed_dataset", lambda *args, **kwargs: text)
    task.args.data, task.args.dataset_impl = "data", None
    task.load_dataset("valid")
    assert task.datasets["valid"].tokens.tolist() == [4, 2, 5, 2]
