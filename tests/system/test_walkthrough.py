"""The examples of CONTRIBUTING, applied to a copy of the project, pass the contract tests."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECTIONS = (
    "output layer", "sampler", "composition", "source embedding", "model", "frozen cell",
)  # fmt: skip
FILE = re.compile(r"\*\*1\. One file\*\*, `([\w/.]+)`:\n\n```python\n(.*?)```", re.DOTALL)
ROW = re.compile(r"\*\*3\. Its row\*\* in the first table of `([\w/.]+)`:\n\n```\n(.*?\n)```")
LINE = re.compile(r"\*\*2\. Its line\*\* in (?:`(\w+)`\s+\()?`([\w/.]+)`[^`]*?```python\n(.*?)```",
                  re.DOTALL)  # fmt: skip
# Other promises of CONTRIBUTING.
ADDED = """
import pytest
import torch
from fairseq_outlayers.errors import UserError
from tests.conftest import *
EVERY = [*TRANSLATION_ARCHITECTURES, *LANGUAGE_MODEL_ARCHITECTURES]

def test_the_new_model_is_among_the_architectures():
    assert {"mean_context", "esnmt_gated"} <= TRANSLATION_ARCHITECTURES.keys()

@pytest.mark.parametrize("arch", EVERY)
@pytest.mark.parametrize("scale", [0.5, 100.0])
def test_the_scaled_layer_starts_as_its_option_says(task, arch, scale):
    model = make_model(arch, task, output_layer="scaled", initial_scale=scale)
    assert model.decoder.output_projection.scale.item() == scale

@pytest.mark.parametrize("options", [
    {"output_layer": "tied", "initial_scale": 0.5}, {"source_embedding": "internal",
    "source_rank": 4}, {"output_layer": "subword", "composition": "morphsum", "length_power": 2.0},
])
def test_options_of_parts_that_are_not_selected_are_refused(task, options):
    with pytest.raises(UserError, match="has no effect with"):
        make_model("luong_lstm", task, **options)

def test_options_act(task):
    low = make_model("luong_lstm", task, source_embedding="low_rank", source_rank=3)
    assert low.encoder.embed_tokens.internal.embedding_dim == 3
    for power in (1.0, 2.0):
        model = make_model("luong_lstm", task, output_layer="subword", composition="charmean",
                           length_power=power)
        assert model.decoder.output_projection.words.composition.power == power
"""


def follow(section: str, folder: Path) -> None:
    """Write the file of a section and put its line where the section says."""
    (path, code), (registry, target, lines) = FILE.search(section).groups(), LINE.search(
        section
    ).groups()  # fmt: skip
    assert not (folder / path).exists()
    (folder / path).write_text(code, encoding="utf-8")
    text = (folder / target).read_text(encoding="utf-8")
    imports = [line for line in lines.splitlines(True) if line.startswith("from ")]
    entries = [line for line in lines.splitlines(True) if line.startswith("    ")]
    assert (len(imports), len(entries)) == (1, 1 if registry else 0)
    last = list(re.finditer(r"^from fairseq_outlayers[^(\n]*(\([^)]*\))?\n", text, re.M))[-1].end()
    text = text[:last] + imports[0] + text[last:]
    if registry:
        start = re.search(rf"^{registry}: .*= {{\n", text, re.M).end()
        text = text[:start] + entries[0] + text[start:]
    (folder / target).write_text(text, encoding="utf-8")
    if found := ROW.search(section):
        page, row = found.groups()
        text = (folder / page).read_text(encoding="utf-8")
        (folder / page).write_text(re.sub(r"(\n(?:\|.*\n)+)", rf"\1{row}", text, count=1))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project in which every section has been followed."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("fairseq_outlayers", "tests", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## Add an? ([\w ]+)\n(.*?)(?=^## |\Z)", text, re.M | re.DOTALL))
    assert set(sections) == {*SECTIONS, "part"}
    for name in SECTIONS:
        follow(sections[name], folder)
    (folder / "tests" / "contract" / "test_added.py").write_text(ADDED)
    return folder


def run(folder: Path, *command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def test_the_page_of_options_lists_every_new_part(project):
    page = run(project, "-m", "fairseq_outlayers", "options")
    parts = ("`scaled`", "`mixed`", "`charmean`", "`low_rank`", "`--arch mean_context`",
             "`--arch esnmt_gated`")  # fmt: skip
    options = ("`--initial-scale`", "`--uniform-share`", "`--length-power`", "`--source-rank`")
    for said in (*parts, *options):
        assert said in page, said


def test_every_new_part_passes_the_contract_and_so_do_tests_of_all_parts(project):
    parts = "scaled or mixed or charmean or low_rank or mean_context or esnmt_gated or added"
    of_all = "test_ranges or test_baking or test_subword_composition or refused_with_its_values"
    said = run(
        project, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/contract", "tests/unit",
        "-k", f"{parts} or {of_all}", "-m", "not gpu",
    )  # fmt: skip
    passed = int(re.search(r"(\d+) passed", said).group(1))
    assert passed > 300
    assert "failed" not in said


def test_the_gain_of_the_new_cell_is_what_the_page_says(project):
    said = run(project, "-m", "fairseq_outlayers", "echo-gain", "--arch", "esnmt_gated")
    found = dict(re.findall(r"^\| ([\d.]+) +\| ([\d.]+) ", said, re.M))
    assert [found[deviation] for deviation in ("0.01", "0.05", "0.1")] == ["1.00", "0.99", "0.97"]
