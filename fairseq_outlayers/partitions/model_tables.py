"""The tables of a translation model that have a row for each word."""

from typing import Any, Dict, List

import torch.nn as nn

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers import output_layer_of
from fairseq_outlayers.tables.table import Table, table_of

Named = Dict[str, Table]


def target_tables(model: Any) -> Named:
    """Tables with a row for each target word, by name: input embeddings and the output layer's.

    Raises:
        UserError: if there are none, or the output layer depends on the words themselves.
    """
    layer = output_layer_of(model)
    if layer is None:
        raise UserError(
            "--partition-size and --freeze-embeddings need a model that takes --output-layer, and "
            f"{type(model).__name__} does not: choose another --arch (luong_lstm, rnnsearch, "
            "transformer_outlayers, ...)"
        )
    if layer.depends_on_words:
        raise UserError(
            "--partition-size and --freeze-embeddings need tables with a row per class, but this "
            "--output-layer computes classes from the words themselves: choose another"
        )
    embedding = model.decoder.embed_tokens
    _check_plain(embedding, layer.num_classes, "target")
    layer.check_tables()
    return _named(model, [table_of(embedding), *layer.class_tables()])


def source_tables(model: Any) -> Named:
    """The table with a row for each source word, by name.

    Raises:
        UserError: if source words have no plain embeddings.
    """
    embedding = getattr(model.encoder, "embed_tokens", None)
    _check_plain(embedding, len(model.encoder.dictionary), "source")
    assert isinstance(embedding, nn.Embedding)
    return _named(model, [table_of(embedding)])


def _check_plain(embedding: Any, num_words: int, side: str) -> None:
    if not isinstance(embedding, nn.Embedding) or embedding.num_embeddings != num_words:
        is_table = isinstance(embedding, nn.Embedding)
        rows = f" of {embedding.num_embeddings:,} rows" if is_table else ""
        remedy = " (--source-embedding internal has one)" if side == "source" else ""
        raise UserError(
            f"--partition-size and --freeze-embeddings need a plain embedding table for the "
            f"{num_words:,} {side} words{remedy}, but this model has {type(embedding).__name__}"
            f"{rows}"
        )


def _named(model: nn.Module, tables: List[Table]) -> Named:
    by_parameter = {id(table.parameter): table for table in tables}
    parameters = model.named_parameters()
    found = {name: by_parameter[id(p)] for name, p in parameters if id(p) in by_parameter}
    if len(found) < len(by_parameter):
        raise UserError(
            "--partition-size and --freeze-embeddings need trained tables of words, but this model "
            "regenerates its embeddings from a seed: use --release embeddings or attention"
        )
    return found
