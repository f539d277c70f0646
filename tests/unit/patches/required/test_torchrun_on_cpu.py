import sys
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from fairseq.dataclass.configs import FairseqConfig
from fairseq.distributed import ModuleProxyWrapper, utils
from fairseq.models import DistributedFairseqModel
from fairseq_cli import eval_lm, validate
from omegaconf import OmegaConf

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.required import gloo_at_exit, torchrun_on_cpu


@pytest.fixture
def launch(monkeypatch):
    """Call fairseq's ``call_main``; returns how it would have run: apart or in a group."""

    def call(num_gpus=0, torchrun=None, **options):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: num_gpus > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: num_gpus)
        for name, value in (torchrun or {}).items():
            monkeypatch.setenv(name, value)
        config = OmegaConf.structured(FairseqConfig)
        config.distributed_training.distributed_world_size = max(1, num_gpus)
        for name, value in options.items():
            part = config.common if name in config.common else config.distributed_training
            part[name] = value
        calls = []
        monkeypatch.setattr(utils, "distributed_main", lambda *args: calls.append("in a group"))
        utils.call_main(config, lambda config: calls.append("apart"))
        (how,) = calls
        return how, config.distributed_training

    return call


def variables(rank, world_size, local_rank):
    return {
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": "29400",
        "WORLD_SIZE": str(world_size),
        "RANK": str(rank),
        "LOCAL_RANK": str(local_rank),
    }


@pytest.mark.parametrize("num_gpus", [0, 1, 4])
def test_processes_of_torchrun_on_a_cpu_are_one_group(launch, num_gpus):
    how, options = launch(num_gpus, variables(rank=5, world_size=6, local_rank=2), cpu=True)
    assert how == "in a group"
    assert options.distributed_init_method == "env://"
    assert (options.distributed_rank, options.distributed_world_size) == (5, 6)
    assert options.device_id == 2
    assert options.distributed_no_spawn
    assert options.distributed_backend == "gloo"


def test_a_machine_without_gpu_needs_no_option_for_it(launch):
    how, options = launch(0, variables(rank=1, world_size=2, local_rank=1))
    assert (how, options.distributed_backend) == ("in a group", "gloo")


def test_machines_with_one_gpu_each_are_one_group(launch):
    how, options = launch(1, variables(rank=1, world_size=2, local_rank=0))
    assert how == "in a group"
    assert (options.distributed_rank, options.distributed_world_size) == (1, 2)
    assert options.device_id == 0
    assert options.distributed_backend == "nccl"


def test_one_process_trains_apart_with_or_without_torchrun(launch):
    assert launch(cpu=True)[0] == "apart"
    assert launch(0, variables(rank=0, world_size=1, local_rank=0), cpu=True)[0] == "apart"


def test_a_group_that_the_user_describes_stays_but_for_a_backend_that_cannot_work(launch):
    described = {
        "distributed_init_method": "tcp://localhost:1234",
        "distributed_no_spawn": True,
        "distributed_rank": 3,
        "distributed_world_size": 4,
    }
    torchrun = variables(rank=0, world_size=2, local_rank=0)
    _, options = launch(0, torchrun, distributed_backend="nccl", **described)
    assert {name: options[name] for name in described} == described
    assert options.distributed_backend == "gloo"
    _, options = launch(0, torchrun, distributed_backend="mpi", **described)
    assert options.distributed_backend == "mpi"


def test_more_processes_than_fairseq_starts_are_refused_with_the_command_that_does(launch):
    message = r"--distributed-world-size 3: .* on GPUs.*torchrun --nproc_per_node 3 \$\(which"
    with pytest.raises(UserError, match=message):
        launch(cpu=True, distributed_world_size=3)


def test_the_default_wrapper_takes_a_model_on_a_cpu(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # PyTorch replaces it for good
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        options = SimpleNamespace(
            tpu=False,
            ddp_backend="pytorch_ddp",
            device_id=0,
            broadcast_buffers=False,
            bucket_cap_mb=25,
            find_unused_parameters=False,
            gradient_as_bucket_view=False,
            ddp_comm_hook="none",
        )
        model = torch.nn.Linear(2, 1, bias=False)
        wrapped = DistributedFairseqModel(options, model, dist.group.WORLD, torch.device("cpu"))
        assert isinstance(wrapped, ModuleProxyWrapper)
        wrapped(torch.tensor([[2.0, 3.0]])).sum().backward()
        assert model.weight.grad.tolist() == [[2.0, 3.0]]
    finally:
        # The wrapper destroys the group with the interpreter's lock held, which a thread of gloo's
        # that still releases a tensor would wait for.
        gloo_at_exit._wait_until_idle()
        dist.destroy_process_group()


def test_slurm_starts_processes(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_NODELIST", "node[1-2]")
    monkeypatch.delenv("SLURM_NTASKS_PER_NODE", raising=False)
    options = SimpleNamespace(distributed_world_size=999)
    with monkeypatch.context() as patch:
        patch.setenv("SLURM_NTASKS_PER_NODE", "2")
        torchrun_on_cpu._require_somebody_to_start(options)
    monkeypatch.setenv("SLURM_NNODES", "2")
    monkeypatch.setenv("SLURM_NTASKS", "4")
    torchrun_on_cpu._require_somebody_to_start(options)


def test_one_task_of_slurm_on_each_node_starts_no_processes_on_cpus(monkeypatch):
    """fairseq would start one per GPU, none, and exit with 0."""
    monkeypatch.delenv("SLURM_NTASKS_PER_NODE", raising=False)
    monkeypatch.setenv("SLURM_JOB_NODELIST", "node[1-2]")
    monkeypatch.setenv("SLURM_NNODES", "2")
    monkeypatch.setenv("SLURM_NTASKS", "2")
    with pytest.raises(UserError, match="start the processes by torchrun --nproc_per_node 999"):
        torchrun_on_cpu._require_somebody_to_start(SimpleNamespace(distributed_world_size=999))


@pytest.mark.parametrize("command", [eval_lm, validate])
def test_commands_for_one_process_are_refused_in_several(command, monkeypatch):
    for name, value in variables(rank=0, world_size=2, local_rank=0).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(utils, "distributed_main", lambda *args: pytest.fail("evaluates"))
    config = OmegaConf.structured(FairseqConfig)
    config.common.cpu = True
    name = command.__name__.rpartition(".")[2].replace("_", "-")
    with pytest.raises(UserError, match=f"fairseq-{name} evaluates a text in one process"):
        utils.call_main(config, command.main)


def test_objects_are_gathered_without_a_gpu(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # PyTorch replaces it for good
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        assert utils.all_gather_list({"loss": 1.5}, dist.group.WORLD) == [{"loss": 1.5}]
        # As fairseq does: each process has its numbers on a GPU of its own.
        monkeypatch.setattr(torchrun_on_cpu.fairseq_utils, "move_to_cpu", lambda data: "moved")
        assert utils.all_gather_list({"loss": 1.5}, dist.group.WORLD) == ["moved"]
    finally:
        dist.destroy_process_group()


def test_the_number_of_gpus_is_not_that_of_processes_on_a_cpu(launch, monkeypatch):
    monkeypatch.setattr(torch.multiprocessing, "spawn", lambda **_: pytest.fail("starts them"))
    how, options = launch(4, cpu=True)
    assert (how, options.distributed_world_size) == ("apart", 1)
    with pytest.raises(UserError, match="--distributed-world-size 2: fairseq starts processes on"):
        launch(4, cpu=True, distributed_world_size=2)


def test_processes_of_slurm_on_cpus_are_counted_also_beside_as_many_gpus(launch, monkeypatch):
    slurm = {"SLURM_STEP_NODELIST": "node", "SLURM_NTASKS_PER_NODE": "4"}
    monkeypatch.setattr(utils, "infer_init_method", lambda *_, **__: None)  # asks scontrol
    _, options = launch(4, slurm, cpu=True)
    assert options.distributed_world_size == 4


def test_several_gpus_may_validate():
    torchrun_on_cpu._refuse_parts_of_a_text(validate.main, on_cpu=False)
    with pytest.raises(UserError, match="fairseq-eval-lm evaluates a text in one process"):
        torchrun_on_cpu._refuse_parts_of_a_text(eval_lm.main, on_cpu=False)
