"""Translation models in Python."""

import itertools
from typing import (
    Any,
    Dict,
    Iterable,
    Iterator,
    List,
    Optional,
    Sequence,
    Sized,
    Tuple,
    Union,
    Unpack,
    overload,
)

import torch
from fairseq import utils
from fairseq.dataclass.configs import GenerationConfig
from torch import Tensor
from tqdm import tqdm

from fairseq_outlayers.decoding.length_limits import learned_positions
from fairseq_outlayers.decoding.target_scores import log_mean_probability, target_log_probabilities
from fairseq_outlayers.decoding.unk_replacement import attended_words, without_new_words
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.hub.arguments import (
    as_keyword,
    check_iterable,
    check_pairs,
    check_real,
    check_whole,
)
from fairseq_outlayers.hub.base import TrainedModels, symbols
from fairseq_outlayers.hub.batches import allowed_ids, as_sample, batches
from fairseq_outlayers.hub.candidate_units import CandidateUnits
from fairseq_outlayers.hub.text import without_mark
from fairseq_outlayers.hub.translation import PairScore, Translation
from fairseq_outlayers.hub.typed_options import TranslateKeywords, TranslationOptions

SEARCH_OPTIONS = ("beam", *TranslationOptions.__annotations__)
MAX_LEN_A, MAX_LEN_B = 1.2, 10  # defaults of Translator.translate
FAIRSEQS = {
    name: GenerationConfig.__dataclass_fields__[name].default for name in ("max_len_a", "max_len_b")
}
READ_AHEAD = 16  # batches sorted by length together


def without_limits(max_len_a: float, max_len_b: int) -> Dict[str, float]:
    """fairseq's defaults, with which ``match_source_len`` alone decides on a length.

    Raises:
        UserError: if a limit is at no default, of :meth:`Translator.translate` or of fairseq.
    """
    given = (("max_len_a", max_len_a, MAX_LEN_A), ("max_len_b", max_len_b, MAX_LEN_B))
    for name, value, default in given:
        if value not in (default, FAIRSEQS[name]):
            raise UserError(
                f"{as_keyword(name, value)} has no effect with match_source_len: leave one of them "
                "out"
            )
    return dict(FAIRSEQS)


class Translator(TrainedModels):
    """One or more translation models, made by :func:`fairseq_outlayers.load`.

    Translations do not depend on the other sentences of a batch, except with the candidate scopes
    ``batch`` and ``common``.
    """

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        # Replacements of <unk> and copied source words are added to the dictionaries later.
        self.num_source = len(self.task.source_dictionary)
        self.num_target = len(self.task.target_dictionary)

    @property
    def _pads_left(self) -> bool:
        """Whether sources are padded on the left."""
        return bool(getattr(self.task.cfg, "left_pad_source", True))

    @staticmethod
    def spelled(name: str, *value: Any) -> str:
        """An option of ``translate`` in messages, by fairseq's name."""
        return as_keyword("length_penalty" if name == "lenpen" else name, *value)

    @overload
    def translate(  # type: ignore[overload-overlap]  # a str is a sequence of str, too
        self, texts: str, beam: Optional[int] = ..., **options: Unpack[TranslateKeywords]
    ) -> Translation: ...

    @overload
    def translate(
        self, texts: Sequence[str], beam: Optional[int] = ..., **options: Unpack[TranslateKeywords]
    ) -> List[Translation]: ...

    @overload
    def translate(
        self, texts: Iterator[str], beam: Optional[int] = ..., **options: Unpack[TranslateKeywords]
    ) -> Iterator[Translation]: ...

    def translate(
        self,
        texts: Union[str, Iterable[str]],
        beam: Optional[int] = None,
        batch_size: int = 32,
        max_len_a: float = MAX_LEN_A,
        max_len_b: int = MAX_LEN_B,
        length_penalty: float = 1.0,
        progress: bool = False,
        **generation: Any,
    ) -> Union[Translation, List[Translation], Iterator[Translation]]:
        """Translate plain text.

        Args:
            texts: a sentence, a list of sentences, or an iterator, which is read lazily. A line end
                within a text counts as a space; a byte order mark before the first text is dropped.
            beam: number of hypotheses, 5 by default. With ``sampling=True`` the number of samples
                of each sentence, 1 by default; the one with the highest score is returned.
            batch_size: sentences per batch.
            max_len_a, max_len_b: translations have at most ``a * source length + b`` units.
            length_penalty: exponent of the length that scores are divided by.
            progress: show a progress bar.
            generation: any other search option of ``fairseq-generate``:
                ``no_repeat_ngram_size=3``, ``sampling=True``.
        Returns:
            One :class:`Translation`, a list, or an iterator, in the order of ``texts``. A text
            without words has an empty translation with score 0.
        Raises:
            UserError: if an option is unknown or invalid.
        """
        check_whole("batch_size", batch_size)
        options: Dict[str, Any] = {"beam": beam, "max_len_a": max_len_a, "max_len_b": max_len_b}
        if generation.get("match_source_len"):
            options |= without_limits(max_len_a, max_len_b)
        options["lenpen"] = check_real("length_penalty", length_penalty)
        if "lenpen" in generation:
            raise UserError(f"lenpen={generation['lenpen']}: its name is length_penalty here")
        generator = self.build_search(options, generation, SEARCH_OPTIONS)
        if isinstance(texts, str):
            return next(self._translate(iter([texts]), generator, 1))
        check_iterable("texts", texts, "a text, a list of texts or an iterator over texts")
        found = self._translate(iter(texts), generator, batch_size)
        total = len(texts) if isinstance(texts, Sized) else None
        if progress:
            found = iter(tqdm(found, total=total, unit="sentence"))
        return found if isinstance(texts, Iterator) else list(found)

    def score(self, pairs: Iterable[Tuple[str, str]], batch_size: int = 32) -> List[PairScore]:
        """Score given translations over all words.

        Args:
            pairs: source and translation, plain text.
            batch_size: pairs per batch.
        Returns:
            A :class:`PairScore` for each pair, in their order.
        Raises:
            UserError: if a text is longer than the models' positions, or has a symbol that no text
                may have.
        """
        check_whole("batch_size", batch_size)
        source, target = self.task.source_dictionary, self.task.target_dictionary
        limits = self._most_positions()
        encoded = []
        for n, pair in enumerate(check_pairs(pairs)):
            read, written = (without_mark(text, n) for text in pair)
            first = self._ids(f"pairs[{n}][0]", read, source, limits[0])
            second = self._ids(f"pairs[{n}][1]", written, target, limits[1], is_target=True)
            read_ids = without_new_words(first, self.num_source, source)
            encoded.append((read_ids, without_new_words(second, self.num_target, target)))
        results: Dict[int, PairScore] = {}
        lengths = {number: len(source_ids) for number, (source_ids, _) in enumerate(encoded)}
        for numbers in batches(lengths, batch_size):
            batch = self._batch([encoded[number] for number in numbers])
            for number, scores in zip(numbers, self._scored(batch), strict=True):
                tokens, units = scores.tolist(), symbols(target, encoded[number][1])
                results[number] = PairScore(sum(tokens), tokens, units)
        return [results[number] for number in range(len(encoded))]

    @torch.no_grad()
    def _scored(self, batch: Dict[str, Any]) -> List[Tensor]:
        """Log-probabilities of each target, ``(T,)``, averaged over the models as in search."""
        targets, inputs = batch["target"], batch["net_input"]
        with self.lock:
            scores = [target_log_probabilities(model, targets, inputs) for model in self.models]
        scores = [score.cpu() for score in scores]
        if str(getattr(self.task.cfg, "ensemble_average", None)) == "log_probabilities":
            found = torch.stack(scores).double().mean(0)
        else:
            found = log_mean_probability(scores)
        lengths = targets.ne(self.task.target_dictionary.pad()).sum(1).tolist()
        return [row[:length] for row, length in zip(found, lengths, strict=True)]

    def _translate(
        self, texts: Iterator[str], generator: Any, batch_size: int
    ) -> Iterator[Translation]:
        numbered = enumerate(texts)
        while sentences := list(itertools.islice(numbered, batch_size * READ_AHEAD)):
            with self.lock:
                try:
                    found = self._translated(sentences, generator, batch_size)
                finally:
                    if self.task.unk_replacement is not None:
                        self.task.unk_replacement.remove_new_words()
            yield from found

    def _translated(
        self, sentences: Sequence[Tuple[int, str]], generator: Any, batch_size: int
    ) -> List[Translation]:
        """Translations of numbered sentences, which are sorted by length into batches."""
        limit = self._most_positions()[0]
        ids = [
            self._source_ids(f"texts[{n}]", without_mark(text, n), limit) for n, text in sentences
        ]
        results: Dict[int, Translation] = {
            number: self._without_words(generator)
            for number, each in enumerate(ids)
            if len(each) == 1  # </s> alone
        }
        lengths = {n: len(each) for n, each in enumerate(ids) if n not in results}
        for numbers in batches(lengths, batch_size):
            found = self._search([ids[n] for n in numbers], generator)
            results |= zip(numbers, found, strict=True)
        return [results[number] for number in range(len(ids))]

    def _most_positions(self) -> Tuple[float, float]:
        """The numbers of positions of sources and of translations."""
        encoders = [getattr(model, "encoder", None) for model in self.models]
        decoders = [getattr(model, "decoder", None) for model in self.models]
        return learned_positions(encoders), learned_positions(decoders)

    def _source_ids(self, name: str, text: str, limit: float) -> Tensor:
        """``(S,)``; words to be copied need new ids, which no model sees."""
        adds_new = self.task.unk_replacement is not None
        return self._ids(name, text, self.task.source_dictionary, limit, adds_new)

    @torch.no_grad()
    def _search(self, sentences: List[Tensor], generator: Any) -> List[Translation]:
        batch = self._batch([(ids, None) for ids in sentences])
        found = self._found(generator, batch)
        pairs = zip(sentences, found, strict=True)
        return [self._translation(ids, hypotheses[0]) for ids, hypotheses in pairs]

    def _without_words(self, generator: Any) -> Translation:
        """The empty translation of ``</s>`` alone."""
        lists, candidates = getattr(generator, "candidates", None), None
        if lists is not None:
            frequent = lists.most_frequent(lists.frequent).nonzero().flatten()
            candidates = CandidateUnits.of_dictionary(self.task.target_dictionary, frequent)
        return Translation("", 0.0, [], [], [], None, candidates, [])

    def _translation(self, ids: Tensor, hypothesis: Dict[str, Any]) -> Translation:
        source, target = self.task.source_dictionary, self.task.target_dictionary
        tokens, attention = hypothesis["tokens"].cpu(), hypothesis.get("attention")
        searched, candidates = hypothesis.get("candidates"), None
        if searched is not None:
            candidates = CandidateUnits.of_dictionary(target, allowed_ids(*searched))
        words = symbols(target, tokens)
        alignment: List[int] = []
        if attention is not None and attention.numel():
            attention = attention.float().cpu()
            attention = attention[-len(ids) :] if self._pads_left else attention[: len(ids)]
            is_word = ids.ne(source.eos())
            alignment = attended_words(attention, is_word)[: len(words)] if is_word.any() else []
        else:
            attention = None
        return Translation(
            text=self.text.decode(" ".join(word for word in words if word != target.bos_word)),
            score=float(hypothesis["score"]),
            source=symbols(source, ids),
            target=words,
            alignment=alignment,
            attention=attention,
            candidates=candidates,
            replaced=hypothesis["replaced"].tolist() if "replaced" in hypothesis else [],
        )

    def _batch(self, pairs: Sequence[Tuple[Tensor, Optional[Tensor]]]) -> Dict[str, Any]:
        batch = as_sample(pairs, self.task.source_dictionary, self._pads_left)
        return utils.apply_to_sample(lambda tensor: tensor.to(self.device), batch)
