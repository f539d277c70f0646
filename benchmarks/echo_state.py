"""Training speed and memory of echo state models and trained models of the same size.

    python benchmarks/echo_state.py --rounds 5

Arms, all with 6+6 layers of one width: rnmt_plus; esnmt and esnmt_lstm; the same architecture with
``torch.nn.LSTM`` (plain LSTM); fairseq's lstm, whose decoder goes step by step in every layer. A
step is forward, cross-entropy, backward, and Adam for the trained parameters. The arms alternate in
shuffled order; ratios are to rnmt_plus in the same round. CPU time is reported in addition to
wall-clock time, because other programs may be running. Memory is that of tensors saved for the
backward pass, without parameters and frozen weights, counting each storage once.
"""

import argparse
import time
from collections.abc import Callable
from statistics import median
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F
import turns
from fairseq.data import Dictionary
from fairseq.models import MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY
from fairseq.models.lstm import LSTMDecoder, LSTMEncoder, LSTMModel
from torch import Tensor

import fairseq_outlayers  # noqa: F401  (registers the architectures)
from fairseq_outlayers.layers.recurrent.cells import lstm_cell
from fairseq_outlayers.layers.recurrent.recurrent_layer import RecurrentLayer, State, Step
from fairseq_outlayers.layers.stepwise_linear import StepwiseLinear
from fairseq_outlayers.models.rnmt_plus import RNMTPlusConfig, RNMTSkeleton

LAYERS = 6


class PlainLSTM(RecurrentLayer):
    """``torch.nn.LSTM`` as a recurrent layer, for batches without padding."""

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__(input_size, hidden_size, state_size=2)
        self.lstm = nn.LSTM(input_size, hidden_size)

    def reset_parameters(self, bound: float) -> None:
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def steps(self, inputs: Tensor) -> Step:
        given, lstm = inputs.size(-1), self.lstm
        weight = lstm.weight_ih_l0
        input_part = F.linear(inputs, weight[:, :given], lstm.bias_ih_l0 + lstm.bias_hh_l0)
        from_rest, from_state = StepwiseLinear(weight[:, given:]), StepwiseLinear(lstm.weight_hh_l0)

        def step(position: int, rest: Any, state: State) -> State:
            gates = input_part[position] + from_rest(rest) + from_state(state[0])
            return lstm_cell(gates, state[1])

        return step

    def forward(
        self, inputs: Tensor, state: Any = None, padding: Any = None, reverse: bool = False
    ) -> tuple[Tensor, State]:
        before = tuple(part.unsqueeze(0) for part in state or self.start(inputs))
        states, last = self.lstm(inputs.flip(0) if reverse else inputs, before)
        return states.flip(0) if reverse else states, tuple(part[0] for part in last)


class PlainModel(RNMTSkeleton):
    """The RNMT+ architecture with ``torch.nn.LSTM``."""

    @classmethod
    def layer_makers(cls, cfg: Any) -> Any:
        def make(name: str, input_size: int) -> PlainLSTM:
            return PlainLSTM(input_size, cfg.hidden_size)

        return make, make


def registered(arch: str) -> Callable[[SimpleNamespace, int], nn.Module]:
    def build(task: SimpleNamespace, width: int) -> nn.Module:
        config = MODEL_DATACLASS_REGISTRY[arch](embed_dim=width, hidden_size=width)
        return MODEL_REGISTRY[arch].build_model(config, task)

    return build


def plain(task: SimpleNamespace, width: int) -> nn.Module:
    return PlainModel.build_model(RNMTPlusConfig(embed_dim=width, hidden_size=width), task)


def stock(task: SimpleNamespace, width: int) -> nn.Module:
    sizes = {"embed_dim": width, "hidden_size": width, "num_layers": LAYERS}
    dropout = {"dropout_in": 0.3, "dropout_out": 0.3}
    encoder = LSTMEncoder(task.source_dictionary, **sizes, **dropout, bidirectional=True)
    decoder = LSTMDecoder(
        task.target_dictionary,
        **sizes,
        **dropout,
        out_embed_dim=2 * width,
        encoder_output_units=encoder.output_units,
    )
    return LSTMModel(encoder, decoder)


ARMS: dict[str, Callable[[SimpleNamespace, int], nn.Module]] = {
    "rnmt_plus": registered("rnmt_plus"),
    "esnmt": registered("esnmt"),
    "esnmt_lstm": registered("esnmt_lstm"),
    "plain LSTM": plain,
    "fairseq lstm": stock,
}


class Arm:
    """A model with its optimizer and a fixed batch."""

    def __init__(self, name: str, options: argparse.Namespace):
        words = Dictionary()
        for number in range(options.classes - words.nspecial):
            words.add_symbol(f"w{number}")
        task = SimpleNamespace(source_dictionary=words, target_dictionary=words)
        torch.manual_seed(0)
        self.model = ARMS[name](task, options.width).train().to(options.device)
        self.trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.Adam(self.trained, lr=1e-4)
        shape = (options.sentences, options.length)
        source, target = (torch.randint(4, len(words), shape) for _ in range(2))
        lengths = torch.full((options.sentences,), options.length)
        self.source, self.target, self.lengths = turns.on(options.device, (source, target, lengths))

    def loss(self) -> Tensor:
        logits = self.model(self.source, self.lengths, self.target)[0]
        return F.cross_entropy(logits.flatten(0, 1).float(), self.target.flatten())

    def step(self) -> tuple[float, float]:
        """Wall-clock and CPU seconds of one update."""
        turns.synchronize()
        clock, processor = time.perf_counter(), time.process_time()
        self.optimizer.zero_grad()
        self.loss().backward()
        self.optimizer.step()
        turns.synchronize()
        return time.perf_counter() - clock, time.process_time() - processor

    def kept_megabytes(self) -> float:
        """Memory saved by a forward pass for the backward pass."""
        kept: dict[int, int] = {}

        def note(tensor: Tensor) -> Tensor:
            storage = tensor.untyped_storage()
            kept[storage.data_ptr()] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            loss = self.loss()
        for tensor in (*self.model.parameters(), *self.model.buffers()):
            kept.pop(tensor.untyped_storage().data_ptr(), None)
        loss.detach_()
        return sum(kept.values()) / 2**20


def compare(options: argparse.Namespace) -> list[dict]:
    """A row per arm: tokens per second, and ratios to the first arm in each round."""
    arms = {name: Arm(name, options) for name in ARMS}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in arms}
    for number, name in turns.in_turns(arms, options.rounds + 1):
        taken = arms[name].step()
        if number > 0:  # the first round is a warm-up
            times[name].append(taken)
    first, tokens = next(iter(arms)), options.sentences * options.length
    rows = []
    for name, taken in times.items():
        pairs = list(zip(taken, times[first], strict=True))
        rows.append(
            {
                "arm": name,
                "trained": sum(p.numel() for p in arms[name].trained),
                "tokens_per_second": tokens / median(clock for clock, _ in taken),
                "clock_ratios": sorted(base[0] / own[0] for own, base in pairs),
                "processor_ratios": sorted(base[1] / own[1] for own, base in pairs),
                "kept_megabytes": arms[name].kept_megabytes(),
            }
        )
    return rows


def main() -> None:
    """Measure, print a table, write the results."""
    parser = turns.parser(__doc__, "echo_state.json")
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--classes", type=int, default=8000)
    parser.add_argument("--sentences", type=int, default=64, help="of a batch")
    parser.add_argument("--length", type=int, default=25)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows = compare(options)
    turns.print_headings(
        "arm | trained | tokens/s | speed / rnmt_plus | by processor time | kept, MB"
    )
    for row in rows:
        cells = (row["arm"], f"{row['trained']:,}", f"{row['tokens_per_second']:,.0f}")
        ratios = map(turns.spread, (row["clock_ratios"], row["processor_ratios"]))
        turns.print_row(*cells, *ratios, f"{row['kept_megabytes']:,.0f}")
    turns.write(options.output, vars(options), rows)


if __name__ == "__main__":
    main()
