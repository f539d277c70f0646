"""Report invalid dictionary files by name and reason.

If a word is repeated or has no count, ``Dictionary.add_from_file`` (fairseq/data/dictionary.py)
ends in a traceback that does not name the file. It accepts an empty file as a dictionary of four
special symbols, with which every word is unknown.
"""

from typing import Any, Callable

from fairseq.data import Dictionary

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces

MOST = 2**62  # of a count; their sum is a 64-bit integer in samplers
REMEDY = "make it again with fairseq-preprocess, or pass the data folder of the training"


# ``load`` uses it, too.
@replaces(Dictionary, "add_from_file")
def _name_file(stock: Callable[..., Any], self: Any, f: Any) -> Any:
    if not isinstance(f, str):
        return stock(self, f)
    size = len(self)
    try:
        result = stock(self, f)
    except FileNotFoundError:
        raise  # stock/mistakes.py names the file that the task needs
    except OSError as error:
        raise UserError(f"{f}: {error.strerror}; a dictionary is a text file") from error
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{f}: {_reason(error)}; {REMEDY}") from error
    if len(self) == size:
        raise UserError(f"{f}: has no words; {REMEDY}")
    counts = self.count[size:]
    worst = min(counts) if min(counts) < 0 else max(counts)
    if not 0 <= worst <= MOST:
        word = self.symbols[size + counts.index(worst)]
        raise UserError(f"{f}: {word!r} has the count {str(worst)[:20]}; {REMEDY}")
    return result


def _reason(error: Exception) -> str:
    text = str(error)
    if "Duplicate word" in text:
        return f"the word {text.split(chr(39))[1]!r} is repeated"
    if "Incorrect dictionary format" in text:
        # If a count is not a number, fairseq names only the word.
        word = text.partition('"')[2].removesuffix('"').strip()[:80]
        return f"{word!r} has no count"
    return "not UTF-8 text" if "encoding" in text else f"not a dictionary ({text[:80]})"
