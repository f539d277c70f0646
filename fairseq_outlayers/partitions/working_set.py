"""The working set: rows of a translation model's tables that the current partition uses."""

from functools import partial
from typing import Any, Dict, Iterator, Optional, Tuple

import numpy as np
import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers import OutputLayer
from fairseq_outlayers.partitions.model_tables import source_tables, target_tables
from fairseq_outlayers.tables.active_rows import ActiveRows, Moments

# The partitions of an epoch, by identity, and the number of one.
Key = Tuple[object, int]
NO_WORDS = torch.zeros(0, dtype=torch.long)


class WorkingSet:
    """Loads the rows of some target words, and of some source words, into the model's parameters.

    Meanwhile words must be given by local ids (:meth:`to_local_ids`). Checkpoints contain the full
    tables under their usual names, and can be loaded without this.

    Args:
        model: an encoder and a decoder with an output layer of ours.
        target_words: maximal number of target words at a time.
        source_words: maximal number of source words at a time, or None for the full source table.
        device: of the full tables and moments; None for the model's.
    Raises:
        UserError: if the tables of the model do not have a row for each word, or the output layer
            has an undeclared table.
    """

    def __init__(
        self,
        model: Any,
        target_words: int,
        source_words: Optional[int],
        device: Optional[torch.device] = None,
    ):
        sides = {"target": (target_tables(model), target_words)}
        if model.decoder.embed_tokens is getattr(model.encoder, "embed_tokens", None):
            raise UserError(
                "--partition-size does not support --share-all-embeddings, with which source words "
                "would become classes: leave one of them out"
            )
        if source_words is not None:
            sides["source"] = (source_tables(model), source_words)
        self.tables: Dict[str, Dict[str, ActiveRows]] = {
            side: {name: ActiveRows(table, most, device) for name, table in tables.items()}
            for side, (tables, most) in sides.items()
        }
        self._ids: Dict[str, Tensor] = {}
        self._active: Optional[Key] = None
        by_parameter = {id(table.parameter): table for table in self._all()}
        self._names = {
            name: by_parameter[id(parameter)]
            for name, parameter in model.named_parameters(remove_duplicate=False)
            if id(parameter) in by_parameter
        }
        # partial, because PyTorch sets attributes on hooks, which methods do not allow.
        model.register_state_dict_post_hook(partial(self._save))
        model.register_load_state_dict_pre_hook(partial(self._load))
        self._optimizer: Any = None
        self._is_loaded = False
        self.output_layer: OutputLayer = model.decoder.output_projection
        self._check_output_layer(self.output_layer)

    def _check_output_layer(self, layer: OutputLayer) -> None:
        """Refuse a layer that scores other classes than the rows in use.

        Raises:
            UserError: explains how the layer must access its tables.
        """
        tables = list(self.tables["target"].values())
        few = torch.arange(min(2, tables[0].most_rows))
        for table in tables:
            table.activate(few, None)
        was_training = layer.training
        layer.eval()  # dropout would use the RNG
        try:
            with torch.enable_grad():  # otherwise class embeddings would be cached
                bias = layer.class_bias()
                found = [len(rows) for rows in (layer.class_embeddings(), bias) if rows is not None]
        except (RuntimeError, IndexError) as error:
            reason = str(error).partition("\n")[0]
            raise UserError(
                f"--partition-size: with {len(few)} rows in use, {type(layer).__name__} fails "
                f"({reason}). If it has a fixed number for each class, it must set "
                "depends_on_words = True, and cannot be trained by partitions"
            ) from error
        finally:
            layer.train(was_training)
            for table in tables:
                table.deactivate()
        if any(number != len(few) for number in found):
            raise UserError(
                f"--partition-size: with {len(few)} rows in use, {type(layer).__name__} scores "
                f"{max(found)} classes. It must declare each of its tables by "
                "self.register_table(NAME, nn.Parameter(...)) and read it by self.rows(NAME, ids), "
                "never the parameter itself"
            )

    def _all(self) -> Iterator[ActiveRows]:
        for tables in self.tables.values():
            yield from tables.values()

    @torch.no_grad()
    def start_class_bias(self, values: Tensor, new: Optional[Tensor] = None) -> None:
        """Add values to initial (not loaded) class biases, if there are any.

        Args:
            values: ``(V,)``.
            new: which of the loaded biases are initial nevertheless, ``(V,)``; None for none.
        """
        bias = self.output_layer.bias
        if bias is None:
            return
        if self._is_loaded:
            if new is None:
                return
            values = values * new
        (table,) = (t for t in self.tables["target"].values() if t.parameter is bias)
        table.table.add_(values.to(table.table))

    def activate(
        self, words: Dict[str, np.ndarray], optimizer: Any, key: Optional[Key] = None
    ) -> None:
        """Switch to other words.

        Args:
            words: their ids by side, ascending.
            optimizer: of ``torch``, or None.
            key: of these words, for :meth:`is_active`.
        """
        self._optimizer = optimizer
        for side, tables in self.tables.items():
            ids = torch.from_numpy(words[side])
            for table in tables.values():
                table.activate(ids, optimizer)
            self._put_in_use(side, ids)
        self._active = key

    def is_active(self, key: Key) -> bool:
        """Whether the words of this key are in use after :meth:`end_evaluation`."""
        if self._active is None:
            return False
        (partitions, number), (active, number_in_use) = key, self._active
        return partitions is active and number == number_in_use

    def end_evaluation(self) -> None:
        """Undo :meth:`begin_evaluation`."""
        for side, tables in self.tables.items():
            for table in tables.values():
                if not table.is_evaluating:
                    continue
                table.end_evaluation()
                if table.ids is not None:
                    self._put_in_use(side, table.ids)

    @property
    def has_tables_elsewhere(self) -> bool:
        """Whether a table is on another device than the model (``--table-device cpu``)."""
        return any(t.device is not None for side in self.tables.values() for t in side.values())

    def begin_evaluation(self, read: Dict[str, Tensor]) -> None:
        """Let the model read some words and score all classes, for validation.

        Args:
            read: ids of the input words by side, ascending; unused, and may be empty, unless
                ``has_tables_elsewhere``.
        """
        for side, tables in self.tables.items():
            words = read.get(side, NO_WORDS)
            whole = [t.begin_evaluation(words, self._optimizer) for t in tables.values()]
            if all(whole):
                self._ids.pop(side, None)
            else:
                self._put_in_use(side, words)

    def _put_in_use(self, side: str, ids: Tensor) -> None:
        # All tables of a side are on the device of the batches.
        table = next(iter(self.tables[side].values()))
        self._ids[side] = ids.to(table.parameter.device)

    def to_local_ids(self, side: str, ids: Tensor) -> Tensor:
        """Indices of words among those in use; the ids if the full table is in use.

        Args:
            side: ``"source"`` or ``"target"``.
            ids: of words in use, any shape.
        """
        if side not in self._ids:
            return ids
        in_use = self._ids[side]
        local = torch.searchsorted(in_use, ids)
        found = in_use[local.clamp(max=len(in_use) - 1)] == ids
        if found.device.type != "cpu":
            torch._assert_async(found.all())  # does not synchronize
            return local
        assert bool(found.all()), f"a {side} word of the batch is not in its partition"
        return local

    def moments(self) -> Dict[str, Moments]:
        """Optimizer state of the tables, by name of the table."""
        for table in self._all():
            table.write_back(self._optimizer)
        return {name: t.moments for tables in self.tables.values() for name, t in tables.items()}

    def load_moments(self, moments: Dict[str, Moments]) -> None:
        """Load the result of :meth:`moments`."""
        for tables in self.tables.values():
            for name, table in tables.items():
                saved = moments.get(name, {})
                table.moments = {key: value.to(table.table) for key, value in saved.items()}

    def _save(self, module: nn.Module, state: Dict[str, Any], prefix: str, _: Any) -> None:
        for name, table in self._names.items():
            table.write_back(self._optimizer)
            state[prefix + name] = table.table

    def _load(self, module: nn.Module, state: Dict[str, Any], prefix: str, *_: Any) -> None:
        for name, table in self._names.items():
            saved = state.get(prefix + name)
            if saved is not None and saved.shape == table.table.shape:
                table.load(saved)
                self._is_loaded, self._active = True, None
                state[prefix + name] = table.parameter.data
