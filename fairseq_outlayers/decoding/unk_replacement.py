"""Replace ``<unk>`` in translations by what the attention points at (Jean et al. 2015, Sec. 3.3).

fairseq's ``--replace-unk`` cannot do it: given without a file it opens one called ``@@ ``, with
``--print-alignment`` it fails, otherwise it has no alignments, and it wants the raw text in place
of the binarized one. Here replacements become new words of the target dictionary, so that all that
prints hypotheses prints them; no model sees them.
"""

import math
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional

import torch
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from torch import Tensor

from fairseq_outlayers.errors import UserError, refuse_idle
from fairseq_outlayers.formats.text import lines


def copy(word: str, translations: Mapping[str, str]) -> str:
    """The source word itself."""
    return word


def dictionary(word: str, translations: Mapping[str, str]) -> str:
    """Its translation, or the word itself where the dictionary has none."""
    return translations.get(word, word)


def lower_case(word: str, translations: Mapping[str, str]) -> str:
    """As ``dictionary`` if the word starts in lower case, else the word: it may be a name."""
    return dictionary(word, translations) if word[:1].islower() else word


MAKE_THE_TABLE = "make it with data_prep/build_lexicon.py"
GIVE_THE_TEXT = "give the text that fairseq-preprocess has read"

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
            "help": "put in the place of <unk> the source word with the most attention, its "
            "translation, or its translation if it starts in lower case (the paper's)"
        },
    )
    unk_dictionary: Optional[str] = field(
        default=None,
        metadata={"help": "lexical table of data_prep/build_lexicon.py, to translate words by"},
    )
    source_text: Optional[str] = field(
        default=None,
        metadata={
            "help": "the tokenised text that the source side of --gen-subset was binarized from; "
            "without it, words that the source dictionary does not have cannot be copied "
            "(fairseq-interactive needs none)"
        },
    )


def attended_words(attention: Tensor, is_word: Tensor) -> List[int]:
    """The word that each target token attends to most.

    Args:
        attention: weights, ``(S, T)``, averaged over the models.
        is_word: ``(S,)``, false for padding and ``</s>``, whose weights do not count.
    Returns:
        Numbers among the words of the source, from 0.
    """
    # Below zero, not zero: with all weight on </s>, the maximum must still be a word.
    weights = attention.masked_fill(~is_word.unsqueeze(1), -1.0)
    numbers = is_word.cumsum(0) - 1
    return numbers[weights.argmax(0)].tolist()


class UnkReplacement:
    """Replaces unknown words in the hypotheses of a batch.

    Args:
        config: the options.
        source_dictionary: as long as the model has source words; it may grow afterwards.
        target_dictionary: grows by the replacements.
    Raises:
        UserError: if the dictionary is missing, useless or no lexical table.
    """

    def __init__(
        self, config: UnkReplacementConfig, source_dictionary: Any, target_dictionary: Any
    ):
        name = str(config.unk_replacement)
        if (name == "copy") != (config.unk_dictionary is None):
            needs = "copies words and takes no" if name == "copy" else "needs an"
            raise UserError(f"--unk-replacement {name} {needs} --unk-dictionary")
        self.heuristic = HEURISTICS[name]
        self.translations = read_translations(config.unk_dictionary)
        self.source, self.target = source_dictionary, target_dictionary
        self.num_source_words = len(source_dictionary)
        self.num_target_words = len(target_dictionary)
        self.path = config.source_text
        self.text = None if self.path is None else list(lines(self.path))

    def known(self, sample: Dict[str, Any]) -> Dict[str, Any]:
        """The batch as the models know it: words that the dictionary learnt later are unknown."""
        tokens = sample["net_input"]["src_tokens"]
        tokens = tokens.masked_fill(tokens >= self.num_source_words, self.source.unk())
        return {**sample, "net_input": {**sample["net_input"], "src_tokens": tokens}}

    def apply(self, sample: Dict[str, Any], hypotheses: List[List[Dict[str, Tensor]]]) -> None:
        """Replace in place.

        Raises:
            UserError: if the models give no attention, or ``--source-text`` is another text.
        """
        tokens = sample["net_input"]["src_tokens"].cpu()
        is_word = tokens.ne(self.source.pad()) & tokens.ne(self.source.eos())
        for number, found in enumerate(hypotheses):
            words = self._words(sample, number, tokens[number][is_word[number]])
            for hypothesis in found:
                unknown = hypothesis["tokens"].eq(self.target.unk()).nonzero().flatten().tolist()
                if unknown and words:
                    self._replace(hypothesis, unknown, is_word[number], words)

    def forget_new_words(self) -> None:
        """Take the words that the dictionaries have learnt out again, once they are printed."""
        shorten(self.source, self.num_source_words)
        shorten(self.target, self.num_target_words)

    def _replace(
        self,
        hypothesis: Dict[str, Tensor],
        unknown: List[int],
        is_word: Tensor,
        words: List[str],
    ) -> None:
        if hypothesis["attention"].numel() == 0:
            raise UserError("--unk-replacement needs attention, and this model gives none")
        attended = attended_words(hypothesis["attention"].cpu(), is_word)
        replaced = hypothesis["tokens"].clone()
        for position in unknown:
            word = self.heuristic(words[attended[position]], self.translations)
            replaced[position] = self.target.add_symbol(word, n=0)
        hypothesis["tokens"] = replaced
        hypothesis["replaced"] = torch.tensor(unknown)

    def _words(self, sample: Dict[str, Any], number: int, tokens: Tensor) -> List[str]:
        """The words of a source sentence, as they are in the text if it is known.

        Raises:
            UserError: if the text is not what the sentence was binarized from.
        """
        if self.text is None or "id" not in sample:
            return [self.source[token] for token in tokens.tolist()]
        line = int(sample["id"][number])
        words = self.text[line] if line < len(self.text) else []
        if len(words) != len(tokens):
            raise UserError(
                f"--source-text {self.path}:{line + 1}: {len(words)} words, but the binarized "
                f"sentence has {len(tokens)}: {GIVE_THE_TEXT}"
            )
        for word, token in zip(words, tokens.tolist(), strict=True):
            # A word that the dictionary lacks has the id of <unk>.
            if self.source.index(word) != token:
                raise UserError(
                    f"--source-text {self.path}:{line + 1}: {word!r} stands where the binarized "
                    f"sentence has {self.source[token]!r}: {GIVE_THE_TEXT}"
                )
        return words


def build_replacement(
    config: UnkReplacementConfig, source_dictionary: Any, target_dictionary: Any
) -> Optional[UnkReplacement]:
    """The replacement that the options ask for, or None.

    Raises:
        UserError: if options are missing, idle or wrong.
    """
    if str(config.unk_replacement) != "none":
        return UnkReplacement(config, source_dictionary, target_dictionary)
    for name in ("unk_dictionary", "source_text"):
        refuse_idle(config, UnkReplacementConfig(), name, "--unk-replacement")
    return None


def read_translations(path: Optional[str]) -> Dict[str, str]:
    """The most probable translation of each word.

    Raises:
        UserError: if a line is not ``SOURCE TARGET LN(P)``.
    """
    best: Dict[str, tuple[float, str]] = {}
    for number, columns in enumerate(lines(path) if path else [], start=1):
        try:
            source, target, logarithm = columns
            score = float(logarithm)
            if not -math.inf < score <= 0:
                raise ValueError(logarithm)
        except ValueError:
            raise UserError(
                f"--unk-dictionary {path}:{number}: {' '.join(columns)!r} is not SOURCE TARGET "
                f"LN(P), the logarithm of a probability: {MAKE_THE_TABLE}"
            ) from None
        if source not in best or score > best[source][0]:
            best[source] = score, target
    if path and not best:
        raise UserError(f"--unk-dictionary {path}: no entries: {MAKE_THE_TABLE}")
    return {source: target for source, (_, target) in best.items()}


def encode_new_words(dictionary: Any, line: str) -> Tensor:
    """Token ids of a line; words that the dictionary does not have become new ones of it."""
    return torch.as_tensor(dictionary.encode_line(line, add_if_not_exist=True)).long()


def shorten(dictionary: Any, size: int) -> None:
    """Take the last words out of a dictionary, so that it has ``size`` again."""
    for word in dictionary.symbols[size:]:
        del dictionary.indices[word]
    del dictionary.symbols[size:], dictionary.count[size:]
