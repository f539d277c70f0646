"""Data-parallel back ends that keep every parameter whole on each device."""

from typing import Any

from fairseq_outlayers.errors import UserError

DDP_BACKENDS = ("pytorch_ddp", "c10d", "legacy_ddp", "no_c10d")


def require_whole_parameters(distributed: Any, what: str) -> None:
    """Refuse backends that divide parameters or average the models, by name.

    Args:
        distributed: fairseq's options of distributed training.
        what: cannot be divided, for the message.

    Raises:
        UserError: with what to choose instead.
    """
    if distributed.ddp_backend not in DDP_BACKENDS:
        raise UserError(
            f"--ddp-backend {distributed.ddp_backend} does not go with {what}: use pytorch_ddp or "
            "legacy_ddp"
        )
    if distributed.zero_sharding != "none":
        raise UserError(
            f"--zero-sharding {distributed.zero_sharding} does not go with {what}: leave it out"
        )
