"""Store the loss scale of ``--amp`` in checkpoints, and set it by its options.

``AMPOptimizer`` (fairseq/optim/amp_optimizer.py) stores the state of the wrapped optimizer alone. A
resumed run starts at the initial scale again, so it is not the uninterrupted one, and a job that is
stopped more often than every 2,000 updates never raises its scale: small gradients vanish in
float16. It also reads its options crossed: the scale starts at ``--fp16-init-scale``, and grows
after as many updates as ``--amp-init-scale`` says if ``--amp-scale-window`` is given.

The patch stores the scaler's state in ``extra_state``, and loads it unless the optimizer starts
anew. The scale starts at ``--amp-init-scale``; without it at ``--fp16-init-scale``, as before.
"""

from typing import Any, Callable, Dict

import torch
from fairseq.dataclass.configs import CommonConfig
from fairseq.optim.amp_optimizer import AMPOptimizer
from fairseq.trainer import Trainer

from fairseq_outlayers.patches.replacing import replaces

SCALER = "amp_scaler"  # in a checkpoint's extra_state


@replaces(AMPOptimizer, "__init__")
def _with_its_options(
    stock: Callable[..., Any], self: Any, cfg: Any, params: Any, fp32_optimizer: Any, **kwargs: Any
) -> None:
    stock(self, cfg, params, fp32_optimizer, **kwargs)
    default = CommonConfig.amp_init_scale
    given = getattr(cfg.common, "amp_init_scale", default)
    scale = given if given != default else cfg.common.fp16_init_scale
    options: Dict[str, Any] = {"init_scale": float(scale)}
    window = getattr(cfg.common, "amp_scale_window", None)
    if window is not None:
        options["growth_interval"] = window
    self._grad_scaler = torch.amp.GradScaler("cuda", **options)


@replaces(Trainer, "save_checkpoint")
def _with_scale(stock: Callable[..., Any], self: Any, filename: str, extra_state: Any) -> Any:
    if self.cfg.common.amp:
        extra_state = {**extra_state, SCALER: self.optimizer.scaler.state_dict()}
    return stock(self, filename, extra_state)


@replaces(Trainer, "load_checkpoint")
def _with_its_scale(
    stock: Callable[..., Any],
    self: Any,
    filename: str,
    reset_optimizer: bool = False,
    *args: Any,
    **kwargs: Any,
) -> Any:
    extra_state = stock(self, filename, reset_optimizer, *args, **kwargs)
    saved = (extra_state or {}).get(SCALER)
    if saved and not reset_optimizer and self.cfg.common.amp:
        self.optimizer.scaler.load_state_dict(saved)
    return extra_state
