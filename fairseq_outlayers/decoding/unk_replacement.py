"""Replace ``<unk>`` in translations by the attended source word (Jean et al. 2015, Sec. 3.3).

fairseq's ``--replace-unk`` does not work: without a file it opens one called ``@@ ``, with
``--print-alignment`` it fails, otherwise it has no alignments, and it needs raw instead of
binarized text. Here replacements become new words of the target dictionary, so all of fairseq's
commands print them; no model sees them.
"""

import logging
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional

import numpy as np
import torch
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from torch import Tensor

from fairseq_outlayers.decoding.attention import no_attention
from fairseq_outlayers.errors import UserError, refuse_idle
from fairseq_outlayers.formats.dictionary import SPECIALS
from fairseq_outlayers.formats.lexicon import read_lexicon
from fairseq_outlayers.formats.text import read_words
from fairseq_outlayers.formats.units import segmentation_of

logger = logging.getLogger(__name__)


def copy(word: str, translations: Mapping[str, str]) -> str:
    """The source word itself."""
    return word


def dictionary(word: str, translations: Mapping[str, str]) -> str:
    """The translation of the source word, or the word itself if there is none."""
    return translations.get(word, word)


def lower_case(word: str, translations: Mapping[str, str]) -> str:
    """As ``dictionary`` for words in lower case; others may be names and are copied."""
    return dictionary(word, translations) if word[:1].islower() else word


GIVE_THE_TEXT = "give the text that was binarized"

HEURISTICS: Dict[str, Callable[[str, Mapping[str, str]], str]] = {
    "copy": copy,
    "dictionary": dictionary,
    "lower_case": lower_case,
}


@dataclass
class UnkReplacementConfig(FairseqDataclass):
    unk_replacement: ChoiceEnum(["none", *HEURISTICS]) = field(  # type: ignore[valid-type]
        default="none",
        metadata={
            "help": "replace <unk> by the source word with the most attention (copy), its "
            "translation (dictionary), or its translation if it starts in lower case (lower_case, "
            "as in the paper)"
        },
    )
    unk_dictionary: Optional[str] = field(
        default=None,
        metadata={"help": "lexical table of data_prep/build_lexicon.py, to translate words"},
    )
    source_text: Optional[str] = field(
        default=None,
        metadata={
            "help": "the tokenized source text of --gen-subset; without it, words that the source "
            "dictionary lacks cannot be copied (fairseq-interactive does not need it)"
        },
    )


def word_positions(tokens: Tensor, dictionary: Any) -> Tensor:
    """Where the words of sentences are: not in padding around them, nor in the last ``</s>``.

    A ``</s>`` or ``<pad>`` within a sentence is a word of its text.

    Args:
        tokens: ``(B, S)``, padded left or right.
    Returns:
        ``(B, S)``
    """
    is_real = tokens.ne(dictionary.pad())
    left = is_real.flip(1).cumsum(1).flip(1)  # tokens from here on that are not padding
    within = is_real.cumsum(1).gt(0) & left.gt(0)
    return within & ~(left.eq(1) & is_real & tokens.eq(dictionary.eos()))


def attended_words(attention: Tensor, is_word: Tensor) -> List[int]:
    """The source word that each target token attends to most.

    Args:
        attention: weights, ``(S, T)``, averaged over the models.
        is_word: ``(S,)``, false for padding and ``</s>``, whose weights do not count.
    Returns:
        Indices of source words, from 0.
    """
    # Negative, so that the maximum is a word even if all weight is on </s>.
    weights = attention.masked_fill(~is_word.unsqueeze(1), -1.0)
    numbers = is_word.cumsum(0) - 1
    return numbers[weights.argmax(0)].tolist()


def without_new_words(ids: Tensor, size: int, dictionary: Any) -> Tensor:
    """Ids with those of words that were added to a dictionary of ``size`` replaced by ``<unk>``."""
    return ids.masked_fill(ids >= size, dictionary.unk())


class UnkReplacement:
    """Replaces unknown words in the hypotheses of a batch.

    Args:
        config: the options; with fairseq's ``truncate_source``, sentences may be shorter than
            their lines of ``--source-text``.
        source_dictionary: the model's; it may grow afterwards.
        target_dictionary: grows by the replacements.
    Raises:
        UserError: if ``--unk-dictionary`` is missing, superfluous or not a lexical table.
    """

    def __init__(
        self, config: UnkReplacementConfig, source_dictionary: Any, target_dictionary: Any
    ):
        name = str(config.unk_replacement)
        if (name == "copy") != (config.unk_dictionary is None):
            needs = "copies words and takes no" if name == "copy" else "needs"
            raise UserError(f"--unk-replacement {name} {needs} --unk-dictionary")
        self.heuristic = HEURISTICS[name]
        self.translations = read_translations(config.unk_dictionary)
        if self.translations and not any(map(source_dictionary.indices.get, self.translations)):
            logger.warning(
                "--unk-dictionary %s: the source dictionary has none of its source words; is it of "
                "the other direction?",
                config.unk_dictionary,
            )
        self.source, self.target = source_dictionary, target_dictionary
        self.num_source_words = len(source_dictionary)
        self.num_target_words = len(target_dictionary)
        self.path = config.source_text
        self.truncates = getattr(config, "truncate_source", False)
        self.text = None if self.path is None else list(read_words(self.path))
        self.warned = False

    def known(self, sample: Dict[str, Any]) -> Dict[str, Any]:
        """The batch with later additions to the source dictionary replaced by ``<unk>``."""
        tokens = sample["net_input"]["src_tokens"]
        tokens = without_new_words(tokens, self.num_source_words, self.source)
        return {**sample, "net_input": {**sample["net_input"], "src_tokens": tokens}}

    def known_targets(self, tokens: Tensor) -> Tensor:
        """Target ids with later additions to the dictionary replaced by ``<unk>``."""
        return without_new_words(tokens, self.num_target_words, self.target)

    def apply(self, sample: Dict[str, Any], hypotheses: List[List[Dict[str, Tensor]]]) -> None:
        """Replace in place.

        Raises:
            UserError: if the models give no attention, or ``--source-text`` is another text.
        """
        tokens = sample["net_input"]["src_tokens"].cpu()
        is_word = word_positions(tokens, self.source)
        # A </s> or <pad> of the text is not copied.
        can_copy = is_word & tokens.ne(self.source.pad()) & tokens.ne(self.source.eos())
        for number, found in enumerate(hypotheses):
            words = self._words(sample, number, tokens[number][is_word[number]])
            words = list(compress(words, can_copy[number][is_word[number]].tolist()))
            for hypothesis in found:
                unknown = hypothesis["tokens"].eq(self.target.unk()).nonzero().flatten().tolist()
                if unknown and words:
                    self._replace(hypothesis, unknown, can_copy[number], words)

    def remove_new_words(self) -> None:
        """Remove added words from the dictionaries once they are printed."""
        shorten(self.source, self.num_source_words)
        self.remove_replacements()

    def remove_replacements(self) -> None:
        """Remove the words of earlier replacements from the target dictionary."""
        shorten(self.target, self.num_target_words)

    def _replace(
        self,
        hypothesis: Dict[str, Tensor],
        unknown: List[int],
        can_copy: Tensor,
        words: List[str],
    ) -> None:
        if hypothesis["attention"].numel() == 0:
            raise no_attention("--unk-replacement")
        attended = attended_words(hypothesis["attention"].cpu(), can_copy)
        replaced = hypothesis["tokens"].clone()
        for position in unknown:
            word = self.heuristic(words[attended[position]], self.translations)
            if word == self.source.unk_word:
                self._warn_of_unknown_source()
            replaced[position] = self.target.add_symbol(word, n=0)
        hypothesis["tokens"] = replaced
        hypothesis["replaced"] = torch.tensor(unknown)

    def _warn_of_unknown_source(self) -> None:
        if not self.warned:
            logger.warning(
                "--unk-replacement: words that the source dictionary lacks are copied as %s: give "
                "the tokenized source text as --source-text",
                self.source.unk_word,
            )
            self.warned = True

    def check_text(self, sizes: Any) -> None:
        """Compare the number of words of each line of ``--source-text`` with the binarized text.

        Args:
            sizes: of the sentences, ``(N,)``, in order, with ``</s>``.
        Raises:
            UserError: about the first line that differs.
        """
        if self.text is not None:
            for line, size in enumerate(sizes):
                self._words_of(line, int(size) - 1)

    def _words_of(self, line: int, size: int) -> List[str]:
        """The words of a line of ``--source-text``, counted from 0.

        Args:
            size: of the binarized sentence, without ``</s>``.
        """
        assert self.text is not None
        words = self.text[line] if line < len(self.text) else []
        words = words[:size] if self.truncates else words
        if len(words) != size:
            raise UserError(
                f"--source-text {self.path}:{line + 1}: {len(words)} words, but the binarized "
                f"sentence has {size}: {GIVE_THE_TEXT}"
            )
        return words

    def _words(self, sample: Dict[str, Any], number: int, tokens: Tensor) -> List[str]:
        """The words of a source sentence, from ``--source-text`` if given.

        Raises:
            UserError: if the sentence was binarized from another text.
        """
        if self.text is None or "id" not in sample:
            return [self.source[token] for token in tokens.tolist()]
        line = int(sample["id"][number])
        text = self.text[line] if line < len(self.text) else []
        # Those before the first other word look like padding of the batch.
        first = next((n for n, w in enumerate(text) if w != self.source.pad_word), len(text))
        words = self._words_of(line, first + len(tokens))[first:]
        for word, token in zip(words, tokens.tolist(), strict=True):
            if self.source.index(word) != token:
                raise UserError(
                    f"--source-text {self.path}:{line + 1}: {word!r}, but the binarized sentence "
                    f"has {self.source[token]!r}: {GIVE_THE_TEXT}"
                )
        return words


def build_replacement(
    config: UnkReplacementConfig, source_dictionary: Any, target_dictionary: Any
) -> Optional[UnkReplacement]:
    """Build the replacement of the options, or None.

    Raises:
        UserError: if options are missing, idle or wrong.
    """
    if str(config.unk_replacement) != "none":
        if segmentation_of(target_dictionary.symbols[target_dictionary.nspecial :]) is not None:
            logger.warning(
                f"--unk-replacement {config.unk_replacement}: the target dictionary has subword "
                "units, so a unit, not a word, replaces <unk>: it is meant for whole words"
            )
        return UnkReplacement(config, source_dictionary, target_dictionary)
    idle = ("unk_dictionary", "source_text")
    refuse_idle(config, UnkReplacementConfig(), "--unk-replacement", *idle)
    return None


def read_translations(path: Optional[str]) -> Dict[str, str]:
    """The most probable translation of each word, special symbols left out.

    Raises:
        UserError: if a line is not ``SOURCE TARGET LN(P)``.
    """
    if not path:
        return {}
    try:
        table = read_lexicon(Path(path), "fast_align")
    except UserError as error:
        raise UserError(f"--unk-dictionary {error} (made by data_prep/build_lexicon.py)") from None
    is_word = np.array([word not in SPECIALS for word in table.target_words])[table.targets]
    best = table.selected(is_word).best(1)
    pairs = zip(best.sources.tolist(), best.targets.tolist(), strict=True)
    return {best.source_words[source]: best.target_words[target] for source, target in pairs}


def encode_new_words(dictionary: Any, line: str) -> Tensor:
    """Token ids of a line; adds unknown words to the dictionary."""
    return torch.as_tensor(dictionary.encode_line(line, add_if_not_exist=True)).long()


def shorten(dictionary: Any, size: int) -> None:
    """Truncate a dictionary to ``size`` symbols."""
    for word in dictionary.symbols[size:]:
        del dictionary.indices[word]
    del dictionary.symbols[size:], dictionary.count[size:]
