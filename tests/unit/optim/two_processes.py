"""A few updates with lazy_adam in each of two processes, for test_two_processes.py.

python -m tests.unit.optim.two_processes BACKEND RANK FOLDER
"""

import functools
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from fairseq.distributed import LegacyDistributedDataParallel, ModuleProxyWrapper
from torch.nn.parallel import DistributedDataParallel

from fairseq_outlayers.criterions.sampled_softmax import SampledSoftmax, SampledSoftmaxConfig
from fairseq_outlayers.losses import sampled_nll, scored_classes
from fairseq_outlayers.optim.lazy_adam import LazyAdam
from fairseq_outlayers.optim.row_adam import RowAdam
from fairseq_outlayers.optim.row_gradients import average_over_processes
from fairseq_outlayers.optim.tables import (
    hide_from_pytorch_ddp,
    make_row_sparse,
    row_sparse_parameters,
)
from fairseq_outlayers.output_layers import LinearOutputLayer
from tests.conftest import make_batch, make_model, make_task
from tests.unit.optim.test_lazy_adam import make_config

WRAPPERS = {
    "pytorch_ddp": DistributedDataParallel,
    "legacy_ddp": lambda model: LegacyDistributedDataParallel(model, None),
}
UPDATES, BATCHES = 3, 4
# Nothing is left for the last batch of the last update: fairseq repeats another one.


def train(rank, world_size, wrap=lambda model: model, batches=BATCHES, dtype=torch.float64):
    """The trainer's steps in their order; returns the parameters by name, and the norms."""
    task = make_task(num_source=30, num_target=40)
    model = make_model("luong_lstm", task, output_layer="tied").to(dtype)
    config = make_config(lr=[0.05], adam_eps=1e-3)  # a small eps would amplify rounding errors
    LazyAdam.prepare_model(config, model)
    wrapped = wrap(model)
    optimizer = LazyAdam(config, wrapped.parameters())
    criterion = make_criterion(task).train()
    norms = []
    for update in range(UPDATES):
        optimizer.zero_grad()
        wrapped.train()
        criterion.follow_updates(functools.partial(int, update))
        place = update, rank, world_size, batches
        total = accumulate(task, wrapped, criterion, optimizer, place)
        optimizer.all_reduce_grads(wrapped)
        optimizer.multiply_grads(world_size / total)
        norms.append(optimizer.clip_grad_norm(0.1))
        optimizer.step()
    return dict(model.named_parameters()), norms


def make_criterion(task):
    config = SampledSoftmaxConfig(sampler="uniform", num_sampled=20)
    config.sentence_avg, config.seed = False, 1
    return SampledSoftmax.build_criterion(config, task)


def accumulate(task, model, criterion, optimizer, place):
    """Gradients of this process's batches of an update; returns the tokens of all processes."""
    update, rank, world_size, batches = place
    total = 0
    for number in range(batches):
        batch = make_batch(task, [(4, 5), (2, 3 + number)], seed=10 * update + number)
        is_idle = (update, number) == (UPDATES - 1, batches - 1)
        total += 0 if is_idle else batch["ntokens"]
        if number % world_size != rank or (is_idle and world_size == 1):
            continue
        is_last = number + world_size >= batches
        if is_last or world_size == 1:
            optimizer.backward(criterion(model, batch)[0] * (0 if is_idle else 1))
        else:
            with model.no_sync():
                optimizer.backward(criterion(model, batch)[0])
    return total


def train_without_fairseq(rank, world_size):
    """Some updates of a small model by PyTorch's own loop; returns the parameters by name."""
    torch.manual_seed(1)
    model = torch.nn.ModuleDict(
        {"words": torch.nn.Embedding(9, 4), "layer": LinearOutputLayer(9, 4)}
    ).double()
    make_row_sparse(model)
    hide_from_pytorch_ddp(model)
    optimizer, generator = RowAdam(model.parameters(), lr=0.1, eps=1e-3), torch.Generator()
    for update in range(UPDATES):
        optimizer.zero_grad()
        for number in range(rank, 2, world_size):
            generator.manual_seed(10 * update + number)
            words, targets = torch.randint(9, (2, 5), generator=generator)
            classes = scored_classes(targets.unique(), targets, includes_targets=True)
            layer, context = model["layer"], model["layer"].project(model["words"](words))
            rows = layer.class_embeddings(classes.ids), layer.class_bias(classes.ids)
            counts = torch.zeros(len(classes.ids))
            loss, _ = sampled_nll(context, classes.target_rows, *rows, counts)
            (loss * world_size / 2).backward()  # the mean over two batches
        if world_size > 1:
            average_over_processes(row_sparse_parameters(model), dist.group.WORLD)
        optimizer.step()
    return dict(model.named_parameters())


if __name__ == "__main__":
    process, folder = int(sys.argv[1]), Path(sys.argv[2])
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=process, world_size=2
    )
    for backend, wrapper in WRAPPERS.items():

        def proxy(model, wrapper=wrapper):
            return ModuleProxyWrapper(wrapper(model))

        torch.save(train(process, 2, proxy), folder / f"{backend}.{process}.pt")
        single = train(process, 2, proxy, batches=2, dtype=torch.float32)
        torch.save(single, folder / f"{backend}.{process}.float32.pt")
    torch.save(train_without_fairseq(process, 2), folder / f"plain.{process}.pt")
