"""A text as parallel columns, read window by window with a carried state."""

import functools
import zlib
from typing import Any, Dict, Iterator, List, Optional, cast

import numpy as np
import torch
from fairseq.data import FairseqDataset, iterators
from torch import Tensor

from fairseq_outlayers.decoders.carried_state import CarriedState, WindowState
from fairseq_outlayers.errors import UserError


class TokenStream(FairseqDataset):
    """All words of a split, including the end of each sentence.

    Args:
        tokens: word ids, ``(N,)``.
        eos: precedes the first word.
        pad: fills up columns that are one word shorter than others.
    """

    def __init__(self, tokens: Tensor, eos: int, pad: int):
        self.tokens, self.eos, self.pad = tokens, eos, pad

    def __len__(self) -> int:
        return len(self.tokens)

    @functools.cached_property
    def checksum(self) -> int:
        """CRC-32 of the words, as 64-bit numbers in this machine's byte order."""
        return zlib.crc32(self.tokens.long().numpy().tobytes())

    def between(self, start: int, end: int) -> Tensor:
        """Words ``[start, end)``; position -1 is ``eos``."""
        words = self.tokens[max(start, 0) : end].long()
        return words if start >= 0 else torch.cat([words.new_tensor([self.eos]), words])


class ColumnWindows(FairseqDataset):
    """Windows of a stream that is divided into columns of equal length, give or take a word.

    Item ``i`` is window ``i // B`` of this process's column ``i % B``. Process ``r`` of ``R`` reads
    ``B`` columns from ``r B`` on, of ``R B`` in total; all processes have the same number of
    windows.

    Args:
        stream: ``N`` words.
        rows: ``B``, the columns of this process, which are the rows of its batches.
        window: words per column and batch.
        num_shards: ``R``.
        shard_id: ``r``.
        name: of the split, for error messages.
    Raises:
        UserError: if there are more columns than words.
    """

    def __init__(
        self,
        stream: TokenStream,
        rows: int,
        window: int,
        num_shards: int = 1,
        shard_id: int = 0,
        name: str = "text",
    ):
        columns = rows * num_shards
        if columns > len(stream):
            raise UserError(
                f"--batch-size {rows} on {num_shards} process(es) divides the {name} into "
                f"{columns:,} columns, but it has only {len(stream):,} words: choose a smaller "
                "--batch-size (--batch-size-valid for validation)"
            )
        self.stream, self.rows, self.window = stream, rows, window
        self.columns, self.first_column = columns, rows * shard_id
        # The first `longer` columns have one word more than the others.
        shortest, longer = divmod(len(stream), columns)
        column = np.arange(self.first_column, self.first_column + rows)
        self.starts = column * shortest + np.minimum(column, longer)
        self.ends = self.starts + shortest + (column < longer)
        self.num_windows = -(-(shortest + (longer > 0)) // window)

    def __len__(self) -> int:
        return self.num_windows * self.rows

    def rows_of(self, carried: Tensor) -> Tensor:
        """This process's part, ``(layers, 2, B, H)``, of the states of all columns.

        Raises:
            UserError: if they have another number of columns.
        """
        if carried.size(2) != self.columns:
            raise UserError(
                f"the checkpoint was saved within an epoch with {carried.size(2)} columns of text, "
                f"but --batch-size {self.rows} on all processes makes {self.columns}: use the same "
                "number, or pass --reset-dataloader"
            )
        return carried[:, :, self.first_column : self.first_column + self.rows]

    def check(self, window: int, checksum: int) -> None:
        """Refuse to resume within an epoch with another window size or text.

        Args:
            window: words per column and batch in the checkpoint.
            checksum: of the text.
        Raises:
            UserError: if one of them differs from this text's.
        """
        if window != self.window:
            raise UserError(
                f"the checkpoint was saved within an epoch with windows of {window} words, but "
                f"--tokens-per-sample is {self.window}: use the same number, or pass "
                "--reset-dataloader"
            )
        if checksum != self.stream.checksum:
            raise UserError(
                "the checkpoint was saved within an epoch of another text: its states do not "
                "precede the words of this one; use the same data, or pass --reset-dataloader"
            )

    def batches(self) -> List[List[int]]:
        """The items of each batch: the same window of every column."""
        return np.arange(len(self)).reshape(self.num_windows, self.rows).tolist()

    def __getitem__(self, item: int) -> Dict[str, Any]:
        number, row = divmod(item, self.rows)
        start = int(self.starts[row]) + number * self.window
        end = min(start + self.window, int(self.ends[row]))
        return {
            "id": item,
            "source": self.stream.between(start - 1, max(start, end) - 1),
            "target": self.stream.between(start, max(start, end)),
        }

    def collater(self, samples: List[Dict[str, Any]]) -> Dict[str, Any]:
        """A batch in the format of fairseq's language modeling task, with rows in order."""

        def stack(key: str) -> Tensor:
            width = max(1, *(len(sample[key]) for sample in samples))
            stacked = torch.full((len(samples), width), self.stream.pad)
            for row, sample in enumerate(samples):
                stacked[row, : len(sample[key])] = sample[key]
            return stacked

        lengths = torch.tensor([len(sample["source"]) for sample in samples])
        return {
            "id": torch.tensor([sample["id"] for sample in samples]),
            "nsentences": len(samples),
            "ntokens": int(lengths.sum()),
            "net_input": {"src_tokens": stack("source"), "src_lengths": lengths},
            "target": stack("target"),
        }


class ColumnIterator(iterators.EpochBatchIterator):
    """Windows in the order of the text; each batch carries the hidden state of the previous one.

    The iterator saves the state, so that training can resume within an epoch.

    Args:
        windows: of one process.
        options: of fairseq's ``EpochBatchIterator``.
    """

    has_all_batches = False  # but those of one process

    def __init__(self, windows: ColumnWindows, **options: Any):
        self.carried = CarriedState()
        super().__init__(
            windows,
            windows.collater,
            windows.batches(),
            disable_shuffling=True,
            persistent_workers=False,  # each epoch has a loader of its own
            **options,
        )

    def _get_iterator_for_epoch(
        self, epoch: int, shuffle: bool, fix_batches_to_gpus: bool = False, offset: int = 0
    ) -> Optional[iterators.CountingIterator]:
        if offset == 0:
            self.carried = CarriedState()
        batches = super()._get_iterator_for_epoch(epoch, shuffle, fix_batches_to_gpus, offset)
        if batches is None:
            return None
        total = len(batches)
        return iterators.CountingIterator(
            _with_state(batches, self.carried), start=offset, total=total
        )

    def state_dict(self) -> Dict[str, Any]:
        state = super().state_dict()
        carried, windows = self.carried.of_all_ranks, cast(ColumnWindows, self.dataset)
        if state["iterations_in_epoch"] > 0 and carried is not None:
            state["carried"], state["window"] = carried.cpu(), windows.window
            state["text"] = windows.stream.checksum
        return state

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        carried, windows = state_dict.get("carried"), cast(ColumnWindows, self.dataset)
        if carried is not None:
            same = windows.window, windows.stream.checksum  # of older checkpoints
            windows.check(state_dict.get("window", same[0]), state_dict.get("text", same[1]))
            carried = windows.rows_of(carried)
        super().load_state_dict(state_dict)
        if carried is not None:
            self.carried.carry(carried)


def _with_state(
    batches: iterators.CountingIterator, carried: CarriedState
) -> Iterator[Dict[str, Any]]:
    # In the main process, after data loader workers have made the batch.
    for batch in batches:
        batch["net_input"]["carried"] = WindowState(carried)
        yield batch
