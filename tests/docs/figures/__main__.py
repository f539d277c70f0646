"""``python -m tests.docs.figures PAGE ...``: figures of pages that no statement compares.

Not all are measurements: sizes, options, dates and versions are printed as well. Text that ``python
-m recipes.lab report`` generates, code and links are left out.
"""

import re
import sys

from tests.docs.figures.sources import SOURCES
from tests.docs.figures.statement import GENERATED, NUMBER, Statement, read

CONTEXT = 60  # characters around figures, which are printed together where they are closer
OTHER = (GENERATED, r"```.*?```", r"`[^`]*`", r"\]\([^)]*\)", r"\d{4}-\d{2}-\d{2}")


def uncompared(page: str, statements: list[Statement]) -> list[str]:
    """Figures of a page that are not compared, marked, with the text around them."""
    text = read(page)
    seen: set[int] = set()
    for statement in (each for each in statements if each.page == page):
        for match in re.finditer(statement.pattern, text):
            for group in range(1, len(statement.values) + 1):
                seen.update(range(*match.span(group)))
    for pattern in OTHER:
        for match in re.finditer(pattern, text):
            seen.update(range(*match.span()))
    found: list[str] = []
    end = -CONTEXT
    for match in re.finditer(rf"(?<![\w.]){NUMBER}", text):
        if seen.intersection(range(*match.span())):
            continue
        if match.start() - end > CONTEXT:
            found.append(text[max(0, match.start() - CONTEXT) : match.start()])
        else:
            found[-1] += text[end : match.start()]
        found[-1] += f"[{match[0]}]"
        end = match.end()
    return found


compared = [each for source in SOURCES for each in source()]
for page in sys.argv[1:]:
    print(page, *uncompared(page, compared), sep="\n")
