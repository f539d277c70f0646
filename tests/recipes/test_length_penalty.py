"""What is said of BLEU must hold at both length penalties."""

import pytest

from recipes.lab.claims import FAILS, HOLDS, NOT_RUN, UNDECIDED
from recipes.lab.runs import Runs
from recipes.lab.scores.resampling import Estimate
from recipes.pappas2018_joint import length_penalty


class Scores(Runs):
    """BLEU at length penalty 1 by arm, and of every seed at 0."""

    def __init__(self, at_one, at_zero):
        self.at_one, self.at_zero = at_one, at_zero

    def __contains__(self, arm):
        return arm in self.at_one

    def bleu(self, arm):
        return self.at_one.get(arm)

    def older(self, arms):
        return ""

    def paired(self, arms, name):
        return [self.at_zero.get(arm, []) if name == "bleu_lenpen0" else [] for arm in arms]

    def estimate(self, arms, statistic):
        total = statistic(self.at_one.get)
        return Estimate(total, total - 0.3, total + 0.3, 3)


@pytest.mark.parametrize(
    ("joint", "expected"),
    [
        ([22, 22.1, 22.2], HOLDS),
        ([19, 18.5, 19], UNDECIDED),  # behind at length penalty 0
        ([22, 18, 20], UNDECIDED),  # there the seeds disagree
        ([25], UNDECIDED),  # there is one seed
        ([], HOLDS),  # not known: there the claim is about length penalty 1 alone
    ],
)
def test_a_claim_holds_where_it_holds_at_both(joint, expected):
    at_zero = {"joint": joint, "nmt": [20.0] * len(joint)}
    runs = Scores({"joint": 22, "nmt": 20}, at_zero)
    part = length_penalty.at_least(runs, "joint", "nmt")
    assert part.verdict == expected
    assert ("at length penalty 0: " in part.numbers) == bool(joint)


def test_a_claim_fails_where_it_fails_at_both():
    runs = Scores({"joint": 19, "nmt": 20}, {"joint": [17, 17.5, 17.2], "nmt": [19, 19, 19]})
    part = length_penalty.at_least(runs, "joint", "nmt")
    assert part.verdict == FAILS
    assert part.numbers.endswith("; at length penalty 0: -1.77 [-2.39, -1.14] over seeds alone")


def test_arms_that_were_not_run_stay_so():
    assert length_penalty.at_least(Scores({"joint": 19}, {}), "joint", "nmt").verdict == NOT_RUN
