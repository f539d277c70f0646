"""An ensemble whose members score candidates only, and the choice of its average."""

from contextlib import ExitStack
from typing import Any, Dict, List, Optional, Tuple

import torch
from fairseq.sequence_generator import EnsembleModel, EnsembleModelWithAlignment
from torch import Tensor

from fairseq_outlayers.decoders.base import StatefulDecoder
from fairseq_outlayers.decoding.candidates import BatchCandidates
from fairseq_outlayers.decoding.in_place_search import can_search_in_place, log_probabilities
from fairseq_outlayers.decoding.restriction import restricted


class CandidateEnsemble(EnsembleModelWithAlignment):
    """An ensemble that averages scores, over candidates after :meth:`restrict`.

    Args:
        models: the members.
        average: "probabilities" as in fairseq, or "log_probabilities" as in the
            code of Jean et al. (2015), which do not sum to one.
    """

    def __init__(self, models: List[Any], average: str = "probabilities"):
        super().__init__(models)
        self.averages_logarithms = average == "log_probabilities" and len(models) > 1
        self.searches_in_place = len(models) == 1 and can_search_in_place(models[0])
        self.alone = (  # a tuple of lists keeps nn.Module from registering the models twice
            tuple([EnsembleModel([model])] for model in models) if self.averages_logarithms else ()
        )
        self.candidates: Optional[BatchCandidates] = None
        self.projections: List[Any] = []
        self.sentences = torch.zeros(0, dtype=torch.long)
        self.num_rows: Optional[int] = None  # of the search, hypotheses of all unfinished sentences

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

    def forward_encoder(self, net_input: Dict[str, Tensor]) -> Any:
        """As in fairseq."""
        self.num_rows = None
        return super().forward_encoder(net_input)

    # Rows move within their sentence; only finished sentences remove rows. So as long as their
    # number stays the same, what hypotheses share with their sentence is not copied.

    def reorder_incremental_state(self, incremental_states: List[Any], new_order: Tensor) -> None:
        """As in fairseq. The search calls it before :meth:`reorder_encoder_out`."""
        if len(new_order) != self.num_rows or not self.has_incremental_states():
            super().reorder_incremental_state(incremental_states, new_order)
            return
        for model, state in zip(self.models, incremental_states, strict=True):
            if isinstance(model.decoder, StatefulDecoder):
                model.decoder.reorder_within_sentences(state, new_order)
            else:
                model.decoder.reorder_incremental_state_scripting(state, new_order)

    def reorder_encoder_out(self, encoder_outs: Any, new_order: Tensor) -> Any:
        """As in fairseq. The search calls it when rows change, so it also updates the masks."""
        if len(new_order) == self.num_rows:
            return encoder_outs
        self.num_rows = len(new_order)
        if self.candidates is not None:
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
        if self.searches_in_place:
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
