"""Compositions of word vectors from subword units.

To add one: write its file, add its line to ``COMPOSITIONS``.
"""

from typing import Any, Dict, Type

from fairseq_outlayers.compositions.base import HIGHWAYS, Composition, Parts
from fairseq_outlayers.compositions.charcnn import CharCNN
from fairseq_outlayers.compositions.embedding import ComposedEmbedding, ComposedWords
from fairseq_outlayers.compositions.morphsum import MorphSum
from fairseq_outlayers.compositions.sylconcat import SylConcat
from fairseq_outlayers.compositions.units import units_of_dictionary
from fairseq_outlayers.registry import Selection

COMPOSITIONS: Dict[str, Type[Composition]] = {
    "charcnn": CharCNN,
    "sylconcat": SylConcat,
    "morphsum": MorphSum,
}
WORD = "word"  # no composition: an embedding per word

COMPOSITION = Selection(
    COMPOSITIONS,
    option="composition",
    default="charcnn",
    help_text="how word vectors are composed in the output layer subword and at the input of "
    "subword_lm; word: no composition, an embedding per word",
    others=[WORD],
)


def compose_words(config: Any, dictionary: Any, hidden_size: int) -> ComposedWords:
    """Build the composition ``config.composition`` for the words of a dictionary.

    Args:
        config: has the fields of ``CompositionConfig``.
        dictionary: whose words are composed.
        hidden_size: of the decoder states.
    Raises:
        UserError: if the name is unknown, a size is invalid or there is no table of units.
    """
    composition = COMPOSITION.choose(config)
    units = units_of_dictionary(dictionary, composition.kind)
    return ComposedWords(composition.build(config, units, hidden_size), units)


__all__ = [
    "COMPOSITION",
    "COMPOSITIONS",
    "HIGHWAYS",
    "WORD",
    "ComposedEmbedding",
    "ComposedWords",
    "Composition",
    "Parts",
    "compose_words",
]
