"""The page of all options, and the command that prints it."""

import subprocess
import sys
from pathlib import Path

import pytest
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.models import MODEL_REGISTRY

import fairseq_outlayers
from fairseq_outlayers.commands.options_page import options_page
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from tests.conftest import INSTALLED_PARTS

ROOT = Path(fairseq_outlayers.__file__).parents[1]


def ours(registry):
    return [name for name, part in registry.items() if part.__module__.startswith("fairseq_outl")]


@pytest.mark.skipif(INSTALLED_PARTS, reason="the page here has parts of other packages")
def test_the_page_in_the_documentation_is_current():
    page = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    assert page == options_page(), "run: python -m fairseq_outlayers options > docs/options.md"


def test_everything_registered_by_us_is_on_the_page():
    page = options_page()
    for selector, registry in (("--arch", MODEL_REGISTRY), ("--criterion", CRITERION_REGISTRY)):
        assert ours(registry)
        for name in ours(registry):
            assert f"### `{selector} {name}`" in page


def test_an_option_is_shown_with_values_default_and_meaning():
    choices = ", ".join(f"`{name}`" for name in OUTPUT_LAYERS)
    row = f"| `--output-layer` | {choices} | `linear` | how classes"
    assert row in options_page()
    assert options_page().count("| `--output-layer` |") == 5  # twice on top, three other defaults
    assert "| `--label-smoothing` | float | `0.0` | probability" in options_page()


def test_options_inherited_from_fairseq_are_left_out():
    page = options_page().partition("## Limits of fairseq's own options")[0]
    assert "--decoder-ffn-embed-dim" not in page
    assert "--sentence-avg" not in page


def test_without_a_command_the_path_for_user_dir_is_printed():
    printed = subprocess.run(
        [sys.executable, "-m", "fairseq_outlayers"], capture_output=True, text=True, check=True
    )
    assert Path(printed.stdout.strip()) == ROOT / "fairseq_outlayers"


def test_the_command_prints_the_page_and_nothing_else():
    printed = subprocess.run(
        [sys.executable, "-m", "fairseq_outlayers", "options"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout == options_page()
    assert printed.stderr == ""
