"""The notebook runs from its first cell to its last, and its models learn."""

import json
import re

import pytest

from tests.docs.page import ROOT
from tests.warm_shell import Shell

pytestmark = pytest.mark.system

NOTEBOOK = ROOT / "docs" / "notebooks" / "first_steps.ipynb"
# What Jupyter does with a cell of shell commands, and with figures where there is no screen.
BEGINNING = """
import subprocess
import matplotlib
matplotlib.use("Agg")
def bash(commands):
    subprocess.run(["bash", "-euo", "pipefail", "-c", commands], check=True)
"""
CHECKS = """
assert all(perplexities[-1] < perplexities[0] / 2 for perplexities in curves.values()), curves
"""


def program():
    """The cells of code as one Python program."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    parts = [BEGINNING]
    for source in ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"):
        magic, _, commands = source.partition("\n")
        assert magic == "%%bash" or not re.search(r"(?m)^[%!]", source)
        parts.append(f"bash({commands!r})\n" if magic == "%%bash" else source)
    return "\n".join([*parts, CHECKS])


def test_the_notebook_runs_cell_by_cell(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "notebook.py").write_text(program(), encoding="utf-8")
    shell = Shell(tmp_path / "shell")
    shell.run(f"python {tmp_path}/notebook.py", NOTEBOOK.parent, timeout=600)


def test_no_output_is_kept_in_the_notebook():
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        assert cell.get("outputs", []) == []
        assert cell["cell_type"] == "markdown" or cell["execution_count"] is None
