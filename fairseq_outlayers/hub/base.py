"""Base class of translation and language models in Python."""

import copy
import math
import re
import threading
from typing import Any, Collection, Dict, List, Mapping

import torch
from fairseq.search import Sampling
from omegaconf import open_dict
from torch import Tensor

from fairseq_outlayers.decoding.int8_projection import Int8Projections
from fairseq_outlayers.decoding.sampling import RescaledSampling
from fairseq_outlayers.decoding.search import CandidateGenerator, no_translation
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.hub.arguments import as_keyword, check_text
from fairseq_outlayers.hub.search_options import check_names, checked_search
from fairseq_outlayers.hub.text import TextProcessor
from fairseq_outlayers.stock.mistakes import NO_HYPOTHESIS


def perplexity(score: float, number: int) -> float:
    """Perplexity of ``number`` units with a total log-probability; infinite beyond float64."""
    try:
        return math.exp(-score / number)
    except OverflowError:
        return math.inf


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
        # A search replaces parts of the models and adds words to the dictionaries.
        self.lock = threading.RLock()
        self.int8_projections = Int8Projections()  # of all searches, because rounding takes time

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"a {type(self).__name__} cannot be copied or pickled; call load(...) in every process"
        )

    @property
    def device(self) -> torch.device:
        return next(self.models[0].parameters()).device

    @staticmethod
    def spelled(name: str, *value: Any) -> str:
        """An option of the search in messages, by fairseq's name; commands have it as a flag."""
        return as_keyword(name, *value)

    def build_search(
        self, options: Mapping[str, Any], given: Mapping[str, Any], known: Collection[str]
    ) -> Any:
        """fairseq's search with options of ``fairseq-generate``.

        Args:
            options: of the method's own arguments.
            given: further options by name.
            known: names of those that the method acts on.
        Raises:
            UserError: if an option is unknown, has no effect, or is out of its range.
        """
        check_names(given, known, self.config.generation)
        # Of candidates, the search checks each sentence's number.
        num_words = len(self.task.target_dictionary)
        return self.build_generator(checked_search({**options, **given}, num_words, self.spelled))

    def build_generator(self, options: Dict[str, Any]) -> Any:
        """fairseq's search, with checked options.

        Raises:
            UserError: if fairseq or the task refuses them.
        """
        arguments = copy.deepcopy(self.config.generation)
        with open_dict(arguments):
            arguments.update(options)
        try:
            with self.lock:
                self.task.spelled = self.spelled  # of translation_outlayers; others ignore it
                generator = self.task.build_generator(self.models, arguments)
        except AssertionError as error:
            raise UserError(f"the search cannot be built: {error}") from error
        if isinstance(generator, CandidateGenerator):
            if generator.int8_projections is not None:
                generator.int8_projections = self.int8_projections
        elif type(getattr(generator, "search", None)) is Sampling:  # of other tasks
            dictionary = self.task.target_dictionary
            generator.search = RescaledSampling.like(generator.search, dictionary)
        return generator

    def _found(self, generator: Any, batch: Any) -> Any:
        """Hypotheses of a batch; fairseq checks some options only here."""
        try:
            return self.task.inference_step(generator, self.models, batch)
        except UserError:
            raise
        except (AssertionError, ValueError) as error:
            if re.search(NO_HYPOTHESIS, str(error)):
                raise no_translation("the text", self.spelled) from error
            raise UserError(
                f"the options of the search do not fit the text or the model: {error}"
            ) from error

    def _ids(
        self,
        name: str,
        text: str,
        dictionary: Any,
        limit: float,
        adds_new: bool = False,
        is_target: bool = False,
    ) -> Tensor:
        """Ids of a text that has a place for each, ``(T,)``; see :meth:`TextProcessor.ids`."""
        ids = self.text.ids(check_text(name, text), dictionary, adds_new, is_target)
        for symbol in (dictionary.eos(), dictionary.pad()):
            if symbol in ids[:-1]:
                raise UserError(
                    f"{name}: has {dictionary[symbol]}, which no text may have; remove it"
                )
        if len(ids) > limit:
            raise UserError(
                f"{name}: {len(ids)} units, with </s>, but the model has only {limit} positions; "
                "split or shorten it"
            )
        return ids


def symbols(dictionary: Any, ids: Tensor) -> List[str]:
    """Units of ids, without ``</s>`` and padding."""
    hidden = (dictionary.eos(), dictionary.pad())
    return [dictionary[number] for number in ids.tolist() if number not in hidden]
