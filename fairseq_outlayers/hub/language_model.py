"""Language models in Python."""

import math
import threading
from contextlib import contextmanager
from typing import (
    Any,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Union,
    Unpack,
    overload,
)

import torch
from fairseq import utils
from fairseq.data.data_utils import collate_tokens
from torch import Tensor

from fairseq_outlayers.decoding.length_limits import learned_positions
from fairseq_outlayers.decoding.target_scores import log_mean_probability, target_log_probabilities
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.hub.arguments import as_keyword, check_iterable, check_whole
from fairseq_outlayers.hub.base import TrainedModels, perplexity, symbols
from fairseq_outlayers.hub.batches import batches
from fairseq_outlayers.hub.text import TextProcessor, without_mark
from fairseq_outlayers.hub.typed_options import ContinuationOptions

SAMPLING = threading.Lock()
# max_units bounds the length.
SEARCH_OPTIONS = ("beam", "sampling", *ContinuationOptions.__annotations__)


class TextScore(NamedTuple):
    """The log-probability of a text.

    Attributes:
        score: log-probability in nats, including ``</s>``.
        tokens: log-probabilities of every unit and of ``</s>``.
        units: without ``</s>``; ``<unk>`` for units not in the dictionary.
    """

    score: float
    tokens: List[float]
    units: List[str]

    @property
    def perplexity(self) -> float:
        return perplexity(self.score, len(self.tokens))


class Continuation(NamedTuple):
    """A generated continuation.

    Attributes:
        text: the prompt and the continuation.
        score: log-probability in nats of the continuation, divided by its length; with
            ``temperature`` that of the sharpened or flattened distribution.
        units: of the continuation, without ``</s>``.
    """

    text: str
    score: float
    units: List[str]


class LanguageModel(TrainedModels):
    """One or more language models, made by :func:`fairseq_outlayers.load`.

    Raises:
        UserError: if the models score only a part of the dictionary.
    """

    def __init__(self, models: List[Any], task: Any, config: Any, text: TextProcessor):
        super().__init__(models, task, config, text)
        source, target = task.source_dictionary, task.target_dictionary
        if len(source) != len(target):
            raise UserError(
                f"a language model with --output-dictionary-size {len(target)} cannot be used in "
                f"Python: texts have all {len(source)} words; use fairseq-eval-lm"
            )
        self.first = [target.eos()]
        if getattr(task.args, "add_bos_token", False):
            self.first = [target.bos(), target.eos()]  # as fairseq's MonolingualDataset

    @staticmethod
    def spelled(name: str, *value: Any) -> str:
        """An option in messages, by its name in ``continue_``."""
        return as_keyword("max_units" if name == "max_len_b" else name, *value)

    @overload
    def score(  # type: ignore[overload-overlap]  # a str is an iterable of str, too
        self, texts: str, batch_size: int = ...
    ) -> TextScore: ...

    @overload
    def score(self, texts: Iterable[str], batch_size: int = ...) -> List[TextScore]: ...

    @torch.no_grad()
    def score(
        self, texts: Union[str, Iterable[str]], batch_size: int = 32
    ) -> Union[TextScore, List[TextScore]]:
        """Score texts, each on its own after ``</s>``, as ``fairseq-eval-lm`` scores sentences.

        Args:
            texts: a text, or several; line ends within a text count as spaces.
            batch_size: texts per batch.
        Returns:
            One :class:`TextScore`, or a list.
        Raises:
            UserError: if a text is longer than the model's positions.
        """
        check_whole("batch_size", batch_size)
        if isinstance(texts, str):
            return self._score([texts], batch_size)[0]
        return self._score(check_iterable("texts", texts, "a text or several"), batch_size)

    def _score(self, texts: Iterable[str], batch_size: int) -> List[TextScore]:
        dictionary = self.task.target_dictionary
        limit = self._learned_positions()
        encoded = [
            self._ids(f"texts[{number}]", without_mark(text, number), dictionary, limit)
            for number, text in enumerate(texts)
        ]
        results: Dict[int, TextScore] = {}
        for numbers in batches({n: len(ids) for n, ids in enumerate(encoded)}, batch_size):
            rows = [encoded[number] for number in numbers]
            # Causal models: padding after a text does not change its scores.
            targets = collate_tokens(rows, dictionary.pad()).to(self.device)
            with self.lock:
                scores = self._log_probabilities(targets).cpu()
            for number, ids, row in zip(numbers, rows, scores, strict=True):
                tokens = row[: len(ids)].tolist()
                results[number] = TextScore(sum(tokens), tokens, symbols(dictionary, ids))
        return [results[number] for number in range(len(encoded))]

    def continue_(
        self,
        text: str = "",
        max_units: int = 20,
        beam: Optional[int] = None,
        sampling: bool = False,
        seed: Optional[int] = None,
        **generation: Unpack[ContinuationOptions],
    ) -> Continuation:
        """Generate a continuation.

        Args:
            text: the prompt.
            max_units: maximal number of units to add; fewer where the model's positions end.
            beam: number of hypotheses, 5 by default. With ``sampling`` the number of samples, 1
                by default; the one with the highest score is returned.
            sampling: sample units instead of searching for the best.
            seed: of the samples, 1 by default.
            generation: any other search option of ``fairseq-interactive``: ``temperature=0.8``,
                ``sampling_topk=10``.
        Raises:
            UserError: if an option is unknown or invalid, or nothing can follow the prompt.
        """
        dictionary = self.task.target_dictionary
        check_whole("max_units", max_units)
        text = without_mark(text)
        prefix = self._prompt(text)
        drawn_seed = check_whole("seed", 1 if seed is None else seed, 0, 2**32 - 1)
        if seed is not None and not sampling:
            raise UserError(f"seed={seed} has no effect without sampling=True")
        longest = self._longest(len(prefix), max_units, generation.get("min_len", 1))
        options = {"beam": beam, "sampling": sampling, "max_len_a": 0, "max_len_b": longest}
        generator = self.build_search(options, generation, SEARCH_OPTIONS)
        # The task takes the first symbol away and begins the search with it.
        tokens = torch.cat([torch.tensor(self.first[:1]), prefix])[None]
        sample = {
            "net_input": {"src_tokens": tokens, "src_lengths": torch.tensor([len(tokens[0])])}
        }
        sample = utils.apply_to_sample(lambda tensor: tensor.to(self.device), sample)
        with self.lock, _seeded(self.device, drawn_seed if sampling else None), self._begun():
            best = self._found(generator, sample)[0][0]
        added = best["tokens"].cpu()[len(prefix) :]
        scores = best["positional_scores"].cpu()[len(prefix) :]
        units = symbols(dictionary, added)
        whole = [*self.text.encode(text).split(), *units]
        return Continuation(self.text.decode(" ".join(whole)), float(scores.mean()), units)

    def _longest(self, num_prompt: int, max_units: int, min_len: int) -> int:
        """The most units of a prompt and its continuation; at least ``min_len``."""
        shortest = check_whole("min_len", min_len, 0)
        most, held = num_prompt + max_units, self._positions() - 1
        if shortest > held:
            raise UserError(
                f"min_len={shortest}: the model has positions for {held} units only; lower it"
            )
        if shortest > most:
            raise UserError(
                f"min_len={shortest}: a prompt of {num_prompt} units and max_units={max_units} "
                f"have at most {most}; raise max_units"
            )
        return min(most, held)

    def _prompt(self, text: str) -> Tensor:
        """Ids of a prompt that leaves a position for a unit and for ``</s>``."""
        dictionary = self.task.target_dictionary
        limit = self._positions()
        prefix = self._ids("text", text, dictionary, math.inf)[:-1]
        if len(prefix) > limit - 2:
            raise UserError(
                f"text: a prompt of {len(prefix)} units, but with the model's {limit} positions it "
                f"can have at most {limit - 2}; shorten it"
            )
        return prefix

    def _learned_positions(self) -> float:
        """The longest text, with ``</s>``, for which all models have learned positions."""
        return learned_positions(model.decoder for model in self.models) - len(self.first) + 1

    def _positions(self) -> int:
        """The number of positions for ``</s>`` and the text."""
        return min(model.max_decoder_positions() for model in self.models) - len(self.first) + 1

    @contextmanager
    def _begun(self) -> Iterator[None]:
        """Let the models read what precedes every text in training.

        fairseq begins a search with one symbol, but a model with ``--add-bos-token`` has learned
        texts after ``<s> </s>``: it reads ``</s>`` after the first symbol.
        """
        decoders = [model.decoder for model in self.models] if len(self.first) > 1 else []
        for decoder in decoders:
            decoder.forward = _reading(self.first[1], decoder.forward)
        try:
            yield
        finally:
            for decoder in decoders:
                del decoder.forward  # that of its class

    def _log_probabilities(self, targets: Tensor) -> Tensor:
        """Of every target given the previous ones, averaged over the models, ``(B, T)``."""
        first = targets.new_tensor(self.first).expand(len(targets), -1)
        before = torch.cat([first, targets[:, :-1]], dim=1)
        lengths = targets.ne(self.task.target_dictionary.pad()).sum(1) + len(self.first) - 1
        inputs = {"src_tokens": before, "src_lengths": lengths}
        scores = [target_log_probabilities(model, targets, inputs) for model in self.models]
        return log_mean_probability(scores)


def _reading(symbol: int, forward: Any) -> Any:
    """A decoder's ``forward`` with ``symbol`` after the first one of every text."""

    def reads(words: Tensor, incremental_state: Any = None, **others: Any) -> Any:
        second = words.new_full((len(words), 1), symbol)
        words = torch.cat([words[:, :1], second, words[:, 1:]], dim=1)
        if incremental_state is not None and words.size(1) == 2:
            # A decoder with a state reads the last symbol only.
            forward(words[:, :1], incremental_state=incremental_state, **others)
        return forward(words, incremental_state=incremental_state, **others)

    return reads


@contextmanager
def _seeded(device: torch.device, seed: Optional[int]) -> Iterator[None]:
    """Seed the generator that samples on a device are drawn from; restore it at the end.

    All threads of a process share it, so they take turns.

    Args:
        device: of the models.
        seed: None if nothing is drawn.
    """
    if seed is None:
        yield
        return
    generator = torch.default_generator
    if device.type == "cuda":
        number = torch.cuda.current_device() if device.index is None else device.index
        generator = torch.cuda.default_generators[number]
    with SAMPLING:
        before = generator.get_state()
        generator.manual_seed(seed)
        try:
            yield
        finally:
            generator.set_state(before)
