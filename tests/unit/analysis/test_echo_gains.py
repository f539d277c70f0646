"""The command that prints the gain of frozen layers prints what layers of its options do."""

import re
from pathlib import Path

import pytest

from fairseq_outlayers.__main__ import main
from fairseq_outlayers.errors import UserError

PAGE = Path(__file__).resolve().parents[3] / "docs" / "echo_states.md"
# Columns of the page's table, by what makes them.
COLUMNS = [
    [],
    ["--gamma-init", "1", "--radius-init", "1"],
    ["--echo-start", "paper"],
    ["--arch", "esnmt_lstm"],
    ["--arch", "esnmt_lstm", "--gamma-init", "1"],
    ["--arch", "esnmt_lstm", "--echo-start", "paper"],
]


def printed(capsys, *options):
    """Gain and share of saturated units, in percent, by the deviation of the inputs."""
    main(["echo-gain", *options])
    cells = re.findall(r"\| ([\d.]+) \| ([\d.]+) \| ([\d.]+)% \|", capsys.readouterr().out)
    return {float(deviation): (float(gain), float(share)) for deviation, gain, share in cells}


@pytest.mark.parametrize("column", range(len(COLUMNS)))
def test_the_page_has_what_the_command_prints(capsys, column):
    found = printed(capsys, *COLUMNS[column])
    rows = re.findall(r"^\| (0\.\d+) \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == 5
    for deviation, cells in rows:
        numbers = re.findall(r"[\d.]+", cells.split("|")[column])
        gain, share = found[float(deviation)]
        assert float(numbers[0]) == pytest.approx(gain, abs=0.02, rel=0.01)
        assert float((*numbers, "0")[1]) == pytest.approx(share, abs=1)


def test_a_scale_of_zero_lets_nothing_through(capsys):
    found = printed(capsys, "--gamma-init", "0", "--hidden-size", "16")
    assert {gain for gain, _ in found.values()} == {0.0}


def test_a_model_without_frozen_layers_is_refused():
    message = "--arch rnmt_plus: has no frozen recurrent layers; choose esnmt, esnmt_lstm"
    with pytest.raises(UserError, match=message):
        main(["echo-gain", "--arch", "rnmt_plus"])


def test_a_negative_scale_is_refused():
    with pytest.raises(UserError, match=r"--gamma-init -1\.0"):
        main(["echo-gain", "--gamma-init", "-1"])
