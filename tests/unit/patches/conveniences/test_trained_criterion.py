"""fairseq-validate refuses a criterion that it would ignore."""

import pytest
import torch
from fairseq import checkpoint_utils

from fairseq_outlayers.errors import UserError
from tests.unit.hub.conftest import save_checkpoint


@pytest.fixture
def checkpoint(tmp_path):
    path = save_checkpoint(tmp_path, "luong_lstm")
    state = torch.load(path)
    state["cfg"]["criterion"] = {"_name": "full_softmax"}
    torch.save(state, path)
    return path


@pytest.mark.parametrize("given", [{}, {"criterion": "full_softmax"}])
def test_the_criterion_of_the_training_may_be_named(checkpoint, given):
    _, cfg, _ = checkpoint_utils.load_model_ensemble_and_task([checkpoint], dict(given))
    assert cfg.criterion._name == "full_softmax"


def test_another_criterion_than_the_checkpoints_is_refused(checkpoint):
    with pytest.raises(UserError) as error:
        checkpoint_utils.load_model_ensemble_and_task([checkpoint], {"criterion": "cross_entropy"})
    assert str(error.value) == (
        f"--criterion cross_entropy: {checkpoint} was trained with full_softmax, and is validated "
        "with that: leave --criterion out"
    )
