"""fairseq-validate refuses a criterion and options of the search that it would ignore."""

import pytest
import torch
from fairseq import checkpoint_utils
from omegaconf import OmegaConf

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.tasks.translation_outlayers import TranslationOutlayersConfig
from tests.unit.hub.conftest import save_checkpoint


@pytest.fixture
def checkpoint(tmp_path):
    return saved(tmp_path, eval_bleu=False)


def saved(folder, **of_task):
    """A model trained with our task, and these options of it."""
    path = save_checkpoint(folder, "luong_lstm")
    state = torch.load(path)
    ours = OmegaConf.to_container(
        OmegaConf.structured(TranslationOutlayersConfig), enum_to_str=True
    )
    given = {"eval_bleu_detok": "space", **of_task, "_name": "translation_outlayers"}
    state["cfg"]["task"] = {**ours, **state["cfg"]["task"], **given}
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


@pytest.mark.parametrize(
    "given", [{"candidates": "candidates.npz"}, {"unk_replacement": "copy"}, {"min_len_a": 0.5}]
)
def test_options_of_the_search_are_refused_if_nothing_is_translated(checkpoint, given):
    name, value = next(iter(given.items()))
    with pytest.raises(UserError) as error:
        checkpoint_utils.load_model_ensemble_and_task([checkpoint], given)
    assert str(error.value) == (
        f"--{name.replace('_', '-')} {value} has no effect without --eval-bleu: add that, or leave "
        "it out"
    )


@pytest.mark.parametrize("in_checkpoint", [True, False])
def test_they_may_be_named_where_translations_are_scored(tmp_path, in_checkpoint):
    """``--eval-bleu`` of the training, or of the command line."""
    path = saved(tmp_path, eval_bleu=in_checkpoint)
    given = {"min_len_a": 0.5} | ({} if in_checkpoint else {"eval_bleu": True})
    *_, task = checkpoint_utils.load_model_ensemble_and_task([path], given)
    assert (task.cfg.eval_bleu, task.cfg.min_len_a) == (True, 0.5)


def test_they_are_refused_for_a_task_that_has_none(tmp_path):
    path = save_checkpoint(tmp_path, "luong_lstm", of_task={"eval_bleu_detok": "space"})
    with pytest.raises(UserError) as error:
        checkpoint_utils.load_model_ensemble_and_task([path], {"eval_bleu": True, "min_len_a": 0.5})
    assert str(error.value) == (
        "--min-len-a 0.5 has no effect in fairseq-validate on a model trained with --task "
        "translation: use fairseq-generate, or leave it out"
    )
