"""Base class of translation and language models in Python."""

import copy
from types import SimpleNamespace
from typing import Any, Dict, List

import torch
from omegaconf import open_dict
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.hub.text import TextProcessor
from fairseq_outlayers.ranges import WIDEST, Range
from fairseq_outlayers.stock_ranges import check_stock_ranges
from fairseq_outlayers.suggestions import did_you_mean


class TrainedModels:
    """An ensemble of trained models with task, options and text processing.

    Args:
        models: on one device, in evaluation mode.
        task: has the dictionaries and builds the search.
        config: all options of the first checkpoint.
        text: tokenizes and segments.
    """

    def __init__(self, models: List[Any], task: Any, config: Any, text: TextProcessor):
        self.models, self.task, self.config, self.text = models, task, config, text

    @property
    def device(self) -> torch.device:
        return next(self.models[0].parameters()).device

    def build_generator(self, options: Dict[str, Any]) -> Any:
        """fairseq's search or scorer, with options of ``fairseq-generate``.

        Raises:
            UserError: if an option is unknown or out of its range.
        """
        arguments = copy.deepcopy(self.config.generation)
        for name in options:
            if name not in arguments:
                hint = did_you_mean(name, map(str, arguments))
                raise UserError(f"{name}: unknown search option{hint}")
        check_stock_ranges(SimpleNamespace(**options))
        with open_dict(arguments):
            arguments.update(options)
        return self.task.build_generator(self.models, arguments)


def check_batch_size(number: int) -> None:
    """Raise a :class:`UserError` for a number of sentences that is none."""
    limits = Range(at_least=1, at_most=WIDEST)
    if number not in limits:
        raise UserError(f"batch_size={number}: must be {limits}")


def symbols(dictionary: Any, ids: Tensor) -> List[str]:
    """Units of ids, without ``</s>`` and padding."""
    hidden = (dictionary.eos(), dictionary.pad())
    return [dictionary[number] for number in ids.tolist() if number not in hidden]
