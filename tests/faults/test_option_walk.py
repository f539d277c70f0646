"""Every option with a meaningless value: one line or a meaning, and for nan and inf one line."""

import pytest

from tests.faults import warm
from tests.faults.conftest import some
from tests.faults.option_walk import NO_NUMBERS, steps

pytestmark = [pytest.mark.system, pytest.mark.faults]


@pytest.mark.parametrize(
    "step", [pytest.param(s, id=f"{s.name}={s.value}") for s in some(steps(), 16)]
)
def test_a_value_without_meaning_has_one_line_or_a_meaning(step, damaged_copy, tally):
    weights = "".join(f"yy{n}\t1\n" for n in range(14)) + "</s>\t1\n<unk>\t1\n"
    (damaged_copy / "proposal").write_text(weights)
    outcome = warm.run(step.line, folder=damaged_copy, seconds=60)
    tally("option walk")[outcome.kind] += 1
    refused = step.is_number and step.value in NO_NUMBERS
    expected = {"clear"} if refused else {"clear", "accepted"}
    assert outcome.kind in expected, (step.line, outcome.kind, outcome.err[-3000:])
