"""Map external vectors to the space of internal embeddings."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, NamedTuple, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.activations import identity
from fairseq_outlayers.layers.autocast import accumulation_dtype
from fairseq_outlayers.layers.dropout import Dropout
from fairseq_outlayers.ranges import share
from fairseq_outlayers.source_embeddings.base import SourceEmbedding
from fairseq_outlayers.tables.external_table import ExternalTable

ACTIVATIONS: Dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "linear": identity}


@dataclass
class ExternalConfig(SourceEmbedding.Config):
    external_embeddings: Optional[str] = field(
        default=None,
        metadata={"help": "table of external vectors, from data_prep/extract_embeddings.py"},
    )
    check_external_embeddings: bool = field(
        default=False,
        metadata={"help": "verify the checksum of the whole table at the start, not of samples"},
    )
    external_map: str = field(
        default="shared",
        metadata={
            "choices": ["shared", "per_direction"],
            "help": "one map of external vectors, or one per direction of the encoder (as in the "
            "paper's code with external vectors alone: --arch nematus_only_external)",
        },
    )
    external_activation: str = field(
        default="tanh",
        metadata={
            "choices": list(ACTIVATIONS),
            "help": "nonlinearity on the mapped external vectors",
        },
    )
    external_unknown: str = field(
        default="mean",
        metadata={
            "choices": ["mean", "mask"],
            "help": "vector of words that are not in the table: the mean of all vectors (as in the "
            "paper's code), or none",
        },
    )
    center_external: bool = field(
        default=False,
        metadata={
            "help": "subtract the mean of all external vectors, the vector of unknown words, from "
            "each vector; before --normalize-external"
        },
    )
    normalize_external: bool = field(
        default=False, metadata={"help": "scale every external vector to norm 1"}
    )
    external_dropout: float = share(0.0, "dropout on external vectors, before the map")
    mapped_dropout: float = share(0.0, "dropout on external vectors, after the map")


class Mapped(NamedTuple):
    """External vectors of a batch, before and after the map."""

    external: Tensor  # (B, S, d_ext)
    mapped: Tensor  # (B, S, d), zero where ignored
    ignored: Tensor  # padding, and unknown words if masked, (B, S)


class VectorMap(nn.Linear):
    """A map of fixed vectors, initialized like a table of embeddings."""


class ExternalMap(nn.Module):
    """``m = f(W e + b)`` of the external vectors ``e`` (Di Gangi & Federico 2017, Sec. 3).

    Args:
        table: of the vectors.
        embed_dim: ``d``.
        padding_idx: id of padding.
        config: has the fields of ``ExternalConfig``.
        maps: 1, or 2 for a ``W`` and ``b`` per direction.
    """

    def __init__(
        self, table: ExternalTable, embed_dim: int, padding_idx: int, config: Any, maps: int
    ):
        super().__init__()
        self.table = table
        self.padding_idx = padding_idx
        self.centers, self.normalizes = config.center_external, config.normalize_external
        self.masks_unknown = config.external_unknown == "mask"
        self.nonlinearity = ACTIVATIONS[config.external_activation]
        self.dropout = Dropout(config.external_dropout, self)
        self.mapped_dropout = Dropout(config.mapped_dropout, self)
        self.maps = nn.ModuleList(VectorMap(table.dimensions, embed_dim) for _ in range(maps))
        table.register(self)

    @classmethod
    def build(
        cls, config: Any, dictionary: Any, embed_dim: int, bidirectional: bool
    ) -> "ExternalMap":
        """Build from the options.

        Raises:
            UserError: if there is no table, or an option is invalid.
        """
        if not config.external_embeddings:
            raise UserError(
                f"--source-embedding {config.source_embedding} needs --external-embeddings FILE, a "
                "table from data_prep/extract_embeddings.py"
            )
        differ = config.external_map == "per_direction"
        if differ and not bidirectional:
            raise UserError("--external-map per_direction needs a bidirectional encoder")
        table = ExternalTable(
            config.external_embeddings, dictionary, config.check_external_embeddings
        )
        return cls(table, embed_dim, dictionary.pad(), config, maps=2 if differ else 1)

    @property
    def directions_differ(self) -> bool:
        """Whether there is a map per direction."""
        return len(self.maps) == 2

    def forward(self, ids: Tensor, direction: int = 0) -> Mapped:
        """Look up and map a batch of ids, ``(B, S)``."""
        return self._map(*self._look_up(ids), direction)

    def both_directions(self, ids: Tensor) -> Iterator[Mapped]:
        """``forward`` of the direction 0, then of 1, with one look-up."""
        found = self._look_up(ids)
        for direction in range(2):
            yield self._map(*found, direction)

    def _look_up(self, ids: Tensor) -> Tuple[Tensor, Tensor]:
        """External vectors, ``(B, S, d_ext)``, and where they are ignored, ``(B, S)``."""
        external = self.table.vectors(ids)
        ignored = ids.eq(self.padding_idx)
        if self.masks_unknown:
            ignored = ignored | self.table.is_unknown(external)
        weight: Any = self.maps[0].weight
        # Centered first: the mean of all vectors may be large, and would cost digits.
        exact = torch.promote_types(accumulation_dtype(external.dtype), weight.dtype)
        external = external.to(exact)
        if self.centers:
            external = external - self.table.unknown_on(external.device).to(external)
        if self.normalizes:
            external = F.normalize(external, dim=-1)
        return external.to(weight.dtype), ignored

    def _map(self, external: Tensor, ignored: Tensor, direction: int) -> Mapped:
        linear = self.maps[direction if self.directions_differ else 0]
        external = self.dropout(external)
        mapped = self.mapped_dropout(self.nonlinearity(linear(external)))
        # After the map, because f(b) is not zero.
        return Mapped(external, mapped.masked_fill(ignored.unsqueeze(-1), 0), ignored)


class ExternalSourceEmbedding(SourceEmbedding):
    """A source embedding that reads external vectors.

    A subclass sets ``external`` and defines :meth:`combine`.
    """

    external: ExternalMap

    @property
    def directions_differ(self) -> bool:  # type: ignore[override]
        return self.external.directions_differ

    @abstractmethod
    def combine(self, ids: Tensor, found: Mapped) -> Tensor:
        """``(B, S) -> (B, S, d)``, given the external vectors of the ids."""

    def forward(self, ids: Tensor, direction: int = 0) -> Tensor:
        return self.combine(ids, self.external(ids, direction))

    def both_directions(self, ids: Tensor) -> Iterator[Tensor]:
        for found in self.external.both_directions(ids):
            yield self.combine(ids, found)
