"""Tables: parameters with a row for every word.

The module that owns the parameter declares the table by :meth:`TableOwner.register_table`; the
weight of an ``nn.Embedding`` is declared implicitly. Rows are requested from the table, never from
the parameter, which may contain only some of them (``tables/active_rows.py``) or need a row-sparse
gradient.
"""

from typing import Callable, Collection, Dict, Iterator, Optional

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.tables.rows import lookup, lookup_row_sparse

ATTRIBUTE = "_tables"


class Table:
    """A parameter ``(V, ...)`` with a row, or a number, for every word.

    Args:
        owner: the module of the parameter.
        name: of the parameter in that module.
    """

    def __init__(self, owner: nn.Module, name: str):
        self._owner, self._name = owner, name
        self.num_words = len(self.parameter)
        """``V``, also if the parameter contains only some rows."""
        self.row_sparse = False
        """Whether lookups by ids have row-sparse gradients."""
        self.block_size: Optional[int] = None
        """The maximal number of rows to request at a time, by ids; None for no limit."""
        self._in_use: Optional[int] = None
        self._elsewhere: Optional[Callable[[Tensor], Tensor]] = None

    @property
    def parameter(self) -> nn.Parameter:
        """The parameter that the optimizer sees."""
        return getattr(self._owner, self._name)

    def rows(self, ids: Optional[Tensor] = None) -> Tensor:
        """All rows in use, ``(V, ...)``, or some, ``(*ids.shape, ...)``."""
        table = self.parameter
        if ids is None:
            assert self.block_size is None, "the table is elsewhere: request rows by ids"
            return table if self._in_use is None else table[: self._in_use]
        if self._elsewhere is not None:
            return self._elsewhere(ids)
        return lookup_row_sparse(table, ids) if self.row_sparse else lookup(table, ids)

    @property
    def num_in_use(self) -> int:
        """The number of rows that :meth:`rows` returns without ids."""
        return self.num_words if self._in_use is None else self._in_use

    def make_row_sparse(self) -> None:
        """Make gradients of lookups by ids row-sparse.

        Raises:
            UserError: if the owner is an embedding that renormalizes or scales in a lookup.
        """
        if isinstance(self._owner, nn.Embedding):
            check_plain(self._owner)
            self._owner.sparse = True
            if type(self._owner) is nn.Embedding:
                self._owner.__class__ = RowSparseEmbedding
        self.row_sparse = True

    def use_all(self) -> None:
        """Use all rows of the parameter."""
        self._in_use = self._elsewhere = self.block_size = None

    def use_first(self, number: int) -> None:
        """Use only the first ``number`` rows of the parameter."""
        self.use_all()
        self._in_use = number

    def use_elsewhere(self, rows: Callable[[Tensor], Tensor], block_size: int) -> None:
        """Look rows up by ``rows``, at most ``block_size`` at a time."""
        self._in_use, self._elsewhere, self.block_size = None, rows, block_size

    def append(self, rows: Tensor) -> None:
        """Append words; replaces the parameter by a new one."""
        longer = torch.cat([self.parameter.detach(), rows.to(self.parameter)])
        setattr(self._owner, self._name, nn.Parameter(longer))
        self.num_words = len(longer)
        if isinstance(self._owner, nn.Embedding):
            self._owner.num_embeddings = len(longer)


class TableOwner(nn.Module):
    """Mix-in for modules with tables."""

    def register_table(self, name: str, parameter: Optional[nn.Parameter]) -> None:
        """Register a parameter, like ``register_parameter``, and declare it a table.

        Args:
            name: of the attribute and in the state dict.
            parameter: with a row for every word, or None for no table.
        """
        self.register_parameter(name, parameter)
        if parameter is not None:
            table_of(self, name)

    def rows(self, name: str, ids: Optional[Tensor] = None) -> Tensor:
        """All rows in use of the table ``name``, ``(V, ...)``, or some, ``(*ids.shape, ...)``."""
        return declared_tables(self)[name].rows(ids)


def check_declared(owner: TableOwner, num_words: Collection[int], words: str) -> None:
    """Refuse undeclared parameters with a row for every word.

    Args:
        owner: the module, without its submodules.
        num_words: numbers of words.
        words: what they are.
    Raises:
        UserError: with the code to write instead.
    """
    for name, parameter in owner.named_parameters(recurse=False):
        per_word = parameter.dim() > 0 and len(parameter) in num_words
        if per_word and name not in declared_tables(owner):
            raise UserError(
                f"{type(owner).__name__}.{name} has a row for each of the {len(parameter)} {words} "
                f"but is not declared as a table: create it by self.register_table({name!r}, "
                f"nn.Parameter(...)) and read it by self.rows({name!r}, ids), so that "
                "partitions and lazy_adam find it (if it has this size by chance, put it into "
                "a submodule)"
            )


def check_plain(embedding: nn.Embedding) -> None:
    """Refuse options of ``nn.Embedding`` that act in its own lookups alone.

    Raises:
        UserError: if one is set.
    """
    for option, unset in (("max_norm", None), ("scale_grad_by_freq", False)):
        if (value := getattr(embedding, option)) != unset:
            raise UserError(
                f"{type(embedding).__name__} with {option}={value}: output layers and row-sparse "
                "gradients read the table without it; build the embedding without this option"
            )


class RowSparseEmbedding(nn.Embedding):
    """The class of an ``nn.Embedding`` after :meth:`Table.make_row_sparse`."""

    def forward(self, ids: Tensor) -> Tensor:
        return embed(self, ids)


def embed(embedding: nn.Embedding, ids: Tensor) -> Tensor:
    """``nn.Embedding.forward``, also for subclasses; row-sparse if the table is."""
    if table_of(embedding).row_sparse:
        return lookup_row_sparse(embedding.weight, ids, embedding.padding_idx)
    return nn.Embedding.forward(embedding, ids)


def table_of(module: nn.Module, name: str = "weight") -> Table:
    """The unique table object of a module's parameter."""
    tables: Dict[str, Table] = module.__dict__.setdefault(ATTRIBUTE, {})
    if name not in tables:
        tables[name] = Table(module, name)
    return tables[name]


def declared_tables(module: nn.Module) -> Dict[str, Table]:
    """The tables of a module, without submodules, by name of the parameter."""
    if isinstance(module, nn.Embedding):
        return {"weight": table_of(module)}
    return module.__dict__.get(ATTRIBUTE, {})


def tables_of_model(model: nn.Module) -> Iterator[Table]:
    """All tables in a model, each once, also through a data-parallel wrapper."""
    for module in model.modules():
        yield from declared_tables(module).values()
