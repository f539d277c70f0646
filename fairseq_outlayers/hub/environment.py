"""Checks of what a model needs before it is loaded: a device, a type of numbers, dictionaries."""

from pathlib import Path
from typing import Any, List

import torch
from fairseq.data import Dictionary

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.tasks.stored_options import first_folder

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


def check_dictionaries(path: str, config: Any, is_translation: bool) -> None:
    """Raise a :class:`UserError` if the data folder lacks a dictionary.

    Args:
        path: of the checkpoint.
        config: its options.
        is_translation: whether the model has a pair of languages.
    """
    folder = first_folder(config.task.data)
    remedy = (
        "pass data= (commands: --data) with the folder that the model was trained on, or one with "
        "the same dictionaries"
    )
    if not any(folder.glob("dict*.txt")):
        raise UserError(f"{folder}, the data of {path}, has no dictionaries: {remedy}")
    missing = [
        name for name in _needed(folder, config, is_translation) if not (folder / name).is_file()
    ]
    if missing:
        raise UserError(f"{folder}, the data of {path}, has no {', '.join(missing)}: {remedy}")


def check_equal_dictionaries(path: str, config: Any, task: Any) -> None:
    """Raise a :class:`UserError` if another model of an ensemble has other dictionaries.

    Args:
        path: of its checkpoint.
        config: its options. They name its data folder; one that is gone is not compared.
        task: of the first model.
    """
    folder = first_folder(config.task.data)
    names = [f"dict.{config.task.get(side)}.txt" for side in ("source_lang", "target_lang")]
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


def _needed(folder: Path, config: Any, is_translation: bool) -> List[str]:
    """Names of the dictionaries."""
    if not is_translation:
        return ["dict.txt"]
    pair = [config.task.get("source_lang"), config.task.get("target_lang")]
    if None in pair:
        raise UserError(
            f"{folder}: the checkpoint stores no languages, no file of the folder is named by "
            "them, as train.de-en.de.idx, and no dictionaries are recognized: pass data= with the "
            "folder of the binarized text, or with the model's dictionaries alone"
        )
    return [f"dict.{language}.txt" for language in pair]
