"""Convert text to units of a dictionary and back, with the settings of the checkpoint."""

import logging
from pathlib import Path
from typing import Any, Dict, Optional

from fairseq.data import encoders
from fairseq.data.data_utils import post_process
from fairseq.registry import REGISTRIES
from omegaconf import OmegaConf
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.units import segmentation_of
from fairseq_outlayers.hub.arguments import check_choice

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
            UserError: if a name is unknown, or the codes are missing, unreadable or given without
                ``bpe``.
        """
        _check_codes(bpe, codes)
        given = {CODES[bpe]: codes} if bpe and codes else {}
        made = cls(
            _built("tokenizer", encoders.build_tokenizer, config, tokenizer, {}),
            _built("bpe", encoders.build_bpe, config, bpe, given),
        )
        if made.bpe is None:
            dictionary = task.target_dictionary
            made.marker = segmentation_of(dictionary.symbols[dictionary.nspecial :])
            if made.marker is not None:
                logger.warning(
                    "the dictionary has units of %s, but the checkpoint stores no codes: text must "
                    "be segmented already (in Python, load(..., bpe=%r, bpe_codes=FILE) does it)",
                    made.marker,
                    made.marker,
                )
        if made.tokenizer is None:
            logger.warning(
                "the checkpoint stores no tokenizer: text must be tokenized and cased like the "
                "training text (Python: load(..., tokenizer=NAME), or tokenizer='space' if the "
                "text is tokenized already)"
            )
        return made

    def encode(self, text: str) -> str:
        """Plain text to units separated by spaces."""
        text = text if self.tokenizer is None else self.tokenizer.encode(text)
        return text if self.bpe is None else self.bpe.encode(text)

    def ids(self, text: str, dictionary: Any, adds_new: bool = False) -> Tensor:
        """Ids of a text's units and ``</s>``, ``(T,)``.

        Args:
            adds_new: add unknown units to the dictionary; otherwise they are ``<unk>``.
        """
        return dictionary.encode_line(
            self.encode(text), add_if_not_exist=adds_new, append_eos=True
        ).long()

    def decode(self, units: str) -> str:
        """Units separated by spaces to plain text."""
        if self.bpe is not None:
            units = self.bpe.decode(units)
        elif self.marker is not None:
            units = post_process(units, self.marker)
        return units if self.tokenizer is None else self.tokenizer.decode(units)


def _check_codes(bpe: Optional[str], codes: Optional[str]) -> None:
    """Refuse codes without ``bpe``, and the reverse."""
    if codes is not None and bpe not in CODES:
        raise UserError(f"bpe_codes={codes} needs bpe, one of {', '.join(CODES)}")
    if codes is None and bpe in CODES:
        raise UserError(f"bpe={bpe} needs bpe_codes, the file of its codes or its model")
    if codes is not None and not Path(codes).is_file():
        raise UserError(f"bpe_codes={codes}: no such file; check the path")


def _built(kind: str, build: Any, config: Any, name: Optional[str], options: Dict[str, Any]) -> Any:
    """fairseq's tokenizer or BPE: the named one, else the stored one.

    Raises:
        UserError: if it is unknown, or cannot be built, whatever fairseq raises or exits with.
    """
    if name is not None:
        check_choice(kind, name, REGISTRIES[kind]["registry"])
        chosen = OmegaConf.create({"_name": name, **options})
    else:
        chosen = config.get(kind)
    try:
        return build(chosen)
    except (Exception, SystemExit) as error:
        # The codes' readers end the program, or tell in several lines.
        reason = str(error).strip().splitlines()[:1] if isinstance(error, Exception) else []
        why = reason[0] if reason else "its file is not in the format"
        if name is None:
            stored = getattr(chosen, "_name", chosen)
            raise UserError(
                f"the checkpoint's {kind}, {stored}, cannot be built ({why}): give {kind}="
            ) from error
        where = "".join(f", bpe_codes={file}" for file in options.values())
        raise UserError(f"{kind}={name}{where}: cannot be built ({why})") from error
