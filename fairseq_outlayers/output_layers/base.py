"""The interface of an output layer: class scores from hidden states."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Iterator, List, Optional

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.initialization import AsBuilt, Initializer, SelfInitialized
from fairseq_outlayers.layers.random_state import forked_rng
from fairseq_outlayers.tables.table import (
    Table,
    TableOwner,
    check_declared,
    check_plain,
    declared_tables,
    table_of,
)


class OutputLayer(TableOwner, SelfInitialized, ABC):
    """Scores classes: ``logit(y | h) = <project(h), class_embedding(y)> + class_bias(y)``.

    A class encoder and a context encoder joined by a dot product. Because they interact only there,
    one implementation serves the full softmax, sampled and partitioned training, and decoding over
    candidate lists, which request the classes they need. An output layer has parameters and never
    sees targets; samplers choose classes, criterions compute losses.

    Sizes: ``V`` classes, ``H`` the decoder's hidden size, ``D`` the size of class embeddings and of
    projected contexts.

    Args:
        num_classes: ``V``.
        bias: whether classes have biases.
    """

    bias: Optional[nn.Parameter]

    depends_on_words = False
    """Whether the layer depends on the words, not only on sizes."""

    @dataclass
    class Config:
        no_class_bias: bool = field(
            default=False, metadata={"help": "no bias per class in the output layer"}
        )

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Refuse a subclass that overrides scoring, because losses and searches bypass it."""
        super().__init_subclass__(**keywords)
        for method in ("logits", "forward"):
            if method in cls.__dict__:
                raise TypeError(
                    f"{cls.__name__}.{method}: losses compute dot products themselves, in chunks; "
                    "override project, class_embeddings and class_bias instead (scores that are "
                    "not dot products, such as a mixture of softmaxes, are not supported)"
                )

    def __init__(self, num_classes: int, bias: bool = True):
        super().__init__()
        self.num_classes = num_classes
        self.register_table("bias", nn.Parameter(torch.zeros(num_classes)) if bias else None)

    def reset_parameters(self, initializer: Initializer) -> None:
        """Initialize the parameters; every model calls this once, when it is complete.

        Class biases and submodules are initialized like the rest of the model if
        ``initializer.reaches_output``, else left as built (:class:`AsBuilt`). Parameters of a
        subclass keep their values, unless it overrides this.

        Args:
            initializer: the initialization of the rest of the model.
        """
        if not initializer.reaches_output:
            initializer = AsBuilt()
        if self.bias is not None:
            initializer.fill(self, "bias", self.bias)
        super().reset_parameters(initializer)

    @classmethod
    @abstractmethod
    def build(
        cls, config: Any, embedding: nn.Embedding, hidden_size: int, dictionary: Any
    ) -> "OutputLayer":
        """Build the layer from the options of its ``Config``.

        Args:
            config: has the fields of ``cls.Config`` as attributes.
            embedding: the decoder's input embeddings ``E``, ``(V, d)``.
            hidden_size: ``H``.
            dictionary: the target dictionary, for layers that depend on words.
        """

    @abstractmethod
    def class_embeddings(self, ids: Optional[Tensor] = None) -> Tensor:
        """``(V, D)`` for all classes, or ``(*ids.shape, D)``; computes only ``ids``."""

    def class_bias(self, ids: Optional[Tensor] = None) -> Optional[Tensor]:
        """``(V,)``, or shaped like ``ids``; None if classes have no bias."""
        return None if self.bias is None else self.rows("bias", ids)

    def project(self, hidden: Tensor) -> Tensor:
        """The context encoder, ``(..., H) -> (..., D)``."""
        return hidden

    def logits(self, hidden: Tensor, candidates: Optional[Tensor] = None) -> Tensor:
        """Scores of all or some classes.

        Args:
            hidden: decoder states, ``(..., H)``; ``(B, ..., H)`` with candidates per sentence.
            candidates: None for all classes, ``(C,)`` class ids for all rows, or ``(B, C)`` ids
                per sentence.
        Returns:
            ``(..., V)`` or ``(..., C)``.
        """
        context = self.project(hidden)
        embeddings, bias = self.class_embeddings(candidates), self.class_bias(candidates)
        if candidates is None or candidates.dim() == 1:
            return F.linear(context, embeddings, bias)
        # One matrix product per sentence: (B, T, D) x (B, D, C).
        flat = context.flatten(1, -2) if context.dim() > 2 else context.unsqueeze(1)
        scores = flat @ embeddings.transpose(1, 2)
        if bias is not None:
            scores = scores + bias.unsqueeze(1)
        return scores.reshape(*context.shape[:-1], candidates.size(1))

    def read_parameters(self) -> Iterator[nn.Parameter]:
        """All parameters that scores depend on, also those of other modules."""
        return self.parameters()

    def class_tables(self) -> List[Table]:
        """All tables with a row for each class that the layer uses."""
        return list(declared_tables(self).values())

    @property
    def num_in_use(self) -> int:
        """The number of classes in use: ``V``, or those of a partition."""
        in_use = [table.num_in_use for table in self.class_tables()]
        return min(in_use, default=self.num_classes)

    @property
    def block_size(self) -> Optional[int]:
        """The maximal number of classes to request at a time, by ids; None for no limit."""
        sizes = [table.block_size for table in self.class_tables()]
        return min((size for size in sizes if size is not None), default=None)

    def check_tables(self) -> None:
        """Refuse undeclared parameters with a row for every class.

        Raises:
            UserError: with the code to write instead.
        """
        check_declared(self, [self.num_classes], "classes")

    @torch.no_grad()
    def check_shapes(self, hidden_size: int) -> None:
        """Refuse a layer whose methods return other shapes than this interface says.

        Not checked if its parameters have different dtypes or devices.

        Args:
            hidden_size: ``H``.
        Raises:
            UserError: with the method and the shapes.
        """
        kinds = {(each.dtype, each.device) for each in self.read_parameters()}
        if len(kinds) > 1:
            return
        dtype, device = kinds.pop() if kinds else (torch.float32, torch.device("cpu"))
        ids = torch.tensor([[self.num_classes - 1, 0]], device=device)
        with forked_rng(device):  # layers may have dropout
            rows, bias = self.class_embeddings(ids), self.class_bias(ids)
            context = self.project(torch.zeros(1, 2, hidden_size, dtype=dtype, device=device))
        kind = type(self).__name__
        if rows.dim() != 3 or rows.shape[:2] != ids.shape:
            raise UserError(
                f"{kind}.class_embeddings(ids) returns {tuple(rows.shape)} for ids (1, 2): must be "
                "(1, 2, D), the rows of these ids alone; of all classes only for None"
            )
        if bias is not None and bias.shape != ids.shape:
            raise UserError(
                f"{kind}.class_bias(ids) returns {tuple(bias.shape)} for ids (1, 2): must be "
                "(1, 2), the biases of these ids alone; of all classes only for None"
            )
        if context.shape != rows.shape:
            raise UserError(
                f"{kind}.project returns {tuple(context.shape)} for states "
                f"{(1, 2, hidden_size)}, but class embeddings have {rows.size(-1)} dimensions: "
                f"must be {tuple(rows.shape)}"
            )

    def forward(self, hidden: Tensor) -> Tensor:
        """Scores of all classes, the interface of fairseq's ``output_projection``."""
        return self.logits(hidden)


class EmbeddingOutputLayer(OutputLayer):
    """An output layer that computes classes from the decoder's input embeddings.

    The table belongs to the decoder and is not registered here, so it is counted, saved and
    averaged (``--store-ema``) once.

    Args:
        embedding: the decoder's input embeddings ``E``, ``(V, d)``; a module that takes its place
            in the model later is not seen.
        bias: whether classes have biases.
    Raises:
        UserError: if the input embeddings are not a plain table.
    """

    def __init__(self, embedding: nn.Embedding, bias: bool = True):
        self.check_embedding(embedding)
        super().__init__(embedding.num_embeddings, bias)
        self._shared = (embedding,)  # a tuple prevents registration

    @staticmethod
    def check_embedding(embedding: nn.Module) -> None:
        """Refuse input embeddings that are not a plain table, before their sizes are used.

        Raises:
            UserError: if they are composed, adaptive, or renormalized or scaled in a lookup.
        """
        if not isinstance(embedding, nn.Embedding):
            if hasattr(embedding, "words"):
                raise UserError(
                    "this --output-layer uses the decoder's input embeddings, but they are "
                    "composed of units of words: choose --output-layer subword, or linear"
                )
            raise UserError(
                "this --output-layer uses the decoder's input embeddings, but "
                f"{type(embedding).__name__} is not a plain embedding table: choose --output-layer "
                "linear, or leave out --character-embeddings and --adaptive-input"
            )
        check_plain(embedding)

    def check_equal_sizes(self, hidden_size: int, name: str) -> None:
        """Refuse unequal ``d`` and ``H``."""
        size = self.embedding.embedding_dim
        if size != hidden_size:
            raise UserError(
                f"--output-layer {name} takes the dot product of embeddings and decoder states, "
                f"but the embeddings have {size} dimensions and the states {hidden_size}: make "
                "them equal, or choose another layer (--output-layer bilinear)"
            )

    @property
    def embedding(self) -> nn.Embedding:
        """The decoder's input embeddings."""
        return self._shared[0]

    def input_embeddings(self, ids: Optional[Tensor] = None) -> Tensor:
        """Rows of ``E``: ``(V, d)`` for all classes, or ``(*ids.shape, d)``."""
        return table_of(self.embedding).rows(ids)

    def read_parameters(self) -> Iterator[nn.Parameter]:
        yield from super().read_parameters()
        yield from self.embedding.parameters()

    def class_tables(self) -> List[Table]:
        return [*super().class_tables(), table_of(self.embedding)]
