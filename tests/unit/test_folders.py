"""Imports point one way, and the pages show the folders that there are."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "fairseq_outlayers"
# Each may import those before it. Folders on one line do not import each other.
ORDER = [
    ["errors", "suggestions"],
    ["ranges"],
    ["registry"],
    ["formats"],
    ["tables"],
    ["layers"],
    ["losses"],
    ["samplers"],
    ["compositions"],
    ["output_layers", "source_embeddings"],
    ["extensions"],
    ["options"],
    ["reservoirs"],
    ["encoders"],
    ["decoders"],
    ["models"],
    ["optim"],
    ["partitions"],
    ["criterions"],
    ["decoding"],
    ["stock"],
    ["tasks"],
    ["with_fairseq"],  # the parts before it, registered
    ["registered_options"],
    ["checkpoints"],
    ["hub", "export"],
    ["analysis"],
    ["pages"],
    ["commands"],
    ["__main__"],
]
LAST = ("hub", "export", "analysis", "pages", "commands", "__main__")
APART = {"patches", "__init__"}  # in place before all others
LEVEL = {name: level for level, names in enumerate(ORDER) for name in names}
FILES = sorted(PACKAGE.rglob("*.py"))


def part(path: Path) -> str:
    """The folder, or the file at the top."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set:
    """Folders of ours that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
            if node.module == "fairseq_outlayers":
                names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("fairseq_outlayers.")}
    return found


def test_every_folder_has_a_place_in_the_order():
    assert {part(path) for path in FILES} - APART == set(LEVEL)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_imports_only_folders_before_its_own(path):
    own, needed = part(path), imported(path)
    if own == "__init__":
        later = needed - {"with_fairseq", "hub"}
    elif own == "patches":  # they import what they patch with, when it is needed
        later = needed & set(LAST)
    elif own == "with_fairseq":
        later = {name for name in needed - APART if LEVEL[name] > LEVEL[own]}
    else:
        later = {name for name in needed - {own} if name in APART or LEVEL[name] >= LEVEL[own]}
    assert not later, f"{path.relative_to(ROOT)} imports {sorted(later)}"


@pytest.mark.parametrize("folder", ["formats", "tables", "layers", "losses", "samplers",
                                    "compositions", "output_layers"])  # fmt: skip
def test_what_needs_no_fairseq_does_not_import_it(folder):
    for path in (PACKAGE / folder).rglob("*.py"):
        assert not re.search(r"^\s*(from|import) fairseq\b", path.read_text("utf-8"), re.M), path


def test_analysis_reads_and_commands_print():
    for path in (PACKAGE / "analysis").rglob("*.py"):
        text = path.read_text("utf-8")
        assert "argparse" not in text, path
        assert "print(" not in text, path
        assert not re.search(r"torch\.save|\.write\(|\.write_text\(|open\([^)]*[\"']w", text), path


def test_the_table_of_the_architecture_lists_the_folders_in_their_order():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `fairseq_outlayers/(\w+)/`", page, re.M)
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert set(listed) == folders
    assert len(listed) == len(set(listed))
    levels = [LEVEL[name] for name in listed if name in LEVEL]
    assert levels == sorted(levels)


def test_the_picture_of_the_architecture_names_folders_that_there_are():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    picture = page.split("```")[1]
    named = re.findall(r"(\w+)/", picture)
    assert named
    for name in named:
        assert (PACKAGE / name).is_dir() or (ROOT / name).is_dir(), name
