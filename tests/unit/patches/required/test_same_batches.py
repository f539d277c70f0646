"""A run resumes within an epoch only with the batches of the checkpoint."""

import numpy as np
import pytest

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.required.same_batches import KEY
from tests.unit.patches.required.test_resumed_batches import Sentences, iterator


def state_after(updates, **options):
    """What a checkpoint within an epoch holds."""
    begun = iterator(2, **options)
    batches = begun.next_epoch_itr()
    for _ in range(updates):
        next(batches)
    return begun.state_dict()


def test_equal_options_resume():
    resumed = iterator(2)
    resumed.load_state_dict(state_after(3))
    assert resumed.iterations_in_epoch == 3


@pytest.mark.parametrize("change", [{"max_tokens": 20}, {"seed": 8}, {"num_shards": 2}])
def test_other_batches_are_refused(change):
    with pytest.raises(UserError, match=r"3 batches of epoch 2, .* by --reset-dataloader"):
        iterator(2, **change).load_state_dict(state_after(3))


def test_other_sentences_are_refused():
    class Others(Sentences):
        def ordered_indices(self):
            return np.roll(super().ordered_indices(), 1)

    with pytest.raises(UserError, match="other batches"):
        iterator(2, Others()).load_state_dict(state_after(3))


def test_between_epochs_and_in_old_checkpoints_nothing_is_compared():
    whole = iterator(1)
    list(whole.next_epoch_itr())
    state = whole.state_dict()
    assert KEY not in state
    iterator(2, max_tokens=20).load_state_dict(state)
    old = {name: value for name, value in state_after(3).items() if name != KEY}
    iterator(2, max_tokens=20).load_state_dict(old)
