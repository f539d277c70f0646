"""Resume within an epoch with another ``--update-freq``.

A run that resumes after ``n`` of the ``L`` batches of its epoch makes ``ceil((L - n) / k)`` groups
of ``k`` from the others. ``GroupedIterator`` (fairseq/data/iterators.py) counts on from
``ceil(n / k)`` to ``ceil(L / k)``, which can be a group too few if ``n`` is no multiple of ``k``.
The last batches are then not trained on, and because they are left, fairseq does not take the epoch
for finished: it trains on all of it again, silently.
"""

from typing import Any, Callable

from fairseq.data.iterators import GroupedIterator

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces


@replaces(GroupedIterator, "__init__")
def _count_the_groups_left(
    stock: Callable[..., Any],
    self: Any,
    iterable: Any,
    chunk_size: int,
    skip_remainder_batch: bool = False,
) -> None:
    done = getattr(iterable, "n", 0)
    stock(self, iterable, chunk_size, skip_remainder_batch)
    # The length is that of the epoch, shortened by --skip-remainder-batch to whole groups.
    left = max(len(iterable) - done, 0)
    groups = left // chunk_size if skip_remainder_batch else -(-left // chunk_size)
    self.total = self.n + groups
    if skip_remainder_batch and 0 == groups < done:
        raise UserError(
            f"--skip-remainder-batch: the checkpoint has trained on {done} batches of its epoch, "
            f"and fewer than --update-freq {chunk_size} are left: resume with the --update-freq of "
            "the checkpoint, or begin the epoch anew by --reset-dataloader"
        )
    if skip_remainder_batch:
        iterable.take(done + groups * chunk_size)
