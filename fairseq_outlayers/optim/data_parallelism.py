"""Data-parallel backends that keep complete parameters on each device."""

from typing import Any

from fairseq_outlayers.errors import UserError

DDP_BACKENDS = ("pytorch_ddp", "c10d", "legacy_ddp", "no_c10d")


def require_whole_parameters(distributed: Any, what: str) -> None:
    """Refuse backends that shard parameters or average models.

    Args:
        distributed: fairseq's options of distributed training.
        what: cannot be sharded, for the error message.
    Raises:
        UserError: names the backends to use instead.
    """
    if distributed.ddp_backend not in DDP_BACKENDS:
        raise UserError(
            f"--ddp-backend {distributed.ddp_backend} does not support {what}: use pytorch_ddp or "
            "legacy_ddp"
        )
    if distributed.zero_sharding != "none":
        raise UserError(
            f"--zero-sharding {distributed.zero_sharding} does not support {what}: leave it out"
        )
