"""Refuse a checkpoint that was trained with another dictionary.

A fairseq checkpoint stores one row of weights per word but not the words: ``load_state_dict``
(fairseq/models/fairseq_model.py) compares sizes only. With another ``dict.txt`` of the same size,
for example of other data, every id means another word, and translation is garbage with exit
status 0.

A model that calls :func:`register_dictionary` saves a fingerprint of the words with its weights and
compares it when a checkpoint is loaded. It is an integer buffer whose name ends in ``_version``:

- fairseq's moving average (fairseq/models/ema/ema.py) multiplies all buffers by a float, which
  fails for integers, except those with "version" in their names;
- ``half()`` and ``bfloat16()`` convert floats only;
- averaging checkpoints adds and divides integers exactly, so equal fingerprints do not change and
  different ones become one that matches no dictionary.
"""

import functools
import logging
from dataclasses import dataclass, replace
from typing import Any, Dict

import torch
from fairseq.data import Dictionary
from torch import nn

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import CHECKSUM_BITS, fingerprint

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
    comparison = _Comparison(side, language)
    module.register_buffer(comparison.buffer, torch.tensor(fingerprint(dictionary)))
    module.register_load_state_dict_pre_hook(comparison)


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
    getattr(module, _Comparison(side, "").buffer).fill_(fingerprint(dictionary))


@dataclass(frozen=True)
class _Comparison:
    """The hook that compares the module's fingerprint with that of ``state_dict``."""

    side: str
    language: str
    warns: bool = True

    @property
    def buffer(self) -> str:
        return f"{self.side}_dictionary_version"

    def __deepcopy__(self, memo: Dict[int, Any]) -> "_Comparison":
        # The moving average is a copy of the model, loaded non-strictly after every update from a
        # state without this buffer; torch does not pass strict to hooks.
        return replace(self, warns=False)

    def __call__(
        self, module: nn.Module, state_dict: Dict[str, Any], prefix: str, *rest: Any
    ) -> None:
        expected = getattr(module, self.buffer)
        if prefix + self.buffer not in state_dict:
            if self.warns:
                _warn_once(self.side)
            state_dict[prefix + self.buffer] = expected.clone()
            return
        found = int(state_dict[prefix + self.buffer])
        if found != int(expected):
            option = "--srcdict" if self.side == "source" else "--tgtdict"
            raise UserError(
                f"the checkpoint was trained with another {self.side} dictionary "
                f"(dict.{self.language or '*'}.txt): {_sizes(found, int(expected))}. Pass the data "
                "folder of the training, or binarize the data with its dictionary "
                f"(fairseq-preprocess {option}); for a new training choose another --save-dir."
                + (self.language and " Or are --source-lang and --target-lang exchanged?")
            )


def _sizes(found: int, expected: int) -> str:
    trained, given = found >> CHECKSUM_BITS, expected >> CHECKSUM_BITS
    if trained == given:
        return f"both have {given} symbols, but not the same ones in the same order"
    return f"{trained} symbols in training, {given} given"


@functools.cache
def _warn_once(side: str) -> None:
    logger.warning(
        f"the checkpoint has no fingerprint of its {side} dictionary, so it cannot be compared "
        "with this one"
    )
