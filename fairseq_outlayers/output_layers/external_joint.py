"""The joint output layer over external word vectors."""

from dataclasses import dataclass, field
from typing import Any, Optional

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers.computed import ComputedOutputLayer
from fairseq_outlayers.output_layers.joint import AdditiveEncoder, JointOutputLayer, joint_encoders
from fairseq_outlayers.tables.external_table import ExternalTable


class ExternalJointOutputLayer(ComputedOutputLayer):
    """``z = tanh(E U^T + 1 b_u^T) tanh(V h + b_v) + b`` with fixed external vectors ``E``.

    The joint layer of Pappas et al. (2018, eq. 14) with classes represented by vectors of target
    words from monolingual text, like the source words of Di Gangi & Federico (2017).

    Args:
        table: ``E``, a row for each class.
        class_encoder: ``(..., d_ext) -> (..., d_j)``.
        context_encoder: ``(..., H) -> (..., d_j)``.
        bias: whether classes have biases.
    """

    depends_on_words = True

    @dataclass
    class Config(JointOutputLayer.Config):
        external_classes: Optional[str] = field(
            default=None,
            metadata={
                "help": "table of external vectors of target words, from "
                "data_prep/extract_embeddings.py (external_joint)"
            },
        )

    def __init__(
        self,
        table: ExternalTable,
        class_encoder: AdditiveEncoder,
        context_encoder: nn.Module,
        bias: bool = True,
    ):
        super().__init__(len(table), bias)
        self.class_encoder = class_encoder
        self.context_encoder = context_encoder
        # In memory, because every loss uses every class; not in the checkpoint.
        rows = table.vectors(torch.arange(len(table))).to(torch.get_default_dtype())
        self.register_buffer("class_vectors", rows, persistent=False)
        table.register(self)

    @classmethod
    def build(
        cls, config: Any, embedding: nn.Embedding, hidden_size: int, dictionary: Any
    ) -> "ExternalJointOutputLayer":
        if not config.external_classes:
            raise UserError(
                "--output-layer external_joint needs --external-classes FILE, a table of target "
                "words from data_prep/extract_embeddings.py"
            )
        table = ExternalTable(config.external_classes, dictionary, option="external_classes")
        of_classes, of_contexts = joint_encoders(config, table.dimensions, hidden_size)
        return cls(table, of_classes, of_contexts, bias=not config.no_class_bias)

    @property
    def class_size(self) -> int:
        return self.class_encoder.output_size

    def encode_classes(self, ids: Optional[Tensor]) -> Tensor:
        vectors: Any = self.class_vectors
        return self.class_encoder(vectors if ids is None else F.embedding(ids, vectors))

    def project(self, hidden: Tensor) -> Tensor:
        return self.context_encoder(hidden)
