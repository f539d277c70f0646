"""fairseq's beam search over candidates.

The search runs on local ids, positions in the candidate list, so the cost of a step depends on the
number of candidates. The specials come first in a list and keep their ids; tokens are mapped to
class ids where the decoder reads them, and in finished hypotheses.
"""

import math
from contextlib import ExitStack
from itertools import chain
from typing import Any, Callable, Dict, List, Optional, Sequence

import torch
from fairseq.data.data_utils import collate_tokens
from fairseq.search import BeamSearch, DiverseSiblingsSearch, Sampling
from fairseq.sequence_generator import (
    EnsembleModel,
    SequenceGenerator,
    SequenceGeneratorWithAlignment,
)
from torch import Tensor

from fairseq_outlayers.decoding.attention import no_attention
from fairseq_outlayers.decoding.candidates import CandidateLists
from fairseq_outlayers.decoding.ensemble import CandidateEnsemble
from fairseq_outlayers.decoding.in_place_search import InPlaceBeamSearch
from fairseq_outlayers.decoding.int8_projection import Int8Projections
from fairseq_outlayers.decoding.length_limits import LengthLimits, learned_positions
from fairseq_outlayers.decoding.sampling import RescaledSampling
from fairseq_outlayers.errors import UserError, as_flag

Hypotheses = List[List[Dict[str, Tensor]]]


class CandidateGenerator(SequenceGenerator):
    """fairseq's generator over candidate lists, with a choice of ensemble averages.

    Scores are log-probabilities renormalized over a sentence's candidates. They do not compare with
    those over the whole vocabulary or over other lists.

    Args:
        models, dictionary, options: as in fairseq.
        candidates: the lists, or None for the whole vocabulary.
        average: of ensembles, see ``ensemble.py``.
        min_len_a: minimum length of hypotheses as a share of the source length.
        int8_projection: score the whole vocabulary with 8-bit integers.
        spelled: an option in messages, of its name or of its name and value.
    """

    search: Any
    vocab_size: int
    max_len_b: int
    token_indices_to_suppress: Optional[Tensor]

    def __init__(
        self,
        models: Any,
        dictionary: Any,
        candidates: Optional[CandidateLists] = None,
        average: str = "probabilities",
        min_len_a: float = 0.0,
        int8_projection: bool = False,
        spelled: Callable[..., str] = as_flag,
        **options: Any,
    ):
        members = models.models if isinstance(models, EnsembleModel) else models
        super().__init__(CandidateEnsemble(list(members), average), dictionary, **options)
        self.candidates = candidates
        self.given_beam = options.get("beam_size", 1)  # fairseq's own is below the number of words
        self.spelled = spelled
        if type(self.search) is Sampling:
            self.search = RescaledSampling.like(self.search, dictionary)
        self.sampling_topk = getattr(self.search, "sampling_topk", -1)
        # Diverse siblings take twice the beam from the continuations of a hypothesis.
        siblings = isinstance(self.search, DiverseSiblingsSearch)
        self.candidates_needed = 2 * self.beam_size if siblings else self.beam_size + 1
        self.int8_projections = Int8Projections() if int8_projection else None
        if self.model.searches_in_place and type(self.search) is BeamSearch:
            self.search = InPlaceBeamSearch(dictionary)
        else:
            self.model.searches_in_place = False
        max_len_a = 0.0 if self.match_source_len else self.max_len_a
        if min_len_a > 0 or max_len_a > 0:
            limits = (min_len_a, max_len_a, self.max_len_b, self.min_len)
            self.search = LengthLimits(self.search, dictionary, *limits, spelled)
            self.should_set_src_lengths = True
        # Return no hypotheses for an unfinished sentence, instead of a failed assertion.
        self.search.stop_on_max_len = True
        self.given_max_len_b = self.max_len_b

    def _generate(
        self,
        sample: Dict[str, Any],
        prefix_tokens: Optional[Tensor] = None,
        constraints: Optional[Tensor] = None,
        bos_token: Optional[int] = None,
    ) -> Hypotheses:
        if self.match_source_len:
            self._check_source_lengths(sample["net_input"]["src_lengths"], prefix_tokens)
        if self.max_len_a > 0:
            # A prefix beyond its sentence's limit is decoded whole. fairseq's limit, by the longest
            # source of the batch, would cut it.
            longest = 0 if prefix_tokens is None else prefix_tokens.size(1)
            self.max_len_b = max(self.given_max_len_b, longest)
        if self.candidates is None:
            hypotheses = self._search_all(sample, prefix_tokens, constraints, bos_token)
        else:
            assert constraints is None, "refused by the task"
            assert bos_token is None, "fairseq's translation begins with </s>"
            hypotheses = self._search_candidates(sample, prefix_tokens)
        return self._possible(hypotheses)

    def _search_all(
        self,
        sample: Dict[str, Any],
        prefix_tokens: Optional[Tensor],
        constraints: Optional[Tensor],
        bos_token: Optional[int],
    ) -> Hypotheses:
        """A search over all words."""
        with ExitStack() as stack:
            if self.int8_projections is not None:
                for model in self.model.models:
                    stack.enter_context(self.int8_projections.of(model))
            hypotheses = super()._generate(sample, prefix_tokens, constraints, bos_token)
        if not all(hypotheses):
            others = () if constraints is None else ("constraints",)
            raise no_translation("a sentence", self.spelled, others)
        return hypotheses

    def _search_candidates(
        self, sample: Dict[str, Any], prefix_tokens: Optional[Tensor]
    ) -> Hypotheses:
        """A search over lists, with 2K, 4K, ... words for sentences without a translation."""
        assert self.candidates is not None
        num_classes, factor = self.vocab_size, 1
        hypotheses = self._search(sample, prefix_tokens, factor)
        while unfinished := [n for n, found in enumerate(hypotheses) if not found]:
            if factor * self.candidates.frequent >= num_classes:
                what = "a sentence, even with every word as a candidate,"
                raise no_translation(what, self.spelled)
            factor *= 2
            rows = torch.tensor(unfinished)
            part, prefix = _take(sample, rows, len(hypotheses)), prefix_tokens
            prefix = None if prefix is None else prefix[rows.to(prefix.device)]
            for number, found in zip(unfinished, self._search(part, prefix, factor), strict=True):
                hypotheses[number] = found
        return hypotheses

    def _check_source_lengths(self, lengths: Tensor, prefix_tokens: Optional[Tensor]) -> None:
        """Refuse sources and prefixes for which no translation has its source's length."""
        limit = learned_positions(model.decoder for model in self.model.models)
        longest = int(lengths.max())
        if longest >= limit:
            raise UserError(
                f"{self.spelled('match_source_len')}: a source of {longest - 1} words, but the "
                f"model has positions for translations of {limit - 2}: shorten or split it"
            )
        if prefix_tokens is not None:
            ends = prefix_tokens.eq(self.eos)
            if (ends.any(1) & (ends.int().argmax(1) < lengths)).any():
                raise UserError(
                    f"{self.spelled('prefix_size', prefix_tokens.size(1))}: a reference ends "
                    "within these words, before its translation may end with "
                    f"{self.spelled('match_source_len')}: leave one of them out"
                )

    def _possible(self, hypotheses: Hypotheses) -> Hypotheses:
        """Drop hypotheses with a probability of 0, unless a sentence has no others.

        fairseq's ``--match-source-len`` fills the beam with some that are a word too long; other
        searches have none, and need no look at every score.
        """
        if not self.match_source_len:
            return hypotheses
        return [[one for one in found if one["score"] > -math.inf] or found for found in hypotheses]

    def _search(self, sample: Any, prefix_tokens: Optional[Tensor], factor: int) -> Hypotheses:
        """One search with ``factor`` times K."""
        assert self.candidates is not None
        source = sample["net_input"]["src_tokens"]
        candidates = self.candidates.of(source, prefix_tokens, factor)
        self._check_numbers(candidates.smallest())
        local_ids = torch.full((self.vocab_size,), -1, device=source.device)
        local_ids[candidates.ids] = torch.arange(len(candidates.ids), device=source.device)
        before = self.vocab_size, self.token_indices_to_suppress
        with ExitStack() as stack:
            self.model.restrict(candidates, stack, len(source))
            self.vocab_size = len(candidates.ids)
            if before[1] is not None:
                suppressed = local_ids[before[1].to(source.device)]
                self.token_indices_to_suppress = suppressed[suppressed >= 0]
            prefix = None if prefix_tokens is None else local_ids[prefix_tokens]
            try:
                hypotheses = super()._generate(sample, prefix)
            finally:
                self.vocab_size, self.token_indices_to_suppress = before
        for row, found in enumerate(hypotheses):
            for hypothesis in found:
                hypothesis["tokens"] = candidates.ids[hypothesis["tokens"]]
                hypothesis["candidates"] = candidates, row
        return hypotheses

    def check_frequent(self) -> None:
        """Refuse a search for which K words and no translations are too few candidates.

        Raises:
            UserError: if a sentence could have fewer than the search needs.
        """
        if self.candidates is not None:
            self._check_numbers(min(self.candidates.frequent, self.vocab_size))

    def _check_numbers(self, smallest: int) -> None:
        """Raise a ``UserError`` if a sentence has fewer candidates than the search needs."""
        limits = {
            "beam": (self.given_beam, self.candidates_needed),
            "sampling_topk": (self.sampling_topk, self.sampling_topk),
        }
        for name, (value, needed) in limits.items():
            if needed > smallest:
                raise UserError(
                    f"{self.spelled(name, value)}: this search needs {needed} candidates, but a "
                    f"sentence has only {smallest}: raise {self.spelled('candidate_frequent')}, or "
                    f"lower {self.spelled(name)}"
                )


# fairseq's class comes first in the MRO; otherwise its search without candidates would run.
class CandidateGeneratorWithAlignment(SequenceGeneratorWithAlignment, CandidateGenerator):
    """The generator for ``--print-alignment``.

    fairseq aligns as many hypotheses of a sentence as the beam has; here a sentence may have fewer.
    """

    @torch.no_grad()
    def generate(self, models: Any, sample: Dict[str, Any], **options: Any) -> Hypotheses:
        """The hypotheses of a search, each with its ``alignment``.

        Raises:
            UserError: if the models return no attention.
        """
        found = super(SequenceGeneratorWithAlignment, self).generate(models, sample, **options)
        source, lengths, previous, tokens = self._prepare_batch_for_alignment(sample, found)
        hypotheses = list(chain.from_iterable(found))
        if any(getattr(model, "full_context_alignment", False) for model in self.model.models):
            attentions = self.model.forward_align(source, lengths, previous)
        elif any(hypothesis["attention"].numel() == 0 for hypothesis in hypotheses):
            raise no_attention(self.spelled("print_alignment"))
        else:
            attentions = [hypothesis["attention"].transpose(1, 0) for hypothesis in hypotheses]
        rows = zip(hypotheses, attentions, source.cpu(), tokens.cpu(), strict=True)
        for hypothesis, attention, *words in rows:
            hypothesis["alignment"] = self.extract_alignment(
                attention.cpu(), *words, self.pad, self.eos
            )
        return found

    def _prepare_batch_for_alignment(self, sample: Dict[str, Any], hypothesis: Hypotheses) -> Any:
        """Sources, their lengths, previous tokens and tokens, with a row for each hypothesis."""
        inputs, tokens = sample["net_input"], [each["tokens"] for each in chain(*hypothesis)]
        numbers = torch.tensor([len(found) for found in hypothesis])
        source, lengths = (
            inputs[name].repeat_interleave(numbers.to(inputs[name].device), dim=0)
            for name in ("src_tokens", "src_lengths")
        )
        previous, tokens = (
            collate_tokens(
                tokens, self.pad, self.eos, self.left_pad_target, move_eos_to_beginning=moves
            )
            for moves in (True, False)
        )
        return source, lengths, previous, tokens


def no_translation(what: str, spelled: Callable[..., str], others: Sequence[str] = ()) -> UserError:
    """The error for a search that has ended without a hypothesis.

    Args:
        what: was searched for, in words.
        spelled: an option in messages, of its name.
        others: names of options that may be the cause, beside those that every search has.
    """
    *names, last = map(spelled, ("no_repeat_ngram_size", "min_len", "max_len_b", *others))
    return UserError(
        f"{what} has no finished hypothesis: loosen {', '.join(names)} or {last}; if they are "
        "loose, the model's scores may be nan"
    )


def _take(value: Any, rows: Tensor, size: int) -> Any:
    """Select sentences of a batch: rows of every tensor with one row per sentence."""
    if isinstance(value, dict):
        return {name: _take(part, rows, size) for name, part in value.items()}
    if isinstance(value, Tensor) and value.dim() > 0 and value.size(0) == size:
        return value[rows.to(value.device)]
    return value
