"""Tables as text."""

from pathlib import PurePath
from typing import List, Sequence


def table(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A plain-text table; the first row is the heading.

    Args:
        left: the number of leading columns aligned left; the others are aligned right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    texts = []
    for row in rows:
        cells = [
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        texts.append("  ".join(cells).rstrip())
    return "\n".join([texts[0], "-" * (sum(widths) + 2 * len(widths) - 2), *texts[1:]])


def markdown_table(rows: Sequence[Sequence[object]]) -> str:
    """A table in Markdown; the first row is the heading."""
    lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def model_names(checkpoints: Sequence[str]) -> List[str]:
    """Names of models: their runs, or short paths if two checkpoints are of runs of one name."""
    from fairseq_outlayers.checkpoints.loading import run_name

    names = {path: run_name(path) for path in checkpoints}
    if len(set(names.values())) < len(names):
        names = dict(zip(names, short_names(list(names)), strict=True))
    return [names[path] for path in checkpoints]


def short_names(paths: Sequence[str]) -> List[str]:
    """Paths without the leading and trailing parts that all of them share."""
    parts = [list(PurePath(path).parts) for path in paths]
    if len(set(map(tuple, parts))) < len(parts) or len(parts) == 1:
        return [names[-1] for names in parts]
    for end in (0, -1):
        while all(len(names) > 1 for names in parts) and len({names[end] for names in parts}) == 1:
            for names in parts:
                del names[end]
    return ["/".join(names) for names in parts]
