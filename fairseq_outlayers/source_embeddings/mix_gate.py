"""A learned gate between internal embeddings and mapped external vectors."""

import zlib
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Optional

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.activations import identity
from fairseq_outlayers.layers.initialization import SelfInitialized
from fairseq_outlayers.source_embeddings.external_map import (
    ExternalMap,
    ExternalSourceEmbedding,
    Mapped,
)
from fairseq_outlayers.source_embeddings.internal import InternalSourceEmbedding
from fairseq_outlayers.source_embeddings.mix_sum import MixConfig
from fairseq_outlayers.tables.stored_version import accept, register_version


class InnerLayer(nn.Linear):
    """``f(W x + b)``, applied to a vector before the gate."""

    def __init__(self, size: int, nonlinearity: Callable[[Tensor], Tensor]):
        super().__init__(size, size)
        self.nonlinearity = nonlinearity

    def forward(self, inputs: Tensor) -> Tensor:
        return self.nonlinearity(super().forward(inputs))


INNER_LAYERS: Dict[str, Callable[[int], nn.Module]] = {
    "linear": lambda size: InnerLayer(size, identity),
    "tanh": lambda size: InnerLayer(size, torch.tanh),
    "none": lambda size: nn.Identity(),
}


class Gate(SelfInitialized):
    """``g = sigmoid(W_g x + U_g y + b_g)``, with ``+ w_f log(1 + count)`` if counts are given.

    ``w_f`` starts at 0 in every model: counts of frequent words would close or open the gate.

    Args:
        size: of ``x`` and ``g``.
        other_size: of ``y``.
        counts: of the first ids, ``(N,)``; other ids have count 0.
    """

    def __init__(self, size: int, other_size: int, counts: Optional[Tensor] = None):
        super().__init__()
        self.internal = nn.Linear(size, size)
        self.external = nn.Linear(other_size, size, bias=False)
        self.frequency: Optional[nn.Parameter] = None
        if counts is not None:
            log_counts = counts.to(torch.get_default_dtype()).log1p()
            self.register_buffer("log_counts", log_counts, persistent=False)
            self.frequency = nn.Parameter(torch.zeros(size))
            checksum = torch.tensor(zlib.crc32(counts.numpy().tobytes()))
            # Older checkpoints have none.
            register_version(self, "counts_version", checksum, _refuse, on_missing=accept)

    def forward(self, ids: Tensor, internal: Tensor, other: Tensor) -> Tensor:
        """``(B, S), (B, S, size), (B, S, other_size) -> (B, S, size)``."""
        sums = self.internal(internal) + self.external(other)
        if self.frequency is not None:
            log_counts: Any = self.log_counts
            uncounted = ids >= len(log_counts)
            found = log_counts[ids.masked_fill(uncounted, 0)].masked_fill(uncounted, 0)
            sums = sums + found.unsqueeze(-1) * self.frequency
        return torch.sigmoid(sums)


class MixGateEmbedding(ExternalSourceEmbedding):
    """``g * (A x + a) + (1 - g) * (B m + c)`` with a gate ``g`` (Di Gangi & Federico 2017).

    Args:
        internal: internal embeddings ``x``.
        external: looks up vectors ``e`` and maps them to ``m``.
        gate: computes ``g`` from ``x`` and from ``m`` or ``e``.
        sees_mapped: whether the gate's input is ``m`` rather than ``e``.
        inner: makes the layers ``A`` and ``B``.
    """

    @dataclass
    class Config(MixConfig):
        gate_input: str = field(
            default="mapped",
            metadata={
                "choices": ["mapped", "external"],
                "help": "input of the gate beside the internal embedding (mix_gate)",
            },
        )
        gate_inner: str = field(
            default="linear",
            metadata={
                "choices": list(INNER_LAYERS),
                "help": "layer applied to each vector before the gate (mix_gate)",
            },
        )
        gate_frequency: bool = field(
            default=False,
            metadata={"help": "the gate also depends on a word's training count (mix_gate)"},
        )

    def __init__(
        self,
        internal: InternalSourceEmbedding,
        external: ExternalMap,
        gate: Gate,
        sees_mapped: bool = True,
        inner: Callable[[int], nn.Module] = INNER_LAYERS["linear"],
    ):
        super().__init__()
        self.internal = internal
        self.external = external
        self.gate = gate
        self.sees_mapped = sees_mapped
        self.inner_internal = inner(internal.embedding_dim)
        self.inner_external = inner(internal.embedding_dim)

    @classmethod
    def build(
        cls, config: Any, dictionary: Any, embed_dim: int, bidirectional: bool
    ) -> "MixGateEmbedding":
        internal = InternalSourceEmbedding.build(config, dictionary, embed_dim, bidirectional)
        external = ExternalMap.build(config, dictionary, embed_dim, bidirectional)
        sees_mapped = config.gate_input == "mapped"
        counts = _counts(dictionary, internal.num_embeddings) if config.gate_frequency else None
        gate = Gate(embed_dim, embed_dim if sees_mapped else external.table.dimensions, counts)
        return cls(internal, external, gate, sees_mapped, INNER_LAYERS[config.gate_inner])

    def combine(self, ids: Tensor, found: Mapped) -> Tensor:
        internal = self.internal(ids)
        external, mapped, ignored = found
        gate = self.gate(ids, internal, mapped if self.sees_mapped else external)
        # Without an external vector, only the internal embedding counts.
        gate = gate.masked_fill(ignored.unsqueeze(-1), 1.0)
        mixed = gate * self.inner_internal(internal)
        mixed = mixed + (1 - gate) * self.inner_external(mapped)
        return mixed.masked_fill(ids.eq(self.external.padding_idx).unsqueeze(-1), 0)


def _refuse(found: Tensor, own: Tensor) -> None:
    raise UserError(
        "--gate-frequency reads the counts of the source dictionary, which are not those of the "
        "training (the words are): pass the data folder of the training, or copy its dictionary"
    )


def _counts(dictionary: Any, size: int) -> Tensor:
    counts = torch.tensor(dictionary.count[:size], dtype=torch.long)
    counts[: dictionary.nspecial] = 0  # not counted by fairseq-preprocess
    return counts
