"""The interface of an output layer: class scores from hidden states."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, List, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.initialization import OwnStart, Start
from fairseq_outlayers.tables.table import Table, TableOwner, declared_tables, table_of


class OutputLayer(TableOwner, OwnStart, ABC):
    """Scores classes: ``logit(y | h) = <project(h), class_embedding(y)> + class_bias(y)``.

    A class encoder and a context encoder joined by a dot product. Because the two meet only in the
    product, one implementation serves the full softmax, sampled and partitioned training, and
    decoding over candidate lists: each asks for the classes it needs. An output layer has
    parameters and never sees targets; which classes stand in for all of them is the sampler's
    business, what is made of the scores the criterion's.

    Sizes: ``V`` classes, ``H`` the decoder's hidden size, ``D`` the size of the joint space.

    Args:
        num_classes: ``V``.
        bias: whether every class has a bias of its own.
    """

    bias: Optional[nn.Parameter]

    depends_on_words = False
    """Whether sizes alone do not say what the layer is, because it looks at the words."""

    context_modules: Tuple[str, ...] = ()
    """Names of the modules that :meth:`project` calls, all that a compiled layer keeps of it."""

    @dataclass
    class Config:
        no_class_bias: bool = field(
            default=False, metadata={"help": "leave out the bias of each class at the output"}
        )

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Refuse a subclass with scores of its own, which losses and searches would not see."""
        super().__init_subclass__(**keywords)
        for method in ("logits", "forward"):
            if method in cls.__dict__:
                raise TypeError(
                    f"{cls.__name__}.{method}: scores are dot products, which losses compute in "
                    "parts of their own; override project, class_embeddings and class_bias instead "
                    "(what is no dot product, as a mixture of softmaxes, is no output layer)"
                )

    def __init__(self, num_classes: int, bias: bool = True):
        super().__init__()
        self.num_classes = num_classes
        self.register_table("bias", nn.Parameter(torch.zeros(num_classes)) if bias else None)

    def reset_parameters(self, start: Start) -> None:
        """Give the parameters their start; every model calls this once, when it is complete.

        Biases of classes and the modules inside start like the rest of the model, if the model's
        start is meant for the output too; else they stay as built. Parameters that a subclass makes
        keep the values that it gave them, unless it overrides this.

        Args:
            start: how the rest of the model starts.
        """
        if start.reaches_output:
            if self.bias is not None:
                start.fill(self, "bias", self.bias)
            super().reset_parameters(start)

    @classmethod
    @abstractmethod
    def build(
        cls, config: Any, embedding: nn.Embedding, hidden_size: int, dictionary: Any
    ) -> "OutputLayer":
        """Make the layer from the options of its ``Config``.

        Args:
            config: anything that has the fields of ``cls.Config`` as attributes.
            embedding: the decoder's input embeddings ``E``, ``(V, d)``.
            hidden_size: ``H``.
            dictionary: the target dictionary, for layers that look inside words.
        """

    @abstractmethod
    def class_embeddings(self, ids: Optional[Tensor] = None) -> Tensor:
        """``(V, D)`` for all classes, or ``(*ids.shape, D)``; computes only the ids asked for."""

    def class_bias(self, ids: Optional[Tensor] = None) -> Optional[Tensor]:
        """``(V,)``, or shaped like ``ids``; None if the classes have no bias."""
        return None if self.bias is None else self.rows("bias", ids)

    def project(self, hidden: Tensor) -> Tensor:
        """The context encoder, ``(..., H) -> (..., D)``."""
        return hidden

    def logits(self, hidden: Tensor, candidates: Optional[Tensor] = None) -> Tensor:
        """Scores of all classes or of some.

        Args:
            hidden: decoder states, ``(..., H)``; ``(B, ..., H)`` with candidates per sentence.
            candidates: None for all classes, ``(C,)`` class ids for every row alike, or
                ``(B, C)`` ids for each sentence.
        Returns:
            ``(..., V)`` or ``(..., C)``.
        """
        context = self.project(hidden)
        embeddings, bias = self.class_embeddings(candidates), self.class_bias(candidates)
        if candidates is None or candidates.dim() == 1:
            return F.linear(context, embeddings, bias)
        # One matrix product a sentence: (B, T, D) x (B, D, C).
        flat = context.reshape(context.size(0), -1, context.size(-1))
        scores = flat @ embeddings.transpose(1, 2)
        if bias is not None:
            scores = scores + bias.unsqueeze(1)
        return scores.reshape(*context.shape[:-1], candidates.size(1))

    def class_tables(self) -> List[Table]:
        """Every table with a row for each class that the layer asks for rows."""
        return list(declared_tables(self).values())

    @property
    def num_in_use(self) -> int:
        """How many classes "all classes" are at the moment: ``V``, or a partition's."""
        in_use = [table.num_in_use for table in self.class_tables()]
        return min(in_use, default=self.num_classes)

    @property
    def block_size(self) -> Optional[int]:
        """The most classes that may be asked for at a time, and then by ids; None: any number."""
        sizes = [table.block_size for table in self.class_tables()]
        return min((size for size in sizes if size is not None), default=None)

    def check_tables(self) -> None:
        """Refuse a parameter with a row for every class that is not declared.

        Raises:
            UserError: with what to write instead.
        """
        for name, parameter in self.named_parameters(recurse=False):
            per_class = parameter.dim() > 0 and len(parameter) == self.num_classes
            if per_class and name not in declared_tables(self):
                kind = type(self).__name__
                raise UserError(
                    f"{kind}.{name} has a row for each of the {self.num_classes} classes and is "
                    f"not declared as a table: make it by self.register_table({name!r}, "
                    f"nn.Parameter(...)) and read it by self.rows({name!r}, ids), so that "
                    "partitions and lazy_adam find it (what has as many rows by chance goes into "
                    "a module of its own)"
                )

    def forward(self, hidden: Tensor) -> Tensor:
        """Scores of all classes, which makes the layer fit fairseq's ``output_projection``."""
        return self.logits(hidden)


class EmbeddingOutputLayer(OutputLayer):
    """An output layer whose class encoder starts from the decoder's input embeddings.

    The table stays the decoder's: it is not registered here, so it is counted, saved and averaged
    (``--store-ema``) once.

    Args:
        embedding: the decoder's input embeddings ``E``, ``(V, d)``.
        bias: whether every class has a bias of its own.
    Raises:
        UserError: if the model has no plain table of input embeddings.
    """

    def __init__(self, embedding: nn.Embedding, bias: bool = True):
        self.check_embedding(embedding)
        super().__init__(embedding.num_embeddings, bias)
        self._shared = (embedding,)  # a tuple hides the module from registration

    @staticmethod
    def check_embedding(embedding: nn.Module) -> None:
        """Refuse a model whose input embeddings are no plain table, before sizes are read off."""
        if not isinstance(embedding, nn.Embedding):
            raise UserError(
                "this --output-layer starts from the decoder's input embeddings, and "
                f"{type(embedding).__name__} is no plain embedding table: choose --output-layer "
                "linear, or leave out --character-embeddings and --adaptive-input"
            )

    def check_equal_sizes(self, hidden_size: int, name: str) -> None:
        """Refuse unequal ``d`` and ``H`` for a layer that multiplies the two directly."""
        size = self.embedding.embedding_dim
        if size != hidden_size:
            raise UserError(
                f"--output-layer {name} takes the dot product of embeddings and decoder states, "
                f"but the embeddings have {size} dimensions and the states {hidden_size}: make "
                "them equal, or choose another --output-layer"
            )

    @property
    def embedding(self) -> nn.Embedding:
        """The decoder's input embeddings."""
        return self._shared[0]

    def input_embeddings(self, ids: Optional[Tensor] = None) -> Tensor:
        """Rows of ``E``: ``(V, d)`` for all classes, or ``(*ids.shape, d)``."""
        return table_of(self.embedding).rows(ids)

    def class_tables(self) -> List[Table]:
        return [*super().class_tables(), table_of(self.embedding)]
