"""The blocks of code of a page."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SHELL = ("", "bash")
CHOICE = "# one of these\n"  # begins a block of commands, each after a comment
SHOWN = ("text", "yaml", "json", "tsv")  # output and files, which a page shows and nothing runs


class Block(NamedTuple):
    """One block of code."""

    language: str
    code: str
    before: str  # the last line of text before it


def blocks(page: Path) -> list[Block]:
    """All blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"(?ms)^```(\w*)\n(.*?)^```$", text)
    return [Block(m[1], m[2], text[: m.start()].rstrip().rpartition("\n")[2]) for m in found]


def is_fragment(block: Block) -> bool:
    """Whether the reader fills something in (`` ...``) or chooses, or it sets all up (make)."""
    return " ..." in block.code or block.code.startswith(("make ", CHOICE))
