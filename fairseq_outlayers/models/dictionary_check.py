"""Refuse a checkpoint that was trained with another dictionary.

A fairseq checkpoint stores one row of weights per word but not the words: ``load_state_dict``
(fairseq/models/fairseq_model.py) compares sizes only. With another ``dict.txt`` of the same size,
for example of other data, every id means another word, and translation is garbage with exit
status 0.

A model that calls :func:`register_dictionary` saves a fingerprint of the words with its weights and
compares it when a checkpoint is loaded (:mod:`fairseq_outlayers.tables.stored_version`).
"""

import functools
import logging
from functools import partial
from typing import Any

import torch
from fairseq.data import Dictionary
from torch import Tensor, nn

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import fingerprint, number_of_symbols
from fairseq_outlayers.tables.stored_version import register_version

logger = logging.getLogger(__name__)


def register_dictionary(
    module: nn.Module, side: str, dictionary: Dictionary, language: str = ""
) -> None:
    """Save the fingerprint of ``dictionary`` with ``module``; compare it on ``load_state_dict``.

    Loading raises :class:`UserError` if the checkpoint has another one. An old checkpoint without
    one loads with a warning.

    Args:
        module: the encoder or decoder that has the dictionary, or the whole model.
        side: "source" or "target"; the buffer is named ``source_dictionary_version``.
        dictionary: complete; it must not grow between training and loading.
        language: such as "de", for ``dict.de.txt`` in error messages.
    """
    register_version(
        module,
        _buffer(side),
        torch.tensor(fingerprint(dictionary)),
        partial(_refuse, side, language),
        on_missing=partial(_warn_once, side),
    )


def register_dictionaries(model: Any, task: Any) -> None:
    """Call :func:`register_dictionary` for each side of a model; all of our models do.

    Args:
        model: with a ``decoder``, and an ``encoder`` unless it is a language model.
        task: has the dictionaries, and the languages if it is a translation task.
    """
    options = getattr(task, "cfg", None)
    if hasattr(model, "encoder"):
        language = getattr(options, "source_lang", None) or ""
        register_dictionary(model.encoder, "source", task.source_dictionary, language)
    language = getattr(options, "target_lang", None) or ""
    register_dictionary(model.decoder, "target", task.target_dictionary, language)


def update_dictionary(module: nn.Module, side: str, dictionary: Dictionary) -> None:
    """Update the fingerprint after the dictionary has grown.

    Args:
        module: for which :func:`register_dictionary` was called.
        side: "source" or "target".
        dictionary: the grown dictionary.
    """
    getattr(module, _buffer(side)).fill_(fingerprint(dictionary))


def _buffer(side: str) -> str:
    return f"{side}_dictionary_version"


def _refuse(side: str, language: str, found: Tensor, own: Tensor) -> None:
    option = "--srcdict" if side == "source" else "--tgtdict"
    raise UserError(
        f"the checkpoint was trained with another {side} dictionary (dict.{language or '*'}.txt): "
        f"{_sizes(int(found), int(own))}. Pass the data folder of the training, or binarize the "
        f"data with its dictionary (fairseq-preprocess {option}); for a new training choose "
        "another --save-dir." + (language and " Or are --source-lang and --target-lang exchanged?")
    )


def _sizes(found: int, expected: int) -> str:
    trained, given = number_of_symbols(found), number_of_symbols(expected)
    if trained == given:
        return f"both have {given} symbols, but not the same ones in the same order"
    return f"{trained} symbols in training, {given} given"


@functools.cache
def _warn_once(side: str) -> None:
    logger.warning(
        f"the checkpoint has no fingerprint of its {side} dictionary, so it cannot be compared "
        "with this one"
    )
