"""Convert text to units of a dictionary and back, with the settings of the checkpoint."""

import logging
from pathlib import Path
from typing import Any, Optional

from fairseq.data import encoders
from fairseq.data.data_utils import post_process
from omegaconf import OmegaConf
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.units import segmentation_of

logger = logging.getLogger(__name__)

CODES = {"subword_nmt": "bpe_codes", "fastbpe": "bpe_codes", "sentencepiece": "sentencepiece_model"}


class TextProcessor:
    """Tokenizes and segments plain text, and reverses both.

    Args:
        tokenizer: of fairseq, with ``encode`` and ``decode``; None splits at spaces.
        bpe: of fairseq, or None.
        marker: ``subword_nmt`` or ``sentencepiece``: join such units in the output without ``bpe``;
            or None.
    """

    def __init__(self, tokenizer: Any, bpe: Any, marker: Optional[str] = None):
        self.tokenizer, self.bpe, self.marker = tokenizer, bpe, marker

    @classmethod
    def build(
        cls,
        config: Any,
        task: Any,
        tokenizer: Optional[str] = None,
        bpe: Optional[str] = None,
        codes: Optional[str] = None,
    ) -> "TextProcessor":
        """Build from arguments or stored settings; warns if neither segments the text.

        Raises:
            UserError: if codes are given without ``bpe``, or for one that has none, or their file
                is missing.
        """
        if codes is not None and bpe not in CODES:
            raise UserError(f"bpe_codes={codes} needs bpe, one of {', '.join(CODES)}")
        if codes is not None and not Path(codes).is_file():
            raise UserError(f"bpe_codes={codes}: no such file; check the path")
        made = cls(
            encoders.build_tokenizer(_choice(config, "tokenizer", tokenizer)),
            encoders.build_bpe(
                _choice(config, "bpe", bpe, {CODES[bpe]: codes} if bpe and codes else {})
            ),
        )
        if made.bpe is None:
            dictionary = task.target_dictionary
            made.marker = segmentation_of(dictionary.symbols[dictionary.nspecial :])
            if made.marker is not None:
                logger.warning(
                    "the dictionary has units of %s, but the checkpoint stores no codes: text must "
                    "be segmented already (or load(..., bpe=%r, bpe_codes=FILE))",
                    made.marker,
                    made.marker,
                )
        if made.tokenizer is None:
            logger.warning(
                "the checkpoint stores no tokenizer: text must be tokenized and cased like the "
                "training text (or load(..., tokenizer=NAME); 'space' if it is)"
            )
        return made

    def encode(self, text: str) -> str:
        """Plain text to units separated by spaces."""
        text = text if self.tokenizer is None else self.tokenizer.encode(text)
        return text if self.bpe is None else self.bpe.encode(text)

    def ids(self, text: str, dictionary: Any) -> Tensor:
        """Ids of a text's units and ``</s>``, ``(T,)``; unknown units are ``<unk>``."""
        return dictionary.encode_line(
            self.encode(text), add_if_not_exist=False, append_eos=True
        ).long()

    def decode(self, units: str) -> str:
        """Units separated by spaces to plain text."""
        if self.bpe is not None:
            units = self.bpe.decode(units)
        elif self.marker is not None:
            units = post_process(units, self.marker)
        return units if self.tokenizer is None else self.tokenizer.decode(units)


def _choice(config: Any, kind: str, name: Optional[str], options: Any = ()) -> Any:
    if name is None:
        return config.get(kind)
    return OmegaConf.create({"_name": name, **dict(options)})
