"""`make setup` explains what is missing, and never takes a broken environment for a whole one."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Stands in for Python: answers the questions about itself, and makes "environments" whose Python
# is this same script. Its pip notes each call, fails or hangs at the call named in the folder.
FAKE_PYTHON = r"""#!/usr/bin/env bash
case "$*" in
  "-c ") if [[ -e $HOME/broken ]]; then cat "$HOME/broken" >&2; exit 127; fi ;;
  *version_info*) [[ ! -e $HOME/old ]] ;;
  *--version*) if [[ -e $HOME/old ]]; then echo "Python 3.9.1"; else echo "Python 3.11.7"; fi ;;
  *sysconfig*) echo "$HOME/include" ;;
  "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && echo venv >>"$HOME/calls" ;;
  "-m pip "*)
    echo "pip $*" >>"$HOME/calls"
    if [[ -e $HOME/fail && "$*" == *$(cat "$HOME/fail")* ]]; then
      echo "ERROR: no network" >&2
      exit 1
    fi
    if [[ -e $HOME/hang && "$*" == *$(cat "$HOME/hang")* ]]; then
      touch "$HOME/hanging"
      exec sleep 60
    fi
    ;;
esac
"""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A copy of the files that set-up reads, and a Python that only pretends."""
    for name in ("Makefile", "constraints.txt", "setup.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "setup", tmp_path / ".ci" / "setup")
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "Python.h").touch()
    python = tmp_path / "python"
    python.write_text(FAKE_PYTHON)
    python.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MAKEFLAGS", raising=False)
    return tmp_path


def make(checkout, *more, target="setup"):
    command = ["make", target, f"PYTHON={checkout / 'python'}", *more]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True)


def calls(checkout):
    """What was installed since the last look."""
    path = checkout / "calls"
    found = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return found


def test_torch_finds_checked_packages_and_fairseq_the_torch_it_is_compiled_against(checkout):
    assert make(checkout).returncode == 0
    venv, build, tools, torch, fairseq, ours, check = calls(checkout)
    assert venv == "venv"
    assert torch.endswith(" torch==2.13.0")
    assert build.endswith("-r requirements/build.txt")
    assert "--no-binary fairseq-fixed" in fairseq
    assert fairseq.endswith("-r requirements/fairseq.txt")
    sections = ("base", "dev", "embed", "export", "report", "subword")
    files = [f"-r requirements/{name}.txt" for name in sections]
    assert tools.endswith(" ".join(files))
    assert ours.endswith("--no-deps --no-build-isolation --editable .")
    assert check == "pip -m pip check"


def test_every_file_but_torch_and_this_package_is_checked_by_its_hash(checkout):
    make(checkout)
    _, build, tools, _, fairseq, _, _ = calls(checkout)
    for call in (build, fairseq, tools):
        assert "--require-hashes --no-deps --no-build-isolation" in call


def test_an_unknown_extra_is_named(checkout):
    result = make(checkout, "EXTRAS=dev,nonsense")
    assert "no extra 'nonsense' (EXTRAS=dev,nonsense); known: dev, embed, export," in result.stderr
    assert calls(checkout) == []


def test_versions_that_do_not_go_together_are_no_set_up(checkout):
    (checkout / "fail").write_text("pip check")
    result = make(checkout)
    assert result.returncode != 0
    assert "the versions do not go together" in result.stderr


def pins(text):
    """Package and version of every line that pins one, by their names in the index."""
    found = re.findall(r"^([A-Za-z0-9_.-]+)==([^\s\\]+)", text, re.MULTILINE)
    return {(re.sub(r"[-_.]+", "-", name).lower(), version) for name, version in found}


def test_the_lock_has_the_versions_of_constraints_each_with_a_hash():
    sections = re.split(r"^# section (\w+):.*$", (ROOT / "constraints.txt").read_text(), flags=re.M)
    by_name = dict(zip(sections[1::2], sections[2::2], strict=True))
    assert set(by_name) == {path.stem for path in (ROOT / "requirements").glob("*.txt")}
    for name, text in by_name.items():
        lock = (ROOT / "requirements" / f"{name}.txt").read_text()
        assert pins(lock) == pins(text)
        entries = re.split(r"\n(?=\S)", lock.strip())[1:]
        assert len(entries) == len(pins(text))
        assert all("--hash=sha256:" in entry for entry in entries)


def test_what_torch_needs_is_in_the_lock():
    """Otherwise pip would fetch it with torch, without a hash; CUDA builds need more."""
    needed = [re.match(r"[\w.-]+", one)[0] for one in metadata.requires("torch") if ";" not in one]
    lock = "".join((ROOT / f"requirements/{name}.txt").read_text() for name in ("build", "base"))
    assert {re.sub(r"[-_.]+", "-", name).lower() for name in needed} <= {n for n, _ in pins(lock)}


def test_of_fairseq_only_the_audited_source_archive_is_accepted():
    """The hash was made of the archive that was read: docs/installing.md."""
    lock = (ROOT / "requirements/fairseq.txt").read_text()
    (found,) = re.findall(r"--hash=sha256:(\w+)", lock)
    assert found in (ROOT / "docs/installing.md").read_text()


def test_every_extra_of_the_package_has_a_lock():
    extras = re.search(r"extras_require=\{(.*?)\}", (ROOT / "setup.py").read_text(), re.S)[1]
    names = re.findall(r'^\s*"(\w+)": \[', extras, re.M)
    assert {f"{name}.txt" for name in names} <= {p.name for p in (ROOT / "requirements").iterdir()}


def test_a_second_set_up_installs_nothing(checkout):
    make(checkout)
    calls(checkout)
    assert make(checkout).returncode == 0
    assert calls(checkout) == []


@pytest.mark.parametrize("changed", ["requirements/base.txt", "setup.py"])
def test_changed_requirements_are_installed_into_the_same_environment(checkout, changed):
    make(checkout)
    calls(checkout)
    future = time.time() + 10
    os.utime(checkout / changed, (future, future))
    make(checkout)
    assert len(calls(checkout)) == 6


def test_another_torch_starts_a_fresh_environment(checkout):
    make(checkout)
    calls(checkout)
    result = make(checkout, "TORCH=torch==2.9.0")
    assert "another torch is wanted (torch==2.9.0)" in result.stdout
    assert calls(checkout)[0] == "venv"


def test_later_commands_keep_the_torch_and_the_extras_of_the_set_up(checkout):
    make(checkout, "TORCH=torch==2.9.0", "EXTRAS=dev")
    calls(checkout)
    assert make(checkout).returncode == 0
    assert calls(checkout) == []


def test_a_set_up_that_failed_goes_on_with_its_extras(checkout):
    (checkout / "fail").write_text("--no-binary fairseq-fixed")
    make(checkout, "EXTRAS=dev")
    calls(checkout)
    (checkout / "fail").unlink()
    assert make(checkout).returncode == 0
    tools = calls(checkout)[1]
    assert tools.endswith("-r requirements/base.txt -r requirements/dev.txt")


def test_an_environment_without_extras(checkout):
    make(checkout, "EXTRAS=")
    tools = calls(checkout)[2]
    assert tools.endswith("--no-build-isolation -r requirements/base.txt")


def test_another_python_needs_another_environment(checkout):
    make(checkout)
    other = checkout / "python3.13"
    other.write_text(FAKE_PYTHON.replace("3.11.7", "3.13.5"))
    other.chmod(0o755)
    result = make(checkout, f"PYTHON={other}")  # of two, make takes the last
    assert result.returncode != 0
    assert "setup: .venv has Python 3.11.7; for another add VENV=.venv-other" in result.stderr
    assert make(checkout, f"PYTHON={other}", "VENV=.venv313").returncode == 0


def test_a_failed_step_is_shown_and_tried_again(checkout):
    (checkout / "fail").write_text("--no-binary fairseq-fixed")
    result = make(checkout)
    assert result.returncode != 0
    assert "ERROR: no network" in result.stderr
    assert "pip could not install fairseq (4/5)" in result.stderr
    calls(checkout)
    (checkout / "fail").unlink()
    assert make(checkout).returncode == 0
    assert len(calls(checkout)) == 6  # the environment itself was whole


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_set_up_starts_anew(checkout, how):
    (checkout / "hang").write_text("--no-binary fairseq-fixed")
    command = ["make", "setup", f"PYTHON={checkout / 'python'}"]
    running = subprocess.Popen(
        command, cwd=checkout, start_new_session=True, stdout=subprocess.DEVNULL, stderr=-1
    )
    deadline = time.monotonic() + 100
    while not (checkout / "hanging").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert (checkout / "hanging").exists()
    os.killpg(running.pid, how)
    running.communicate(timeout=100)
    assert running.returncode != 0
    (checkout / "hang").unlink()
    calls(checkout)
    result = make(checkout)
    assert result.returncode == 0
    assert "an earlier set-up was interrupted" in result.stdout
    assert len(calls(checkout)) == 7


def test_an_old_python_is_named(checkout):
    (checkout / "old").touch()
    result = make(checkout)
    assert result.returncode != 0
    assert "is Python 3.9.1, but 3.11 to 3.13 is needed" in result.stderr
    assert calls(checkout) == []


def test_a_command_that_runs_no_python_is_named(checkout):
    (checkout / "broken").write_text(
        "pyenv: python3.12: command not found\n\nIt exists in: 3.12.1\n"
    )
    result = make(checkout)
    assert result.returncode != 0
    assert f"setup: '{checkout / 'python'}' does not run (its message is above)" in result.stderr
    assert result.stderr.count("command not found") == 1
    assert calls(checkout) == []


def test_missing_headers_are_named(checkout):
    (checkout / "include" / "Python.h").unlink()
    result = make(checkout)
    assert result.returncode != 0
    assert f"no {checkout}/include/Python.h" in result.stderr


def test_a_missing_compiler_is_named(checkout, monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    result = make(checkout)
    assert "no C/C++ compiler 'no-such-compiler'" in result.stderr


def test_an_environment_of_somebody_else_is_not_touched(checkout):
    (checkout / "mine").mkdir()
    (checkout / "mine" / "precious").touch()
    result = make(checkout, "VENV=mine")
    assert "'mine' exists and was not made by make setup" in result.stderr
    make(checkout, "VENV=mine", target="clean")
    assert (checkout / "mine" / "precious").exists()


@pytest.mark.parametrize("script", sorted(path.name for path in (ROOT / ".ci").iterdir()))
def test_a_script_works_in_its_checkout_whatever_cdpath_is(tmp_path, script):
    """Of the user's shell, if it is exported: a folder with another project's .ci, say."""
    other, checkout = tmp_path / "other", tmp_path / "checkout"
    for folder in (other, checkout):
        (folder / ".ci").mkdir(parents=True)
    head, found, _ = (ROOT / ".ci" / script).read_text("utf-8").partition('cd "$(dirname ')
    assert found
    begins = f'{head}{found}"${{BASH_SOURCE[0]}}")/.."\npwd\n'
    (checkout / ".ci" / script).write_text(begins, "utf-8")
    environment = {**os.environ, "CDPATH": str(other)}
    command = ["bash", f".ci/{script}"]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)
    assert done.stdout == f"{checkout}\n", done.stderr


def test_the_package_is_found_from_the_folder_that_holds_the_checkout(tmp_path):
    """There a folder of the same name, the checkout, is in the way: no package, but importable."""
    package = tmp_path / "fairseq_outlayers" / "fairseq_outlayers"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("found = True\n")
    shutil.copy(ROOT / "setup.py", package.parent)
    build = f"from setuptools import build_meta; build_meta.build_editable({str(tmp_path)!r})"
    command = [sys.executable, "-c", build]
    subprocess.run(command, cwd=package.parent, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    program = (
        f"import site; site.addsitedir({str(tmp_path / 'installed')!r}); "
        "import fairseq_outlayers; print(fairseq_outlayers.found)"
    )
    # -S: without the environment of these tests, in which the package is installed as well.
    command = [sys.executable, "-S", "-c", program]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    found = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert found.stdout == "True\n", found.stderr


def test_help_is_the_default_and_names_every_target(checkout):
    shown = subprocess.run(["make"], cwd=checkout, capture_output=True, text=True).stdout
    for target in ("setup", "demo", "test", "check", "format", "system", "lock", "clean", "help"):
        assert f"make {target} " in shown
