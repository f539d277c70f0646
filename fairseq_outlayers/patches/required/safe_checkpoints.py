"""Load checkpoints without running code from them.

``load_checkpoint_to_cpu`` and ``load_ema_from_checkpoint`` (fairseq/checkpoint_utils.py) call
``torch.load`` with its default. Since torch 2.6 that is ``weights_only=True``, which refuses
fairseq's own checkpoints (fairseq issue 5610); before, it was ``weights_only=False``, which runs
any code in a checkpoint.

The patch keeps ``weights_only=True`` and allows the types that stock fairseq saves:
``argparse.Namespace`` (options of models without a dataclass, such as the LSTM) and, with
``--eval-bleu``, numpy arrays of counts, which are made without numpy's constructors
(``checkpoints/stored_numbers.py``). No omegaconf types are needed: ``Trainer`` converts its
configuration to plain dictionaries. Anything else is refused with a :class:`UserError` that names
the file and the global, before any of it runs.

``torch.load`` itself is not replaced, and torch's switches keep their meaning:
``TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1`` lets checkpoints run code, and each file loaded this way is
named in a warning. To load a trusted file with other types, allow only these, with
``torch.serialization.add_safe_globals`` (of numpy, ``np.dtypes.ObjectDType``, ``StrDType`` and
``BytesDType``).
"""

import argparse
import os
import pickle
from typing import Any, Callable

import torch
from fairseq import checkpoint_utils

from fairseq_outlayers.checkpoints.refusal import explain_refusal, warn_if_unchecked
from fairseq_outlayers.checkpoints.stored_numbers import numbers_as_stored
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces


def apply() -> None:
    """Allow the type in fairseq's checkpoints; numpy's only while one is loaded."""
    torch.serialization.add_safe_globals([argparse.Namespace])


@replaces(checkpoint_utils, "load_ema_from_checkpoint")
@replaces(checkpoint_utils, "load_checkpoint_to_cpu")
def _name_the_file(stock: Callable[..., Any], path: str, *args: Any, **kwargs: Any) -> Any:
    warn_if_unchecked(path)
    try:
        with numbers_as_stored():
            return stock(path, *args, **kwargs)
    except Exception as error:
        unreadable = isinstance(error, (pickle.UnpicklingError, EOFError))
        if unreadable or "PytorchStreamReader" in str(error) or not _may_be_one(path):
            raise UserError(explain_refusal(path, str(error))) from error
        raise


def _may_be_one(path: str) -> bool:
    """Whether a file begins like one of torch's two formats; others may fail in any way."""
    if not os.path.isfile(path):
        return True
    with open(path, "rb") as file:
        return file.read(1) in (b"", b"P", b"\x80")  # nothing, a zip file, a pickle
