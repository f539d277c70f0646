"""A bad input is refused in one line, and never passes silently; the good one is accepted."""

import pytest

from tests.faults import bad_inputs, everyday, warm, world
from tests.faults.conftest import some

pytestmark = [pytest.mark.system, pytest.mark.faults]
STDIN = "xx1 xx2\n"
GROUPS = {**bad_inputs.GROUPS, **everyday.GROUPS}
CASES = [(group, case) for group, make in GROUPS.items() for case in make()]
GOOD = {
    "train": world.TRAIN,
    "train a language model": world.TRAIN_LM,
    "generate": world.GENERATE,
    "over candidates": f"{world.GENERATE} {world.CANDIDATES}",
    "interactive": world.INTERACTIVE,
    "eval-lm": world.EVAL_LM,
    "copy unknown words": f"{world.GENERATE} {world.OURS} --unk-replacement copy "
    "--source-text test.xx",
}


@pytest.mark.parametrize("line", some(GOOD.values(), 3), ids=some(GOOD, 3))
def test_the_good_world_is_accepted(line, damaged_copy):
    outcome = warm.run(line, folder=damaged_copy, stdin=STDIN)
    assert outcome.kind == "accepted", outcome.err


def test_the_table_has_at_least_300_bad_inputs():
    names = [case.name for _, case in CASES]
    assert len(names) == len(set(names)) >= 300


@pytest.mark.parametrize(
    ("group", "case"), [pytest.param(g, c, id=c.name) for g, c in some(CASES, 24)]
)
def test_a_bad_input_is_refused_in_one_line(group, case, damaged_copy, tally):
    case.change(damaged_copy)
    outcome = warm.run(case.line, folder=damaged_copy, stdin=STDIN, seconds=60)
    tally("bad inputs")[outcome.kind] += 1
    tally(f"bad inputs: {group}")[outcome.kind] += 1
    assert outcome.kind == "clear", (outcome.kind, outcome.out[-500:], outcome.err[-3000:])
