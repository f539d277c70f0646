"""Check fairseq's own options with structured values: JSON, literals, Python, names.

fairseq parses them when it needs them, possibly after the first epoch, and ends in a traceback of
the parser. Here they are parsed right after the command line
(``patches/conveniences/option_hints.py``).
"""

import ast
import json
from typing import Any, Callable, Dict, Tuple

from fairseq.data.encoders import BPE_REGISTRY, TOKENIZER_REGISTRY
from fairseq.dataclass.configs import GenerationConfig

from fairseq_outlayers.errors import UserError, as_flag
from fairseq_outlayers.formats.units import CODES
from fairseq_outlayers.suggestions import did_you_mean


def _dictionary(text: str) -> None:
    # eval_lm.py and validate.py would also evaluate other Python.
    if not isinstance(ast.literal_eval(text), dict):
        raise ValueError("not a dictionary")


def _object(text: str) -> Dict[str, Any]:
    values = json.loads(text)
    if not isinstance(values, dict):
        raise ValueError("not an object")
    return values


def _search(text: str) -> None:
    # fairseq ignores unknown options.
    known = [name for name in GenerationConfig.__dataclass_fields__ if name != "_name"]
    usual = [name for name in known if not name.endswith("_mt")]  # those are for speech
    for name in _object(text):
        if name not in known:
            raise ValueError(f"{name} is no option of a search{did_you_mean(name, usual)}")


def _tokenizer(name: str) -> None:
    if name not in TOKENIZER_REGISTRY:
        raise ValueError(f"known are {', '.join(sorted(TOKENIZER_REGISTRY))}")


READERS: Dict[str, Tuple[str, Callable[[str], Any]]] = {
    "eval_bleu_args": ("JSON, such as '{\"beam\": 4}'", _search),
    "eval_bleu_detok_args": ('JSON, such as \'{"target_lang": "de"}\'', _object),
    "optimizer_overrides": ("a dictionary of literals, such as \"{'lr': 0.1}\"", _dictionary),
    "model_overrides": ("a dictionary of literals, such as \"{'data': 'other'}\"", _dictionary),
    "eval_bleu_detok": ("the name of a tokenizer", _tokenizer),
}
assert set(CODES) <= set(BPE_REGISTRY)


def check_stock_texts(options: Any) -> None:
    """Parse the structured values of a parsed command line.

    Raises:
        UserError: for the first invalid value, or for a segmentation without its file.
    """
    for name, (expected, read) in READERS.items():
        value = getattr(options, name, None)
        if not isinstance(value, str):
            continue
        try:
            read(value)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
            raise UserError(f"{as_flag(name, value)}: must be {expected} ({error})") from None
    _check_segmentation(options)


def _check_segmentation(options: Any) -> None:
    needed = CODES.get(getattr(options, "bpe", None) or "")
    # Missing values are "???" or None.
    if needed and getattr(options, needed, None) in (None, "", "???"):
        raise UserError(f"--bpe {options.bpe} needs {as_flag(needed)}: give its file")
