"""Word vectors of encoders.

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
from fairseq_outlayers.tables.table import check_declared

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
    help_text="source of the vectors of source words",
)


def build_source_embedding(
    config: Any, dictionary: Any, embed_dim: int, bidirectional: bool
) -> SourceEmbedding:
    """Build the embedding ``config.source_embedding``.

    Args:
        config: of a model, with the fields of ``SourceEmbeddingConfig``.
        dictionary: the source dictionary.
        embed_dim: size of the vectors.
        bidirectional: whether the encoder reads in two directions.
    Raises:
        UserError: if the name is unknown, an option is invalid, the embedding has an undeclared
            table, or returns vectors of another size.
    """
    kind = SOURCE_EMBEDDING.choose(config)
    embedding = kind.build(config, dictionary, embed_dim, bidirectional)
    sizes = {len(dictionary), internal_vocabulary_size(config, dictionary)}
    check_declared(embedding, sizes - {embed_dim}, "source words")  # as long as a vector: no table
    embedding.check_shapes(embed_dim)
    return embedding


def refuse_with_shared_embeddings(config: Any) -> None:
    """Check the options of source embeddings where ``--share-all-embeddings`` excludes all others.

    Raises:
        UserError: if another source embedding is selected, or an option of one is given.
    """
    if config.source_embedding != "internal" or config.internal_vocabulary:
        raise UserError(
            "--share-all-embeddings excludes --internal-vocabulary and any --source-embedding but "
            "internal: the target side has an embedding for each of its words"
        )
    SOURCE_EMBEDDING.choose(config)


__all__ = [
    "SOURCE_EMBEDDING",
    "SOURCE_EMBEDDINGS",
    "InternalSourceEmbedding",
    "SourceEmbedding",
    "build_source_embedding",
    "internal_vocabulary_size",
    "refuse_with_shared_embeddings",
]
