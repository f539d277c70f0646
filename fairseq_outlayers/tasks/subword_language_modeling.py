"""Language modeling over a continuous text, with a hidden state carried between batches."""

import inspect
import os
from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

import torch
from fairseq import utils
from fairseq.data import data_utils
from fairseq.tasks import register_task
from fairseq.tasks.language_modeling import LanguageModelingConfig, LanguageModelingTask
from omegaconf import II
from torch import Tensor

from fairseq_outlayers.errors import UserError, as_flag, padding_in_text
from fairseq_outlayers.options import changed_defaults
from fairseq_outlayers.partitions.corpus import all_sentences
from fairseq_outlayers.tasks.text_columns import ColumnIterator, ColumnWindows, TokenStream


@dataclass
class _WithTrainSubset(LanguageModelingConfig):
    train_subset: str = II("dataset.train_subset")


SubwordLanguageModelingConfig: Any = changed_defaults(
    "SubwordLanguageModelingConfig", _WithTrainSubset, tokens_per_sample=35
)

EVAL_LM_MAX_TOKENS = 36_000  # what fairseq-eval-lm asks for without --max-tokens

# Options of fairseq's task that split a text into samples, and their allowed values here.
WITHOUT_SAMPLES: Dict[str, Tuple[Any, ...]] = {
    "sample_break_mode": (None, "none"),
    "add_bos_token": (False,),
    "self_target": (False,),
    "past_target": (False,),
    "shorten_method": ("none",),
    "pad_to_fixed_length": (False, None),
    "pad_to_fixed_bsz": (False, None),
}


@register_task("subword_language_modeling", dataclass=SubwordLanguageModelingConfig)
class SubwordLanguageModelingTask(LanguageModelingTask):
    """Truncated backpropagation through time, as in Assylbekov & Takhanov (2018).

    A split is one stream of words, divided into `--batch-size` columns (times the number of
    processes). A batch is the next `--tokens-per-sample` words of every column, and starts from the
    final hidden state of the previous batch. An epoch starts from zeros. Nothing is shuffled or
    left out.

    `fairseq-eval-lm` reads the text as one column unless `--batch-size` is given; the perplexity
    does not depend on the length of windows.
    """

    @classmethod
    def setup_task(cls, args: Any, **kwargs: Any) -> "SubwordLanguageModelingTask":
        if args.tokens_per_sample < 1:
            raise UserError(
                f"--tokens-per-sample {args.tokens_per_sample}: windows of truncated "
                "backpropagation must have at least 1 word"
            )
        for option, allowed in WITHOUT_SAMPLES.items():
            if getattr(args, option, allowed[0]) not in allowed:
                raise UserError(
                    f"{as_flag(option)} {getattr(args, option)} does not apply to "
                    "--task subword_language_modeling, which reads a split as one text: leave it "
                    "out, or use --task language_modeling"
                )
        return super().setup_task(args, **kwargs)

    def build_model(self, args: Any, from_checkpoint: bool = False) -> Any:
        """Build a model as in fairseq.

        Raises:
            UserError: if it cannot carry a state.
        """
        model = super().build_model(args, from_checkpoint)
        if "carried" not in inspect.signature(model.decoder.forward).parameters:
            raise UserError(
                f"{type(model).__name__} carries no state between windows of a text, as --task "
                "subword_language_modeling requires: use --arch subword_lm or one of its sizes, or "
                "--task language_modeling"
            )
        return model

    def load_dataset(
        self, split: str, epoch: int = 1, combine: bool = False, **kwargs: Any
    ) -> None:
        """Read a split as one stream of words.

        Raises:
            FileNotFoundError: if there is no such split.
            UserError: if it is empty, or has padding as a word.
        """
        paths = utils.split_paths(self.args.data)
        path = os.path.join(paths[(epoch - 1) % len(paths)], split)
        sentences = data_utils.load_indexed_dataset(
            path, self.dictionary, self.args.dataset_impl, combine=combine
        )
        if sentences is None:
            raise FileNotFoundError(f"Dataset not found: {split} ({path})")
        if len(sentences) == 0:
            raise UserError(f"{path}: has no sentences; binarize a text that is not empty")
        tokens = torch.cat(all_sentences(sentences, len(sentences)))
        if (padding := int((tokens == self.dictionary.pad()).sum())) > 0:
            word = self.dictionary[self.dictionary.pad()]
            raise UserError(f"{padding_in_text(path, word, padding)}, and binarize that")
        self.datasets[split] = TokenStream(tokens, self.dictionary.eos(), self.dictionary.pad())

    def get_batch_iterator(
        self,
        dataset: Any,
        max_tokens: Optional[int] = None,
        max_sentences: Optional[int] = None,
        num_shards: int = 1,
        shard_id: int = 0,
        num_workers: int = 0,
        epoch: int = 1,
        data_buffer_size: int = 0,
        seed: int = 1,
        skip_remainder_batch: bool = False,
        **options: Any,
    ) -> Any:
        """Windows of a stream in the order of the text; fairseq's batches otherwise.

        Raises:
            UserError: if ``--batch-size`` is missing, or too large for the text or, in training,
                for another loaded text.
        """
        shared = {
            "num_workers": num_workers,
            "epoch": epoch,
            "seed": seed,
            "skip_remainder_batch": skip_remainder_batch,
        }
        if not isinstance(dataset, TokenStream):
            return super().get_batch_iterator(
                dataset, max_tokens, max_sentences, num_shards=num_shards, shard_id=shard_id,
                data_buffer_size=data_buffer_size, **shared, **options,
            )  # fmt: skip
        if max_sentences is None or max_tokens is not None:
            raise UserError(
                "--task subword_language_modeling needs --batch-size, the number of columns of the "
                "text (20 in Assylbekov & Takhanov 2018), instead of --max-tokens"
            )
        name = next(split for split, loaded in self.datasets.items() if loaded is dataset)
        windows = self._windows(name, max_sentences, num_shards, shard_id)
        if name == getattr(self.args, "train_subset", "train"):
            # Otherwise validation would fail after the first epoch.
            rows = getattr(self.args, "batch_size_valid", None) or max_sentences
            for other in self.datasets.keys() - {name}:
                self._windows(other, rows, num_shards, shard_id)
        return ColumnIterator(windows, buffer_size=data_buffer_size, **shared)

    def _windows(self, split: str, rows: int, num_shards: int, shard_id: int) -> ColumnWindows:
        size, name = self.args.tokens_per_sample, f"{split} text"
        return ColumnWindows(self.datasets[split], rows, size, num_shards, shard_id, name)

    def can_reuse_epoch_itr(self, dataset: Any) -> bool:
        return False

    def eval_lm_dataloader(
        self,
        dataset: Any,
        max_tokens: Optional[int] = None,
        batch_size: Optional[int] = None,
        context_window: int = 0,
        **options: Any,
    ) -> Any:
        """The whole text for ``fairseq-eval-lm``, by default as one column.

        Raises:
            UserError: for options that batches of columns do not have.
        """
        if context_window > 0:
            raise UserError(
                f"--context-window {context_window} does not apply to --task "
                "subword_language_modeling, which carries its state through the whole text: leave "
                "it out"
            )
        if max_tokens not in (None, EVAL_LM_MAX_TOKENS):
            raise UserError(
                f"--max-tokens {max_tokens} does not apply to --task subword_language_modeling: "
                "leave it out; --batch-size and --tokens-per-sample are the size of a batch"
            )
        options.pop("max_positions", None)
        iterator = self.get_batch_iterator(dataset, max_sentences=batch_size or 1, **options)
        return iterator.next_epoch_itr(shuffle=False)

    def inference_step(
        self, generator: Any, models: Any, sample: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """fairseq's step, for samples of sentences.

        Raises:
            UserError: for a window of a text (``fairseq-generate``).
        """
        if "carried" in sample["net_input"]:
            raise UserError(
                "fairseq-generate continues sentences, but --task subword_language_modeling reads "
                "a split as one text: use fairseq-interactive, or --task language_modeling "
                "--sample-break-mode eos"
            )
        return super().inference_step(generator, models, sample, *args, **kwargs)

    def train_step(self, sample: Any, *args: Any, **kwargs: Any) -> Tuple[Tensor, int, Any]:
        """fairseq's step; then gather the states of all processes for the checkpoint."""
        result = super().train_step(sample, *args, **kwargs)
        sample["net_input"]["carried"].gather()
        return result
