"""Any source embedding under fairseq's Transformer encoder."""

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import torch.nn as nn

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.initialization import Start
from fairseq_outlayers.options import SourceEmbeddingConfig
from fairseq_outlayers.source_embeddings import (
    build_source_embedding,
    internal_vocabulary_size,
    refuse_with_shared_embeddings,
)
from fairseq_outlayers.source_embeddings.external_map import VectorMap


class WithSourceEmbedding:
    """Mix-in, in front of a stock Transformer: the encoder reads any source embedding.

    fairseq scales its vectors by the square root of ``d``, as it scales its own, adds positions and
    drops out. The encoder has no directions, so there is one map. Where every source word has an
    embedding of the model's own, as by default, the model is the stock one.
    """

    @classmethod
    def is_bidirectional(cls, args: Any) -> bool:
        """Whether the encoder reads in two directions: it has none."""
        return False

    @classmethod
    def build_model(cls, args: Any, task: Any) -> Any:
        complete_options(args)
        dictionary = task.source_dictionary
        if is_stock(args, dictionary):
            return super().build_model(args, task)  # type: ignore[misc]
        if getattr(args, "encoder_embed_path", None):
            raise UserError(
                f"--encoder-embed-path {args.encoder_embed_path} fills an embedding for every "
                "source word, which --source-embedding other than internal or "
                "--internal-vocabulary leaves none: leave it out"
            )
        small = SimpleNamespace(
            source_dictionary=SpecialsAlone(dictionary), target_dictionary=task.target_dictionary
        )
        model = super().build_model(args, small)  # type: ignore[misc]
        embedding = build_source_embedding(
            args, dictionary, args.encoder_embed_dim, bidirectional=False
        )
        embedding.reset_parameters(StartLikeTables(args.encoder_embed_dim**-0.5))
        model.encoder.embed_tokens, model.encoder.dictionary = embedding, dictionary
        return model


class SpecialsAlone:
    """Stands in for a dictionary while fairseq makes a table that is thrown away."""

    def __init__(self, dictionary: Any):
        self._pad = dictionary.pad()

    def __len__(self) -> int:
        return self._pad + 1

    def pad(self) -> int:
        return self._pad


def complete_options(args: Any) -> None:
    """Give the options of source embeddings their defaults; older checkpoints lack them."""
    for option in fields(SourceEmbeddingConfig):
        if not option.name.startswith("_") and not hasattr(args, option.name):
            setattr(args, option.name, option.default)


def is_stock(args: Any, dictionary: Any) -> bool:
    """Whether fairseq's own table is what the options ask for.

    Raises:
        UserError: if one table is to serve both sides, and the source side to be another.
    """
    shared = getattr(args, "share_all_embeddings", False)
    if shared or getattr(args, "merge_src_tgt_embed", False):
        refuse_with_shared_embeddings(args)
        return True
    if args.source_embedding != "internal" or args.external_embeddings:
        return False
    return internal_vocabulary_size(args, dictionary) == len(dictionary)


class StartLikeTables(Start):
    """Start as fairseq starts a table of embeddings: normal, with deviation ``1 / sqrt(d)``.

    A table is a map of unit vectors, so the map of external vectors starts like one. Under
    ``--normalize-external``, both kinds of words are then equally large. All else stays as built.

    Args:
        std: the deviation.
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
