"""Bad input to any command: one line naming file and line, exit code 2, files as they were."""

import importlib
import os
import re
import resource
import signal
import subprocess
import sys
import time

import pytest

from lib import common

from tests.data_prep.conftest import DATA_PREP

COMMANDS = {
    "tokenize": "tokenize_corpus --input in --output out --languages en de",
    "tokenize with workers": (
        "tokenize_corpus --input in --output out --languages en de --workers 2"
    ),
    "learn subword-nmt": "segment learn --inputs in.en in.de --output out.en --merges 5",
    "learn sentencepiece": (
        "segment learn --inputs in.en in.de --output out.en --method sentencepiece "
        "--vocabulary-size 20"
    ),
    "apply": "segment apply --codes codes --input in --output out --languages en de",
    "lexicon": "build_lexicon --source in.en --target in.de --output out.en",
}
GOOD = b"one two\nthree four\nfive six\n"
BAD_FILES = {
    "missing": (None, "in.de: no such file"),
    "a directory": ("directory", "in.de: is a directory"),
    "empty": (b"", "in.de: empty file, 0 lines"),
    "not UTF-8": (b"eins\nzw\xfflf\ndrei\n", "in.de:2: not UTF-8: byte 0xff"),
    "UTF-16": ("eins\n".encode("utf-16"), "in.de:1: not UTF-8: byte 0xff"),
    "shorter": (b"eins\nzwei\n", "in.de:2: last of 2 lines, but in.en has 3"),
    "longer": (GOOD + b"\n", "in.en:3: last of 3 lines, but in.de has 4"),
}


@pytest.fixture
def inputs(tmp_path):
    """Good input and codes, and an old output."""
    for name in ("in.en", "in.de"):
        (tmp_path / name).write_bytes(GOOD)
    (tmp_path / "codes").write_text("#version: 0.2\no n\nt h\n")
    (tmp_path / "out.en").write_text("old output\n")
    return tmp_path


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        # More than any address space.
        ("numpy.empty(1 << 55)", "out of memory: Unable to allocate 256. PiB for an array"),
        ("raise MemoryError", "out of memory: an allocation failed; give it less text"),
    ],
)
def test_too_little_memory_is_one_line(statement, message):
    script = f"import numpy\nfrom lib.common import run\ndef main():\n    {statement}\nrun(main)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=DATA_PREP, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert re.search(message, line)


@pytest.mark.parametrize(
    ("module", "arguments", "hint"),
    [
        ("segment", ["aply"], "did you mean apply?"),
        ("segment", ["apply", "--code", "x"], "instead of --code, did you mean --codes?"),
        ("tokenize_corpus", ["--langauges", "en"], "did you mean --languages?"),
    ],
)
def test_a_typing_error_gets_a_suggestion(module, arguments, hint, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [module, *arguments])
    with pytest.raises(SystemExit) as ended:
        common.run(importlib.import_module(module).main)
    (line,) = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert hint in line
    assert line.endswith(" (--help shows an example)")


@pytest.mark.parametrize("line", COMMANDS.values(), ids=COMMANDS)
def test_good_input_is_accepted(line, inputs, command):
    process = command(*line.split())
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    assert (inputs / "out.en").read_bytes() != b"old output\n"


# The texts that a segmentation is learned from need not be parallel.
MEETINGS = [
    pytest.param(COMMANDS[name], kind, id=f"{name}, {kind}")
    for name in COMMANDS
    for kind in BAD_FILES
    if not (name.startswith("learn") and kind in ("shorter", "longer"))
]


@pytest.mark.parametrize(("line", "kind"), MEETINGS)
def test_bad_file_is_named_and_nothing_changes(
    line, kind, inputs, command, contents, one_error_line
):
    data, message = BAD_FILES[kind]
    (inputs / "in.de").unlink()
    if data == "directory":
        (inputs / "in.de").mkdir()
    elif data is not None:
        (inputs / "in.de").write_bytes(data)
    before = contents()
    assert message in one_error_line(command(*line.split()))
    assert contents() == before


BAD_ARGUMENTS = {
    "tokenize_corpus --input in --output in --languages en": "in.en: is also an input",
    "tokenize_corpus --input in --output out --languages en en": "names 'en' twice",
    "tokenize_corpus --input in --output out --languages en --max-length 0": "0: must be a whole",
    "tokenize_corpus --input in --output out --languages en --max-ratio x": "'x' is not a number",
    "tokenize_corpus --input in --output out --languages en --max-length 1": "loosen the filters",
    "tokenize_corpus --input in --output out --languages en --languages de": (
        "argument --languages: given twice; give all values after one --languages"
    ),
    "segment learn --inputs in.en --inputs in.de --output out.en --merges 3": (
        "argument --inputs: given twice; give all values after one --inputs"
    ),
    "segment": "required: learn|apply",
    "segment learn --inputs in.en --output in.en --merges 3": "in.en: is also an input",
    "segment learn --inputs in.en --output out.en": "--merges --vocabulary-size is required",
    "segment learn --inputs in.en --output out.en --merges 3 --method sentencepiece": (
        "--merges 3 is for subword-nmt; sentencepiece needs --vocabulary-size"
    ),
    "segment learn --inputs in.en --output out.en --vocabulary-size 3": "leaves no merges",
    "segment learn --inputs in.en --output out.en --vocabulary-size 3 --method sentencepiece": (
        "--vocabulary-size 3: Vocabulary size is smaller than required"
    ),
    "segment learn --inputs in.en --output out.en --vocabulary-size 999 --method sentencepiece": (
        "--vocabulary-size 999: Vocabulary size too high"
    ),
    "segment apply --codes codes --input in --output in --languages en": "in.en: is also an input",
    "segment apply --codes none --input in --output out --languages en": "none: no such file",
    "segment apply --codes codes --input in.de --output out --languages en de": (
        "--input in.de: a file; give the part before the language's name: --input in"
    ),
    "tokenize_corpus --input in.en --output out --languages en de": (
        "--input in.en: a file; give the part before the language's name: --input in"
    ),
    "segment apply --codes in.de --input in --output out --languages en": "in.de:1: neither",
    "download nothing --out new": "choose from 'multi30k', 'multi30k-mono', 'ptb'",
    "download ptb --out new --from mirror": "mirror/ptb/ptb.train.txt.gz: no such file",
    "build_lexicon --output new": "--source and --target are needed",
    "build_lexicon --table in.en --output new": "in.en:1: 'one two' is not a line of a fast_align",
    "build_lexicon --source in.en --target in.de --output in.de": "in.de: is also an input",
    "build_lexicon --source in.en --target pipe --output new": "is a pipe; write it to a file",
    "build_lexicon --source blank --target blank --output in.de": "are the texts empty?",
    "build_subword_table in.en --units morphs --language de_DE": (
        "--language de_DE has no effect unless --units syllables"
    ),
    "train_embeddings --input in.en --output new.vec --buckets 9": (
        "--buckets 9 has no effect without --method fasttext"
    ),
    "toy_corpus --output in.en --train 9 --valid 1 --test 1": "in.en: is a file, but in.en/",
    "toy_corpus --output new --train -3": "-3: must be a whole number, 1 or more",
    "toy_corpus --output new --vocabulary 19": "--vocabulary 19 is too small; give at least 20",
}


@pytest.mark.parametrize("line", BAD_ARGUMENTS)
def test_bad_arguments_are_explained_and_nothing_changes(
    line, inputs, command, contents, one_error_line
):
    (inputs / "blank").write_text("\n\n")
    os.mkfifo(inputs / "pipe")
    before = contents()
    assert BAD_ARGUMENTS[line] in one_error_line(command(*line.split()))
    assert contents() == before


@pytest.mark.parametrize(
    "name",
    ["download", "tokenize_corpus", "segment", "toy_corpus", "build_lexicon", "build_candidates"],
)
def test_help_shows_an_example_that_names_the_command(name, command):
    process = command(name, "--help")
    assert process.returncode == 0
    assert f"example:\n  python data_prep/{name}.py " in process.stdout


def test_full_disk_is_told_in_one_line_and_leaves_nothing(command, contents, one_error_line):
    def allow_small_files_only():
        resource.setrlimit(resource.RLIMIT_FSIZE, (9999, 9999))

    process = command(
        "toy_corpus", "--output", "toy", "--train", 2000, preexec_fn=allow_small_files_only
    )
    assert "toy/test.src: cannot be written: File too large" in one_error_line(process)
    assert contents() == {}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_killed_while_writing_keeps_the_old_output(number, workers, tmp_path, contents):
    (tmp_path / "in.en").write_text("Some words, to be tokenised.\n" * 60_000)
    (tmp_path / "out.en").write_text("old output\n")
    script = str(DATA_PREP / "tokenize_corpus.py")
    arguments = ["--input", "in", "--output", "out", "--languages", "en", "--workers"]
    process = subprocess.Popen(
        [sys.executable, script, *arguments, workers],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while not any(path.stat().st_size for path in tmp_path.glob(".out.en.*")):
        assert process.poll() is None, "ended before it could be killed"
        time.sleep(0.01)
    os.killpg(process.pid, number)  # as a terminal does: workers included
    _, stderr = process.communicate(timeout=30)
    assert process.returncode != 0
    assert stderr == b""
    left = {name for name in contents() if not name.startswith(".out.en.")}
    assert left == {"in.en", "out.en"}
    assert (tmp_path / "out.en").read_text() == "old output\n"
    if number != signal.SIGKILL:  # which no program can clean up after
        assert not list(tmp_path.glob(".out.en.*"))


def test_words_that_the_terminal_cannot_write_end_no_command(tmp_path):
    """They are escaped on the terminal, not in the file."""
    (tmp_path / "dict.de.txt").write_text("größe 3\nögrße 2\n", encoding="utf-8")
    script = str(DATA_PREP / "build_subword_table.py")
    process = subprocess.run(
        [sys.executable, script, "dict.de.txt", "--units", "characters"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
    )
    assert (process.returncode, process.stderr) == (0, "")
    assert r"gr\xf6\xdfe and \xf6gr\xdfe" in process.stdout
    assert "größe" in (tmp_path / "characters.de.txt").read_text(encoding="utf-8")
