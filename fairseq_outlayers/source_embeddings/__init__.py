"""Where an encoder's word vectors come from.

To add a source embedding: write its file, add its line to ``SOURCE_EMBEDDINGS``.
"""

from typing import Any, Dict, Type

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.registry import Selection
from fairseq_outlayers.source_embeddings.base import SourceEmbedding
from fairseq_outlayers.source_embeddings.internal import (
    InternalSourceEmbedding,
    internal_vocabulary_size,
)
from fairseq_outlayers.source_embeddings.mix_gate import MixGateEmbedding
from fairseq_outlayers.source_embeddings.mix_sum import MixSumEmbedding
from fairseq_outlayers.source_embeddings.only_external import OnlyExternalEmbedding

SOURCE_EMBEDDINGS: Dict[str, Type[SourceEmbedding]] = {
    "internal": InternalSourceEmbedding,
    "only_external": OnlyExternalEmbedding,
    "mix_sum": MixSumEmbedding,
    "mix_gate": MixGateEmbedding,
}

SOURCE_EMBEDDING = Selection(
    SOURCE_EMBEDDINGS,
    option="source_embedding",
    default="internal",
    help_text="where the vectors of source words come from",
)


def build_source_embedding(
    config: Any, dictionary: Any, embed_dim: int, bidirectional: bool
) -> SourceEmbedding:
    """The embedding that ``config.source_embedding`` names.

    Args:
        config: a model's configuration, which has the fields of ``SourceEmbeddingConfig``.
        dictionary: the source dictionary.
        embed_dim: size of the vectors.
        bidirectional: whether the encoder reads in two directions.
    Raises:
        UserError: if the name is unknown or an option does not suit it.
    """
    return SOURCE_EMBEDDING.choose(config).build(config, dictionary, embed_dim, bidirectional)


def refuse_with_shared_embeddings(config: Any) -> None:
    """Raise a UserError if ``--share-all-embeddings`` is given with another source embedding."""
    if config.source_embedding != "internal" or config.internal_vocabulary:
        raise UserError(
            "--share-all-embeddings excludes --internal-vocabulary and --source-embedding other "
            "than internal: the target side has one embedding for every word of its own"
        )


__all__ = [
    "SOURCE_EMBEDDING",
    "SOURCE_EMBEDDINGS",
    "InternalSourceEmbedding",
    "SourceEmbedding",
    "build_source_embedding",
    "internal_vocabulary_size",
    "refuse_with_shared_embeddings",
]
