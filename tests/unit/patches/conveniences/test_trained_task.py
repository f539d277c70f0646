"""A language model is evaluated as the task that it was trained for."""

import logging

import pytest
from fairseq import checkpoint_utils

from fairseq_outlayers.errors import UserError
from tests.unit.hub.conftest import TASKS, save_checkpoint


def evaluated(checkpoint, task="language_modeling", **options):
    """Load as fairseq-eval-lm does, with the task of its command line."""
    config, task_class = TASKS[task]
    folder = checkpoint.rpartition("/")[0]
    given = task_class.setup_task(config(data=folder, **options))
    return checkpoint_utils.load_model_ensemble_and_task([checkpoint], task=given)


@pytest.fixture
def warnings(caplog):
    """Give the texts of the warnings so far, and forget them."""

    def read():
        texts = [record.message for record in caplog.records if record.levelno == logging.WARNING]
        caplog.clear()
        return texts

    return read


@pytest.mark.parametrize(
    ("trained", "given", "message"),
    [
        ({"add_bos_token": True}, {}, r"was trained with --add-bos-token: .* add it$"),
        ({}, {"add_bos_token": True}, r"was trained without --add-bos-token: .* leave it out$"),
        ({"self_target": True}, {}, r"was trained with --self-target: .* add it$"),
    ],
)
def test_other_texts_than_those_of_the_training_are_refused(tmp_path, trained, given, message):
    checkpoint = save_checkpoint(tmp_path, "transformer_lm_outlayers", of_task=trained)
    with pytest.raises(UserError, match=message):
        evaluated(checkpoint, **given)


@pytest.mark.parametrize("options", [{}, {"add_bos_token": True}])
def test_the_texts_of_the_training_are_scored(tmp_path, options, warnings):
    checkpoint = save_checkpoint(tmp_path, "transformer_lm_outlayers", of_task=options)
    evaluated(checkpoint, **options)
    assert not warnings()


def test_a_continuous_text_that_is_split_into_samples_is_warned_of(tmp_path, warnings):
    checkpoint = save_checkpoint(tmp_path, "subword_lm")
    evaluated(checkpoint)
    (warning,) = warnings()
    assert "was trained with --task subword_language_modeling" in warning
    evaluated(checkpoint, task="subword_language_modeling")
    assert not warnings()


def test_a_model_that_is_loaded_with_its_own_task_is_not_compared(tmp_path):
    """As fairseq-validate and the hub load it; also after a command that was refused."""
    checkpoint = save_checkpoint(
        tmp_path, "transformer_lm_outlayers", of_task={"add_bos_token": True}
    )
    with pytest.raises(UserError):
        evaluated(checkpoint)
    _, _, task = checkpoint_utils.load_model_ensemble_and_task([checkpoint])
    assert task.args.add_bos_token
