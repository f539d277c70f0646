"""Echo state machine translation (Garg et al. 2020): RNMT+ with frozen random recurrent layers."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Optional, Tuple, Type

from fairseq.dataclass import ChoiceEnum
from fairseq.models import register_model

from fairseq_outlayers.models.rnmt_plus import (
    SIZES,
    MakeLayer,
    RNMTPlusConfig,
    RNMTSkeleton,
    trained_layers,
)
from fairseq_outlayers.options import register_size
from fairseq_outlayers.ranges import ranged, share
from fairseq_outlayers.reservoirs.echo_state import EchoStateLayer
from fairseq_outlayers.reservoirs.frozen_layer import FrozenLayer
from fairseq_outlayers.reservoirs.frozen_lstm import FrozenLSTM
from fairseq_outlayers.reservoirs.options import (
    BY_START,
    ECHO_STARTS,
    LEARNED,
    RELEASES,
    check_echo_options,
    make_reservoir,
    make_scales,
)
from fairseq_outlayers.reservoirs.regenerated import freeze
from fairseq_outlayers.reservoirs.reservoir import INPUT_NORMS, Reservoir
from fairseq_outlayers.reservoirs.statistics import set_interval


@dataclass
class EchoStateConfig(RNMTPlusConfig):
    release: ChoiceEnum(list(RELEASES)) = field(  # type: ignore[valid-type]
        default="attention",
        metadata={
            "help": "trained parts, cumulative: the output layer; embeddings (with the map of "
            "external vectors) and scales; attention; the layers of the encoder, the decoder or "
            "both"
        },
    )
    spectral_radius: str = field(
        default=LEARNED,
        metadata={"help": "of the recurrent matrices: learned, or a fixed number"},
    )
    echo_start: ChoiceEnum(list(ECHO_STARTS)) = field(  # type: ignore[valid-type]
        default="output_variance",
        metadata={
            "help": "defaults of the next three options. output_variance: preserve the variance of "
            "a layer's inputs (3, 0.5 and fan_in for simple cells, 3.5, 1 and fan_in for LSTM "
            "cells); paper: 10, 1 and none, which saturates upper layers"
        },
    )
    gamma_init: Optional[float] = ranged(
        None, "initial value of the learned input scales", at_least=0, at_most=10_000
    )
    radius_init: Optional[float] = ranged(
        None, "initial value of learned spectral radii", at_least=0, at_most=10_000
    )
    input_norm: ChoiceEnum([BY_START, *INPUT_NORMS]) = field(  # type: ignore[valid-type]
        default=BY_START,
        metadata={
            "help": "none: input weights as drawn, as in the paper; fan_in: scaled so that input "
            "products have the variance of the inputs; auto: that of --echo-start"
        },
    )
    reservoir_sparsity: float = share(
        0.25, "share of the frozen recurrent and input weights pruned"
    )
    reservoir_seed: int = ranged(
        1, "seed of all frozen weights; --seed does not affect them", at_least=0, below=2**32
    )


@dataclass
class ESNMTConfig(EchoStateConfig):
    leak_rate: float = ranged(1.0, "share of the new state at every step", above=0, at_most=1)


@dataclass
class ESNMTLSTMConfig(EchoStateConfig):
    scales_per_gate: bool = field(
        default=False,
        metadata={"help": "a radius and an input scale per gate instead of per layer"},
    )


class EchoStateModel(RNMTSkeleton):
    """The skeleton with frozen layers where ``--release`` does not train them.

    Attributes:
        kind: of the frozen layers.
    """

    kind: ClassVar[Type[FrozenLayer]]

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        if not hasattr(cls, "kind"):
            raise TypeError(f"{cls.__name__} has no kind: set it to a class of FrozenLayer")
        cls.gates = cls.kind.gates

    def prepare_training(self, cfg: Any) -> None:
        """Set the logging interval of the frozen layers' statistics."""
        set_interval(self, cfg.common.log_interval)

    @classmethod
    def check_options(cls, cfg: Any) -> None:
        check_echo_options(cfg)
        super().check_options(cfg)

    @classmethod
    def layer_makers(cls, cfg: Any) -> Tuple[MakeLayer, MakeLayer]:
        release, trained = RELEASES[cfg.release], trained_layers(cfg)

        def frozen(name: str, input_size: int) -> Any:
            return cls.frozen_layer(cfg, make_reservoir(cfg, cls.kind, name, input_size))

        return (
            trained if release.encoder else frozen,
            trained if release.decoder else frozen,
        )

    @classmethod
    def frozen_layer(cls, cfg: Any, reservoir: Reservoir) -> FrozenLayer:
        """A layer on a reservoir; override it for a layer with options of its own."""
        layer: Any = cls.kind  # takes no state_size, unlike its base
        return layer(reservoir, *make_scales(cfg, cls.kind))

    def complete(self, cfg: Any) -> None:
        """Freeze the untrained parts outside the recurrent layers."""
        release = RELEASES[cfg.release]
        tables = {"encoder.embed_tokens": self.encoder.embed_tokens}
        if self.decoder.embed_tokens is not self.encoder.embed_tokens:
            tables["decoder.embed_tokens"] = self.decoder.embed_tokens
        attention = {
            "encoder.projection": self.encoder.lstm.projection,
            "decoder.attention": self.decoder.stack.attention,
        }
        frozen = {} if release.embeddings else tables
        frozen |= {} if release.attention else attention
        for name, part in frozen.items():
            freeze(part, name, cfg.reservoir_seed, self.initializer(cfg).bound)


@register_model("esnmt", dataclass=ESNMTConfig)
class ESNMT(EchoStateModel):
    """RNMT+ with simple echo state layers, frozen except for two scales per layer (ESNMT)."""

    kind = EchoStateLayer

    @classmethod
    def frozen_layer(cls, cfg: Any, reservoir: Reservoir) -> EchoStateLayer:
        return cls.kind(reservoir, *make_scales(cfg, cls.kind), cfg.leak_rate)


@register_model("esnmt_lstm", dataclass=ESNMTLSTMConfig)
class ESNMTLSTM(EchoStateModel):
    """RNMT+ with LSTM layers, frozen except for two scales per layer (ESNMT-LSTM)."""

    kind = FrozenLSTM

    @classmethod
    def frozen_layer(cls, cfg: Any, reservoir: Reservoir) -> FrozenLSTM:
        count = cls.kind.gates if cfg.scales_per_gate else 1
        return cls.kind(reservoir, *make_scales(cfg, cls.kind, count))


for _size, _options in SIZES.items():
    register_size(f"esnmt_{_size}", ESNMT, f"ESNMT at {_size}.", **_options)
    register_size(f"esnmt_lstm_{_size}", ESNMTLSTM, f"ESNMT-LSTM at {_size}.", **_options)
register_size(
    "esnmt_paper", ESNMT, "ESNMT at 512 with the paper's initial scales.", echo_start="paper"
)
register_size(
    "esnmt_lstm_paper",
    ESNMTLSTM,
    "ESNMT-LSTM at 512 with the paper's initial scales.",
    echo_start="paper",
)
