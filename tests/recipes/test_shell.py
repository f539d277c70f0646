"""The shell scripts parse and stop at errors; their shared functions do what they say."""

import fcntl
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
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


def test_git_changes_no_line_end_of_a_script_and_nothing_in_a_picture(tmp_path):
    """Also where it is set to check text out with CRLF, and takes the picture for text."""
    picture = b"\x89PNG\r\n\x1a\n" + 200 * b"x"
    files = {"run.sh": b"#!/usr/bin/env bash\n", "picture.png": picture}
    shutil.copy(ROOT / ".gitattributes", tmp_path)
    git = ["git", "-c", "core.autocrlf=true"]
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        subprocess.run([*git, "add", name], cwd=tmp_path, check=True)
        (tmp_path / name).unlink()
    subprocess.run([*git, "checkout", "--", *files], cwd=tmp_path, check=True)
    assert {name: (tmp_path / name).read_bytes() for name in files} == files


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


LINES = {"en": "a dog and a dog\na cat\n", "de": "ein hund\neine katze\n", "fr": "un chien\n\n"}


def write_texts(folder, languages=("en", "de")):
    """Texts of all splits, of one old time."""
    folder.mkdir(exist_ok=True)
    for split in ("train", "valid", "test"):
        for language in languages:
            path = folder / f"{split}.{language}"
            path.write_text(LINES[language])
            os.utime(path, (1e9, 1e9))


def replace_by_an_older_file(path, text):
    path.write_text(text)
    os.utime(path, (1e8, 1e8))


def made_for_each_target(command, path):
    """A file's contents after a command for German, French and German again."""
    found = []
    for target in ("de", "fr", "de"):
        done = bash(command.format(target))
        assert done.returncode == 0, done.stderr
        found.append(path.read_text())
    return found


def test_text_of_another_pair_of_languages_is_made_again(tmp_path):
    write_texts(tmp_path / "raw", LINES)
    command = f"tokenize {tmp_path}/raw/train {tmp_path}/train en {{}} --drop-empty"
    kept = made_for_each_target(command, tmp_path / "train.en")
    assert kept == [LINES["en"], "a dog and a dog\n", LINES["en"]]


def test_bpe_of_another_pair_of_languages_is_learned_again(tmp_path):
    write_texts(tmp_path / "words", LINES)
    command = f"segment_bpe {tmp_path}/words {tmp_path}/bpe 9 en {{}}"
    first, other, again = made_for_each_target(command, tmp_path / "bpe" / "codes")
    assert first == again != other


def test_both_sides_of_segmented_text_must_be_there(tmp_path):
    write_texts(tmp_path / "words")
    segment = f"segment_bpe {tmp_path}/words {tmp_path}/bpe 9 en de"
    assert bash(segment).returncode == 0
    (tmp_path / "bpe" / "valid.en").unlink()
    assert bash(segment).returncode == 0
    assert (tmp_path / "bpe" / "valid.en").exists()


def test_text_replaced_by_an_older_file_is_tokenized_and_segmented_again(tmp_path):
    raw, words, bpe = (tmp_path / name for name in ("raw", "words", "bpe"))
    write_texts(raw)
    tokenize = "; ".join(
        f"tokenize {raw}/{s} {words}/{s} en de" for s in ("train", "valid", "test")
    )
    script = f"mkdir -p {words}; {tokenize}; segment_bpe {words} {bpe} 9 en de"
    assert bash(script).returncode == 0
    replace_by_an_older_file(raw / "valid.de", "zwei hunde\neine katze\n")
    assert bash(script).returncode == 0
    assert (words / "valid.de").read_text() == "zwei hunde\neine katze\n"
    replace_by_an_older_file(words / "valid.de", "drei hunde\neine katze\n")
    assert bash(f"segment_bpe {words} {bpe} 9 en de").returncode == 0
    assert (bpe / "valid.de").read_text().replace("@@ ", "") == "drei hunde\neine katze\n"


def test_data_of_text_replaced_by_an_older_file_are_binarized_again(preprocess, tmp_path):
    assert bash(BINARIZE, **preprocess).returncode == 0
    replace_by_an_older_file(tmp_path / "with space" / "valid.tgt", "other\n")
    assert "(exists" not in bash(BINARIZE, **preprocess).stdout
    assert "(exists" in bash(BINARIZE, **preprocess).stdout
    # Data made before the checksums were noted are taken as they are.
    (tmp_path / "with space" / "bin" / "checksums").unlink()
    assert "(exists" in bash(BINARIZE, **preprocess).stdout


# In place of data_prep and programs of recipes; every call is a line of `calls`.
STAND_IN = """#!/usr/bin/env bash
case "$1 $2 $3" in
  data_prep/* | "-m recipes."*.* | "-m recipes.lab speed") ;;
  *) exec "{python}" "$@" ;;
esac
echo "$CALLER$*" >>"{calls}"
if [[ -n ${{HOLD:-}} && -p $HOLD ]]; then read -r _ <"$HOLD"; rm "$HOLD"; fi
while (($#)); do
  if [[ $1 == --output ]]; then touch "$2" "$2.npy" "$2.dict.txt"; fi
  shift
done
"""


@pytest.fixture
def step(tmp_path):
    """Starts a step with stand-ins; further files of their folder come first in its PATH."""
    folder, calls = tmp_path / "programs", tmp_path / "calls"
    folder.mkdir()
    calls.touch()
    (folder / "python").write_text(STAND_IN.format(python=sys.executable, calls=calls))
    (folder / "fairseq-preprocess").write_text(
        '#!/usr/bin/env bash\nwhile [[ $1 != --destdir ]]; do shift; done; mkdir -p "$2"\n'
    )

    def start(name, **environment):
        for path in folder.iterdir():
            path.chmod(0o755)
        return subprocess.Popen(
            [ROOT / "recipes" / name], cwd=ROOT, start_new_session=True, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={
                **os.environ, "OUTLAYERS_PYTHON": str(folder / "python"), "CALLER": "",
                "OUTLAYERS_WORK": str(tmp_path / "work"),
                "OUTLAYERS_RESULTS": str(tmp_path / "results"), **environment,
            },
        )  # fmt: skip

    def run(name, **environment):
        started = start(name, **environment)
        output, errors = started.communicate()
        return subprocess.CompletedProcess(name, started.returncode, output, errors)

    run.start, run.programs, run.calls = start, folder, lambda: calls.read_text().splitlines()
    return run


@pytest.fixture
def jean2015(step, tmp_path):
    """Runs a step of jean2015 with SETTING=paper on text in `text`."""
    write_texts(tmp_path / "text")
    given = {"SETTING": "paper", "PARALLEL": str(tmp_path / "text")}
    return lambda name, **more: step(f"jean2015_large_vocabulary/{name}", **given, **more)


def test_the_papers_text_replaced_by_an_older_file_is_read_again(jean2015, tmp_path):
    assert jean2015("00_prepare.sh").returncode == 0
    replace_by_an_older_file(tmp_path / "text" / "valid.en", "two dogs\na cat\n")
    assert jean2015("00_prepare.sh").returncode == 0
    copied = tmp_path / "work" / "paper.en-de" / "tokenized" / "valid.en"
    assert copied.read_text() == "two dogs\na cat\n"


def test_text_with_a_tab_is_refused_with_its_place(jean2015, tmp_path):
    (tmp_path / "text" / "train.de").write_text("ein hund\neine\tkatze\n")
    done = jean2015("00_prepare.sh")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert f"{tmp_path}/text/train.de:2 has a tab" in line


def test_the_number_of_pairs_that_are_kept_is_said(jean2015, tmp_path):
    (tmp_path / "text" / "train.de").write_text("ein hund\n\n")
    assert "kept 1 of 2 pairs" in jean2015("00_prepare.sh").stdout


@pytest.mark.parametrize(("given", "largest"), [("10 30", 30), ("0", 1), ("0 8 10", 10)])
def test_candidates_have_as_many_translations_as_are_asked_for(given, largest, jean2015, step):
    assert jean2015("00_prepare.sh", PER_WORD=given).returncode == 0
    assert jean2015("40_candidates.sh", PER_WORD=given).returncode == 0
    calls = [call for call in step.calls() if "build_candidates" in call]
    assert len(calls) == 3  # the lists; coverage of the validation and the test set
    assert all(f"--per-word {largest} " in f"{call} " for call in calls)


def test_a_dictionary_that_was_not_written_to_its_end_is_written_again(jean2015, step, tmp_path):
    large = tmp_path / "work" / "paper.en-de" / "bin.large"
    large.mkdir(parents=True)
    (large / "dict.de.txt").write_text("hund 2\nkatze 1\n")
    (step.programs / "seq").write_text("#!/bin/sh\necho unused1 0\nexit 1\n")
    assert jean2015("80_timing.sh").returncode == 1
    (step.programs / "seq").unlink()
    jean2015("80_timing.sh")
    lines = (large.parent / "bin.large.times2.dict").read_text().splitlines()
    assert lines == ["hund 2", "katze 1", "unused1 0", "unused2 0"]


def test_what_is_made_of_a_dictionary_is_made_again_of_an_older_one(jean2015, step, tmp_path):
    work = tmp_path / "work" / "paper.en-de"
    assert jean2015("00_prepare.sh").returncode == 0
    for word in ("hund", "katze"):
        replace_by_an_older_file(work / "bin.large" / "dict.de.txt", f"{word} 1\n")
        assert jean2015("00_prepare.sh").returncode == 0
        jean2015("80_timing.sh")
        assert (work / "bin.large.times2.dict").read_text() == f"{word} 1\nunused1 0\n"
    assert len([call for call in step.calls() if "build_candidates" in call]) == 3


def test_a_text_that_was_not_written_to_its_end_is_written_again(step, tmp_path):
    captions = tmp_path / "work" / "captions" / "en"
    captions.mkdir(parents=True)
    for name in ("train", "valid", "test", *(f"mono.{number}" for number in range(1, 6))):
        (captions / f"{name}.txt").write_text(f"{name}\n")
    prepare = "assylbekov2018_subword_lm/00_prepare.sh"
    (step.programs / "cat").write_text("#!/bin/sh\necho mono.1\nexit 1\n")
    assert step(prepare, ARMS="mono_en.word_re").returncode == 1
    (step.programs / "cat").unlink()
    step(prepare, ARMS="mono_en.word_re")
    text = tmp_path / "work" / "text" / "mono_en.txt"
    assert text.read_text() == "mono.1\nmono.2\nmono.3\nmono.4\nmono.5\n"


@pytest.fixture
def digangi2017(step, tmp_path):
    """Runs 00_prepare.sh of digangi2017 on text in `text` and vectors in a file."""
    write_texts(tmp_path / "text")
    given = {"SETTING": "iwslt", "PARALLEL": str(tmp_path / "text"), "TARGET": "de"}
    name = "digangi2017_external/00_prepare.sh"

    def run(vectors):
        done = step(name, **given, VECTORS_FILE=str(vectors))
        assert done.returncode == 0, done.stderr

    return run


@pytest.mark.parametrize("age", [1e8, None])
def test_a_corrected_validation_set_is_copied(age, digangi2017, tmp_path):
    (tmp_path / "a.vec").touch()
    digangi2017(tmp_path / "a.vec")
    given = tmp_path / "text" / "valid.de"
    given.write_text("zwei hunde\neine katze\n")
    os.utime(given, age and (age, age))  # None: now
    digangi2017(tmp_path / "a.vec")
    copied = tmp_path / "work" / "text.words.all" / "valid.de"
    assert copied.read_text() == "zwei hunde\neine katze\n"


def test_vectors_of_another_folder_are_not_taken_for_those_of_the_same_name(
    digangi2017, step, tmp_path
):
    files = [tmp_path / name / "a.vec" for name in ("one", "other")]
    for path in files:
        path.parent.mkdir()
        path.touch()
        os.utime(path, (1e9, 1e9))
    read = [files[0], files[0], files[1]]
    for path in read:
        digangi2017(path)
    replace_by_an_older_file(files[1], "a 1\n")
    digangi2017(files[1])
    tables = [call.split()[2] for call in step.calls() if "extract_embeddings" in call]
    assert tables == [str(files[0]), str(files[1]), str(files[1])]


def test_vectors_are_trained_on_text_of_the_source_language(step, tmp_path):
    write_texts(tmp_path / "text")
    work = tmp_path / "work"
    work.mkdir()
    texts = {language: work / f"mono.captions.{language}" for language in ("en", "de")}
    for language, path in texts.items():
        path.write_text(LINES[language])
        os.utime(path, (1e9, 1e9))
    # English vectors without a note are taken as they are.
    (work / "vectors.captions.skipgram300.vec").touch()
    given = {"SETTING": "iwslt", "PARALLEL": str(tmp_path / "text"), "VECTORS": "captions"}
    for source, target in (("en", "de"), ("de", "en"), ("en", "de")):
        done = step("digangi2017_external/00_prepare.sh", **given, SOURCE=source, TARGET=target)
        assert done.returncode == 0, done.stderr
    trained_on = [call.split()[2] for call in step.calls() if "train_embeddings" in call]
    assert trained_on == [str(texts["de"]), str(texts["en"])]


def steps_in(folder, **scripts):
    """Steps that print their name and then run a line; returns `all_steps` in their folder."""
    for name, line in scripts.items():
        path = folder / f"{name.removeprefix('_')}.sh"
        path.write_text(f"#!/bin/sh\necho {path.stem}\n{line}\n")
        path.chmod(0o755)
    return f"HERE={folder}; all_steps"


def test_every_step_of_run_sh_has_its_start(tmp_path):
    line = f"exec bash -c 'source {ROOT}/recipes/common.sh; echo $OUTLAYERS_STARTED'"
    steps = steps_in(tmp_path, _00_prepare=line, _10_arms=line)
    before = int(time.time())
    done = bash(f"echo $OUTLAYERS_STARTED; OUTLAYERS_STARTED=5; {steps}", OUTLAYERS_STARTED="")
    start, *printed = done.stdout.split()
    assert before <= int(start) <= time.time()
    assert printed == ["00_prepare", "5", "10_arms", "5"]


@pytest.mark.parametrize("code", [130, 143])
def test_no_step_follows_one_that_was_interrupted(code, tmp_path):
    steps = steps_in(tmp_path, _00_prepare="", _10_arms=f"exit {code}", _90_report="")
    done = bash(steps)
    assert (done.stdout.split(), done.returncode) == (["00_prepare", "10_arms"], code)


def test_the_second_half_of_a_step_does_not_follow_an_interrupted_first(step, tmp_path):
    (step.programs / "python").write_text(
        f'#!/bin/sh\n[ "$3" != run ] || {{ echo ran; exit 130; }}\nexec {sys.executable} "$@"\n'
    )
    done = step("jean2015_large_vocabulary/20_decode.sh")
    assert (done.stdout, done.returncode) == ("ran\n", 130)


@pytest.mark.parametrize(("given", "tuned"), [
    ({}, True), ({"ARMS": "a"}, False), ({"ARMS": "a", "TUNE": "tune-a-1"}, True),
])  # fmt: skip
def test_chosen_arms_are_not_tuned_unless_tuning_runs_are_named(given, tuned, tmp_path):
    steps = steps_in(tmp_path, _00_prepare="", _05_tune="", _10_arms="")
    done = bash(steps, **{"ARMS": "", "TUNE": "", **given})
    assert ("05_tune" in done.stdout.splitlines()) == tuned
    assert ("no 05_tune.sh: ARMS is set, and TUNE is not" in done.stdout) != tuned
    assert done.stdout.splitlines()[-1] == "10_arms"


def test_the_checkout_is_found_with_a_search_path_of_cd():
    done = bash('printf "%s|%s" "$ROOT" "$HERE"; env', CDPATH=str(ROOT))
    assert done.stdout.splitlines()[0].startswith(f"{ROOT}|/")
    assert "CDPATH" not in done.stdout


def test_two_preparations_of_one_folder_take_turns(step, tmp_path):
    hold = tmp_path / "hold"
    os.mkfifo(hold)
    prepare, started = "baseline_multi30k/00_prepare.sh", []
    try:
        started.append(step.start(prepare, CALLER="first ", HOLD=str(hold), SEGMENTATION="words"))
        assert "data set multi30k" in started[0].stdout.readline() + started[0].stdout.readline()
        started.append(step.start(prepare, CALLER="second ", SEGMENTATION="words"))
        waits = f"  waiting for another 00_prepare.sh of {tmp_path}/work\n"
        assert started[1].stdout.readline() == waits
        hold.write_text("go on\n")
        assert [process.communicate() and process.returncode for process in started] == [0, 0]
    finally:
        for process in started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
    callers = [call.split()[0] for call in step.calls()]
    assert callers == ["first"] * 4 + ["second"] * 4


@pytest.mark.parametrize("note", ["--lowercase\n", None])
def test_text_of_before_checksums_were_noted_is_taken_as_it_is(tmp_path, note):
    write_texts(tmp_path / "raw")
    command = f"tokenize {tmp_path}/raw/train {tmp_path}/train en de --lowercase"
    assert bash(command).returncode == 0
    options = tmp_path / "train.options"
    whole = options.read_text()
    options.unlink() if note is None else options.write_text(note)
    assert "(exists)" in bash(command).stdout
    assert options.read_text() == whole


def test_a_second_demo_leaves_the_runs_of_the_first_alone(step, tmp_path):
    runs = tmp_path / "work" / "toy" / "runs"
    runs.mkdir(parents=True)
    with open(runs.parent / "demo.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = step("demo/run.sh", ARMS="none")
    assert done.returncode == 1
    advice = "wait for its end, or set OUTLAYERS_WORK"
    assert done.stderr == f"demo: another demo runs in {runs.parent}: {advice}\n"
    assert runs.exists()
    step("demo/run.sh", ARMS="none")
    assert not runs.exists()


# In place of the demo's programs; names the arms of the page in `calls`.
DEMO = """#!/usr/bin/env bash
case "$*" in
  data_prep/* | "-m recipes.lab run"* | "-m recipes.lab report"* | "-m recipes.demo.show"*) ;;
  "-m recipes.lab files"*) printf '%s\\n' "${{@:6}}" ;;
  "-m fairseq_outlayers inspect"*) echo "$*" >>"{calls}" ;;
  *) exec "{python}" "$@" ;;
esac
"""


@pytest.mark.parametrize(("given", "shown"), [("", "linear joint"), ("tied", "tied")])
def test_the_page_of_the_demo_has_arms_that_were_trained(given, shown, step, tmp_path):
    calls = tmp_path / "calls"
    (step.programs / "python").write_text(DEMO.format(python=sys.executable, calls=calls))
    done = step("demo/run.sh", ARMS=given)
    assert done.returncode == 0, done.stderr
    (call,) = step.calls()
    assert call.startswith(f"-m fairseq_outlayers inspect {shown} --names {shown} --source")
