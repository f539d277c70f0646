"""A damaged checkpoint is refused by the functions of fairseq that load one."""

import pytest
import torch
from fairseq import checkpoint_utils

from fairseq_outlayers.errors import UserError
from tests.unit.patches.required.test_safe_checkpoints import checkpoint_with, save


def flip_a_bit_of_the_last_tensor(path):
    contents = bytearray(path.read_bytes())
    place = contents.rindex(torch.full((8,), 3.25).numpy().tobytes())
    contents[place + 2] ^= 1
    path.write_bytes(contents)


@pytest.mark.parametrize("name", ["load_checkpoint_to_cpu", "load_ema_from_checkpoint"])
def test_one_flipped_bit_is_refused(tmp_path, name):
    path = tmp_path / "checkpoint_last.pt"
    save(path, checkpoint_with(moment=torch.full((8,), 3.25)))
    flip_a_bit_of_the_last_tensor(path)
    assert torch.load(path)["extra_state"]["moment"].sum() != 8 * 3.25  # unnoticed
    with pytest.raises(UserError, match=r"is damaged: '.*' in it is not what was saved"):
        getattr(checkpoint_utils, name)(str(path))
