"""Store the loss scale of ``--amp`` in checkpoints, and set it by its options.

``AMPOptimizer`` (fairseq/optim/amp_optimizer.py) stores the state of the wrapped optimizer alone. A
resumed run starts at the initial scale again, so it is not the uninterrupted one, and a job that is
stopped more often than every 2,000 updates never raises its scale: small gradients vanish in
float16. It also reads its options crossed: the scale starts at ``--fp16-init-scale``, and grows
after as many updates as ``--amp-init-scale`` says if ``--amp-scale-window`` is given.

The patch stores the scaler's state in the optimizer's, as fairseq's ``FP16Optimizer`` does. The
scale starts at ``--amp-init-scale``; without it at ``--fp16-init-scale``, as before.
"""

from typing import Any, Callable, Dict

import torch
from fairseq.dataclass.configs import CommonConfig
from fairseq.optim.amp_optimizer import AMPOptimizer

from fairseq_outlayers.patches.replacing import replaces

SCALER = "amp_scaler"  # in the optimizer's state


@replaces(AMPOptimizer, "__init__")
def _make_scaler(
    stock: Callable[..., Any], self: Any, cfg: Any, params: Any, fp32_optimizer: Any, **kwargs: Any
) -> None:
    stock(self, cfg, params, fp32_optimizer, **kwargs)
    scale, window = cfg.common.amp_init_scale, cfg.common.amp_scale_window
    if scale == CommonConfig.amp_init_scale:
        scale = cfg.common.fp16_init_scale
    options: Dict[str, Any] = {} if window is None else {"growth_interval": window}
    self._grad_scaler = torch.amp.GradScaler("cuda", init_scale=float(scale), **options)


@replaces(AMPOptimizer, "state_dict")
def _save_scale(stock: Callable[..., Any], self: Any) -> Dict[str, Any]:
    return {**stock(self), SCALER: self.scaler.state_dict()}


@replaces(AMPOptimizer, "load_state_dict")
def _restore_scale(
    stock: Callable[..., Any], self: Any, state_dict: Dict[str, Any], *args: Any, **kwargs: Any
) -> None:
    saved = dict(state_dict)
    scale = saved.pop(SCALER, None)
    stock(self, saved, *args, **kwargs)
    if scale:  # there is none in older checkpoints, nor of a CPU, where nothing is scaled
        self.scaler.load_state_dict(scale)
