"""What a translation model returns."""

from typing import Iterable, List, NamedTuple, Optional, Sequence

from torch import Tensor

from fairseq_outlayers.hub.arguments import check_iterable
from fairseq_outlayers.hub.base import perplexity


class Translation(NamedTuple):
    """The best hypothesis for a sentence.

    Attributes:
        text: plain, if tokenizer and BPE are known.
        score: log-probability in nats, divided by length to the power of the length penalty; over
            candidates it is renormalized, and does not compare with scores over all words.
        source, target: units, without ``</s>``.
        alignment: for each target unit the index of the source unit with the most attention;
            empty if the model returns no attention.
        attention: ``(len(source) + 1, len(target) + 1)``, the last row and column being
            ``</s>``; or None.
        candidates: target units that the search could choose from, or None for all; a sequence
            that is equal to a list of them.
        replaced: positions in ``target`` of words that replace ``<unk>`` (``unk_replacement``).
    """

    text: str
    score: float
    source: List[str]
    target: List[str]
    alignment: List[int]
    attention: Optional[Tensor]
    candidates: Optional[Sequence[str]]
    replaced: List[int]

    def misses(self, reference: Iterable[str]) -> List[str]:
        """The units of a reference that the search could not choose.

        Raises:
            UserError: if the reference is a text instead of its units.
        """
        check_iterable("reference", reference, "the units of a reference (a list of str)")
        if self.candidates is None:
            return []
        known = set(self.candidates)
        return [unit for unit in reference if unit not in known]


class PairScore(NamedTuple):
    """The log-probability of a given translation.

    Attributes:
        score: log-probability in nats over all words, including ``</s>``.
        tokens: log-probabilities of every unit and of ``</s>``.
        target: the units; ``<unk>`` for units not in the dictionary.
    """

    score: float
    tokens: List[float]
    target: List[str]

    @property
    def perplexity(self) -> float:
        return perplexity(self.score, len(self.tokens))
