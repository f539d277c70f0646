"""A part in another installed package, as CONTRIBUTING describes it."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.system.test_walkthrough import FILE

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
INIT = "import fairseq_outlayers\n"


def section(title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.DOTALL).group(1)


@pytest.fixture
def package(tmp_path):
    """A function that installs the package of the page, with another initialization or entry."""

    def install(init=INIT, entry=""):
        toml = re.search(r"```toml\n(.*?)```", section("In a package of your own"), re.DOTALL)
        ((group, entries),) = tomllib.loads(toml.group(1))["project"]["entry-points"].items()
        info = tmp_path / "mylayers-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mylayers\nVersion: 1.0\n")
        lines = [entry] if entry else [f"{name} = {value}" for name, value in entries.items()]
        (info / "entry_points.txt").write_text(f"[{group}]\n" + "\n".join(lines) + "\n")
        (tmp_path / "mylayers").mkdir()
        (tmp_path / "mylayers" / "__init__.py").write_text(init)
        _, code = FILE.search(section("Add an output layer")).groups()
        (tmp_path / "mylayers" / "scaled.py").write_text(code)
        _, code = FILE.search(section("Add a model")).groups()
        (tmp_path / "mylayers" / "mean_context.py").write_text(code)
        return tmp_path

    return install


def run(folder, *command):
    path = f"{folder}{os.pathsep}{ROOT}"
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_installed_layer_has_its_options_and_passes_the_contract(package):
    folder = package()
    page = run(folder, "-m", "fairseq_outlayers", "options")
    assert "`scaled`" in page.stdout, page.stderr
    assert "`--initial-scale`" in page.stdout
    tests = ("tests/contract/test_output_layers.py", "tests/contract/test_models.py")
    said = run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, "-k", "scaled")
    assert said.returncode == 0, said.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", said.stdout).group(1)) > 30


def test_it_may_be_imported_before_ours(package):
    code = """
        import mylayers.scaled
        from fairseq_outlayers.output_layers import OUTPUT_LAYERS
        print(OUTPUT_LAYERS["scaled"] is mylayers.scaled.ScaledOutputLayer)
    """
    said = run(package(), "-c", "\n".join(line.strip() for line in code.splitlines()))
    assert said.stdout == "True\n", said.stderr[-3000:]


def test_a_user_dir_of_its_own_has_its_models_and_ours(package):
    folder = package(init=INIT + "from mylayers import mean_context\n")
    code = f"""
        from argparse import Namespace
        from fairseq.models import MODEL_REGISTRY
        from fairseq.utils import import_user_module
        import_user_module(Namespace(user_dir="{folder}/mylayers"))
        print({{"mean_context", "luong_lstm"}} <= set(MODEL_REGISTRY))
    """
    said = run(folder, "-c", "\n".join(line.strip() for line in code.splitlines()))
    assert said.stdout == "True\n", said.stderr[-3000:]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"entry": "tied = mylayers.scaled:ScaledOutputLayer"}, "there is a part of this name"),
        ({"entry": "own = mylayers.scaled:nn"}, "is not a subclass of OutputLayer"),
        ({"entry": "own = mylayers.nowhere:Layer"}, "cannot be loaded: No module named"),
        ({"entry": "own = mylayers.scaled:Layer"}, "cannot be loaded: .*has no attribute"),
    ],
)
def test_what_is_wrong_with_an_entry_point_is_told_in_one_line(package, changes, message):
    said = run(package(**changes), "-m", "fairseq_outlayers", "options")
    last = said.stderr.strip().splitlines()[-1]
    assert said.returncode != 0
    assert re.search(rf"entry point .* of mylayers .*{message}", last), said.stderr[-3000:]
