"""fairseq's beam search over candidates.

The search runs on local ids, positions in the candidate list, so the cost of a step depends on the
number of candidates. The specials come first in a list and keep their ids; tokens are mapped to
class ids where the decoder reads them, and in finished hypotheses.
"""

from contextlib import ExitStack
from typing import Any, Dict, List, Optional, Tuple

import torch
from fairseq.search import BeamSearch
from fairseq.sequence_generator import (
    EnsembleModel,
    EnsembleModelWithAlignment,
    SequenceGenerator,
    SequenceGeneratorWithAlignment,
)
from torch import Tensor

from fairseq_outlayers.decoding.candidates import BatchCandidates, CandidateLists
from fairseq_outlayers.decoding.int8_projection import Int8Projections
from fairseq_outlayers.decoding.lean_step import (
    LeanBeamSearch,
    log_probabilities,
    normalizes_plainly,
)
from fairseq_outlayers.decoding.length_limits import LengthLimits
from fairseq_outlayers.decoding.restriction import restricted
from fairseq_outlayers.errors import UserError

Hypotheses = List[List[Dict[str, Tensor]]]


class CandidateEnsemble(EnsembleModelWithAlignment):
    """An ensemble that averages scores, over candidates after :meth:`restrict`.

    Args:
        models: the members.
        average: "probabilities" as in fairseq, or "log_probabilities" (Jean et al. 2015), which do
            not sum to one.
    """

    def __init__(self, models: List[Any], average: str = "probabilities"):
        super().__init__(models)
        self.averages_logarithms = average == "log_probabilities" and len(models) > 1
        self.is_lean = len(models) == 1 and normalizes_plainly(models[0])
        self.alone = (  # a tuple of lists keeps nn.Module from registering the models twice
            tuple([EnsembleModel([model])] for model in models) if self.averages_logarithms else ()
        )
        self.candidates: Optional[BatchCandidates] = None
        self.projections: List[Any] = []
        self.sentences = torch.zeros(0, dtype=torch.long)

    def restrict(self, candidates: BatchCandidates, stack: ExitStack, num_sentences: int) -> None:
        """Score only these candidates until the stack is closed."""
        stack.callback(self._release)
        self.candidates = candidates
        self.projections = [
            stack.enter_context(restricted(model, candidates)) for model in self.models
        ]
        self._put_rows(torch.arange(num_sentences, device=candidates.ids.device))

    def _put_rows(self, sentences: Tensor) -> None:
        """Set the sentence of each row of the search, ``(R,)``."""
        assert self.candidates is not None
        self.sentences = sentences
        if self.candidates.allowed is not None:
            excluded = ~self.candidates.allowed[sentences]
            for projection in self.projections:
                projection.excluded = excluded

    def _release(self) -> None:
        self.candidates, self.projections = None, []

    def reorder_encoder_out(self, encoder_outs: Any, new_order: Tensor) -> Any:
        """As in fairseq. The search calls it when rows change, so it also updates the masks."""
        # Rows move within their sentence; only finished sentences remove rows.
        if self.candidates is not None and len(new_order) != len(self.sentences):
            self._put_rows(self.sentences[new_order])
        return super().reorder_encoder_out(encoder_outs, new_order)

    def forward_decoder(
        self,
        tokens: Tensor,
        encoder_outs: Any,
        incremental_states: Any,
        temperature: float = 1.0,
    ) -> Tuple[Tensor, Optional[Tensor]]:
        """Log-probabilities of the next token, ``(R, C)``, and attention, ``(R, S)``."""
        if self.candidates is not None:
            tokens = self.candidates.ids[tokens]
        if self.is_lean:
            return self._of_one_model(tokens, encoder_outs[0], incremental_states[0], temperature)
        if not self.averages_logarithms:
            return super().forward_decoder(tokens, encoder_outs, incremental_states, temperature)
        members = zip(self.alone, encoder_outs, incremental_states, strict=True)
        outputs = [
            model.forward_decoder(tokens, [encoder_out], [state], temperature)
            for (model,), encoder_out, state in members
        ]
        scores = torch.stack([scores for scores, _ in outputs]).mean(0)
        attentions = [attention for _, attention in outputs if attention is not None]
        return scores, torch.stack(attentions).mean(0) if attentions else None

    def _of_one_model(
        self, tokens: Tensor, encoder_out: Any, state: Any, temperature: float
    ) -> Tuple[Tensor, Optional[Tensor]]:
        scores, extra = self.single_model.decoder(
            tokens, encoder_out=encoder_out, incremental_state=state
        )[:2]
        attention = extra["attn"] if isinstance(extra, dict) else extra
        if isinstance(attention, list):
            attention = attention[0] if attention else None
        scores = scores[:, -1] if temperature == 1 else scores[:, -1] / temperature
        return log_probabilities(scores), None if attention is None else attention[:, -1]


class CandidateGenerator(SequenceGenerator):
    """fairseq's generator over candidate lists, with a choice of ensemble averages.

    Scores are log-probabilities renormalized over a sentence's candidates. They do not compare with
    those over the whole vocabulary or over other lists.

    Args:
        models, dictionary, options: as in fairseq.
        candidates: the lists, or None for the whole vocabulary.
        average: of ensembles, see :class:`CandidateEnsemble`.
        min_share: minimum length of hypotheses as a share of the source length.
        in_int8: score the whole vocabulary with 8-bit integers.
    """

    search: Any
    vocab_size: int
    token_indices_to_suppress: Optional[Tensor]

    def __init__(
        self,
        models: Any,
        dictionary: Any,
        candidates: Optional[CandidateLists] = None,
        average: str = "probabilities",
        min_share: float = 0.0,
        in_int8: bool = False,
        **options: Any,
    ):
        members = models.models if isinstance(models, EnsembleModel) else models
        super().__init__(CandidateEnsemble(list(members), average), dictionary, **options)
        self.candidates = candidates
        self.sampling_topk = getattr(self.search, "sampling_topk", -1)
        self.int8_projections = Int8Projections() if in_int8 else None
        if self.model.is_lean and type(self.search) is BeamSearch:
            self.search = LeanBeamSearch(dictionary)
        else:
            self.model.is_lean = False
        max_share = 0.0 if self.match_source_len else self.max_len_a
        if min_share > 0 or max_share > 0:
            self.search = LengthLimits(
                self.search, dictionary, min_share, max_share, self.max_len_b, self.min_len
            )
            self.should_set_src_lengths = True
        if candidates is not None:
            # Return no hypotheses for an unfinished sentence, instead of a failed assertion.
            self.search.stop_on_max_len = True

    def _generate(
        self,
        sample: Dict[str, Any],
        prefix_tokens: Optional[Tensor] = None,
        constraints: Optional[Tensor] = None,
        bos_token: Optional[int] = None,
    ) -> Hypotheses:
        if self.candidates is None:
            with ExitStack() as stack:
                if self.int8_projections is not None:
                    for model in self.model.models:
                        stack.enter_context(self.int8_projections.of(model))
                return super()._generate(sample, prefix_tokens, constraints, bos_token)
        assert constraints is None, "refused by the task"
        assert bos_token is None, "fairseq's translation begins with </s>"
        num_classes, factor = self.vocab_size, 1
        hypotheses = self._search(sample, prefix_tokens, factor)
        while unfinished := [n for n, found in enumerate(hypotheses) if not found]:
            if factor * self.candidates.frequent >= num_classes:
                raise UserError(
                    "a sentence has no finished translation, even with every word as a candidate: "
                    "loosen --no-repeat-ngram-size, --min-len or --max-len-b"
                )
            factor *= 2
            rows = torch.tensor(unfinished)
            part, prefix = _take(sample, rows, len(hypotheses)), prefix_tokens
            prefix = None if prefix is None else prefix[rows.to(prefix.device)]
            for number, found in zip(unfinished, self._search(part, prefix, factor), strict=True):
                hypotheses[number] = found
        return hypotheses

    def _search(self, sample: Any, prefix_tokens: Optional[Tensor], factor: int) -> Hypotheses:
        """One search with ``factor`` times K."""
        assert self.candidates is not None
        source = sample["net_input"]["src_tokens"]
        candidates = self.candidates.of(source, prefix_tokens, factor)
        smallest = candidates.smallest()
        if smallest <= self.beam_size:
            raise UserError(
                f"--beam {self.beam_size}: a sentence has only {smallest} candidates: raise "
                "--candidate-frequent, or lower --beam"
            )
        if self.sampling_topk > smallest:
            raise UserError(
                f"--sampling-topk {self.sampling_topk}: a sentence has only {smallest} candidates: "
                "raise --candidate-frequent, or lower --sampling-topk"
            )
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
        for hypothesis in (hypothesis for found in hypotheses for hypothesis in found):
            hypothesis["tokens"] = candidates.ids[hypothesis["tokens"]]
        return hypotheses


# fairseq's class comes first in the MRO; otherwise its search without candidates would run.
class CandidateGeneratorWithAlignment(SequenceGeneratorWithAlignment, CandidateGenerator):
    """The generator for ``--print-alignment``."""


def _take(value: Any, rows: Tensor, size: int) -> Any:
    """Select sentences of a batch: rows of every tensor with one row per sentence."""
    if isinstance(value, dict):
        return {name: _take(part, rows, size) for name, part in value.items()}
    if isinstance(value, Tensor) and value.dim() > 0 and value.size(0) == size:
        return value[rows.to(value.device)]
    return value
