"""A run that is killed again and again ends as one that nobody broke, bit for bit."""

import shutil

import pytest

from tests.faults import kills
from tests.faults.conftest import ALL, some

pytestmark = [pytest.mark.system, pytest.mark.faults]
KILLS = 5 if ALL else 3  # for each mode


@pytest.mark.parametrize("mode", some(kills.MODES, 2))
def test_a_killed_run_ends_as_an_unbroken_one(mode, good, tmp_path, tally):
    line = kills.MODES[mode]
    unbroken = kills.train(line, shutil.copytree(good, tmp_path / "unbroken"))
    broken = kills.train(
        line, shutil.copytree(good, tmp_path / "broken"), kills.moments(mode, KILLS)
    )
    tally("kills")["kills"] += broken.kills
    tally("kills")["within a save"] += broken.within_saves
    differ = kills.differences(kills.learned(unbroken.state), kills.learned(broken.state))
    tally("kills")["modes that differ"] += bool(differ)
    tally("kills")["modes"] += 1
    assert broken.kills > 0
    assert not differ
