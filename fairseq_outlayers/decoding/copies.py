"""Source words that are also in the target dictionary, such as names and numbers."""

from typing import Any

import torch
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import is_padding_word


def copies_of(source_dictionary: Any, target_dictionary: Any) -> Tensor:
    """The class with the spelling of each source word, ``(V_source,)``; ``</s>`` where none.

    Specials and ``madeupword`` padding have no copies.

    Raises:
        UserError: if the dictionaries have no word in common.
    """
    found = torch.full((len(source_dictionary),), target_dictionary.eos())
    for number in range(source_dictionary.nspecial, len(source_dictionary)):
        word = source_dictionary[number]
        same = target_dictionary.indices.get(word, 0)
        if same >= target_dictionary.nspecial and not is_padding_word(word):
            found[number] = same
    if bool((found == target_dictionary.eos()).all()):
        raise UserError(
            "--candidate-copies: the source and the target dictionary have no word in common, so "
            "it would add nothing: leave it out"
        )
    return found
