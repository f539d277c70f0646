"""What a model must offer, and what translation models with a recurrent decoder share.

Whoever writes a model keeps to this contract; ``tests/contract`` runs every registered
architecture through it:

- **Features.** ``model(**sample["net_input"], features_only=True)`` returns what the output layer
  scores, ``(B, T, H)``; without ``features_only``, logits ``(B, T, V)``. Criterions ask for
  features, and score only the classes that they need.
- **Output layer.** ``model.decoder.output_projection`` is what ``build_output_layer`` made, and
  ``model.decoder.output_layer(features)`` calls it. Criterions, candidate lists and partitions look
  for it there.
- **Tables.** ``model.decoder.embed_tokens`` and ``model.encoder.embed_tokens`` are the embeddings,
  each a module that turns ids into vectors; they and the tables of the output layer are all that
  has a row for every word. ``--optimizer lazy_adam`` and partitions find them there.
- **Start.** The complete model calls ``reset_parameters`` (``layers/initialization.py``), which
  asks the output layer and the source embedding for a start of their own.
- **Dictionaries.** ``register_dictionaries(model, task)`` puts their fingerprints into the
  checkpoint, so that another dictionary is refused.
- **Search.** The decoder takes ``incremental_state``, then computes the last position alone, and
  reorders what it caches there. Candidate lists need no more: they pass the ids of classes to the
  output layer, and the decoder still reads ids of the whole dictionary.
"""

from abc import abstractmethod
from typing import Any, Dict, Tuple

import torch.nn as nn
from fairseq.models import FairseqDecoder, FairseqEncoder, FairseqEncoderDecoderModel
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.initialization import Start, reset_parameters
from fairseq_outlayers.models.checks import check_model
from fairseq_outlayers.models.dictionary_check import register_dictionaries
from fairseq_outlayers.output_layers.compiled import NotCompiled
from fairseq_outlayers.registry import class_of
from fairseq_outlayers.source_embeddings import (
    InternalSourceEmbedding,
    SourceEmbedding,
    build_source_embedding,
    refuse_with_shared_embeddings,
)


class AttentionalModel(NotCompiled, FairseqEncoderDecoderModel):
    """An encoder, and an ``AttentionalDecoder`` that reads what it returns.

    A subclass says how both are built and how parameters start; what it builds them of comes from
    ``encoders/`` and ``decoders/``.
    """

    @classmethod
    def build_model(cls, cfg: Any, task: Any) -> "AttentionalModel":
        """Build the model, start its parameters, and let it remember its dictionaries."""
        source, target = task.source_dictionary, task.target_dictionary
        check_model(cfg, class_of(cfg), task)
        cls.check_options(cfg)
        check_shared_embeddings(cfg, source, target)
        source_embedding, target_embedding = cls.build_embeddings(cfg, source, target)
        encoder = cls.build_encoder(cfg, source, source_embedding)
        model = cls(encoder, cls.build_decoder(cfg, target, target_embedding))
        model.reset_parameters(cfg)
        nn.init.zeros_(target_embedding.weight[target.pad()].detach())
        model.complete(cfg)
        register_dictionaries(model, task)
        return model

    @classmethod
    def check_options(cls, cfg: Any) -> None:
        """Raise a ``UserError`` for what cannot be built, before anything is."""

    @classmethod
    def build_embeddings(
        cls, cfg: Any, source: Any, target: Any
    ) -> Tuple[SourceEmbedding, nn.Embedding]:
        """Vectors of source and of target words: one table with ``--share-all-embeddings``."""
        if getattr(cfg, "share_all_embeddings", False):
            shared = InternalSourceEmbedding(len(source), cfg.embed_dim, source.pad(), source.unk())
            return shared, shared
        return (
            build_source_embedding(cfg, source, cfg.embed_dim, cls.is_bidirectional(cfg)),
            nn.Embedding(len(target), cfg.embed_dim, target.pad()),
        )

    @classmethod
    def is_bidirectional(cls, cfg: Any) -> bool:
        """Whether the encoder reads in two directions, and asks its embedding for each."""
        return True

    @classmethod
    @abstractmethod
    def build_encoder(cls, cfg: Any, dictionary: Any, embedding: SourceEmbedding) -> FairseqEncoder:
        """The encoder, over the source dictionary."""

    @classmethod
    @abstractmethod
    def build_decoder(cls, cfg: Any, dictionary: Any, embedding: nn.Embedding) -> FairseqDecoder:
        """The decoder over the target dictionary, with the output layer that ``cfg`` names."""

    @classmethod
    @abstractmethod
    def start(cls, cfg: Any) -> Start:
        """How the parameters start."""

    def reset_parameters(self, cfg: Any) -> None:
        """Give all parameters their start."""
        reset_parameters(self, self.start(cfg))

    def complete(self, cfg: Any) -> None:
        """What is left to do with the parameters at their start, for instance freezing some."""

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor,
        prev_output_tokens: Tensor,
        features_only: bool = False,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """Logits ``(B, T, V)``, or what the output layer scores with ``features_only``.

        Args:
            src_tokens: source words, ``(B, S)``, padded on either side.
            src_lengths: is ignored; the padding says as much.
            prev_output_tokens: the target words before those to be predicted, ``(B, T)``.
            features_only: whether to stop before the output layer: ``(B, T, H)``.
        Returns:
            The scores or features, and ``{"attn": [(B, T, S)]}``.
        """
        encoder_out = self.encoder(src_tokens, src_lengths)
        return self.decoder(
            prev_output_tokens, encoder_out=encoder_out, features_only=features_only
        )


def check_shared_embeddings(cfg: Any, source: Any, target: Any) -> None:
    """Refuse ``--share-all-embeddings`` where one table cannot serve both sides.

    Raises:
        UserError: if the source side is to be another, or the dictionaries are two.
    """
    if not getattr(cfg, "share_all_embeddings", False):
        return
    refuse_with_shared_embeddings(cfg)
    if source != target:
        raise UserError(
            "--share-all-embeddings needs one dictionary for both languages: binarize the data "
            "with fairseq-preprocess --joined-dictionary"
        )
