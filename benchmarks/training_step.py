"""Training speed of whole models by output layer and share of the classes.

    python benchmarks/training_step.py --classes 32000 --shares 1
    python benchmarks/training_step.py --classes 128000 --shares 0.5 0.25 0.05

Each arm is ``luong_lstm`` with its criterion, fairseq's Adam and clipping; a turn is one update on
a batch of random sentences of equal length. Prints target tokens per second, and the ratio to the
first output layer at the same share.
"""

import argparse
import functools
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import torch
import turns
from fairseq.criterions import CRITERION_DATACLASS_REGISTRY, CRITERION_REGISTRY
from fairseq.data import Dictionary
from fairseq.models import MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY
from fairseq.optim.adam import Adam

import fairseq_outlayers  # noqa: F401  (registers architectures and criterions)


def make_task(classes: int) -> SimpleNamespace:
    """A task with ``classes`` target words and a tenth as many source words."""

    def dictionary(size: int) -> Dictionary:
        made = Dictionary()
        for word in range(size - len(made)):
            made.add_symbol(str(word), n=size - word)
        return made

    source, target = dictionary(classes // 10), dictionary(classes)
    return SimpleNamespace(
        source_dictionary=source, target_dictionary=target, src_dict=source, tgt_dict=target
    )


def make_batch(task: SimpleNamespace, sentences: int, length: int) -> dict:
    """Sentences of ``length`` tokens on both sides."""
    generator = torch.Generator().manual_seed(0)

    def tokens(dictionary: Dictionary) -> torch.Tensor:
        shape = (sentences, length)
        return torch.randint(dictionary.nspecial, len(dictionary), shape, generator=generator)

    target = tokens(task.tgt_dict)
    return {
        "ntokens": target.numel(),
        "target": target,
        "net_input": {
            "src_tokens": tokens(task.src_dict),
            "src_lengths": torch.full((sentences,), length),
            "prev_output_tokens": target.roll(1, dims=1),
        },
    }


def sizes_of(output_layer: str, dimensions: int, joint_dim: int) -> dict[str, int]:
    """Options of ``luong_lstm``; a layer without a joint space refuses its size."""
    sizes = {"embed_dim": dimensions, "hidden_size": dimensions}
    return sizes | ({"joint_dim": joint_dim} if output_layer == "joint" else {})


class Arm:
    """Training of a model."""

    def __init__(self, task: Any, output_layer: str, share: float, options: argparse.Namespace):
        sizes = sizes_of(output_layer, options.dimensions, options.joint_dim)
        config = MODEL_DATACLASS_REGISTRY["luong_lstm"](output_layer=output_layer, **sizes)
        self.model = MODEL_REGISTRY["luong_lstm"].build_model(config, task).to(options.device)
        name = "full_softmax" if share == 1 else "sampled_softmax"
        config = CRITERION_DATACLASS_REGISTRY[name]()
        config.sentence_avg, config.seed = False, 1
        if share < 1:
            config.sampler, config.sample_share = options.sampler, share
        self.criterion = CRITERION_REGISTRY[name].build_criterion(config, task)
        self.optimizer = Adam(self.model.parameters(), lr=1e-3)
        self.updates = 0
        self.criterion.follow_updates(lambda: self.updates)

    def update(self, batch: dict) -> None:
        """One update."""
        self.optimizer.zero_grad()
        loss, _, _ = self.criterion(self.model, batch)
        (loss / batch["ntokens"]).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.optimizer.step()
        self.updates += 1


def main() -> None:
    """Measure, print a table, write the results."""
    options = parse_arguments()
    torch.set_num_threads(options.threads)
    task = make_task(options.classes)
    batch = turns.on(options.device, make_batch(task, options.sentences, options.length))
    arms = {
        (layer, share): functools.partial(Arm(task, layer, share, options).update, batch)
        for share in options.shares
        for layer in options.output_layers
    }
    times = turns.take_turns(arms, options.rounds)
    first, rows = options.output_layers[0], []
    turns.print_headings(f"output layer | share | target tokens/s | speed / {first} (min to max)")
    for (layer, share), seconds in times.items():
        row = {
            "output_layer": layer,
            "share": share,
            "tokens_per_second": batch["ntokens"] / median(seconds),
            "speed_by_first": turns.ratios(times[first, share], seconds),
        }
        rows.append(row)
        speed = f"{row['tokens_per_second']:,.0f}"
        turns.print_row(layer, f"{share:.0%}", speed, turns.spread(row["speed_by_first"]))
    turns.write(options.output, vars(options), rows)


def parse_arguments() -> argparse.Namespace:
    """Parse the command line; the output file is named after the number of classes."""
    parser = turns.parser(__doc__, None)
    parser.add_argument("--classes", type=int, default=32_000)
    parser.add_argument("--shares", type=float, nargs="+", default=[1.0])
    parser.add_argument("--output-layers", nargs="+", default=["linear", "joint"])
    parser.add_argument(
        "--dimensions", type=int, default=512, help="of embeddings and hidden states"
    )
    parser.add_argument("--joint-dim", type=int, default=512)
    parser.add_argument("--sampler", default="batch_negatives")
    parser.add_argument("--sentences", type=int, default=160)
    parser.add_argument("--length", type=int, default=25, help="tokens per sentence")
    options = parser.parse_args()
    if options.output is None:
        name = f"training_step.V{options.classes}.json"
        options.output = Path("results/benchmarks") / name
    return options


if __name__ == "__main__":
    main()
