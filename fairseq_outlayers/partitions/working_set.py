"""The tables of a translation model, of which only the rows that a partition uses are trained."""

from functools import partial
from typing import Any, Dict, Iterator, List, Optional, Tuple

import numpy as np
import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers import OutputLayer
from fairseq_outlayers.tables.active_rows import ActiveRows, Moments


class WorkingSet:
    """Puts the rows of some target words, and of some source words, into the model's parameters.

    While they are there, word ids must be given as places among these words (:meth:`places`). A
    checkpoint holds the whole tables under their usual names, and can be loaded without this.

    Args:
        model: an encoder and a decoder with an output layer of ours.
        target_words: the most target words at a time.
        source_words: the most source words at a time, or None to train the whole source table.
        device: where tables and moments are kept; None for the model's own.
    Raises:
        UserError: if the tables of the model do not have a row for each word.
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
                "--partition-size does not go with --share-all-embeddings, whose source words "
                "would become classes: leave one of them out"
            )
        if source_words is not None:
            sides["source"] = (source_tables(model), source_words)
        self._room = {side: most for side, (_, most) in sides.items()}
        self.tables: Dict[str, Dict[str, ActiveRows]] = {
            side: {name: ActiveRows(p, most, device) for name, p in tables}
            for side, (tables, most) in sides.items()
        }
        self._ids: Dict[str, Tensor] = {}
        # A tied table has several names.
        by_parameter = {id(table.parameter): table for table in self._all()}
        self._names = {
            name: by_parameter[id(parameter)]
            for name, parameter in model.named_parameters(remove_duplicate=False)
            if id(parameter) in by_parameter
        }
        # PyTorch marks what it is given, and a method takes no marks.
        model.register_state_dict_post_hook(partial(self._save))
        model.register_load_state_dict_pre_hook(partial(self._load))
        self._optimizer: Any = None
        self._is_loaded = False
        self.output_layer: OutputLayer = model.decoder.output_projection

    def _all(self) -> Iterator[ActiveRows]:
        for tables in self.tables.values():
            yield from tables.values()

    @torch.no_grad()
    def start_class_bias(self, values: Tensor) -> None:
        """Add to the biases that classes start training with, if they have any, ``(V,)``.

        Those of a checkpoint that was loaded stay as they are.
        """
        bias = self.output_layer.bias
        if bias is None or self._is_loaded:
            return
        (table,) = (t for t in self.tables["target"].values() if t.parameter is bias)
        table.table.add_(values.to(table.table))

    def activate(self, words: Dict[str, np.ndarray], optimizer: Any) -> None:
        """Train other words.

        Args:
            words: for each side their ids, ascending.
            optimizer: of ``torch``, or None.
        """
        self._optimizer = optimizer
        self.output_layer.class_block = None
        for side, tables in self.tables.items():
            ids = torch.from_numpy(words[side])
            for table in tables.values():
                table.activate(ids, optimizer)
            self._put_in_use(side, ids)

    def show_rows(self) -> None:
        """Go back from :meth:`show_whole`."""
        for table in self._all():
            table.show_rows()

    def show_whole(self) -> None:
        """Let the model have its whole tables, for validation."""
        for table in self._all():
            table.show_whole(self._optimizer)

    def show_some(self, words: Dict[str, Tensor]) -> None:
        """Let the model read some words and score all classes a block at a time, for validation.

        Args:
            words: for each side their ids, ascending.
        Raises:
            UserError: if they are more than there is room for.
        """
        for side, tables in self.tables.items():
            ids = words[side]
            if len(ids) > self._room[side]:
                raise UserError(
                    f"a validation batch has {len(ids)} different {side} words, and with "
                    f"--table-device cpu there is room for {self._room[side]} of them: choose a "
                    "smaller --max-tokens-valid or --batch-size-valid"
                )
            for table in tables.values():
                table.show_some(ids, self._optimizer)
            self._put_in_use(side, ids)
        self.output_layer.class_block = self._room["target"]

    def _put_in_use(self, side: str, ids: Tensor) -> None:
        # The tables of a side are on one device, that of the batches.
        table = next(iter(self.tables[side].values()))
        self._ids[side] = ids.to(table.parameter.device)

    def places(self, side: str, ids: Tensor) -> Tensor:
        """Where words stand among those in use; ids themselves if the whole table is trained.

        Args:
            side: ``"source"`` or ``"target"``.
            ids: of words in use, any shape.
        """
        if side not in self._ids:
            return ids
        in_use = self._ids[side]
        places = torch.searchsorted(in_use, ids)
        found = in_use[places.clamp(max=len(in_use) - 1)] == ids
        assert bool(found.all()), f"a {side} word of the batch is not in its partition"
        return places

    def moments(self) -> Dict[str, Moments]:
        """What the optimizer keeps for every number of the tables, by name of the table."""
        for table in self._all():
            table.put_back(self._optimizer)
        return {name: t.moments for tables in self.tables.values() for name, t in tables.items()}

    def load_moments(self, moments: Dict[str, Moments]) -> None:
        """Take over what :meth:`moments` returned."""
        for tables in self.tables.values():
            for name, table in tables.items():
                saved = moments.get(name, {})
                table.moments = {key: value.to(table.table) for key, value in saved.items()}

    def _save(self, module: nn.Module, state: Dict[str, Any], prefix: str, _: Any) -> None:
        for name, table in self._names.items():
            table.put_back(self._optimizer)
            state[prefix + name] = table.table

    def _load(self, module: nn.Module, state: Dict[str, Any], prefix: str, *_: Any) -> None:
        for name, table in self._names.items():
            saved = state.get(prefix + name)
            if saved is not None and saved.shape == table.table.shape:
                table.load(saved)
                self._is_loaded = True
                state[prefix + name] = table.parameter.data


Named = List[Tuple[str, Any]]


def target_tables(model: Any) -> Named:
    """Parameters with a row for each target word: input embeddings and those of the output layer.

    Raises:
        UserError: if there are none, or the output layer is made from the words themselves.
    """
    layer = getattr(getattr(model, "decoder", None), "output_projection", None)
    if not isinstance(layer, OutputLayer):
        raise UserError(
            "--partition-size and --freeze-embeddings need a model that takes --output-layer, and "
            f"{type(model).__name__} "
            "is none: choose another --arch (luong_lstm, rnnsearch, transformer_outlayers, ...)"
        )
    if layer.depends_on_words:
        raise UserError(
            "--partition-size and --freeze-embeddings are about rows of tables, and this "
            "--output-layer computes classes from what the words are: choose another"
        )
    embedding = model.decoder.embed_tokens
    _check_plain(embedding, layer.num_classes, "target")
    class_tables = [p for p in layer.parameters(recurse=False) if len(p) == layer.num_classes]
    return _named(model, [embedding.weight, *class_tables])


def source_tables(model: Any) -> Named:
    """The parameter with a row for each source word.

    Raises:
        UserError: if source words have no plain embeddings.
    """
    embedding = getattr(model.encoder, "embed_tokens", None)
    _check_plain(embedding, len(model.encoder.dictionary), "source")
    assert isinstance(embedding, nn.Embedding)
    return _named(model, [embedding.weight])


def _check_plain(embedding: Any, num_words: int, side: str) -> None:
    if not isinstance(embedding, nn.Embedding) or embedding.num_embeddings != num_words:
        raise UserError(
            f"--partition-size and --freeze-embeddings need one embedding for each of the "
            f"{num_words:,} {side} words, and this model has {embedding}"
        )


def _named(model: nn.Module, parameters: List[Any]) -> Named:
    wanted = {id(parameter) for parameter in parameters}
    return [(name, p) for name, p in model.named_parameters() if id(p) in wanted]
