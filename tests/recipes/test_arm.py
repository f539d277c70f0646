"""An arm is run once, leaves a line only when it is whole, and goes on where it was cut off."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recipes.lab import ledger
from recipes.lab.arms import Arm, TranslationTest
from recipes.lab.running import process
from recipes.lab.running.run_arm import MissingRun, Place, Run, execute
from recipes.lab.scores import length_limits
from tests.recipes.conftest import ROOT, SENTENCES, calls, run

TEST = TranslationTest("--beam 5", "test.de")
PLACE = Place(Path("ledger.jsonl"), Path("runs"))


def test_an_arm_leaves_one_complete_line(checkout):
    assert run(seed=7, words="in words")
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


def test_files_that_training_reads_beside_its_data_are_in_the_line(checkout):
    Path("table.npy").write_bytes(b"vectors")
    assert run(more=("--external-embeddings", "table.npy"))
    (entry,) = ledger.read(Path("ledger.jsonl"))
    assert entry["files"] == {"table.npy": ledger.fingerprint([Path("table.npy")])}


@pytest.mark.parametrize("more", [(), ("--source-lang", "en", "--target-lang", "de")])
def test_a_line_has_a_fingerprint_of_the_target_words_that_is_no_part_of_its_key(checkout, more):
    """Perplexities over other words do not compare; a key with it would repeat every older arm."""
    dictionary, found = Path("data/dict.de.txt"), []
    if more:
        Path("data/dict.en.txt").write_text("cat 1\n")
    for words in ("katze 1\n", "katze 2\n", "hund 1\n"):
        dictionary.write_text(words)
        run(more=more)
        found.append(ledger.read(Path("ledger.jsonl"))[-1])
    first, counted, other = (entry["target_words"] for entry in found)
    assert first == counted != other
    assert all("target_words" not in entry["setting"] for entry in found)
    if more:
        Path("data/dict.en.txt").write_text("dog 1\n")
        run(more=more)
        assert ledger.read(Path("ledger.jsonl"))[-1]["target_words"] == other


def test_an_arm_in_the_ledger_says_which_of_these_files_changed(checkout, capsys):
    Path("table.npy").write_bytes(b"vectors")
    options = ("--external-embeddings", "table.npy")
    run(more=options)
    capsys.readouterr()
    for content, changed in ((b"vectors", False), (b"other vectors", True)):
        Path("table.npy").write_bytes(content)
        assert run(more=options)
        assert ("trained with another table.npy than today's" in capsys.readouterr().out) == changed
    Path("table.npy").unlink()
    assert run(more=options)
    assert "another" not in capsys.readouterr().out
    assert calls() == ["train", "generate"]


def test_a_stock_arm_runs_without_this_package_and_is_another_setting(checkout):
    assert run(stock=True)
    assert run()
    stock, ours = ledger.read(Path("ledger.jsonl"))
    assert stock["key"] != ours["key"]
    for name in ("command", "generate_command"):
        assert "--user-dir" in ours[name]
        assert "--user-dir" not in stock[name]
        assert stock[name].startswith("env TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1 fairseq-")


def test_a_failure_of_a_stock_arm_names_the_command(checkout, capsys):
    Path("crash").touch()
    assert not run(stock=True)
    assert "fairseq-train failed with code 1" in capsys.readouterr().err


def test_n_best_translations_are_scored_without_a_length_penalty_too(checkout):
    run()
    assert "bleu_tokenised_lenpen0" not in ledger.read(Path("ledger.jsonl"))[0]["figures"]
    run(generate="--beam 2 --nbest 2")
    figures = ledger.read(Path("ledger.jsonl"))[1]["figures"]
    assert figures["bleu_tokenised"] == pytest.approx(100)
    assert figures["bleu_tokenised_lenpen0"] < 90  # two words short
    kept = [path.read_text().splitlines()[3] for path in Path("runs").rglob("*lenpen0*.hyp")]
    assert kept == ["the cat number 3 ."]


def test_an_arm_in_the_ledger_is_skipped_unless_forced(checkout, capsys):
    assert run()
    assert run()
    assert calls() == ["train", "generate"]
    assert "in the ledger since" in capsys.readouterr().out
    assert run(force=True)
    assert calls() == ["train", "generate"] * 2
    assert len(ledger.read(Path("ledger.jsonl"))) == 2


def test_a_forced_arm_is_trained_in_an_empty_folder_and_its_log_is_kept(checkout):
    """fairseq-train refuses a folder with checkpoints but not the last one."""
    run()
    (folder,) = {path.parent for path in Path("runs").rglob("train.log")}
    (folder / "checkpoints" / "checkpoint_best.pt").write_text("the first")
    (folder / "train.log").write_text("the first")
    run(force=True)
    for name in ("train.log.old", "checkpoints.old/checkpoint_best.pt"):
        assert (folder / name).read_text() == "the first"
    assert (folder / "train.log").read_text() != "the first"
    # One that was interrupted goes on, also without force.
    for force in (True, False):
        (folder / "checkpoints" / "checkpoint_last.pt").write_text("1")  # epoch
        before = len(calls())
        run(force=force)
        assert len(calls()) == before + 2
        assert (folder / "train.log.old").read_text() == "the first"


def test_a_forced_arm_that_fails_at_its_start_loses_no_checkpoint(checkout):
    run()
    (best,) = Path("runs").rglob("checkpoint_best.pt")
    best.write_text("the first")
    for _ in range(2):
        Path("crash").touch()
        assert not run(force=True)
        for saved in ("best", "last"):  # as if it had failed before that
            (best.parent / f"checkpoint_{saved}.pt").unlink()
    (kept,) = Path("runs").rglob("checkpoints.old/checkpoint_best.pt")
    assert kept.read_text() == "the first"


def test_a_finished_run_whose_line_is_gone_is_kept_unless_forced(checkout):
    """As after `git checkout` of the ledger, which keeps run folders."""
    run()
    Path("ledger.jsonl").unlink()
    (best,) = Path("runs").rglob("checkpoint_best.pt")
    best.write_text("the first")
    with pytest.raises(MissingRun, match=r"is finished, but ledger\.jsonl has no line .* FORCE=1"):
        run()
    assert best.read_text() == "the first"
    assert calls() == ["train", "generate"]
    assert run(force=True)
    (kept,) = Path("runs").rglob("checkpoints.old/checkpoint_best.pt")
    assert kept.read_text() == "the first"


def test_a_run_that_was_killed_between_its_first_two_checkpoints_begins_anew(checkout):
    """fairseq-train refuses a folder with checkpoints but not the last one."""
    Path("crash").touch()
    assert not run()
    (last,) = Path("runs").rglob("checkpoint_last.pt")
    last.unlink()
    assert run()
    assert Path(last.parent.parent, "checkpoints.old/checkpoint_best.pt").exists()


@pytest.mark.parametrize("force", [True, False])
def test_a_repeat_killed_between_its_first_checkpoints_costs_no_finished_model(checkout, force):
    """And does not count as finished."""
    run()
    (best,) = Path("runs").rglob("checkpoint_best.pt")
    best.write_text("the first")
    Path("crash").touch()
    assert not run(force=True)
    best.with_name("checkpoint_last.pt").unlink()
    assert run(force=force)
    assert calls() == ["train", "generate", "train", "train", "generate"]
    (kept,) = Path("runs").rglob("checkpoints.old/checkpoint_best.pt")
    assert kept.read_text() == "the first"


def test_arms_that_go_on_from_other_seeds_have_one_setting(checkout):
    """The path of the checkpoint has the seed; arms that go on from another setting differ."""
    keys = {}
    for seed, epochs in ((1, 3), (2, 3), (1, 4)):
        before = Arm("tied", "", "data", TEST, ("--max-epoch", str(epochs)))
        checkpoint = Run(before, seed, PLACE).checkpoints / "checkpoint_best.pt"
        train = ("--max-epoch", "2", "--finetune-from-model", str(checkpoint))
        arm = Arm("tied.frozen", "", "data", TEST, train, goes_on_from="tied")
        run_of = Run(arm, seed, PLACE)
        assert str(checkpoint) in run_of.train_command
        keys[seed, epochs] = run_of.key
    assert keys[1, 3] == keys[2, 3] != keys[1, 4]


@pytest.mark.parametrize(
    "command", ["fairseq-train DATA --lr 1", "env A=fairseq-b x/bin/fairseq-train DATA --lr 1"]
)
def test_the_data_folder_of_a_command_comes_after_the_program(command):
    assert process.data_of(command.split()) == Path("DATA")


@pytest.mark.parametrize("change", [{"epochs": 4}, {"name": "linear"}])
def test_another_setting_or_name_is_another_arm(checkout, change):
    assert run()
    assert run(**change)
    assert calls() == ["train", "generate"] * 2


def test_other_data_is_another_arm(checkout):
    run()
    (checkout / "data" / "dict.de.txt").write_text("hund 1\n")
    run()
    assert len(ledger.read(Path("ledger.jsonl"))) == 2


def test_an_interrupted_arm_leaves_no_line_and_resumes(checkout, capsys):
    Path("crash").touch()
    assert not run()
    assert "RuntimeError: out of memory" in capsys.readouterr().err
    assert ledger.read(Path("ledger.jsonl")) == []
    assert run()
    (entry,) = ledger.read(Path("ledger.jsonl"))
    # Three epochs in two attempts: the first was not trained again.
    assert (entry["figures"]["attempts"], entry["figures"]["epochs"]) == (2, 3)
    (log,) = Path("runs").rglob("train.log")
    assert log.read_text().count('"epoch": 1') == 1


def test_a_sentence_without_translation_is_an_error_and_no_line(checkout, capsys, monkeypatch):
    monkeypatch.setenv("TRANSLATED", "8")
    assert not run()
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
    with ledger.locked(folder), pytest.raises(MissingRun, match="another process is runn"):
        run(force=True)


def test_a_failing_command_shows_the_end_of_its_log(tmp_path):
    command = ["sh", "-c", "seq 100; exit 3"]
    with pytest.raises(process.CommandFailed, match=r"sh failed with code 3[\s\S]*\| 100$") as info:
        process.run(command, log=tmp_path / "log")
    assert "| 88\n" not in str(info.value)


@pytest.mark.parametrize("output", [None, "output"])
def test_a_command_that_does_not_start_leaves_the_log_and_no_open_file(output, tmp_path):
    log, output = tmp_path / "log", output and tmp_path / output
    log.write_text("of the run before")
    before = os.listdir("/dev/fd")
    with pytest.raises(FileNotFoundError, match="fairseq-missing"):
        process.run(["fairseq-missing"], log=log, output=output)
    assert os.listdir("/dev/fd") == before
    assert log.read_text() == "of the run before"


def test_a_log_that_cannot_be_written_ends_the_command(tmp_path, monkeypatch):
    started, popen = [], subprocess.Popen

    def remember(*command, **options):
        started.append(popen(*command, **options))
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", remember)
    with pytest.raises(FileNotFoundError, match="missing/log"):
        process.run(["sleep", "60"], log=tmp_path / "missing" / "log")
    assert started[0].returncode == -signal.SIGTERM


def test_the_peak_memory_is_that_of_the_command(tmp_path):
    # From a small process, as arm.py is: a child's peak begins with what its parent holds, and the
    # process that runs the tests may hold more than the command.
    code = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1])\n"
        "from recipes.lab.running import process\n"
        "command = [sys.executable, '-c', 'x = bytearray([7]) * (300 * 2**20)']; "
        "print(process.run(command, log=pathlib.Path('log')).peak_rss_mb)"
    )
    printed = subprocess.check_output([sys.executable, "-c", code, str(ROOT)], cwd=tmp_path)
    assert 300 < float(printed) < 400


def test_stopping_us_stops_the_command(tmp_path):
    code = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1])\n"
        "from recipes.lab.running import process\n"
        "process.run(['sh', '-c', 'echo $$ > pid; exec sleep 60'], log=pathlib.Path('log'))"
    )
    ours = subprocess.Popen([sys.executable, "-c", code, str(ROOT)], cwd=tmp_path)
    pid = tmp_path / "pid"
    for _ in range(1200):  # a busy machine takes its time
        if pid.exists() and pid.read_text().strip():
            break
        time.sleep(0.05)
    ours.send_signal(signal.SIGTERM)
    assert ours.wait(timeout=20) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_being_stopped_while_a_command_starts_stops_it(monkeypatch, tmp_path):
    started = []

    def start(command, output):
        os.kill(os.getpid(), signal.SIGTERM)
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE))
        return started[0], started[0].stdout

    monkeypatch.setattr(process, "_start", start)
    with pytest.raises(SystemExit) as stopped:
        process.run(["sleep", "60"], log=tmp_path / "log")
    assert stopped.value.code == 128 + signal.SIGTERM
    assert started[0].returncode == -signal.SIGTERM


def test_a_tuning_run_is_trained_and_the_test_set_left_alone(checkout):
    arm = Arm(
        "tune", "a rate", "data", TranslationTest("--beam 5", "test.de"), ("--max-epoch", "2")
    )
    place = Place(Path("ledger.jsonl"), Path("runs"))
    execute(Run(arm, 1, place, ledger.TUNING))
    (entry,) = ledger.read(place.ledger)
    assert calls() == ["train"]
    assert entry["kind"] == "tuning"
    assert entry["setting"] == {"data": entry["setting"]["data"], "train": "--max-epoch 2",
                                "kind": "tuning"}  # fmt: skip
    assert not any("bleu" in name for name in entry["figures"])
    execute(Run(arm, 1, place))  # the same as an arm: another run
    assert calls() == ["train", "train", "generate"]


def test_a_long_line_of_a_failed_commands_log_is_cut(tmp_path):
    """fairseq logs its configuration in a line of 10,000 characters."""
    command = ["sh", "-c", "printf '%10000s\\nwhy it failed\\n' x >&2; exit 3"]
    with pytest.raises(process.CommandFailed, match=r"sh failed with code 3") as failure:
        process.run(command, log=tmp_path / "log")
    assert str(failure.value).endswith(" ...\n  | why it failed")
    assert len(str(failure.value)) < 1000


def test_translations_that_end_at_the_limit_are_counted(checkout, monkeypatch):
    monkeypatch.setattr(length_limits, "limits", lambda *arguments: [1] * SENTENCES)
    run("tied")
    (entry,) = ledger.read(Path("ledger.jsonl"))
    figures = entry["figures"]
    assert figures["at_length_limit"] == figures["loops"] == SENTENCES


def test_every_command_has_the_seed_of_its_line(checkout):
    for seed in (1, 7):
        assert run(seed=seed)
    for entry in ledger.read(Path("ledger.jsonl")):
        for name in ("command", "generate_command"):
            words = entry[name].split()
            assert words[words.index("--seed") + 1] == str(entry["seed"])


def test_a_training_that_is_not_done_leaves_no_line(checkout, capsys):
    train = checkout / "bin/fairseq-train"
    train.write_text(train.read_text().replace("done training", "stopped"))
    assert not run()
    assert "does not end with 'done training'" in capsys.readouterr().err
    assert ledger.read(Path("ledger.jsonl")) == []


def test_an_arm_that_could_not_be_scored_is_not_trained_again(checkout, monkeypatch):
    monkeypatch.setenv("TRANSLATED", "8")
    assert not run()
    (best,) = Path("runs").rglob("checkpoint_best.pt")
    best.write_text("the first")
    monkeypatch.delenv("TRANSLATED")
    assert run()
    assert best.read_text() == "the first"


def test_a_repeat_that_was_killed_before_it_saved_goes_on(checkout):
    run()
    (best,) = Path("runs").rglob("checkpoint_best.pt")
    Path("crash").touch()
    assert not run(force=True)
    for saved in ("best", "last"):
        (best.parent / f"checkpoint_{saved}.pt").unlink(missing_ok=True)
    assert run()
    assert calls() == ["train", "generate", "train", "train", "generate"]


def test_an_arm_that_another_process_has_just_run_is_not_trained_again(checkout, monkeypatch):
    commit_of_today = ledger.commit

    def commit():
        monkeypatch.setattr(ledger, "commit", commit_of_today)
        run()
        return commit_of_today()

    monkeypatch.setattr(ledger, "commit", commit)  # before the run folder is locked
    with pytest.raises(MissingRun, match="has changed since this command began"):
        run()
    assert len(ledger.read(Path("ledger.jsonl"))) == 1
