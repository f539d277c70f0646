"""Compute options, and never run them.

Some options are Python expressions: ``--encoder-layers "[(512, 3)] * 20"`` of fconv. fairseq calls
``eval`` on them (docs/security.md lists where), also when they come from a checkpoint, so that a
file of weights could run anything: ``weights_only`` looks at pickles, not at texts. The patch gives
every module of fairseq's that calls it an ``eval`` of literals and arithmetic
(:mod:`fairseq_outlayers.checkpoints.literals`).

Besides, ``FastaDataset`` (fairseq/data/fasta_dataset.py) hands the path of the data, which
``fairseq-validate`` takes from the checkpoint, to a shell. A path that a shell would not take as
one word is refused.

Modules that a ``--user-dir`` brings along, fairseq's ``examples/`` for one, are left as they are.
"""

import functools
import itertools
import shlex
import sys
from typing import Any, Callable

from fairseq.data import fasta_dataset

from fairseq_outlayers.checkpoints.literals import evaluate
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replace_once
from fairseq_outlayers.patches.required import checkpoint_options

SHOWN = 60  # characters of a refused value


def apply() -> None:
    """Shadow the built-in function in every module of fairseq's that is loaded."""
    for name, module in list(sys.modules.items()):
        if name.startswith("fairseq.") and module is not None:
            module.eval = evaluate_option  # type: ignore[attr-defined]
    replace_once(fasta_dataset.FastaDataset, "_build_index", _with_a_plain_path)


def evaluate_option(text: Any, *_: Any) -> Any:
    """What ``eval`` would return for literals and arithmetic.

    Raises:
        TypeError: if ``text`` is no text, as ``eval`` does.
        UserError: if it is anything else; the message names the option.
    """
    try:
        return evaluate(text)
    except ValueError as error:
        shown = text if len(text) <= SHOWN else text[:SHOWN] + "..."
        raise UserError(
            f"{_source_of(text)} {shown!r} was not run: {error}. Only numbers, texts, lists and "
            "arithmetic are computed; use a checkpoint from a source that you trust."
        ) from error


def _source_of(text: str) -> str:
    """The option that has this value, with the checkpoint that it is from."""
    found = checkpoint_options.name_of(text)
    if found is not None:
        return found
    for before, word in itertools.pairwise(sys.argv):
        if word == text or word.partition("=")[2] == text:
            return before if word == text else word.partition("=")[0]
    return "an option"


def _with_a_plain_path(stock: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(stock)
    def build_index(self: Any, path: str) -> Any:
        if shlex.quote(str(path)) != str(path):
            raise UserError(
                f"{path}: fairseq reads FASTA files through a shell, and this path is more than "
                "one word to it: rename the file"
            )
        return stock(self, path)

    return build_index
