"""Let processes of torchrun train one model on CPUs, too.

``infer_init_method`` (fairseq/distributed/utils.py) reads torchrun's variables only on a machine
with several GPUs. So ``torchrun --nproc_per_node 2 $(which fairseq-train) ... --cpu`` trains two
independent models into the same files, and exits with 0; with ``--distributed-world-size 2`` it
divides by the number of GPUs. And ``DistributedFairseqModel``
(fairseq/models/distributed_fairseq_model.py) passes a device to PyTorch's wrapper, which does not
accept one for a model on a CPU, so the default ``--ddp-backend pytorch_ddp`` fails there; nor does
``all_gather_list`` (fairseq/distributed/utils.py) have buffers outside GPUs.

The patch reads the variables first, chooses ``gloo`` where ``nccl`` is not available, and passes no
device for a model on a CPU. It refuses several processes of fairseq-eval-lm and, on CPUs, of
fairseq-validate. It patches ``call_main``, which runs after ``--user-dir`` is imported;
``infer_init_method``, which it calls, does not know about ``--cpu``. ``fairseq-hydra-train``
imports ``common.user_dir`` later, too late for the first part.
"""

import importlib.util
import inspect
import logging
import os
from pathlib import Path
from typing import Any, Callable

import torch
import torch.distributed as dist
from fairseq import utils as fairseq_utils
from fairseq.distributed import utils
from fairseq.models import distributed_fairseq_model

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces

logger = logging.getLogger(__name__)

TORCHRUN_VARIABLES = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK")
FROM_FAIRSCALE = ("fully_sharded", "slowmo")
SLURM_VARIABLES = ("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST")


@replaces(utils, "call_main")
def _with_processes_joined(stock: Callable[..., Any], cfg: Any, main: Any, **kwargs: Any) -> Any:
    _require_fairscale(cfg.distributed_training.ddp_backend)
    on_cpu = cfg.common.cpu or not torch.cuda.is_available()
    if not cfg.common.tpu:
        _join(cfg.distributed_training, on_cpu)
    if cfg.distributed_training.distributed_world_size > 1:
        _refuse_parts_of_a_text(main, on_cpu)
    return stock(cfg, main, **kwargs)


def _refuse_parts_of_a_text(main: Any, on_cpu: bool) -> None:
    """Refuse commands that do not work in several processes.

    fairseq-eval-lm prints the perplexity of the first process's part; fairseq-validate fails where
    one process has a batch less, and has been used on several GPUs all the same.
    """
    code = getattr(inspect.unwrap(main), "__code__", None)
    path = Path() if code is None else Path(code.co_filename)
    refused = ("eval_lm", "validate") if on_cpu else ("eval_lm",)
    if path.parent.name == "fairseq_cli" and path.stem in refused:
        raise UserError(
            f"fairseq-{path.stem.replace('_', '-')} evaluates a text in one process: leave out "
            "torchrun and --distributed-world-size"
        )


def _require_fairscale(backend: str) -> None:
    """Refuse two wrappers if fairscale is not installed."""
    if backend in FROM_FAIRSCALE and importlib.util.find_spec("fairscale") is None:
        raise UserError(
            f"--ddp-backend {backend} needs fairscale, which is not installed, and does not "
            "support this package's criterions, partitions and lazy_adam: use pytorch_ddp (the "
            "default) or legacy_ddp"
        )


def _join(options: Any, on_cpu: bool) -> None:
    """Complete fairseq's options of distributed training.

    Raises:
        UserError: if nothing starts the requested number of processes.
    """
    if options.distributed_init_method is None:
        num_processes = _num_processes_of_torchrun()
        if num_processes > 1:
            # Tells stock to read the variables itself.
            options.distributed_world_size = num_processes
            if on_cpu:
                _join_by_environment(options)
        elif on_cpu:
            num_gpus = torch.cuda.device_count()  # fairseq's default, which it would start
            if options.distributed_world_size == num_gpus and not _started_by_slurm():
                options.distributed_world_size = 1
                if num_gpus > 1:
                    logger.info(f"one process on CPUs beside {num_gpus} GPUs; for more: torchrun")
            _require_somebody_to_start(options)
    if on_cpu and options.distributed_backend == "nccl":
        options.distributed_backend = "gloo"


def _num_processes_of_torchrun() -> int:
    """The number of torchrun's processes; 1 if torchrun has not started this process."""
    started = all(variable in os.environ for variable in TORCHRUN_VARIABLES)
    return int(os.environ["WORLD_SIZE"]) if started else 1


def _join_by_environment(options: Any) -> None:
    options.distributed_init_method = "env://"
    options.distributed_rank = int(os.environ["RANK"])
    options.device_id = int(os.environ["LOCAL_RANK"])
    options.distributed_no_spawn = True


def _require_somebody_to_start(options: Any) -> None:
    number = options.distributed_world_size
    if number > 1 and not _started_by_slurm():
        raise UserError(
            f"--distributed-world-size {number}: fairseq starts processes on GPUs, one each. To "
            "train on CPUs, leave the option out and start the processes by torchrun "
            f"--nproc_per_node {number} $(which fairseq-train) ..."
        )


def _started_by_slurm() -> bool:
    """Whether SLURM starts several processes on a node; of one, fairseq starts a copy per GPU."""
    if not any(variable in os.environ for variable in SLURM_VARIABLES):
        return False
    tasks = os.environ.get("SLURM_NTASKS_PER_NODE")
    if tasks is None:
        nodes = int(os.environ.get("SLURM_NNODES", 1))
        tasks = str(int(os.environ.get("SLURM_NTASKS", 1)) // nodes)
    return int(tasks) > 1


@replaces(utils, "all_gather_list")
def _without_gpu(
    stock: Callable[..., Any], data: Any, group: Any = None, max_size: int = 16384
) -> Any:
    """Also on CPUs, for logging outputs that are not summed; fairseq's buffers are on a GPU."""
    group = group or utils.get_global_group()
    if dist.get_backend(group) != "gloo":
        return stock(data, group, max_size)
    found = [None] * dist.get_world_size(group)
    dist.all_gather_object(found, fairseq_utils.move_to_cpu(data), group=group)
    return found


@replaces(distributed_fairseq_model, "DistributedDataParallel")
def _without_device_on_cpu(
    stock: Callable[..., Any], module: Any, *args: Any, **kwargs: Any
) -> Any:
    if all(parameter.device.type == "cpu" for parameter in module.parameters()):
        kwargs.update(device_ids=None, output_device=None)
    return stock(module, *args, **kwargs)
