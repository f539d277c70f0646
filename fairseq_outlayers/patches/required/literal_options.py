"""Evaluate options as literals, never as code.

Some options are Python expressions, such as fconv's ``--encoder-layers "[(512, 3)] * 20"``. fairseq
calls ``eval`` on them (docs/security.md lists where), also if they come from a checkpoint, which
could therefore run code: ``weights_only`` checks pickles, not strings. The patch gives every
fairseq module an ``eval`` of literals and arithmetic
(:mod:`fairseq_outlayers.checkpoints.literals`).

``FastaDataset`` (fairseq/data/fasta_dataset.py) passes the path of the data, which
``fairseq-validate`` takes from the checkpoint, to a shell. A path that needs shell quoting is
refused.

Modules of a ``--user-dir``, such as fairseq's ``examples/``, are not changed.
"""

import itertools
import shlex
import sys
from typing import Any, Callable

from fairseq.data import fasta_dataset
from omegaconf import DictConfig, ListConfig

from fairseq_outlayers.checkpoints.literals import evaluate
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces
from fairseq_outlayers.patches.required import checkpoint_options

SHOWN = 60  # characters of a refused value
CONTAINERS = (list, tuple, dict, set, ListConfig, DictConfig)


def apply() -> None:
    """Shadow the built-in ``eval`` in every loaded module of fairseq."""
    for name, module in list(sys.modules.items()):
        if name.startswith("fairseq.") and module is not None:
            module.eval = evaluate_option  # type: ignore[attr-defined]


def evaluate_option(text: Any, *_: Any) -> Any:
    """Evaluate literals and arithmetic as ``eval`` would.

    Raises:
        TypeError: if ``text`` is neither a string nor a container, as ``eval`` does.
        UserError: if it contains anything else; the message names the option.
    """
    try:
        if isinstance(text, CONTAINERS):
            raise ValueError("it is not text")
        return evaluate(text)
    except ValueError as error:
        shown = str(text)
        shown = shown if len(shown) <= SHOWN else shown[:SHOWN] + "..."
        raise UserError(
            f"{_source_of(text)} {shown!r} was not evaluated: {error}. Only numbers, strings, "
            "lists and arithmetic are allowed; use a checkpoint from a source that you trust."
        ) from error


def _source_of(text: Any) -> str:
    """The option with this value, and its checkpoint."""
    found = checkpoint_options.name_of(text)
    if found is not None:
        return found
    for before, word in itertools.pairwise(sys.argv):
        if word == text or word.partition("=")[2] == text:
            return before if word == text else word.partition("=")[0]
    return "an option"


@replaces(fasta_dataset.FastaDataset, "_build_index")
def _with_a_plain_path(stock: Callable[..., Any], self: Any, path: str) -> Any:
    if shlex.quote(str(path)) != str(path):
        raise UserError(
            f"{path}: fairseq reads FASTA files through a shell, which this path would need "
            "quoting for: rename the file"
        )
    return stock(self, path)
