"""Class embeddings composed from the subword units of each word (Assylbekov & Takhanov 2018)."""

from dataclasses import dataclass, field
from typing import Any, FrozenSet, Iterator, List, Optional, Sequence, Tuple, Type

import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.compositions import (
    COMPOSITION,
    WORD,
    ComposedEmbedding,
    ComposedWords,
    compose_words,
)
from fairseq_outlayers.errors import UserError, changes_nothing
from fairseq_outlayers.output_layers.base import OutputLayer
from fairseq_outlayers.output_layers.computed import ComputedOutputLayer
from fairseq_outlayers.output_layers.linear import LinearOutputLayer
from fairseq_outlayers.output_layers.structure import make_projection
from fairseq_outlayers.output_layers.tied import TiedOutputLayer
from fairseq_outlayers.registry import class_of

ORIGINAL = "original"
PRESETS = {  # which layers, bottom-up, input and output share
    "none": lambda layers: [],
    "re": lambda layers: layers[:1],
    "rw": lambda layers: layers[1:],
    "re_rw": lambda layers: layers,
}


def make_config() -> type:
    """The options of :class:`SubwordOutputLayer`: its own, and of the compositions known now."""

    @dataclass
    class Config(COMPOSITION.config("CompositionOptions"), OutputLayer.Config):  # type: ignore[misc]
        tie: str = field(
            default="none",
            metadata={
                "help": "layers that the output layer subword shares with composed input "
                "embeddings: original (a plain softmax), none, re (unit embeddings), rw (all "
                "others), re_rw, or a comma-separated list of emb, proj (sylconcat), cnn "
                "(charcnn), hw1, hw2"
            },
        )

    return Config


class SubwordOutputLayer(ComputedOutputLayer):
    """``z = rows h + b``, ``row_w = P HW2(HW1(units of w))`` (Assylbekov & Takhanov 2018).

    Any of its layers may be shared with the model's input embeddings (``--tie``).

    Args:
        words: composes the vectors of the dictionary's words.
        shared: the input embeddings with the shared layers, or None.
        tied: names of the shared layers; the others are new.
        hidden_size: ``H``; a projection ``P: (H, D)`` is added only if word vectors have another
            size.
        bias: whether classes have biases.
    """

    depends_on_words = True

    Config: Any = make_config()

    words: ComposedWords

    def __init__(
        self,
        words: ComposedWords,
        shared: Optional[ComposedEmbedding],
        tied: FrozenSet[str],
        hidden_size: int,
        bias: bool = True,
    ):
        super().__init__(words.ids.size(0), bias)
        self.words = words
        composition = words.composition
        layers = composition.all_parts()
        self.parts = nn.ModuleDict(
            composition.build_parts([name for name in layers if name not in tied])
        )
        # A tuple prevents registration: the layers belong to the input.
        self._shared = (shared,)
        self._tied = tied
        size = composition.output_size
        self.projection = (
            make_projection(size, hidden_size, bias=False) if (size != hidden_size) else None
        )

    @classmethod
    def build(cls, config: Any, embedding: Any, hidden_size: int, dictionary: Any) -> OutputLayer:
        # A layer that extends this one is not named so, and always composes.
        plain = plain_layer(config) if config.output_layer == "subword" else None
        if plain is not None:
            return plain.build(config, embedding, hidden_size, dictionary)
        if isinstance(embedding, ComposedEmbedding):
            shared, words = embedding, embedding.words
        else:
            shared, words = None, compose_words(config, dictionary, hidden_size)
        tied = tied_layers(config.tie, words.composition.all_parts())
        if tied and shared is None:
            raise UserError(
                f"--tie {config.tie}: the input embeddings of this model are a plain table, so "
                "there are no layers to share; leave --tie out, or use --arch subword_lm"
            )
        return cls(words, shared, tied, hidden_size, bias=not config.no_class_bias)

    def read_parameters(self) -> Iterator[nn.Parameter]:
        yield from super().read_parameters()
        layers = self.layers()
        for name in self._tied:
            yield from layers[name].parameters()

    @property
    def class_size(self) -> int:
        composed = self.words.composition.output_size
        return composed if self.projection is None else self.projection.out_features

    def encode_classes(self, ids: Optional[Tensor]) -> Tensor:
        return self._project_rows(self.words(self.layers(), ids))

    def compose_rows(self, units: Tensor) -> Tensor:
        """Class embeddings, ``(N, H)``, of words given by their unit ids, ``(N, L)``."""
        return self._project_rows(self.words.compose(self.layers(), units))

    def _project_rows(self, rows: Tensor) -> Tensor:
        return rows if self.projection is None else self.projection(rows)

    def layers(self) -> Any:
        """All layers by name, including shared ones."""
        shared = self._shared[0]
        tied = {} if shared is None else {name: shared.parts[name] for name in self._tied}
        return {**dict(self.parts.items()), **tied}


def plain_layer(config: Any) -> Optional[Type[OutputLayer]]:
    """The output layer that ``--output-layer subword`` means without composition; else None.

    ``--tie original`` and ``--composition word`` are the paper's names for a plain softmax.

    Raises:
        UserError: if ``--tie`` names layers that do not exist without a composition, or an option
            of a composition is given and nothing is composed.
    """
    if config.tie == ORIGINAL:
        idle = [name for name, _ in uncomposed(config)]
        if idle:
            raise changes_nothing(
                idle[0],
                getattr(config, idle[0]),
                f"with --tie {ORIGINAL}",
                "the input embeddings of this model are a plain table, so nothing is composed; "
                f"leave it out, or choose --tie {', '.join(PRESETS)}",
            )
        return LinearOutputLayer
    if config.composition != WORD:
        return None
    COMPOSITION.refuse_unselected(config)
    return TiedOutputLayer if tied_layers(config.tie, ["emb"]) else LinearOutputLayer


def uncomposed(config: Any, kind: Optional[type] = None) -> Iterator[Tuple[str, Any]]:
    """Given options of a composition where ``--tie original`` leaves nothing to compose.

    Args:
        config: of a model with output layer options.
        kind: the dataclass with its defaults; by default that of ``config``.
    Yields:
        The name and the default.
    """
    kind = kind or class_of(config)
    composes_input = COMPOSITION.option in getattr(kind, "also_reads", ())
    if composes_input or (config.output_layer, config.tie) != ("subword", ORIGINAL):
        return
    options = {name: option.default for name, option in COMPOSITION.options().items()}
    for name, default in {COMPOSITION.option: COMPOSITION.default, **options}.items():
        if str(getattr(config, name, default)) not in (str(default), WORD):
            yield name, default


def tied_layers(tie: str, layers: Sequence[str]) -> FrozenSet[str]:
    """Names of the layers that ``--tie`` shares.

    Args:
        tie: a preset, or a comma-separated list of names.
        layers: of the composition, bottom-up.
    Raises:
        UserError: if a name is not a layer of the composition.
    """
    if tie in PRESETS:
        return frozenset(PRESETS[tie](list(layers)))
    names: List[str] = [name.strip() for name in tie.split(",")]
    unknown = [name for name in names if name not in layers]
    if unknown:
        raise UserError(
            f"--tie {tie}: {unknown[0]!r} is neither a layer of this --composition "
            f"({', '.join(layers)}) nor one of {', '.join([ORIGINAL, *PRESETS])}"
        )
    return frozenset(names)
