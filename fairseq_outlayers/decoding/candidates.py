"""Candidate lists: the classes that beam search may produce (Jean et al. 2015, Sec. 3.2)."""

from typing import Any, Dict, NamedTuple, Optional, Type

import torch
from torch import Tensor

from fairseq_outlayers.decoding.translations import Translations
from fairseq_outlayers.errors import UserError

RENEWAL_SENTENCES = 100  # sentences per common list, as in the authors' code


class BatchCandidates(NamedTuple):
    """The candidates of a batch."""

    ids: Tensor  # (C,) class ids, ascending, fairseq's specials first
    allowed: Optional[Tensor]  # (B, C), or None if every sentence may use all of them
    closed: Tensor  # (c,) positions in ids that are input symbols only

    def smallest(self) -> int:
        """The smallest number of candidates of a sentence."""
        if self.allowed is None:
            return len(self.ids) - len(self.closed)
        open_columns = torch.ones_like(self.ids, dtype=torch.bool)
        open_columns[self.closed] = False
        return int((self.allowed & open_columns).sum(1).min())


class CandidateLists:
    """For each sentence, the K most frequent words and K' translations of each source word.

    With copies, also source words that are in the target dictionary. Hypotheses do not depend on
    the other sentences of a batch.

    Args:
        dictionary: the target dictionary, as long as the model has classes.
        translations: of the source words.
        frequent: K, including ``</s>`` and ``<unk>``. If it is at least the size of the dictionary,
            every class is a candidate, including ``<s>``, as without lists.
        per_word: K'.
        copies: the class with the spelling of each source word, ``(V_source,)``, of
            :func:`copies_of`; None for no copies.
    """

    def __init__(
        self,
        dictionary: Any,
        translations: Translations,
        frequent: int,
        per_word: int,
        copies: Optional[Tensor] = None,
    ):
        self.num_classes = len(dictionary)
        self.num_specials = dictionary.nspecial
        self.pad, self.eos, self.unk = dictionary.pad(), dictionary.eos(), dictionary.unk()
        self.bos = dictionary.bos()
        self.translations = translations
        self.frequent, self.per_word = frequent, per_word
        self.copies = copies
        counts = torch.tensor(dictionary.count[self.num_specials :])
        order = counts.argsort(descending=True, stable=True) + self.num_specials
        self.by_frequency = order[~torch.isin(order, translations.blocked)]

    def of(
        self, source_tokens: Tensor, prefix_tokens: Optional[Tensor] = None, factor: int = 1
    ) -> BatchCandidates:
        """The candidates of a batch.

        Args:
            source_tokens: ``(B, S)``.
            prefix_tokens: forced at the beginning of each sentence, ``(B, P)``; also candidates.
            factor: multiplies K.
        """
        frequent = factor * self.frequent
        listed = self.of_words(source_tokens).flatten(1)
        if prefix_tokens is not None:
            listed = torch.cat([listed, prefix_tokens], dim=1)
        common = self._common(listed, frequent)
        member = common.clone()
        member[listed.flatten()] = True
        member[: self.num_specials] = True  # the search needs their ids
        ids = member.nonzero().squeeze(1)
        everything = frequent >= self.num_classes and not len(self.translations.blocked)
        closed = [] if everything else [self.bos, self.pad]
        allowed = self._allowed(ids, common, listed)
        if closed and prefix_tokens is not None and bool((prefix_tokens == self.bos).any()):
            closed.remove(self.bos)  # forced: it must be a candidate
            allowed = self._begun(allowed, ids, prefix_tokens)
        inputs = torch.tensor(closed, dtype=torch.long)
        return BatchCandidates(ids, allowed, inputs.to(ids.device))

    def reset(self) -> None:
        """Forget earlier batches."""

    def of_words(self, source_tokens: Tensor) -> Tensor:
        """The candidates that each source word adds to its sentence.

        Args:
            source_tokens: ``(B, S)``.
        Returns:
            Class ids, ``(B, S, K')``, or ``(B, S, K' + 1)`` with copies; ``</s>`` where none.
        """
        self._move(source_tokens.device)
        added = self.translations.of(source_tokens, self.per_word, self.eos)
        if self.copies is not None:
            known = source_tokens < len(self.copies)  # later additions to the dictionary are not
            copied = self.copies[source_tokens.masked_fill(~known, 0)].masked_fill(~known, self.eos)
            added = torch.cat([added, copied.unsqueeze(-1)], dim=-1)
        return added.masked_fill(torch.isin(added, self.translations.blocked), self.eos)

    def most_frequent(self, frequent: int) -> Tensor:
        """Mask ``(V,)`` of ``</s>``, ``<unk>`` and the ``frequent - 2`` most frequent words."""
        member = torch.zeros(self.num_classes, dtype=torch.bool, device=self.by_frequency.device)
        member[self.by_frequency[: max(frequent - 2, 0)]] = True
        member[[self.eos, self.unk]] = True
        return member

    def _common(self, listed: Tensor, frequent: int) -> Tensor:
        """Mask ``(V,)`` of classes that every sentence of the batch may use."""
        return self.most_frequent(frequent)

    def _allowed(self, ids: Tensor, common: Tensor, listed: Tensor) -> Optional[Tensor]:
        """Mask ``(B, C)`` of candidates that each sentence may use."""
        allowed = common[ids].repeat(len(listed), 1)
        # Every sentence has columns for the specials; the search closes them.
        allowed[:, : self.num_specials] = True
        allowed.scatter_(1, torch.searchsorted(ids, listed), True)
        return None if allowed.all() else allowed

    def _begun(self, allowed: Optional[Tensor], ids: Tensor, prefix: Tensor) -> Optional[Tensor]:
        """The mask of :meth:`_allowed`, with ``<s>`` only for sentences that it is forced on."""
        if allowed is None:
            allowed = torch.ones(len(prefix), len(ids), dtype=torch.bool, device=ids.device)
        allowed[:, self.bos] = (prefix == self.bos).any(1)
        return allowed

    def _move(self, device: torch.device) -> None:
        if self.by_frequency.device != device:
            self.by_frequency = self.by_frequency.to(device)
            self.translations = self.translations.to(device)
            self.copies = None if self.copies is None else self.copies.to(device)


class BatchLists(CandidateLists):
    """One list for all sentences of a batch, the union of their lists.

    Slightly faster than a list for each sentence; hypotheses depend on the batch.
    """

    def _allowed(self, ids: Tensor, common: Tensor, listed: Tensor) -> Optional[Tensor]:
        return None

    def _begun(self, allowed: Optional[Tensor], ids: Tensor, prefix: Tensor) -> Optional[Tensor]:
        return None


class CommonList(BatchLists):
    """One list of K words for successive batches, as in the authors' code.

    ``</s>``, ``<unk>`` and the translations of the source words, filled up with the most frequent
    words. It is reset after 100 sentences, or when more translations do not fit. Hypotheses depend
    on the batch and on the previous ones of a search; each search and each validation begins anew.
    """

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.reset()

    def reset(self) -> None:
        self.wanted = torch.zeros(0, dtype=torch.bool)
        self.sentences = 0

    def _common(self, listed: Tensor, frequent: int) -> Tensor:
        new = torch.zeros(self.num_classes, dtype=torch.bool, device=listed.device)
        new[listed.flatten()] = True
        new[: self.num_specials] = False
        new[self.translations.blocked] = False  # a prefix may force one, in this batch alone
        capacity = frequent - 2
        if len(self.wanted) and self.sentences < RENEWAL_SENTENCES:
            wanted = new | self.wanted.to(new.device)
        else:
            wanted, self.sentences = new, 0
        if wanted.sum() > capacity:
            wanted, self.sentences = new, 0
        if wanted.sum() > capacity:
            raise UserError(
                f"--candidate-scope common: the {int(wanted.sum())} translations of one batch do "
                f"not fit into a list of {frequent}: raise --candidate-frequent, or use smaller "
                "batches (--max-tokens, --batch-size)"
            )
        self.wanted, self.sentences = wanted, self.sentences + len(listed)
        others = self.by_frequency[~wanted[self.by_frequency]]
        member = wanted.clone()
        member[others[: capacity - int(wanted.sum())]] = True
        member[[self.eos, self.unk]] = True
        return member


SCOPES: Dict[str, Type[CandidateLists]] = {
    "sentence": CandidateLists,
    "batch": BatchLists,
    "common": CommonList,
}
