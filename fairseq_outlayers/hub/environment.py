"""Checks of what a model needs before it is loaded: a device, a type of numbers, dictionaries."""

from typing import Any

import torch
from fairseq.data import Dictionary

from fairseq_outlayers.checkpoints.stored_options import LANGUAGES, first_folder
from fairseq_outlayers.errors import UserError

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def check_device(device: Any) -> None:
    """Raise a :class:`UserError` for a device that PyTorch cannot compute on here."""
    try:
        torch.empty(0, device=device).cpu()
    except (RuntimeError, AssertionError, TypeError) as error:  # depends on PyTorch's build
        raise UserError(
            f"device={device}: PyTorch has no such device here; leave it out for the CPU"
        ) from error


def check_dtype(dtype: Any) -> None:
    """Raise a :class:`UserError` for a type that no model computes in."""
    if dtype not in DTYPES:
        raise UserError(f"dtype={dtype!r}: must be one of {', '.join(map(str, DTYPES))}")


def check_equal_dictionaries(path: str, config: Any, task: Any) -> None:
    """Raise a :class:`UserError` if another model of an ensemble has other dictionaries.

    Args:
        path: of its checkpoint.
        config: its options. They name its data folder; one that is gone is not compared.
        task: of the first model.
    """
    folder = first_folder(config.task.data)
    names = [f"dict.{config.task.get(side)}.txt" for side in LANGUAGES]
    dictionaries = [task.source_dictionary, task.target_dictionary]
    if "source_lang" not in config.task:
        names, dictionaries = ["dict.txt"], dictionaries[:1]
    for name, dictionary in zip(names, dictionaries, strict=True):
        file = folder / name
        if file.is_file() and Dictionary.load(str(file)).symbols != dictionary.symbols:
            raise UserError(
                f"{path}: its dictionary {file} is not that of the first model; the models of an "
                "ensemble must have equal dictionaries"
            )
