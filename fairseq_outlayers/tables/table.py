"""A parameter with a row for every word, and where its rows are.

The module that owns the parameter declares the table, once, by :meth:`TableOwner.register_table`;
the weight of an ``nn.Embedding`` is declared by being one. Whoever needs rows asks the table,
never the parameter, which may hold a few of them only (``tables/active_rows.py``) or want a
row-sparse gradient.
"""

from typing import Any, Callable, Dict, Iterator, Optional

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.tables.rows import lookup, lookup_row_sparse

ATTRIBUTE = "_tables"


class Table:
    """A parameter ``(V, ...)`` with one row, or one number, for every word.

    Args:
        owner: the module that has the parameter.
        name: of the parameter in it.
    """

    def __init__(self, owner: nn.Module, name: str):
        self._owner, self._name = owner, name
        self.num_words = len(self.parameter)
        """``V``, whatever the parameter holds at the moment."""
        self.row_sparse = False
        """Whether lookups by ids have row-sparse gradients."""
        self.block_size: Optional[int] = None
        """The most rows that may be asked for at a time, and then by ids; None for any number."""
        self._in_use: Optional[int] = None
        self._elsewhere: Optional[Callable[[Tensor], Tensor]] = None

    @property
    def parameter(self) -> nn.Parameter:
        """What the optimizer sees."""
        return getattr(self._owner, self._name)

    def rows(self, ids: Optional[Tensor] = None) -> Tensor:
        """All rows in use, ``(V, ...)``, or some, ``(*ids.shape, ...)``."""
        table = self.parameter
        if ids is None:
            assert self.block_size is None, "the table is elsewhere: ask for rows by ids"
            return table if self._in_use is None else table[: self._in_use]
        if self._elsewhere is not None:
            return self._elsewhere(ids)
        return lookup_row_sparse(table, ids) if self.row_sparse else lookup(table, ids)

    @property
    def num_in_use(self) -> int:
        """How many rows :meth:`rows` gives if it is not asked for some."""
        return self.num_words if self._in_use is None else self._in_use

    def make_row_sparse(self) -> None:
        """From now on, lookups by ids have row-sparse gradients."""
        self.row_sparse = True
        if isinstance(self._owner, nn.Embedding):
            self._owner.sparse = True
            if type(self._owner) is nn.Embedding:
                self._owner.__class__ = RowSparseEmbedding

    def use_all(self) -> None:
        """The parameter is the whole table."""
        self._in_use = self._elsewhere = self.block_size = None

    def use_first(self, number: int) -> None:
        """The first ``number`` rows of the parameter are all that there is."""
        self.use_all()
        self._in_use = number

    def use_elsewhere(self, rows: Callable[[Tensor], Tensor], block_size: int) -> None:
        """Rows are looked up by ``rows``, at most ``block_size`` of them at a time."""
        self._in_use, self._elsewhere, self.block_size = None, rows, block_size

    def append(self, rows: Tensor) -> None:
        """Add words behind the others; the parameter becomes a new one."""
        longer = torch.cat([self.parameter.detach(), rows.to(self.parameter)])
        setattr(self._owner, self._name, nn.Parameter(longer))
        self.num_words = len(longer)
        if isinstance(self._owner, nn.Embedding):
            self._owner.num_embeddings = len(longer)


class TableOwner(nn.Module):
    """Mix-in for modules with tables of their own."""

    def register_table(self, name: str, parameter: Optional[nn.Parameter]) -> None:
        """Register a parameter, as ``register_parameter`` does, and declare it a table.

        Args:
            name: ``self.name`` is the parameter, and it is saved under this name.
            parameter: with a row for every word, or None for no such table.
        """
        self.register_parameter(name, parameter)
        if parameter is not None:
            table_of(self, name)

    def rows(self, name: str, ids: Optional[Tensor] = None) -> Tensor:
        """All rows in use of the table ``name``, ``(V, ...)``, or some, ``(*ids.shape, ...)``."""
        return declared_tables(self)[name].rows(ids)


class RowSparseEmbedding(nn.Embedding):
    """What an ``nn.Embedding`` becomes whose table has row-sparse gradients."""

    def forward(self, ids: Tensor) -> Tensor:
        return embed(self, ids)


def embed(embedding: nn.Embedding, ids: Tensor) -> Tensor:
    """What ``nn.Embedding`` does, for subclasses of it as well; row-sparse if the table is."""
    if table_of(embedding).row_sparse:
        return lookup_row_sparse(embedding.weight, ids, embedding.padding_idx)
    return nn.Embedding.forward(embedding, ids)


def table_of(module: nn.Module, name: str = "weight") -> Table:
    """The table object of a module's parameter, the same at every call."""
    tables: Dict[str, Table] = module.__dict__.setdefault(ATTRIBUTE, {})
    if name not in tables:
        tables[name] = Table(module, name)
    return tables[name]


def declared_tables(module: nn.Module) -> Dict[str, Table]:
    """The tables that a module itself owns, by the name of the parameter."""
    if isinstance(module, nn.Embedding):
        return {"weight": table_of(module)}
    return module.__dict__.get(ATTRIBUTE, {})


def tables_of_model(model: nn.Module) -> Iterator[Table]:
    """All tables in a model, each once, also through a data-parallel wrapper."""
    for module in model.modules():
        yield from declared_tables(module).values()


def rows_of(module: Any, name: str, ids: Optional[Tensor]) -> Tensor:
    """Rows of a parameter of a module that is none of ours, and declares no tables; None: all."""
    table = getattr(module, name)
    return table if ids is None else lookup(table, ids)
