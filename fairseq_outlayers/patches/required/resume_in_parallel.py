"""Resume data-parallel training with safe loading.

The first process loads the checkpoint and broadcasts it (``Trainer.load_checkpoint`` in
fairseq/trainer.py, ``broadcast_object`` in fairseq/distributed/utils.py) in torch's format, with a
``_TensorPlaceholder`` for every tensor, and the options as an omegaconf object. With PyTorch >= 2.6
``_broadcast_object_slow`` refuses to load either, and training fails.

The patch sends options as plain containers, as in the file (nothing reads them later), and allows
the placeholder, which contains a number, while fairseq receives. So processes exchange only what a
checkpoint may contain (see ``safe_checkpoints``).
"""

from typing import Any, Callable

import torch
from fairseq.distributed import utils
from omegaconf import OmegaConf

from fairseq_outlayers.checkpoints.stored_numbers import numbers_as_stored
from fairseq_outlayers.patches.replacing import replaces


@replaces(utils, "_split_tensors_from_obj")
def _with_plain_options(stock: Callable[..., Any], obj: Any, tensors: Any) -> Any:
    if OmegaConf.is_config(obj):
        obj = OmegaConf.to_container(obj)
    return stock(obj, tensors)


@replaces(utils, "_broadcast_object_slow")
def _with_placeholder_allowed(stock: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    with numbers_as_stored(), torch.serialization.safe_globals([utils._TensorPlaceholder]):
        return stock(*args, **kwargs)
