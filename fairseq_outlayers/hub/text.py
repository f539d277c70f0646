"""Convert text to units of a dictionary and back, with the settings of the checkpoint."""

import logging
import re
from pathlib import Path
from typing import Any, Dict, Optional

from fairseq.data import encoders
from fairseq.data.data_utils import post_process
from fairseq.registry import REGISTRIES
from omegaconf import OmegaConf
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.text import BOM
from fairseq_outlayers.formats.tokenization import tokenize
from fairseq_outlayers.formats.units import CODES, segmentation_of
from fairseq_outlayers.hub.arguments import check_choice

logger = logging.getLogger(__name__)


class TextProcessor:
    """Tokenizes and segments plain text, and reverses both.

    Args:
        tokenizer: of fairseq, with ``encode`` and ``decode``; None splits at spaces.
        bpe: of fairseq, or None.
        splits_at_spaces: whether other white space must become spaces before ``bpe``.
        marker: ``subword_nmt`` or ``sentencepiece``: join such units in the output without ``bpe``;
            or None.
        of_targets: the tokenizer of given translations, if it is another one.
    """

    def __init__(
        self,
        tokenizer: Any,
        bpe: Any,
        marker: Optional[str] = None,
        of_targets: Any = None,
        splits_at_spaces: bool = False,
    ):
        self.tokenizer, self.bpe, self.marker = tokenizer, bpe, marker
        self.splits_at_spaces = splits_at_spaces
        self.of_targets = of_targets or tokenizer

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

        Moses tokenizes each side by the rules of its language; if it is named here, exactly like
        ``data_prep/tokenize_corpus.py``.

        Raises:
            UserError: if a name is unknown, or the codes are missing, unreadable or given without
                ``bpe``.
        """
        _check_codes(bpe, codes)
        tokenizers = _tokenizers(config, task, tokenizer)
        given = {CODES[bpe]: codes} if bpe and codes else {}
        segmenter = _built("bpe", encoders.build_bpe, config, bpe, given)
        marker = _marker_of(task.target_dictionary) if segmenter is None else None
        if tokenizers["source"] is None:
            logger.warning(
                "the checkpoint stores no tokenizer: text must be tokenized and cased like the "
                "training text (Python: load(..., tokenizer=NAME), or tokenizer='space' if the "
                "text is tokenized already)"
            )
        return cls(
            tokenizers["source"],
            segmenter,
            marker,
            of_targets=tokenizers.get("target"),
            splits_at_spaces=(bpe or _name_of(config.get("bpe"))) in CODES,
        )

    def encode(self, text: str) -> str:
        """Plain text to units separated by spaces."""
        return self._encode(self.tokenizer, text)

    def encode_target(self, text: str) -> str:
        """The same for a text in the target language."""
        return self._encode(self.of_targets, text)

    def _encode(self, tokenizer: Any, text: str) -> str:
        text = text if tokenizer is None else tokenizer.encode(text)
        if self.bpe is None:
            return text
        # The training text was segmented word by word (data_prep/segment.py).
        return self.bpe.encode(" ".join(text.split()) if self.splits_at_spaces else text)

    def ids(
        self, text: str, dictionary: Any, adds_new: bool = False, is_target: bool = False
    ) -> Tensor:
        """Ids of a text's units and ``</s>``, ``(T,)``.

        Args:
            text: plain text.
            dictionary: of its language.
            adds_new: add unknown units to the dictionary; otherwise they are ``<unk>``.
            is_target: whether the text is in the target language.
        """
        units = self.encode_target(text) if is_target else self.encode(text)
        return dictionary.encode_line(units, add_if_not_exist=adds_new, append_eos=True).long()

    def decode(self, units: str) -> str:
        """Units separated by spaces to plain text."""
        if self.bpe is not None:
            units = self.bpe.decode(units)
        elif self.marker is not None:
            units = post_process(units, self.marker)
        return units if self.tokenizer is None else self.tokenizer.decode(units)


def without_mark(text: Any, number: int = 0) -> Any:
    """A text without a byte order mark if it is the first, as our readers of files drop it.

    Args:
        text: of any type; only a str is changed.
        number: of the text, from 0.
    """
    return text.removeprefix(BOM) if number == 0 and isinstance(text, str) else text


class PreparationMoses:
    """Tokenizes like ``data_prep/tokenize_corpus.py``, which also normalizes punctuation.

    Args:
        moses: fairseq's, for the way back.
        language: of the text to encode.
    """

    def __init__(self, moses: Any, language: str):
        self.moses, self.language = moses, language

    def encode(self, text: str) -> str:
        """Plain text to words."""
        return tokenize(text, self.language)

    def decode(self, words: str) -> str:
        """Words to plain text."""
        return str(self.moses.decode(words))


def _name_of(stored: Any) -> Optional[str]:
    """The name of a stored tokenizer or BPE."""
    return getattr(stored, "_name", stored)


def _check_codes(bpe: Optional[str], codes: Optional[str]) -> None:
    """Refuse codes without ``bpe``, and the reverse."""
    if codes is not None and bpe not in CODES:
        raise UserError(f"bpe_codes={codes} needs bpe, one of {', '.join(CODES)}")
    if codes is None and bpe in CODES:
        raise UserError(f"bpe={bpe} needs bpe_codes, the file of its codes or its model")
    if codes is not None and not Path(codes).is_file():
        raise UserError(f"bpe_codes={codes}: no such file; check the path")


def _marker_of(dictionary: Any) -> Optional[str]:
    """How the units of a dictionary are marked, with a warning; None if they are words."""
    marker = segmentation_of(dictionary.symbols[dictionary.nspecial :])
    if marker is not None:
        logger.warning(
            "the dictionary has units of %s, but the checkpoint stores no codes: text must "
            "be segmented already (in Python, load(..., bpe=%r, bpe_codes=FILE) does it)",
            marker,
            marker,
        )
    return marker


def _tokenizers(config: Any, task: Any, name: Optional[str]) -> Dict[str, Any]:
    """The tokenizer of ``source`` and, only if it is another one, of ``target``."""
    moses = {side: _moses(config, task, name, side) for side in ("source", "target")}
    tokenizers = {
        side: _built("tokenizer", encoders.build_tokenizer, config, name, options)
        for side, options in moses.items()
        if side == "source" or options
    }
    if name != "moses":
        return tokenizers
    return {
        side: PreparationMoses(one, moses[side].get("source_lang", "en"))
        for side, one in tokenizers.items()
    }


def _moses(config: Any, task: Any, name: Optional[str], side: str) -> Dict[str, Any]:
    """Options of a Moses tokenizer for one side; empty for other tokenizers.

    fairseq's encodes by the rules of ``source_lang`` and decodes by those of ``target_lang``.
    """
    stored = config.get("tokenizer")
    if (name or _name_of(stored)) != "moses":
        return {}
    if name is None:
        return {"source_lang": stored.target_lang} if side == "target" else {}
    read, written = (getattr(task.cfg, f"{one}_lang", None) for one in (side, "target"))
    known = {"source_lang": read, "target_lang": written}
    known = {option: language for option, language in known.items() if language}
    if not known and side == "source":
        logger.warning(
            "tokenizer=moses: a language model stores no language, so texts are tokenized by the "
            "rules of English; tokenize those of another language yourself"
        )
    return {**known, "moses_no_escape": True, "moses_no_dash_splits": True}


def _built(kind: str, build: Any, config: Any, name: Optional[str], options: Dict[str, Any]) -> Any:
    """fairseq's tokenizer or BPE: the named one, else the stored one, with other options if given.

    Raises:
        UserError: if it is unknown, the stored one has a URL, or it cannot be built, whatever
            fairseq raises or exits with.
    """
    if name is not None:
        check_choice(kind, name, REGISTRIES[kind]["registry"])
        chosen = OmegaConf.create({"_name": name, **options})
    else:
        chosen = config.get(kind)
        _refuse_urls(kind, chosen)
        chosen = OmegaConf.merge(chosen, options) if options else chosen
    try:
        return build(chosen)
    except (Exception, SystemExit) as error:
        # The codes' readers end the program, or tell in several lines.
        reason = str(error).strip().splitlines()[:1] if isinstance(error, Exception) else []
        why = reason[0] if reason else "its file is not in the format"
        if name is None:
            stored = _name_of(chosen)
            raise UserError(
                f"the checkpoint's {kind}, {stored}, cannot be built ({why}): give {kind}="
            ) from error
        files = options.values() if kind == "bpe" else ()
        where = "".join(f", bpe_codes={file}" for file in files)
        raise UserError(f"{kind}={name}{where}: cannot be built ({why})") from error


def _refuse_urls(kind: str, stored: Any) -> None:
    """Refuse stored settings with a URL, which fairseq would request, but for its own default."""
    settings = OmegaConf.to_container(stored) if OmegaConf.is_config(stored) else None
    if not isinstance(settings, dict):
        return
    name = settings.get("_name")
    dataclass = REGISTRIES[kind]["dataclass_registry"].get(str(name))
    for option, value in settings.items():
        default = getattr(dataclass, str(option), None)
        if isinstance(value, str) and value != default and _is_url(value):
            remedy = "bpe= and bpe_codes=" if kind == "bpe" else f"{kind}="
            raise UserError(
                f"the checkpoint's {kind}, {name}, has a URL, {option}={value}, which is not "
                f"requested: give {remedy}"
            )


def _is_url(value: str) -> bool:
    # Python's URL parser ignores tabs and line breaks anywhere, and control characters in front.
    visible = re.sub(r"[\t\r\n]|^[\x00-\x20]+", "", value)
    return re.search("://|^(https?|s3):", visible, re.IGNORECASE) is not None
