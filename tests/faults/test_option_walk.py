"""Every option with a meaningless value: one line or a meaning, and for nan and inf one line."""

import pytest

from tests.faults import more_options, warm
from tests.faults.conftest import some
from tests.faults.option_walk import NO_NUMBERS, steps

pytestmark = [pytest.mark.system, pytest.mark.faults]
WALKS = {
    "of the package": (steps, 16),
    "of fairseq": (more_options.stock_steps, 8),
    "of commands": (more_options.command_steps, 8),
}
EVERY = [(walk, step) for walk, (make, few) in WALKS.items() for step in some(make(), few)]


def test_every_command_that_takes_numbers_is_walked():
    found = {*more_options._commands(), *more_options._scripts()}
    assert found == {
        *(f"outlayers {name}" for name in more_options.COMMANDS),
        *more_options.SCRIPTS,
    }


@pytest.mark.parametrize(
    ("walk", "step"), [pytest.param(w, s, id=f"{w}, {s.name}={s.value}") for w, s in EVERY]
)
def test_a_value_without_meaning_has_one_line_or_a_meaning(walk, step, damaged_copy, tally):
    weights = "".join(f"yy{n}\t1\n" for n in range(14)) + "</s>\t1\n<unk>\t1\n"
    (damaged_copy / "proposal").write_text(weights)
    (damaged_copy / "descriptions").write_text("new\tyy1 yy2\n")
    outcome = warm.run(step.line, folder=damaged_copy, stdin="xx1 xx2\n", seconds=60)
    tally("options walked")[outcome.kind] += 1
    tally(f"options walked, {walk}")[outcome.kind] += 1
    refused = step.is_number and step.value in NO_NUMBERS
    expected = {"clear"} if refused else {"clear", "accepted"}
    assert outcome.kind in expected, (step.line, outcome.kind, outcome.err[-3000:])
