"""``python -m tests.docs.figures PAGE ...``: figures of pages that no statement compares.

Not all are measurements: sizes, options, dates and versions are printed as well. Text that ``python
-m recipes.lab report`` generates, code and links are left out.
"""

import re
import sys

from tests.docs.figures.sources import SOURCES
from tests.docs.figures.statement import GENERATED, NUMBER, read

CONTEXT = 60  # characters before and after a figure
OTHER = (GENERATED, r"```.*?```", r"`[^`]*`", r"\]\([^)]*\)", r"\d{4}-\d{2}-\d{2}")


def uncompared(page: str) -> list[str]:
    """Each figure of a page that is not compared, with the text around it."""
    text = read(page)
    seen: set[int] = set()
    for statement in (each for source in SOURCES for each in source() if each.page == page):
        for match in re.finditer(statement.pattern, text):
            for group in range(1, len(statement.values) + 1):
                seen.update(range(*match.span(group)))
    for pattern in OTHER:
        for match in re.finditer(pattern, text):
            seen.update(range(*match.span()))
    return [
        f"{text[max(0, m.start() - CONTEXT) : m.start()]}>>{m[0]}<<{text[m.end() :][:CONTEXT]}"
        for m in re.finditer(rf"(?<![\w.]){NUMBER}", text)
        if not seen.intersection(range(*m.span()))
    ]


for page in sys.argv[1:]:
    found = uncompared(page)
    print(f"{page}: {len(found)} figures", *found, sep="\n")
