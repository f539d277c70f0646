import io
import os
import sys
from functools import partial

import pytest

from fairseq_outlayers import patches
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.conveniences import clear_errors

MESSAGE = "dict.de.txt has no words; rebuild it with fairseq-preprocess."


def shown(capsys, function, hook=None):
    """What the interpreter prints when ``function`` raises."""
    try:
        function()
    except BaseException:
        (hook or sys.excepthook)(*sys.exc_info())
    return capsys.readouterr().err


@pytest.fixture
def hook(monkeypatch):
    monkeypatch.delenv(clear_errors.TRACEBACK_VARIABLE, raising=False)
    return partial(clear_errors._show, sys.__excepthook__)


def mistake():
    raise UserError(MESSAGE)


def mistake_behind_another_error():
    """As ``Trainer.load_checkpoint`` hides the reason."""
    try:
        mistake()
    except Exception:
        raise Exception("please ensure that the architectures match")  # noqa: B904


def mistake_as_a_cause():
    try:
        mistake()
    except Exception as error:
        raise RuntimeError("cannot load") from error


def mistake_in_a_worker():
    """As torch's DataLoader hands an exception over from another process."""
    raise UserError(
        "Caught UserError in DataLoader worker process 0.\nOriginal Traceback (most recent call "
        f"last):\n  File ...\nfairseq_outlayers.errors.UserError: {MESSAGE}\n"
    )


@pytest.mark.parametrize(
    "function",
    [mistake, mistake_behind_another_error, mistake_as_a_cause, mistake_in_a_worker],
)
def test_a_users_mistake_is_shown_as_one_line(capsys, hook, function):
    assert shown(capsys, function, hook) == f"error: {MESSAGE}\n"


def test_any_other_error_keeps_its_traceback(capsys, hook):
    text = shown(capsys, lambda: 1 // 0, hook)
    assert "Traceback (most recent call last)" in text
    assert "ZeroDivisionError" in text


def test_an_error_that_replaces_a_mistake_on_purpose_keeps_its_traceback(capsys, hook):
    def replaced():
        try:
            mistake()
        except UserError:
            raise KeyError("another") from None

    assert "KeyError: 'another'" in shown(capsys, replaced, hook)


def test_the_traceback_of_a_mistake_can_be_asked_for(capsys, hook, monkeypatch):
    monkeypatch.setenv(clear_errors.TRACEBACK_VARIABLE, "1")
    text = shown(capsys, mistake_behind_another_error, hook)
    assert "Traceback (most recent call last)" in text
    assert MESSAGE in text


def test_applying_again_does_not_put_a_hook_on_the_hook():
    patches.apply()
    hook = sys.excepthook
    patches.apply()
    assert sys.excepthook is hook


def test_an_interruption_is_one_line(capsys, hook):
    def interrupt():
        try:
            mistake()
        except UserError:
            raise KeyboardInterrupt from None

    assert shown(capsys, interrupt, hook) == "error: interrupted\n"


def buffered(descriptor):
    return os.fdopen(descriptor, "w")


def unbuffered(descriptor):
    """As with ``PYTHONUNBUFFERED=1``."""
    return io.TextIOWrapper(os.fdopen(descriptor, "wb", 0), write_through=True)


@pytest.mark.parametrize("opened", [buffered, unbuffered])
def test_nothing_is_printed_when_nobody_reads_the_output(capsys, hook, monkeypatch, opened):
    reading, writing = os.pipe()
    os.close(reading)
    with opened(writing) as closed:
        monkeypatch.setattr(sys, "stdout", closed)

        def into_a_closed_pipe():
            print("a line", flush=True)

        assert shown(capsys, into_a_closed_pipe, hook) == ""
        print("at exit", flush=True)  # goes nowhere, without an error


def another_pipe_is_closed():
    raise BrokenPipeError("another pipe")


@pytest.mark.parametrize("opened", [buffered, unbuffered])
def test_a_closed_pipe_that_is_not_the_output_keeps_its_traceback(
    capsys, hook, monkeypatch, opened
):
    reading, writing = os.pipe()
    with os.fdopen(reading), opened(writing) as read:
        monkeypatch.setattr(sys, "stdout", read)
        assert "BrokenPipeError: another pipe" in shown(capsys, another_pipe_is_closed, hook)


def test_output_that_is_no_file_does_not_hide_a_closed_pipe(capsys, hook, monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert "BrokenPipeError: another pipe" in shown(capsys, another_pipe_is_closed, hook)
