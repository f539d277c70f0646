"""An arm is run once, leaves a line only when it is whole, and goes on where it was cut off."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import arm
import ledger
import process

SENTENCES = 11

# Stands in for fairseq-train: "trains" an epoch a call until --max-epoch is reached.
FAKE_TRAIN = """#!{python}
import os, pathlib, sys
folder = pathlib.Path(sys.argv[sys.argv.index("--save-dir") + 1])
epochs = int(sys.argv[sys.argv.index("--max-epoch") + 1])
with open("calls", "a") as calls:
    print("train", file=calls)
print("x | INFO | y | num. shared model params: 1,000 (num. trained: 1,000)", flush=True)
last = folder / "checkpoint_last.pt"
done = int(last.read_text()) if last.exists() else 0
for epoch in range(done + 1, epochs + 1):
    print(f'x | INFO | train | {{"epoch": {epoch}, "train_wps": "50"}}'.replace("{{", "{"))
    (folder / "checkpoint_best.pt").write_text("best")
    last.write_text(str(epoch))
    if os.path.exists("crash") and epoch == 1:
        os.remove("crash")
        sys.exit("RuntimeError: out of memory")
print("x | INFO | y | done training in 1.0 seconds")
"""
FAKE_GENERATE = """#!{python}
import os
with open("calls", "a") as calls:
    print("generate", file=calls)
for number in reversed(range(int(os.environ.get("TRANSLATED", "11")))):
    print(f"D-{number}\\t-0.5\\tthe cat number {number} sat down .")
    print(f"P-{number}\\t-0.9 -0.9")
    print(f"D-{number}\\t-0.6\\tthe cat number {number} .")
    print(f"P-{number}\\t-0.8 -0.8")
"""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder with binarized data, references and stand-ins for fairseq's commands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ledger, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", os.environ["PATH"])
    (tmp_path / "bin").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "dict.de.txt").write_text("katze 1\n")
    references = [f"the cat number {number} sat down .\n" for number in range(SENTENCES)]
    (tmp_path / "test.de").write_text("".join(references))
    real = os.path.realpath("/proc/self/exe") if os.path.exists("/proc/self/exe") else "python3"
    for name, text in (("fairseq-train", FAKE_TRAIN), ("fairseq-generate", FAKE_GENERATE)):
        path = tmp_path / "bin" / name
        path.write_text(text.replace("{python}", real))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def run(*more, name="tied", epochs=3):
    fixed = ["--ledger", "ledger.jsonl", "--runs", "runs", "--data", "data", "--reference"]
    return arm.main([name, *fixed, "test.de", *more, "--", "--max-epoch", str(epochs)])


def calls():
    path = Path("calls")
    return path.read_text().split() if path.exists() else []


def test_an_arm_leaves_one_complete_line(checkout):
    assert run("--seed", "7", "--words", "in words") == 0
    (entry,) = ledger.read(Path("ledger.jsonl"))
    assert (entry["arm"], entry["seed"], entry["words"]) == ("tied", 7, "in words")
    assert entry["command"].startswith("fairseq-train data --user-dir ")
    assert entry["commit"] == "unknown" or len(entry["commit"]) >= 12
    assert set(entry["machine"]) == {"cpu", "cores", "threads", "gpu"}
    assert set(entry["versions"]) == {"python", *ledger.PACKAGES}
    figures = entry["figures"]
    assert figures["bleu_tokenised"] == pytest.approx(100)  # the stand-in translates perfectly
    assert (figures["parameters"], figures["epochs"], figures["sentences"]) == (1000, 3, 11)
    assert figures["train_tokens_per_second"] == 50
    assert figures["train_peak_rss_mb"] > 0


def test_n_best_translations_are_scored_without_a_length_penalty_too(checkout):
    run()
    assert "bleu_tokenised_lenpen0" not in ledger.read(Path("ledger.jsonl"))[0]["figures"]
    run("--generate", "--beam 2 --nbest 2")
    figures = ledger.read(Path("ledger.jsonl"))[1]["figures"]
    assert figures["bleu_tokenised"] == pytest.approx(100)
    assert figures["bleu_tokenised_lenpen0"] < 90  # two words short
    kept = [path.read_text().splitlines()[3] for path in Path("runs").rglob("*lenpen0*.hyp")]
    assert kept == ["the cat number 3 ."]


def test_an_arm_in_the_ledger_is_skipped_unless_forced(checkout, capsys):
    assert run() == run() == 0
    assert calls() == ["train", "generate"]
    assert "in the ledger since" in capsys.readouterr().out
    assert run("--force") == 0
    assert calls() == ["train", "generate"] * 2
    assert len(ledger.read(Path("ledger.jsonl"))) == 2


@pytest.mark.parametrize("change", [{"epochs": 4}, {"name": "linear"}])
def test_another_setting_or_name_is_another_arm(checkout, change):
    assert run() == run(**change) == 0
    assert calls() == ["train", "generate"] * 2


def test_other_data_is_another_arm(checkout):
    run()
    (checkout / "data" / "dict.de.txt").write_text("hund 1\n")
    run()
    assert len(ledger.read(Path("ledger.jsonl"))) == 2


def test_an_interrupted_arm_leaves_no_line_and_resumes(checkout, capsys):
    Path("crash").touch()
    assert run() == 1
    assert "RuntimeError: out of memory" in capsys.readouterr().err
    assert ledger.read(Path("ledger.jsonl")) == []
    assert run() == 0
    (entry,) = ledger.read(Path("ledger.jsonl"))
    # Three epochs in two attempts: the first was not trained again.
    assert (entry["figures"]["attempts"], entry["figures"]["epochs"]) == (2, 3)
    (log,) = Path("runs").rglob("train.log")
    assert log.read_text().count('"epoch": 1') == 1


def test_a_sentence_without_translation_is_an_error_and_no_line(checkout, capsys, monkeypatch):
    monkeypatch.setenv("TRANSLATED", "8")
    assert run() == 1
    assert "holds 8 hypotheses for 11 references" in capsys.readouterr().err
    assert ledger.read(Path("ledger.jsonl")) == []


def test_the_run_folder_keeps_translations_and_drops_the_last_checkpoint(checkout):
    run()
    (hypotheses,) = Path("runs").rglob("test.tokenised.hyp")
    assert hypotheses.read_text().splitlines()[10] == "the cat number 10 sat down ."
    names = {path.name for path in hypotheses.parent.rglob("*.pt")}
    assert names == {"checkpoint_best.pt"}


def test_an_arm_that_is_running_elsewhere_is_left_alone(checkout, capsys):
    run()
    (folder,) = (log.parent for log in Path("runs").rglob("train.log"))
    with ledger.locked(folder):
        assert run("--force") == 1
    assert "another process is running this arm" in capsys.readouterr().err


def test_a_failing_command_shows_the_end_of_its_log(tmp_path):
    command = ["sh", "-c", "seq 100; exit 3"]
    with pytest.raises(process.CommandFailed, match=r"sh failed with code 3[\s\S]*\| 100$") as info:
        process.run(command, log=tmp_path / "log")
    assert "| 88\n" not in str(info.value)


def test_the_peak_memory_is_that_of_the_command(tmp_path):
    # From a small process, as arm.py is: a child's peak begins with what its parent holds, and the
    # process that runs the tests may hold more than the command.
    code = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1]); import process; "
        "command = [sys.executable, '-c', 'x = bytearray([7]) * (300 * 2**20)']; "
        "print(process.run(command, log=pathlib.Path('log')).peak_rss_mb)"
    )
    recipes = str(Path(arm.__file__).parent)
    printed = subprocess.check_output([sys.executable, "-c", code, recipes], cwd=tmp_path)
    assert 300 < float(printed) < 400


def test_stopping_us_stops_the_command(tmp_path):
    code = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1]); import process; "
        "process.run(['sh', '-c', 'echo $$ > pid; exec sleep 60'], log=pathlib.Path('log'))"
    )
    recipes = str(Path(arm.__file__).parent)
    ours = subprocess.Popen([sys.executable, "-c", code, recipes], cwd=tmp_path)
    pid = tmp_path / "pid"
    for _ in range(200):
        if pid.exists() and pid.read_text().strip():
            break
        time.sleep(0.05)
    ours.send_signal(signal.SIGTERM)
    assert ours.wait(timeout=20) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
