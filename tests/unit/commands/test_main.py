"""What holds for every command of ``python -m fairseq_outlayers``."""

import argparse
import importlib.metadata
import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import fairseq_outlayers
from fairseq_outlayers.__main__ import COMMANDS, LISTED, main
from fairseq_outlayers.analysis import echo_gains
from fairseq_outlayers.commands import echo_gain
from fairseq_outlayers.commands.base import checkpoints_first
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.reservoirs.options import ECHO_STARTS
from fairseq_outlayers.suggestions import HelpfulParser

each_command = pytest.mark.parametrize("name", COMMANDS)


@each_command
def test_the_help_has_an_example_on_one_line(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    line = f"\nexample:\n  python -m fairseq_outlayers {name} {COMMANDS[name].example}\n"
    assert line in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("neighbours a.pt --words dog --plot map", "'map' must end in .svg, .png, .pdf"),
        ("neighbours a.pt --words dog --plot x.jpeg2", "'x.jpeg2' must end in .svg, .png, .pdf"),
        ("neighbours a.pt --words dog --plot no/map.svg", "no/map.svg: no folder no; create it"),
        (
            "neighbours a.pt --words dog --plot docs/translation.svg",
            "docs/translation.svg exists; remove it, or give another name",
        ),
        ("partitions bin --partition-size 5 --seed -1", "-1: must be a whole number, 0 or more"),
        ("partitions bin --partition-size 5 --seed 2", "--seed 2 has no effect without --resh"),
        ("external-words --examples -1", "-1: must be a whole number, 0 or more"),
        (
            "external-words --dictionary d --external-embeddings e --source s "
            "--translations mix=h1 other=h1 mix=h2",
            "--translations mix=h1 mix=h2: the name mix is given twice; give each file another",
        ),
        ("checkpoint tests", "tests: a folder; give a checkpoint in it"),
        (
            "neighbours a.pt --words dog --words cat",
            "argument --words: given twice; give all values after one --words",
        ),
        (
            "external-words --translations a=h1 --translations b=h2",
            "argument --translations: given twice; give all values after one --translations",
        ),
    ],
)
def test_bad_arguments_are_refused_in_one_line(arguments, message, capsys):
    with pytest.raises((SystemExit, UserError)) as stopped:
        main(arguments.split())
    assert message in f"{capsys.readouterr().err} {stopped.value}"


def test_a_plot_in_a_folder_that_is_not_writable_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    path = tmp_path / "plot.svg"
    with pytest.raises(SystemExit):
        main(["neighbours", "a.pt", "--words", "dog", "--plot", str(path)])
    assert f"{path}: the folder is not writable" in capsys.readouterr().err


def test_an_average_in_a_folder_that_is_not_writable_is_refused_first(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    output = tmp_path / "average.pt"
    with pytest.raises(UserError, match=f"--output {output}: the folder {tmp_path} is not writ"):
        main(["average", "a.pt", "b.pt", "--output", str(output)])


def test_lists_of_one_parse_do_not_count_in_the_next():
    parser = HelpfulParser()
    group = parser.add_argument_group("group")
    group.add_argument("--words", nargs="+")
    parser.add_argument("--number")
    parser.add_argument("checkpoints", nargs="*")
    for _ in range(2):
        given = parser.parse_args(["a", "b", "--words", "c", "d", "--number", "1", "--number=2"])
        assert given.checkpoints == ["a", "b"]
        assert (given.words, given.number) == (["c", "d"], "2")
    with pytest.raises(SystemExit):
        parser.parse_args(["--words", "c", "--words", "d"])


@each_command
def test_the_example_has_options_that_the_command_takes(name):
    parser = argparse.ArgumentParser(exit_on_error=False)
    COMMANDS[name].prepare(parser)
    parser.parse_args(shlex.split(COMMANDS[name].example.partition(">")[0]))


@each_command
def test_every_option_says_what_it_is(name):
    parser = argparse.ArgumentParser()
    COMMANDS[name].prepare(parser)
    assert [action.dest for action in parser._actions if not action.help] == []


def test_the_commands_are_listed_with_what_they_do(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    help_text = " ".join(capsys.readouterr().out.split())
    for name, summary in LISTED.items():
        assert f"{name} {summary}" in help_text


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["neighbors"], "neighbours"),
        (["capacity", "--num-clases", "100"], "--num-classes"),
        (["export", "c.pt", "--to", "ctranslate", "--output", "o"], "ctranslate2"),
        (["inspect", "--path", "c.pt", "--source", "s", "--reference", "r", "--output", "o",
          "--candidates-frequent", "5"], "--candidate-frequent"),
    ],
)  # fmt: skip
def test_what_is_mistyped_is_refused_in_one_line_with_what_was_meant(capsys, arguments, meant):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    printed = capsys.readouterr().err
    assert printed.endswith(f"did you mean {meant}?\n")
    assert printed.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["--help"], *([name, "--help"] for name in LISTED)])
def test_the_path_and_the_help_import_neither_pytorch_nor_fairseq(arguments):
    command = [sys.executable, "-X", "importtime", "-m", "fairseq_outlayers", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(Path(fairseq_outlayers.__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "fairseq_outlayers" in imported
    assert imported.isdisjoint({"torch", "fairseq", "numpy"})
    assert "usage: " in done.stdout if arguments else Path(done.stdout.strip()).is_dir()


def test_a_command_registers_what_it_needs():
    command = [sys.executable, "-m", "fairseq_outlayers", "capacity", "--num-classes", "100"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "bilinear" in done.stdout


def test_echo_gain_offers_what_the_models_have():
    assert {"esnmt", "esnmt_lstm"} <= echo_gains.frozen_models().keys()
    assert "esnmt_512" not in echo_gains.frozen_models()
    assert ECHO_STARTS == echo_gain.ECHO_STARTS


def test_words_that_the_terminal_cannot_show_are_escaped(tmp_path):
    path = tmp_path / "dict.txt"
    path.write_text("tä 1\n", encoding="utf-8")
    code = (
        "import sys; from fairseq_outlayers.__main__ import main\n"
        "main([]); print(open(sys.argv[1], encoding='utf-8').read())"
    )
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    printed = subprocess.check_output([sys.executable, "-c", code, path], env=environment)
    assert printed.splitlines()[1] == b"t\\xe4 1"


def test_the_version_names_what_results_depend_on(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    ours, fairseq, torch_, python = capsys.readouterr().out.splitlines()
    assert ours == f"fairseq_outlayers {fairseq_outlayers.__version__}"
    assert fairseq.startswith("fairseq-fixed 0.12")
    assert torch_ == f"torch {torch.__version__}"
    assert python.startswith("Python 3.")


def test_the_version_of_pytorch_has_its_build_also_where_its_metadata_lacks_it(
    capsys, monkeypatch, tmp_path
):
    """So it is with PyTorch of PyPI: its metadata says 2.13.0, and PyTorch 2.13.0+cu130."""
    (tmp_path / "version.py").write_text("__version__ = '2.13.0+cu130'\n")
    found = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "2.13.0")
    with pytest.raises(SystemExit):
        main(["--version"])
    assert "torch 2.13.0+cu130" in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("export", "--to fairseq --path a.pt --output o", "a.pt --to fairseq --output o"),
        ("export", "--path=a.pt --to fairseq", "a.pt --to fairseq"),
        ("neighbours", "--words x y --path a.pt b.pt --json", "a.pt b.pt --words x y --json"),
        ("neighbours", "a.pt --words x --path b.pt", "b.pt a.pt --words x"),
        ("unseen-words", "--path a.pt b.pt", "a.pt b.pt"),  # one too many, as without --path
        ("average", "a.pt b.pt --output c.pt", "a.pt b.pt --output c.pt"),
        ("capacity", "--path a.pt", "--path a.pt"),  # has no checkpoint
    ],
)
def test_checkpoints_come_first_or_after_path_as_in_fairseqs_commands(name, arguments, expected):
    parser = argparse.ArgumentParser()
    COMMANDS[name].prepare(parser)
    assert checkpoints_first(parser, arguments.split()) == expected.split()


def test_every_command_that_reads_checkpoints_takes_them_first():
    for name in COMMANDS:
        parser = argparse.ArgumentParser()
        COMMANDS[name].prepare(parser)
        assert not [a for a in parser._actions if "--path" in a.option_strings], name


def test_without_fairseq_a_command_says_so(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "fairseq", None)
    with pytest.raises(SystemExit) as stopped:
        main(["capacity", "--num-classes", "10", "--hidden-size", "4"])
    assert stopped.value.code == 1
    said = capsys.readouterr().err
    assert said == "error: capacity needs fairseq, which is not installed: see docs/installing.md\n"


def test_a_fairseq_of_another_name_has_a_version(capsys, monkeypatch):
    def version(name):
        if name == "fairseq-fixed":
            raise importlib.metadata.PackageNotFoundError
        return "0.13" if name == "fairseq" else "2.13.0"

    monkeypatch.setattr(importlib.metadata, "version", version)
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.splitlines()[1] == "fairseq 0.13"
