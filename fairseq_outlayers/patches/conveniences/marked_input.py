"""Drop a byte order mark at the start of the text to translate.

``buffered_read`` (fairseq_cli/interactive.py) keeps it as part of the first word, which is then
unknown. Our own readers drop it, too (``formats/text.py``).
"""

from typing import Any, Callable, Iterator, List

from fairseq_cli import interactive

from fairseq_outlayers.formats.text import BOM
from fairseq_outlayers.patches.replacing import replaces


@replaces(interactive, "buffered_read")
def _without_mark(stock: Callable[..., Any], *args: Any, **kwargs: Any) -> Iterator[List[str]]:
    batches = stock(*args, **kwargs)
    for first in batches:
        yield [first[0].removeprefix(BOM), *first[1:]] if first else first
        yield from batches
