"""``--optimizer lazy_adam``: updates whose cost does not depend on the size of the vocabulary."""

import logging
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional

import torch.nn as nn
from fairseq.dataclass import FairseqDataclass
from fairseq.distributed import utils as distributed_utils
from fairseq.optim import FairseqOptimizer, register_optimizer
from omegaconf import II
from torch import Tensor

from fairseq_outlayers.errors import UserError, as_flag
from fairseq_outlayers.optim import row_gradients
from fairseq_outlayers.optim.betas import parse_betas
from fairseq_outlayers.optim.data_parallelism import require_whole_parameters
from fairseq_outlayers.optim.row_adam import RowAdam
from fairseq_outlayers.optim.tables import (
    hide_from_pytorch_ddp,
    make_row_sparse,
    row_sparse_parameters,
)
from fairseq_outlayers.ranges import check_ranges, ranged

logger = logging.getLogger(__name__)

# Options that wrap or replace gradients without support for sparse ones, and alternatives.
REFUSED_FLAGS = {
    "fp16": "use --amp, which keeps parameters in float32",
    "bf16": "use --amp, which keeps parameters in float32",
    "tpu": "use --optimizer adam",
    "use_bmuf": "use --ddp-backend legacy_ddp or pytorch_ddp",
}


@dataclass
class LazyAdamConfig(FairseqDataclass):
    adam_betas: str = field(
        default="(0.9, 0.999)", metadata={"help": "decay of the first and the second moment"}
    )
    adam_eps: float = ranged(1e-8, "added to the root of the second moment", above=0)
    weight_decay: float = ranged(
        0.0, "decoupled, times the learning rate; for updated rows only", at_least=0
    )
    lr: List[float] = II("optimization.lr")  # noqa: RUF009 - an interpolation, never changed
    fp16: bool = II("common.fp16")
    bf16: bool = II("common.bf16")
    tpu: bool = II("common.tpu")
    use_bmuf: bool = II("optimization.use_bmuf")
    ddp_backend: str = II("distributed_training.ddp_backend")
    zero_sharding: str = II("distributed_training.zero_sharding")


@register_optimizer("lazy_adam", dataclass=LazyAdamConfig)
class LazyAdam(FairseqOptimizer):
    """Adam that updates only the rows that a batch uses, in embeddings and in the output layer.

    For ``--criterion sampled_softmax``, where the cost of an update does not depend on the size of
    the vocabulary. With ``--user-dir fairseq_outlayers`` it also works with fairseq's own
    architectures and ``adaptive_loss``, where it updates the input tables row by row.

    Parameters with dense gradients are updated as by ``torch.optim.AdamW``; in fairseq's ``adam``,
    epsilon precedes the bias correction, which differs for gradients near epsilon. Bias correction
    counts the updates of a row, not of the model. With ``--amp`` an update that overflows changes
    no row, moment or count.
    """

    def __init__(self, cfg: Any, params: Any):
        super().__init__(cfg)
        self._optimizer = RowAdam(list(params), **self.optimizer_config)

    @classmethod
    def prepare_model(cls, cfg: Any, model: nn.Module) -> None:
        """Make gradients of tables row-sparse; called before the model is wrapped.

        Raises:
            UserError: if an option does not support them.
        """
        check_options(cfg)
        names = make_row_sparse(model)
        hide_from_pytorch_ddp(model)  # all_reduce_grads averages the tables
        logger.info(f"updated row by row: {', '.join(names)}")

    @property
    def optimizer_config(self) -> Dict[str, Any]:
        """Arguments of a new optimizer; a resumed one has those of its checkpoint."""
        return {
            "lr": self.cfg.lr if isinstance(self.cfg.lr, float) else self.cfg.lr[0],
            "betas": parse_betas(self.cfg.adam_betas),
            "eps": self.cfg.adam_eps,
            "weight_decay": self.cfg.weight_decay,
        }

    def multiply_grads(self, c: Any) -> None:
        row_gradients.multiply(self.params, c)

    def clip_grad_norm(
        self, max_norm: float, aggregate_norm_fn: Optional[Callable[[Tensor], Tensor]] = None
    ) -> Tensor:
        return row_gradients.clip_norm(self.params, max_norm, aggregate_norm_fn)

    def all_reduce_grads(self, module: nn.Module) -> None:
        """Average gradients over processes: of tables here, of others by the wrapper."""
        tables = [p for p in row_sparse_parameters(module) if p.requires_grad]
        with row_gradients.hidden(tables):
            _shrink_buffer(module)
            super().all_reduce_grads(module)
        if distributed_utils.get_data_parallel_world_size() > 1:
            group = distributed_utils.get_data_parallel_group()
            row_gradients.average_over_processes(tables, group)


def _shrink_buffer(module: nn.Module) -> None:
    """Let ``LegacyDistributedDataParallel`` make a buffer without room for frozen parameters.

    Before its first reduction; by default it has room for all parameters, up to 2^28 numbers.
    """
    wrapper: Any = getattr(module, "module", module)
    if getattr(wrapper, "buffer", module) is None:
        used = sum(p.numel() for p in module.parameters() if p.requires_grad)
        wrapper.buffer_size = min(wrapper.buffer_size, used)


def check_options(cfg: Any) -> None:
    """Refuse options that would train wrongly or fail later."""
    for option, advice in REFUSED_FLAGS.items():
        if getattr(cfg, option):
            raise UserError(
                f"{as_flag(option)} does not support the row-sparse gradients of "
                f"--optimizer lazy_adam: {advice}"
            )
    require_whole_parameters(cfg, "the row-sparse gradients of --optimizer lazy_adam")
    parse_betas(cfg.adam_betas)
    check_ranges(cfg, LazyAdamConfig)
