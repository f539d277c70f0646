"""The contract of models, and the base class of translation models with a recurrent decoder.

``tests/contract`` checks this contract for every registered architecture:

- **Features.** ``model(**sample["net_input"], features_only=True)`` returns the inputs of the
  output layer, ``(B, T, H)``; without ``features_only``, logits ``(B, T, V)``. Criterions use
  features, and score only the classes that they need.
- **Output layer.** ``model.decoder.output_projection`` is a layer of ``build_output_layer``, and
  ``model.decoder.output_layer(features)`` calls it. Criterions, candidate lists and partitions
  access it there.
- **Tables.** ``model.decoder.embed_tokens`` and ``model.encoder.embed_tokens`` are the embeddings,
  modules that map ids to vectors; only they and the tables of the output layer have a row for every
  word. ``--optimizer lazy_adam`` and partitions access them there.
- **Initialization.** The complete model calls ``reset_parameters`` (``layers/initialization.py``),
  which lets the output layer and the source embedding initialize themselves.
- **Dictionaries.** ``register_dictionaries(model, task)`` stores their fingerprints in the
  checkpoint, so that another dictionary is refused.
- **Attention.** ``{"attn": [(B, T, S)]}`` beside logits and features is a distribution over the
  source words, 0 at padding, or ``{"attn": [None]}``. Replacement of unknown words uses it.
- **Search.** With ``incremental_state`` the decoder computes only the last position, and reorders
  its cache. Candidate lists need no more: they pass class ids to the output layer, and the decoder
  still reads ids of the whole dictionary.
- **TorchScript.** A model that ``torch.jit.script`` cannot compile inherits :class:`NotCompiled`
  first, which says so.
- **Dropout** is ``Dropout(share, self)`` (``layers/dropout.py``) or fairseq's, not ``nn.Dropout``,
  which ``--retain-dropout`` does not reach.
- **No memory.** What a training pass computes does not depend on earlier batches.
"""

from abc import abstractmethod
from typing import Any, Dict, Tuple

import torch.nn as nn
from fairseq.models import FairseqDecoder, FairseqEncoder, FairseqEncoderDecoderModel
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.initialization import Initializer, reset_parameters
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
    """An encoder and an ``AttentionalDecoder``.

    A subclass builds both from the parts in ``encoders/`` and ``decoders/``, and defines the
    initialization.
    """

    gates = 1  # of its recurrent cells, to estimate its size

    @classmethod
    def build_model(cls, cfg: Any, task: Any) -> "AttentionalModel":
        """Build and initialize the model, and register its dictionaries."""
        source, target = task.source_dictionary, task.target_dictionary
        refuse_left_padded_targets(task)
        check_model(cfg, class_of(cfg), task, cls.gates)
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
        """Raise ``UserError`` for invalid options, before anything is built."""

    @classmethod
    def build_embeddings(
        cls, cfg: Any, source: Any, target: Any
    ) -> Tuple[SourceEmbedding, nn.Embedding]:
        """Embeddings of source and target words: one table with ``--share-all-embeddings``."""
        if getattr(cfg, "share_all_embeddings", False):
            shared = InternalSourceEmbedding(len(source), cfg.embed_dim, source.pad(), source.unk())
            return shared, shared
        return (
            build_source_embedding(cfg, source, cfg.embed_dim, cls.is_bidirectional(cfg)),
            nn.Embedding(len(target), cfg.embed_dim, target.pad()),
        )

    @classmethod
    def is_bidirectional(cls, cfg: Any) -> bool:
        """Whether the encoder reads in two directions, with an embedding lookup for each."""
        return True

    @classmethod
    @abstractmethod
    def build_encoder(cls, cfg: Any, dictionary: Any, embedding: SourceEmbedding) -> FairseqEncoder:
        """Build the encoder, over the source dictionary."""
        raise NotImplementedError(f"{cls.__name__} does not define build_encoder")

    @classmethod
    @abstractmethod
    def build_decoder(cls, cfg: Any, dictionary: Any, embedding: nn.Embedding) -> FairseqDecoder:
        """Build the decoder, over the target dictionary, with the output layer of ``cfg``."""
        raise NotImplementedError(f"{cls.__name__} does not define build_decoder")

    @classmethod
    @abstractmethod
    def initializer(cls, cfg: Any) -> Initializer:
        """The initialization scheme."""
        raise NotImplementedError(f"{cls.__name__} does not define initializer")

    def reset_parameters(self, cfg: Any) -> None:
        """Initialize all parameters."""
        reset_parameters(self, self.initializer(cfg))

    def complete(self, cfg: Any) -> None:
        """Hook after initialization, for instance to freeze parameters."""

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor,
        prev_output_tokens: Tensor,
        features_only: bool = False,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """Logits ``(B, T, V)``, or with ``features_only`` inputs of the output layer.

        Args:
            src_tokens: source words, ``(B, S)``, padded on either side.
            src_lengths: ignored, because src_tokens has the padding.
            prev_output_tokens: previous target words, ``(B, T)``.
            features_only: skip the output layer: ``(B, T, H)``.
        Returns:
            Logits or features, and ``{"attn": [(B, T, S)]}``.
        """
        encoder_out = self.encoder(src_tokens, src_lengths)
        return self.decoder(
            prev_output_tokens, encoder_out=encoder_out, features_only=features_only
        )


def refuse_left_padded_targets(task: Any) -> None:
    """Refuse ``--left-pad-target``: the recurrence would read the padding of shorter sentences.

    Raises:
        UserError: if the task pads targets on the left.
    """
    options = getattr(task, "cfg", None) or getattr(task, "args", None)
    if getattr(options, "left_pad_target", False):
        raise UserError(
            "--left-pad-target: a recurrent decoder would read padding before the first word, so "
            "that results would depend on the other sentences of a batch: leave it out"
        )


def check_shared_embeddings(cfg: Any, source: Any, target: Any) -> None:
    """Refuse ``--share-all-embeddings`` if one table cannot serve both sides.

    Raises:
        UserError: if there is another source embedding, or the dictionaries differ.
    """
    if not getattr(cfg, "share_all_embeddings", False):
        return
    refuse_with_shared_embeddings(cfg)
    if source != target:
        raise UserError(
            "--share-all-embeddings needs one dictionary for both languages: binarize the data "
            "with fairseq-preprocess --joined-dictionary"
        )
