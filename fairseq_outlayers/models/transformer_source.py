"""Source embeddings for fairseq's Transformer encoder."""

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import torch.nn as nn

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.initialization import Initializer
from fairseq_outlayers.options import SourceEmbeddingConfig
from fairseq_outlayers.source_embeddings import (
    SOURCE_EMBEDDING,
    build_source_embedding,
    internal_vocabulary_size,
    refuse_with_shared_embeddings,
)
from fairseq_outlayers.source_embeddings.external_map import VectorMap


class WithSourceEmbedding:
    """Mix-in for a stock Transformer, first in its bases: the encoder takes any source embedding.

    fairseq scales the vectors by the square root of ``d`` like its own, adds positions and applies
    dropout. The encoder has no directions, so there is one map. If all source words have internal
    embeddings, as by default, the model is the stock one.
    """

    @classmethod
    def is_bidirectional(cls, args: Any) -> bool:
        """False: the encoder has no directions."""
        return False

    @classmethod
    def build_model(cls, args: Any, task: Any) -> Any:
        complete_options(args)
        dictionary = task.source_dictionary
        if is_stock(args, dictionary):
            return super().build_model(args, task)  # type: ignore[misc]
        if getattr(args, "encoder_embed_path", None):
            raise UserError(
                f"--encoder-embed-path {args.encoder_embed_path} needs an embedding for every "
                "source word, so it excludes --internal-vocabulary and any --source-embedding "
                "but internal: leave it out"
            )
        small = SimpleNamespace(
            source_dictionary=SpecialsAlone(dictionary), target_dictionary=task.target_dictionary
        )
        model = super().build_model(args, small)  # type: ignore[misc]
        embedding = build_source_embedding(
            args, dictionary, args.encoder_embed_dim, bidirectional=cls.is_bidirectional(args)
        )
        embedding.reset_parameters(TableLikeInitializer(args.encoder_embed_dim**-0.5))
        model.encoder.embed_tokens, model.encoder.dictionary = embedding, dictionary
        return model


class SpecialsAlone:
    """A dictionary of the specials, for the table that fairseq builds and we replace."""

    def __init__(self, dictionary: Any):
        self._pad = dictionary.pad()

    def __len__(self) -> int:
        return self._pad + 1

    def pad(self) -> int:
        return self._pad


def complete_options(args: Any) -> None:
    """Set missing options of source embeddings to their defaults, for older checkpoints."""
    for option in fields(SourceEmbeddingConfig):
        if not option.name.startswith("_") and not hasattr(args, option.name):
            setattr(args, option.name, option.default)


def is_stock(args: Any, dictionary: Any) -> bool:
    """Whether the options select fairseq's own table.

    Raises:
        UserError: if shared embeddings are combined with another source embedding, or an option
            of an embedding that is not selected is given.
    """
    shared = getattr(args, "share_all_embeddings", False)
    if shared or getattr(args, "merge_src_tgt_embed", False):
        refuse_with_shared_embeddings(args)
        return True
    SOURCE_EMBEDDING.choose(args)
    if args.source_embedding != "internal" or args.external_embeddings:
        return False
    return internal_vocabulary_size(args, dictionary) == len(dictionary)


class TableLikeInitializer(Initializer):
    """fairseq's initialization of embeddings: normal with standard deviation ``1 / sqrt(d)``.

    A table is a map of one-hot vectors, so the map of external vectors starts alike. With
    ``--normalize-external`` both kinds of words then have equal norms. Other parameters are left.

    Args:
        std: the standard deviation.
    """

    def __init__(self, std: float):
        self.std = std

    def fill(self, owner: nn.Module, name: str, parameter: nn.Parameter) -> None:
        if not isinstance(owner, (nn.Embedding, VectorMap)):
            return
        if name == "weight":
            nn.init.normal_(parameter, std=self.std)
        else:
            nn.init.zeros_(parameter)
