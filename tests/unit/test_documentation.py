"""What the pages show must work as it stands, and their links must lead somewhere."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from fairseq import options

from fairseq_outlayers import __main__ as package
from fairseq_outlayers.checkpoints.unseen_words import read_descriptions

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "unseen_words.md"
FOLDERS = ("", "docs/", "benchmarks/", "recipes/", "recipes/*/", "results/", "results/*/")
PAGES = sorted(page for folder in FOLDERS for page in ROOT.glob(f"{folder}*.md"))

PARSERS = {
    "fairseq-preprocess": options.get_preprocessing_parser,
    "fairseq-train": options.get_training_parser,
    "fairseq-generate": options.get_generation_parser,
    "fairseq-interactive": options.get_interactive_generation_parser,
    "fairseq-eval-lm": options.get_eval_lm_parser,
}
PROGRAMS = [["python"], *([name] for name in PARSERS)]
OWN = "--user-dir mymodels"  # a reader's, whose model is not here: tests/docs runs its commands


def commands():
    """``page: command`` and its words, of every whole command in the pages' blocks of code."""
    for page in PAGES:
        blocks = re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"))
        for block in (block for language, block in blocks if not language):
            for line in block.replace("\\\n", " ").splitlines():
                if line.split()[:1] in PROGRAMS and " ..." not in line and OWN not in line:
                    words = shlex.split(re.split(r" [>|<#]", line)[0])
                    name = f"{page.relative_to(ROOT)}: {shlex.join(words[:4])}"
                    yield pytest.param(words, id=name)


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


@pytest.mark.parametrize("words", [each for each in commands() if each.values[0][0] in PARSERS])
def test_fairseq_takes_every_command_of_the_pages(words):
    name, *arguments = words
    if "--user-dir" in arguments:  # imported already, and the path is the reader's
        place = arguments.index("--user-dir")
        del arguments[place : place + 2]
    parser = PARSERS[name]()
    if name == "fairseq-preprocess":
        parser.parse_args(arguments)
    else:
        options.parse_args_and_arch(parser, arguments)


@pytest.mark.parametrize("words", [each for each in commands() if each.values[0][0] == "python"])
def test_our_scripts_take_every_option_of_the_pages(words, capsys, monkeypatch):
    program, *arguments = words[1:]
    if program == "-m":
        idle = {name: each._replace(run=print) for name, each in package.COMMANDS.items()}
        monkeypatch.setattr(package, "COMMANDS", idle)
        assert arguments[0] == "fairseq_outlayers"
        assert package.main(arguments[1:]) == 0
        return
    script = ROOT / program.replace("$CHECKOUT/", "")
    step = [each for each in arguments[:1] if each in ("learn", "apply")]
    run = [sys.executable, script, *step, "--help"]
    if program != "describe.py":  # the reader's own
        known = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        assert {each for each in arguments if each.startswith("--")} <= set(
            re.findall(r"--[a-z0-9-]+", known)
        )


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
