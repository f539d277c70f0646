"""fairseq's adaptive loss is refused for models without an adaptive softmax."""

from types import SimpleNamespace

import pytest
from fairseq.trainer import Trainer

from fairseq_outlayers.errors import UserError
from tests.conftest import make_criterion, make_model, make_task, small_sizes

OURS = (
    "use --criterion sampled_softmax or full_softmax, or fairseq's own architecture with "
    "--adaptive-softmax-cutoff"
)
SIZES = small_sizes("transformer_outlayers")


def criterion_of(task):
    return make_criterion("adaptive_loss", task, ddp_backend="legacy_ddp")


@pytest.mark.parametrize(
    ("arch", "name", "options", "remedy"),
    [
        ("luong_lstm", "LuongLSTM", {}, OURS),
        ("transformer_outlayers", "OutlayersTransformer", {}, OURS),
        ("transformer_lm_outlayers", "OutlayersTransformerLM", {}, OURS),
        ("transformer", "TransformerModel", SIZES, "add --adaptive-softmax-cutoff, or choose "
         "another --criterion"),
    ],
)  # fmt: skip
def test_a_model_without_an_adaptive_softmax_is_refused_before_training(
    arch, name, options, remedy
):
    task = make_task(17, 17)
    config = SimpleNamespace(distributed_training=SimpleNamespace(heartbeat_timeout=0))
    with pytest.raises(UserError) as refused:
        Trainer(config, task, make_model(arch, task, **options), criterion_of(task))
    assert str(refused.value) == (
        f"--criterion adaptive_loss: {name} has no adaptive softmax: {remedy}"
    )


def test_a_model_with_one_is_accepted(task):
    model = make_model("transformer", task, adaptive_softmax_cutoff="8", **SIZES)
    criterion_of(task).check_model(model)
