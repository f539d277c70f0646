"""``python -m recipes.lab``: what the steps of recipes call."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairseq_outlayers.errors import UserError as ErrorOfThePackage
from recipes.lab import __main__ as lab
from recipes.lab import ledger
from recipes.lab.arms import Recipe, load
from recipes.lab.claims import NOT_RUN, UNDECIDED, Claim, Part
from recipes.lab.pages.report import misspelled_arms
from recipes.lab.running import run_arm, speed
from recipes.lab.running.process import CommandFailed
from recipes.lab.settings import Settings, UserError
from tests.recipes.conftest import ROOT


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """The baseline with folders of its own, and what it is given to run."""
    given = []

    def execute(run, force=False):
        given.append((run.arm.name, run.seed, run.kind, force))
        if run.arm.name == "luong_tied":
            raise CommandFailed("fairseq-train failed with code 1; end of x.log:\n  | a | b")

    monkeypatch.setattr(run_arm, "execute", execute)
    monkeypatch.setattr(lab, "STARTED", lab.time.monotonic())
    monkeypatch.setattr(ledger, "fingerprint", lambda paths: "x")
    (tmp_path / "work/bin.bpe4000").mkdir(parents=True)
    monkeypatch.setenv("OUTLAYERS_WORK", str(tmp_path / "work"))
    monkeypatch.setenv("OUTLAYERS_RESULTS", str(tmp_path / "results"))
    for name in ("ARMS", "SEEDS", "FORCE", "TIME_BUDGET", "KIND", "OUTLAYERS_STARTED"):
        monkeypatch.delenv(name, raising=False)
    return given


def test_every_arm_runs_with_every_seed_whatever_fails(recipe, monkeypatch, capsys):
    monkeypatch.setenv("SEEDS", "1 2")
    names = ["luong_tied", "stock_lstm"]
    assert lab.main(["run", "baseline_multi30k", *names]) == 1
    assert recipe == [(name, seed, "arm", False) for seed in (1, 2) for name in names]
    printed = capsys.readouterr().err
    assert "luong_tied: fairseq-train failed with code 1; end of x.log:\n  | a | b\n" in printed
    assert "failed: luong_tied luong_tied" in printed


def test_nothing_is_trained_without_prepared_data(recipe, tmp_path, capsys):
    (tmp_path / "work/bin.bpe4000").rmdir()
    assert lab.main(["run", "baseline_multi30k", "luong_linear"]) == 1
    assert not recipe
    step = "recipes/baseline_multi30k/00_prepare.sh"
    assert f"work/bin.bpe4000: run {step} first" in capsys.readouterr().err


def test_arms_force_and_kind_come_from_the_environment(recipe, monkeypatch):
    for name, value in (("ARMS", "luong_linear"), ("FORCE", "1"), ("KIND", "tuning")):
        monkeypatch.setenv(name, value)
    assert lab.main(["run", "baseline_multi30k"]) == 0
    assert recipe == [("luong_linear", 1, "tuning", True)]


def test_commands_of_arms_have_the_threads_asked_for(recipe, monkeypatch):
    """Also if the command is called directly, not by a step, which sources common.sh."""
    monkeypatch.setenv("THREADS", "3")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    seen = []

    def execute(run, force=False):
        seen.append((os.environ["OMP_NUM_THREADS"], os.environ["OMP_WAIT_POLICY"]))

    monkeypatch.setattr(run_arm, "execute", execute)
    assert lab.main(["run", "baseline_multi30k", "luong_linear"]) == 0
    assert seen == [("3", "passive")]


def test_no_names_mean_all_arms_and_no_arms_none(recipe, monkeypatch):
    lab.main(["run", "baseline_multi30k"])
    assert [name for name, *_ in recipe] == load("baseline_multi30k").all_arms()
    recipe.clear()
    assert lab.main(["run", "baseline_multi30k", "--these"]) == 0
    assert recipe == []


def test_data_that_is_not_prepared_is_said_with_the_step_that_makes_it(
    recipe, monkeypatch, tmp_path, capsys
):
    monkeypatch.setattr(run_arm, "execute", lambda run, force: Path(missing).read_text())
    missing = f"{tmp_path}/work/tokenized/test.en"
    assert lab.main(["run", "baseline_multi30k", "stock_lstm"]) == 1
    step = "run recipes/baseline_multi30k/00_prepare.sh first"
    assert capsys.readouterr().err == f"baseline_multi30k: {missing}: no such file: {step}\n"
    missing = f"{tmp_path}/elsewhere"
    assert lab.main(["run", "baseline_multi30k", "stock_lstm"]) == 1
    assert "stock_lstm: FileNotFoundError: [Errno 2] No such file" in capsys.readouterr().err


def test_a_step_that_a_recipe_does_not_have_is_not_advised(recipe, tmp_path, capsys):
    def read(recipe):
        Path(recipe.work, "train.log").read_text()

    assert lab.run_command("demo", read) == 1
    missing = f"{tmp_path}/work/toy/train.log"
    assert capsys.readouterr().err == f"demo: {missing}: no such file\n"
    assert lab.main(["run", "demo", "tied"]) == 1
    assert capsys.readouterr().err == f"demo: no {tmp_path}/work/toy/bin\n"


@pytest.mark.parametrize(
    "error", [ValueError("12 hypotheses, 11 references"), OSError("disk full")]
)
def test_an_arm_that_cannot_be_scored_does_not_stop_the_others(recipe, monkeypatch, capsys, error):
    started = []

    def execute(run, force):
        started.append(run.arm.name)
        if run.arm.name == "stock_lstm":
            raise error

    monkeypatch.setattr(run_arm, "execute", execute)
    assert lab.main(["run", "baseline_multi30k", "stock_lstm", "luong_linear"]) == 1
    assert started == ["stock_lstm", "luong_linear"]
    printed = capsys.readouterr().err
    assert f"stock_lstm: {type(error).__name__}: {error}\n" in printed
    assert "failed: stock_lstm (" in printed


def test_a_folder_for_results_that_is_none_is_said_before_anything_is_trained(
    recipe, monkeypatch, tmp_path, capsys
):
    (tmp_path / "file").write_text("mine")
    monkeypatch.setenv("OUTLAYERS_RESULTS", str(tmp_path / "file"))
    assert lab.main(["run", "baseline_multi30k", "stock_lstm"]) == 1
    assert recipe == []
    assert "file: cannot write results there (File exists); set OUT" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


def test_only_arms_that_cannot_run_are_a_failure(recipe, monkeypatch, capsys):
    def execute(run, force):
        if run.arm.name != "luong_tied":
            raise run_arm.MissingRun(f"not decoded: {run.arm.name}")

    monkeypatch.setattr(run_arm, "execute", execute)
    monkeypatch.setenv("SEEDS", "1 2")
    assert lab.main(["run", "baseline_multi30k", "stock_lstm", "luong_tied"]) == 0
    assert lab.main(["run", "baseline_multi30k", "stock_lstm", "luong_linear"]) == 1
    printed = capsys.readouterr()
    assert "  not decoded: stock_lstm\n" in printed.out
    message = "baseline_multi30k: nothing could run, see above: stock_lstm luong_linear\n"
    assert printed.err == message


def test_decodings_of_models_that_ARMS_leaves_out_are_no_failure(recipe, monkeypatch, capsys):
    def execute(run, force):
        raise run_arm.MissingRun(f"not decoded: {run.arm.name}")

    monkeypatch.setattr(run_arm, "execute", execute)
    monkeypatch.setenv("ARMS", "luong_tied")
    assert lab.main(["run", "baseline_multi30k", "stock_lstm"]) == 0
    assert "  not decoded: stock_lstm\n" in capsys.readouterr().out
    assert lab.main(["run", "baseline_multi30k"]) == 1  # of ARMS itself
    monkeypatch.setenv("ARMS", "stock_lstm")
    assert lab.main(["run", "baseline_multi30k", "stock_lstm", "luong_tied"]) == 1
    assert "nothing could run, see above: stock_lstm\n" in capsys.readouterr().err


def test_an_interrupt_is_one_line(recipe, monkeypatch, capsys):
    def execute(run, force):
        raise KeyboardInterrupt

    monkeypatch.setattr(run_arm, "execute", execute)
    assert lab.main(["run", "baseline_multi30k", "stock_lstm"]) == 130
    assert capsys.readouterr().err == "baseline_multi30k: interrupted; the same command goes on\n"


def test_settings_that_the_demo_ignores_are_not_listed(capsys):
    assert lab.main(["settings", "demo"]) == 0
    listed = {line.partition("=")[0] for line in capsys.readouterr().out.splitlines()}
    assert listed == {
        *load("demo", {}).declared, "ARMS", "FORCE", "THREADS",
        "OUTLAYERS_PYTHON", "OUTLAYERS_DATA", "OUTLAYERS_WORK",
    }  # fmt: skip
    given = {"KIND": "tuning", "TIME_BUDGET": "1", "ARMS": "tied"}
    assert load("demo", given).settings == load("demo", {"ARMS": "tied"}).settings


def test_an_interrupted_demo_says_that_it_starts_again(capsys):
    def interrupt(recipe):
        raise KeyboardInterrupt

    assert lab.run_command("demo", interrupt) == 130
    assert capsys.readouterr().err == "demo: interrupted; the same command starts again\n"


def test_files_of_an_arm_that_does_not_exist_are_an_error(recipe, capsys):
    assert lab.main(["files", "baseline_multi30k", "train.log", "jiont"]) == 1
    assert "no arm 'jiont'; known are stock_lstm" in capsys.readouterr().err


def test_no_arm_starts_after_the_time_budget(recipe, monkeypatch, capsys):
    monkeypatch.setenv("TIME_BUDGET", "60")
    monkeypatch.setattr(lab, "STARTED", lab.time.monotonic() - 100)
    assert lab.main(["run", "baseline_multi30k", "stock_lstm"]) == 0
    assert recipe == []
    assert "not started, 100 s of TIME_BUDGET=60 are used: stock_lstm" in capsys.readouterr().out


def test_the_time_budget_counts_from_the_start_of_run_sh(recipe, monkeypatch, capsys):
    monkeypatch.setenv("TIME_BUDGET", "1000")
    monkeypatch.setenv("OUTLAYERS_STARTED", str(int(lab.time.time()) - 5000))
    assert lab.main(["run", "baseline_multi30k", "stock_lstm"]) == 0
    assert recipe == []
    assert " s of TIME_BUDGET=1000 are used: stock_lstm" in capsys.readouterr().out
    monkeypatch.setenv("OUTLAYERS_STARTED", "yesterday")  # then from that of this process
    assert lab.main(["run", "baseline_multi30k", "stock_lstm"]) == 0
    assert recipe == [("stock_lstm", 1, "arm", False)]


def test_a_name_that_means_nothing_is_said_before_anything_runs(recipe, capsys):
    assert lab.main(["run", "baseline_multi30k", "stock_lstm", "lstm"]) == 1
    assert recipe == []
    assert "no arm 'lstm'; known are stock_lstm luong_linear" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("SEEDS", "one", "SEEDS=one: expected whole numbers from 0"),
        ("SEEDS", "1 -1", "SEEDS=1 -1: expected whole numbers from 0"),
        ("SEEDS", "1_2", "SEEDS=1_2: expected whole numbers from 0"),
        ("EPOCHS", "ten", "EPOCHS=ten: expected a whole number from 1"),
        ("EPOCHS", "3.5", "EPOCHS=3.5: expected a whole number from 1"),
        ("FORCE", "yes", "FORCE=yes: known are 0 and 1"),
        ("KIND", "test", "KIND=test: known are arm and tuning"),
        ("DIM", "wide", "DIM=wide: expected a whole number"),
        ("THREADS", "two", "THREADS=two: expected a whole number from 1"),
        ("THREADS", "0", "THREADS=0: expected a whole number from 1"),
    ],
)
def test_a_wrong_setting_is_one_line(recipe, monkeypatch, capsys, variable, value, message):
    monkeypatch.setenv(variable, value)
    assert lab.main(["run", "baseline_multi30k"]) == 1
    assert capsys.readouterr().err == f"baseline_multi30k: {message}\n"


def test_speed_is_measured_of_the_arms_named_and_once(recipe, monkeypatch, tmp_path, capsys):
    asked = []

    def take_turns(names, rounds, measure):
        asked.append((names, rounds))
        return [{"arm": name, "tokens_per_second": 1.0, "ratio_to_first": 1.0, "ratios": [1.0],
                 "peak_rss_mb": 1.0} for name in names]  # fmt: skip

    monkeypatch.setattr(speed, "take_turns", take_turns)
    monkeypatch.setenv("SPEED_ROUNDS", "1")
    (tmp_path / "work/bin.bpe4000").rmdir()
    assert lab.main(["speed", "baseline_multi30k"]) == 1
    assert "run recipes/baseline_multi30k/00_prepare.sh first" in capsys.readouterr().err
    (tmp_path / "work/bin.bpe4000").mkdir()
    assert lab.main(["speed", "baseline_multi30k"]) == 0
    assert asked == [(["stock_lstm", "luong_linear", "luong_tied"], 1)]
    assert lab.main(["speed", "baseline_multi30k"]) == 0
    assert "(exists" in capsys.readouterr().out
    monkeypatch.setenv("FORCE", "1")
    lab.main(["speed", "baseline_multi30k"])
    assert len(asked) == 2


def test_files_of_runs_are_named_in_the_order_asked_for(recipe, tmp_path, capsys):
    path = tmp_path / "results/ledger.jsonl"
    for arm, seed in (("a", 2), ("a", 1), ("b", 1)):
        run = tmp_path / f"{arm}{seed}"
        run.mkdir()
        (run / "x").touch()
        entry = {"arm": arm, "seed": seed, "key": "k", "run": str(run), "figures": {}}
        ledger.append(path, entry)
    assert lab.main(["files", "baseline_multi30k", "x", "stock_lstm", "b", "a"]) == 0
    assert capsys.readouterr().out.split() == [f"{tmp_path}/b1/x", f"{tmp_path}/a1/x"]
    lab.main(["files", "baseline_multi30k", "--all-seeds", "--names", "x", "a"])
    assert capsys.readouterr().out.split() == [f"a={tmp_path}/a1/x", f"a={tmp_path}/a2/x"]
    assert lab.main(["files", "baseline_multi30k"]) == 1
    assert "files needs the name of a file" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["settings", "shell", "speed", "report"])
def test_a_command_without_names_refuses_them(recipe, capsys, command):
    assert lab.main([command, "baseline_multi30k", "stock_lstm", "more"]) == 1
    assert capsys.readouterr().err == (
        f"baseline_multi30k: stock_lstm more: {command} takes only the recipe: leave it out\n"
    )


def test_curves_of_a_checkout_that_does_not_exist_are_refused(recipe, tmp_path, capsys):
    assert lab.main(["curves", "baseline_multi30k", str(tmp_path), f"{tmp_path}/nowhere"]) == 1
    assert capsys.readouterr().err == (
        f"baseline_multi30k: {tmp_path}/nowhere: no such folder: give a checkout with runs, from "
        f"{ROOT}\n"
    )
    assert lab.main(["curves", "baseline_multi30k", str(tmp_path)]) == 0


@pytest.mark.parametrize("command", ["settings", "arms", "shell"])
def test_a_command_from_the_checkout_needs_no_path_and_no_torch(command):
    script = "import sys, runpy; sys.argv[0] = 'lab'; "
    script += "runpy.run_module('recipes.lab', run_name='__main__', alter_sys=True)"
    check = "import atexit, sys; atexit.register(lambda: print('torch' in sys.modules)); " + script
    shown = subprocess.run(
        [sys.executable, "-c", check, command, "pappas2018_joint"],
        cwd=ROOT, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert len(shown.splitlines()) > 20
    assert shown.endswith("False\n")


def test_every_arm_of_every_recipe_says_what_it_is():
    wanting = {"assylbekov2018_subword_lm": {}, "baseline_multi30k": {}, "demo": {}}
    for name in wanting:
        recipe = load(name, {"OUTLAYERS_RESULTS": "nothing"})
        for arm in recipe.all_arms():
            assert recipe.arm(arm).description
            assert "--arch" in recipe.arm(arm).train


def test_the_shell_may_ask_for_a_word_a_list_or_nothing(monkeypatch, capsys):
    monkeypatch.setenv("DECODINGS", "lv.unk2")
    for name, expected in (
        (["bin_of", "lv"], "work/jean2015_large_vocabulary/bin.large\n"),
        (["all_decodings", "k1.kp1"], "lv.unk2\n"),
        (["curve_decodings"], ""),  # not an empty name
    ):
        assert lab.main(["ask", "jean2015_large_vocabulary", *name]) == 0
        assert capsys.readouterr().out == expected
    assert lab.main(["ask", "jean2015_large_vocabulary", "nothing"]) == 1
    assert "has no 'nothing' to ask for" in capsys.readouterr().err
    assert lab.main(["ask", "jean2015_large_vocabulary", "bin_of"]) == 1
    message = "bin_of(model: str) -> str: missing a required argument: 'model'\n"
    assert capsys.readouterr().err == f"jean2015_large_vocabulary: {message}"
    assert lab.main(["ask", "garg2020_esnmt", "prepare"]) == 1
    assert capsys.readouterr().err == "garg2020_esnmt: prepare returns nothing to print\n"


@pytest.mark.parametrize("empty", ["", " ", "\t"])
def test_an_empty_setting_is_its_default(empty):
    settings = Settings({"A": ("1", ""), "B": ("", "")}, {"A": empty, "B": empty})
    settings.defaults(A=2, B=3)
    assert (settings.A, settings.B, settings.whole("B")) == ("1", "3", 3)


def test_an_error_of_the_package_for_its_users_is_one_line_as_well(capsys):
    def refuse(recipe):
        raise ErrorOfThePackage("--output report.html: is a folder; name a file")

    assert lab.run_command("baseline_multi30k", refuse) == 1
    message = "baseline_multi30k: --output report.html: is a folder; name a file\n"
    assert capsys.readouterr().err == message
    assert not lab.is_told(ValueError("x"))


def test_a_recipe_that_is_not_there_is_named():
    with pytest.raises(UserError, match=r"recipe 'pappas2018_jiont'.*did you mean pappas2018_jo"):
        load("pappas2018_jiont")
    with pytest.raises(UserError, match="no recipe 'lab'; known are assylbekov2018_subword_lm, "):
        load("lab", {})


def test_a_recipe_that_is_incomplete_is_told_in_one_line(monkeypatch):
    class Own(Recipe):
        def all_arms(self):
            return []

    path = "recipes.baseline_multi30k.arms.RECIPE"
    monkeypatch.setattr(path, Own)
    message = r"recipes/baseline_multi30k/arms\.py: Own does not define arm"
    with pytest.raises(UserError, match=message):
        load("baseline_multi30k", {})
    monkeypatch.setattr(path, None)
    with pytest.raises(UserError, match="has no recipe: end it with RECIPE = your subclass"):
        load("baseline_multi30k", {})


def test_a_claim_about_an_arm_that_cannot_be_is_warned_of(recipe):
    parts = [
        Part("one", NOT_RUN, "missing: stock_lstm, jiont"),
        Part("two", NOT_RUN, "missing: jiont"),
        Part("three", NOT_RUN, "missing: a and b trained alike"),
        Part("four", UNDECIDED, "missing: in words"),
    ]
    (warning,) = misspelled_arms(load("baseline_multi30k"), [Claim(3, "a text", parts)])
    assert warning.startswith("claim 3 names an arm that the recipe does not have: no arm 'jiont'")


def test_reports_of_empty_ledgers_are_refused(recipe, capsys):
    assert lab.main(["report", "baseline_multi30k"]) == 1
    assert "is missing or empty: run an arm first" in capsys.readouterr().err


def test_a_fresh_clone_does_not_lose_the_verdicts_that_need_references(recipe, tmp_path, capsys):
    """Translations are kept, but what they are scored against is data: 00_prepare.sh makes it."""
    folder = tmp_path / "results"
    (folder / "translations").mkdir(parents=True)
    (folder / "claims.md").write_text("holds")
    entry = {"arm": "rnmt_plus", "seed": 1, "key": "k", "run": "nowhere", "setting": {},
             "figures": {"bleu_tokenised": 1.0, "sentences": 1}}  # fmt: skip
    ledger.append(folder / "ledger.jsonl", entry)
    (folder / "translations/rnmt_plus.seed1.k.hyp").write_text("a\n")
    assert lab.main(["report", "garg2020_esnmt"]) == 1
    assert "run recipes/garg2020_esnmt/00_prepare.sh first" in capsys.readouterr().err
    assert (folder / "claims.md").read_text() == "holds"
    assert json.loads((folder / "ledger.jsonl").read_text())["arm"] == "rnmt_plus"


@pytest.mark.parametrize("folder", ["work/mine/", "./work/mine"])
def test_a_folder_for_work_may_be_written_in_any_way(folder):
    recipe = load("baseline_multi30k", {"OUTLAYERS_WORK": folder})
    assert recipe.work == "work/mine"
    missing = FileNotFoundError(2, "No such file", "work/mine/bin.bpe4000/dict.en.txt")
    assert lab.is_unprepared(recipe, missing)


def test_an_arm_goes_on_after_its_model_and_from_its_own_seed(
    recipe, monkeypatch, tmp_path, capsys
):
    (tmp_path / "work/bin.large").mkdir()
    command = ["run", "jean2015_large_vocabulary", "lv.frozen", "lv"]
    assert lab.main(command[:3]) == 1
    assert recipe == []
    assert "not started, because it goes on from lv" in capsys.readouterr().out
    paths = {s: tmp_path / f"lv{s}/checkpoints/checkpoint_best.pt" for s in (1, 2)}
    for seed, path in paths.items():
        path.parent.mkdir(parents=True)
        path.touch()
        line = {"arm": "lv", "seed": seed, "key": "k", "run": f"{tmp_path}/lv{seed}", "figures": {}}
        ledger.append(tmp_path / "results/ledger.jsonl", line)
    started = []
    monkeypatch.setattr(run_arm, "execute", lambda run, force: started.append(run))
    monkeypatch.setenv("SEEDS", "1 2")
    assert lab.main(command) == 0
    assert [(r.arm.name, r.seed) for r in started] == [
        ("lv", 1),
        ("lv", 2),
        ("lv.frozen", 1),
        ("lv.frozen", 2),
    ]
    assert [r.arm.train[-1] for r in started[2:]] == [str(path) for path in paths.values()]


@pytest.mark.parametrize(
    ("name", "arm", "expected"),
    [
        ("baseline_multi30k", "luong_tied", ("de", True)),
        ("pappas2018_joint", "de-en.bpe4000.tied", ("en", True)),
        ("pappas2018_joint", "en-de.bpe4000.tied", ("de", True)),
        ("garg2020_esnmt", "esnmt", ("de", True)),
        ("digangi2017_external", "baseline.1000", ("de", True)),
        ("jean2015_large_vocabulary", "lv", ("de", False)),
    ],
)
def test_translations_are_scored_in_their_language_and_case(name, arm, expected):
    test = load(name, {}).arm(arm).test
    assert (test.language, test.lowercase) == expected


def test_files_are_of_the_runs_that_count(recipe, tmp_path, capsys):
    for name in ("old1", "old2", "new1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").touch()
        line = {"arm": "a", "seed": int(name[-1]), "key": name[:-1], "run": str(tmp_path / name)}
        ledger.append(tmp_path / "results/ledger.jsonl", {**line, "figures": {}})
    lab.main(["files", "baseline_multi30k", "x", "a"])
    assert capsys.readouterr().out.split() == [f"{tmp_path}/old1/x"]


@pytest.mark.parametrize("value", ["wide", "nan", "inf"])
def test_what_is_no_finite_number_is_refused(value):
    with pytest.raises(UserError, match=f"ESNMT_RANGE={value}: expected a number"):
        load("garg2020_esnmt", {"ESNMT_RANGE": value}).arm("esnmt")


def test_a_report_is_printed_where_the_terminal_lacks_its_characters(tmp_path):
    program = (
        "from recipes.lab.__main__ import run_command\n"
        "run_command('baseline_multi30k', lambda recipe: print('3 ± 1'))\n"
    )
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-c", program]
    printed = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    assert (printed.returncode, printed.stdout) == (0, "3 \\xb1 1\n"), printed.stderr
