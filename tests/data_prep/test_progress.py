"""Progress: seen on a terminal, silent elsewhere unless the work is long."""

import io
import time

import pytest

from lib import common

import segment


class Stream(io.StringIO):
    """A text stream that claims to be a terminal, or not."""

    def __init__(self, terminal):
        super().__init__()
        self.isatty = lambda: terminal


def work(stream):
    """Half a second of work, as seen by its caller and on the stream."""
    steps = common.progress(range(5), 5, "working", file=stream)
    return [(time.sleep(0.1), step)[1] for step in steps]


@pytest.mark.parametrize("terminal", [True, False])
def test_half_a_second_of_work_is_shown_on_a_terminal_only(terminal):
    stream = Stream(terminal)
    assert work(stream) == list(range(5))
    assert ("working" in stream.getvalue()) == terminal


def test_long_work_is_shown_elsewhere_too(monkeypatch):
    monkeypatch.setattr(common, "QUIET_SECONDS", 0.2)
    stream = Stream(terminal=False)
    work(stream)
    assert "working" in stream.getvalue()


def test_long_learning_shows_its_merges(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(common, "QUIET_SECONDS", 0)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("low lower lowest\n" * 3)
    segment.main(["learn", "--inputs", "text", "--merges", "3", "--output", "codes"])
    assert "merging" in capsys.readouterr().err
