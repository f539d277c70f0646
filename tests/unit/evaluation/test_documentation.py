"""What the pages show must work as it stands, and their links must lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fairseq_outlayers.evaluation.unseen_words import read_descriptions

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "unseen_words.md"
FOLDERS = ("", "docs/", "benchmarks/", "recipes/", "recipes/*/", "results/", "results/*/")
PAGES = sorted(page for folder in FOLDERS for page in ROOT.glob(f"{folder}*.md"))


def anchors(page):
    """Names of a page's headings, as a link has them behind ``#``."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page):
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    for path, _, heading in (link.partition("#") for link in links if "://" not in link):
        to = page.parent / path if path else page
        assert to.exists(), path
        assert not heading or heading in anchors(to), heading


def test_the_script_describes_unseen_compounds_by_their_parts(tmp_path):
    script = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    (tmp_path / "describe.py").write_text(script, encoding="utf-8")
    (tmp_path / "dict").write_text("knüng 9\nhaus 5\nhausan 2\nknüngshaus 1\n", encoding="utf-8")
    text = "knüng knüngshaus haussknüng\nknüngshausan yakshaus hausshaus\n"
    (tmp_path / "text").write_text(text, encoding="utf-8")
    printed = subprocess.run(
        [sys.executable, "describe.py", "dict", "text"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONUTF8": "1"},
    ).stdout
    (tmp_path / "new.tsv").write_text(printed, encoding="utf-8")
    assert read_descriptions(str(tmp_path / "new.tsv")) == {
        "haussknüng": ["haus", "knüng"],
        "knüngshausan": ["knüng", "hausan"],
        "hausshaus": ["haus", "haus"],
    }
