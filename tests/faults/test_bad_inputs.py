"""A bad input is refused in one line, and never passes silently; the good one is accepted."""

import pytest

from tests.faults import bad_inputs, contents, everyday, reasons, warm, world
from tests.faults.conftest import some

pytestmark = [pytest.mark.system, pytest.mark.faults]
STDIN = "xx1 xx2\n"
GROUPS = {**bad_inputs.GROUPS, **everyday.GROUPS, **contents.GROUPS}
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
def test_a_bad_input_is_refused_in_one_line_for_its_reason(group, case, damaged_copy, tally):
    before = reasons.files(damaged_copy)
    case.change(damaged_copy)
    changed = reasons.changed_files(before, reasons.files(damaged_copy))
    outcome = warm.run(case.line, folder=damaged_copy, stdin=STDIN, seconds=60)
    kind = outcome.kind
    if kind == "clear" and not reasons.is_for_its_reason(case, outcome.errors[0], changed):
        kind = "for another reason"
    tally("bad inputs")[kind] += 1
    tally(f"bad inputs: {group}")[kind] += 1
    assert kind == "clear", (kind, outcome.out[-500:], outcome.err[-3000:])


def test_every_reason_belongs_to_a_case():
    assert set(reasons.SAYS) <= {case.name for _, case in CASES}


@pytest.mark.parametrize(
    ("line", "is_told"),
    [
        ("error: --beam 0: must be at least 1", True),
        ("error: --nbest 0: must be at least 1", False),
        ("fairseq-generate: error: unrecognized arguments: --beam 0", False),
        ("fairseq-generate: error: the following arguments are required: --beam", False),
    ],
)
def test_a_line_must_name_the_option_that_was_added(line, is_told):
    case = bad_inputs.Case("another beam", bad_inputs.nothing, f"{world.GENERATE} --beam 0")
    assert reasons.is_for_its_reason(case, line, []) == is_told


def test_a_line_must_name_a_file_that_was_changed_or_match_the_cases_own_pattern():
    case = bad_inputs.Case("a file", bad_inputs.nothing, f"{world.GENERATE} --beam 0")
    assert reasons.is_for_its_reason(case, "error: bin/dict.yy.txt: empty", ["bin/dict.yy.txt"])
    assert not reasons.is_for_its_reason(case, "error: --beam 0: empty", ["bin/dict.yy.txt"])
    case = case._replace(name="validate without a task")
    assert reasons.is_for_its_reason(case, "error: fairseq-validate needs --task", ["model.pt"])
    assert not reasons.is_for_its_reason(case, "error: model.pt: damaged", ["model.pt"])
