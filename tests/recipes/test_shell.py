"""The shell scripts parse and stop at errors; their shared functions do what they say."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from recipes.lab.arms import load

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted([*ROOT.glob("recipes/**/*.sh"), ROOT / ".ci" / "run", ROOT / ".ci" / "setup"])
NAMES = [str(path.relative_to(ROOT)) for path in SCRIPTS]
SOURCED = {"common.sh"}


@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_a_script_parses_and_stops_at_errors(script):
    subprocess.run(["bash", "-n", script], check=True)
    assert re.search(r"^set -euo pipefail$", script.read_text(), re.MULTILINE)


@pytest.mark.parametrize("script", SCRIPTS, ids=NAMES)
def test_scripts_to_run_are_executable_and_scripts_to_source_are_not(script):
    runs = script.name not in SOURCED
    assert os.access(script, os.X_OK) == runs
    assert script.read_text().startswith("#!/usr/bin/env bash\n") == runs


def bash(script, **environment):
    """Run a few lines after common.sh, in the environment of this test."""
    environment = {"OUTLAYERS_PYTHON": sys.executable, **environment}
    command = ["bash", "-c", f"source recipes/common.sh\n{script}"]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True
    )


@pytest.fixture
def preprocess(tmp_path):
    """A corpus in a folder with a space in its name, and a stand-in for fairseq-preprocess.

    Returns what `bash` needs in its environment to call the stand-in.
    """
    folder = tmp_path / "with space"
    folder.mkdir()
    for split in ("train", "valid", "test"):
        for language in ("src", "tgt"):
            path = folder / f"{split}.{language}"
            path.write_text("text\n")
            os.utime(path, (1e9, 1e9))
    binaries = tmp_path / "bin"
    binaries.mkdir()
    python = binaries / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    command = binaries / "fairseq-preprocess"
    command.write_text(
        "#!/usr/bin/env bash\n"
        'while [[ $1 != --destdir ]]; do echo "$1"; shift; done\n'
        'mkdir -p "$2" && touch "$2/dict.src.txt"; [[ -z ${BROKEN:-} ]] || exit 1\n'
    )
    for path in (python, command):
        path.chmod(0o755)
    return {"OUTLAYERS_PYTHON": str(python), "TEXT": str(folder)}


BINARIZE = 'binarize src tgt "$TEXT/train" "$TEXT/valid" "$TEXT/test" "$TEXT/bin"'


def test_binarizing_pads_no_dictionary_and_is_not_repeated(preprocess, tmp_path):
    assert bash(BINARIZE, **preprocess).returncode == 0
    log = (tmp_path / "with space" / "bin.log").read_text()
    assert "--padding-factor\n1\n" in log
    assert "(exists" in bash(BINARIZE, **preprocess).stdout
    (tmp_path / "with space" / "valid.tgt").write_text("other\n")
    assert "(exists" not in bash(BINARIZE, **preprocess).stdout


def test_binarizing_with_other_options_is_done_again(preprocess, tmp_path):
    for words, again in ((4000, True), (4000, False), (2000, True)):
        done = bash(f"{BINARIZE} --nwordstgt {words}", **preprocess)
        assert done.returncode == 0
        assert ("(exists" not in done.stdout) == again
    assert "--nwordstgt\n2000\n" in (tmp_path / "with space" / "bin.log").read_text()
    # Data made before the options were noted are taken as they are.
    (tmp_path / "with space" / "bin" / "options").unlink()
    assert "(exists" in bash(f"{BINARIZE} --nwordstgt 9", **preprocess).stdout


def test_binarizing_that_failed_leaves_nothing_that_counts(preprocess, tmp_path):
    failed = bash(BINARIZE, **preprocess, BROKEN="1")
    assert failed.returncode == 1
    assert "fairseq-preprocess failed" in failed.stderr
    assert not (tmp_path / "with space" / "bin").exists()
    assert bash(BINARIZE, **preprocess).returncode == 0


def test_a_python_asked_for_by_name_is_never_replaced_by_another():
    result = bash("echo $PYTHON", OUTLAYERS_PYTHON="/bin/true-not-here")
    assert result.returncode == 1
    assert "OUTLAYERS_PYTHON=/bin/true-not-here has no fairseq" in result.stderr


def test_a_file_counts_as_new_only_if_it_is_newer_than_all_it_is_made_from(tmp_path):
    for age, name in enumerate(("made", "first", "second")):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    script = f"cd {tmp_path}; newer made first second; ! newer first made; ! newer none made"
    assert bash(script).returncode == 0
    (tmp_path / "second").touch()
    assert bash(f"cd {tmp_path}; newer made first second").returncode == 1


def test_a_file_made_with_other_options_is_made_again(tmp_path):
    file = tmp_path / "with space"
    file.touch()
    made = f'made_with "{file}" --table "a b"'
    assert bash(made).returncode == 1  # nothing is known of it
    assert bash(f'note_options "{file}" --table "a b"; {made}').returncode == 0
    assert bash(f'note_options "{file}" --table c; {made}').returncode == 1


def test_text_is_tokenized_again_with_other_options_alone(tmp_path):
    for language, line in (("en", "A Dog"), ("de", "Ein Hund")):
        (tmp_path / f"raw.{language}").write_text(f"{line}\n")
    command = f"tokenize {tmp_path}/raw {tmp_path}/text en de"
    for options, expected, repeated in (
        ("", "Ein Hund\n", True),
        ("--lowercase", "ein hund\n", True),
        ("--lowercase", "ein hund\n", False),
    ):
        done = bash(f"{command} {options}")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "text.de").read_text() == expected
        assert ("(exists)" in done.stdout) != repeated


@pytest.mark.parametrize("split", ["train", "test"])
def test_sides_of_unequal_length_are_no_sentence_pairs(split, tmp_path):
    for name in ("train", "valid", "test"):
        for language in ("en", "de"):
            (tmp_path / f"{name}.{language}").write_text("a b\n" * 3)
    (tmp_path / f"{split}.en").write_text("a b\n" * 4)
    script = ROOT / "recipes" / "jean2015_large_vocabulary" / "00_prepare.sh"
    done = subprocess.run(
        [script], cwd=ROOT, capture_output=True, text=True,
        env={
            **os.environ, "OUTLAYERS_PYTHON": sys.executable, "SETTING": "paper",
            "PARALLEL": str(tmp_path), "OUTLAYERS_WORK": str(tmp_path / "work"),
        },
    )  # fmt: skip
    assert done.returncode != 0
    assert f"{split}.en has 4 lines, {split}.de 3: sentence pairs are needed" in done.stderr


def test_a_file_of_results_is_replaced_by_whole_output_alone(tmp_path):
    file = tmp_path / "table.md"
    failed = bash(f"into {file} sh -c 'echo half; exit 3'; echo still here")
    assert (failed.stdout, failed.returncode) == ("", 3)
    assert not list(tmp_path.iterdir())
    for text in ("first", "second"):
        assert bash(f"into {file} echo {text}").returncode == 0
        assert file.read_text() == f"{text}\n"
    assert bash(f"into {file} sh -c 'echo half; exit 3'").returncode == 3
    assert file.read_text() == "second\n"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(("printed", "number"), [
    ("", 0), ("one", 1), ("a b\n\n*\n", 3),
])  # fmt: skip
def test_lines_of_a_command_are_an_array_and_its_failure_ends_the_step(printed, number):
    command = f"lines_of found printf '%s' {shlex.quote(printed)}"
    done = bash(f'{command}; printf \'%s|\' "${{#found[@]}}" "${{found[@]}}"')
    assert done.stdout == "|".join([str(number), *printed.splitlines()]) + "|"
    failed = bash("lines_of found sh -c 'echo some; exit 3'; echo still here")
    assert (failed.stdout, failed.returncode) == ("", 3)


def test_no_script_reads_lines_of_a_command_whose_failure_it_ignores():
    hidden = re.compile(r"< <\(\s*(ask|lab)\b")
    assert not [path.name for path in SCRIPTS if hidden.search(path.read_text())]


@pytest.mark.parametrize(("fails", "ran", "code"), [
    ("", ["00_prepare", "10_arms", "90_report"], 0),
    ("00_prepare", ["00_prepare"], 3),
    ("10_arms", ["00_prepare", "10_arms", "90_report"], 3),
])  # fmt: skip
def test_all_steps_run_in_order_and_the_report_even_after_a_failure(fails, ran, code, tmp_path):
    for name in ("90_report", "00_prepare", "10_arms"):
        step = tmp_path / f"{name}.sh"
        step.write_text(f'#!/bin/sh\necho {name}; [ {name} != "$FAILS" ] || exit 3\n')
        step.chmod(0o755)
    done = bash(f"HERE={tmp_path}; all_steps", FAILS=fails)
    assert (done.stdout.split(), done.returncode) == (ran, code)


RECIPES = sorted(path.parent.name for path in ROOT.glob("recipes/*/run.sh"))


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_shell_has_the_settings_that_python_reads(recipe):
    asked = [sys.executable, "-m", "recipes.lab", "shell", recipe]
    environment = {"PATH": os.environ["PATH"], "SEEDS": "1 2"}
    names = list(load(recipe, environment).settings)
    script = 'set -eu; eval "$("$@")"; ' + "; ".join(f'printf "%s\\0" "${name}"' for name in names)
    shown = subprocess.run(
        ["bash", "-c", script, "x", *asked],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert dict(zip(names, shown.split("\0"), strict=False)) == load(recipe, environment).settings


def test_a_wrong_setting_ends_a_step_before_it_does_anything(tmp_path):
    result = subprocess.run(
        [ROOT / "recipes/baseline_multi30k/00_prepare.sh"],
        env={**os.environ, "OUTLAYERS_PYTHON": sys.executable, "SEGMENTATION": "letters",
             "OUTLAYERS_WORK": str(tmp_path / "work")},
        capture_output=True, text=True,
    )  # fmt: skip
    assert result.returncode == 1
    assert "SEGMENTATION=letters: known are words and bpe" in result.stderr
    assert list(tmp_path.iterdir()) == []
