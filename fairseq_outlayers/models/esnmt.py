"""Echo state machine translation (Garg et al. 2020): RNMT+ with frozen random recurrent layers."""

from dataclasses import dataclass, field
from typing import Any, Tuple

from fairseq.dataclass import ChoiceEnum
from fairseq.models import register_model

from fairseq_outlayers.models.checks import check_model
from fairseq_outlayers.models.rnmt_plus import (
    SIZES,
    MakeLayer,
    RNMTPlusConfig,
    RNMTSkeleton,
    trained_layers,
)
from fairseq_outlayers.ranges import ranged, share
from fairseq_outlayers.registry import register_size
from fairseq_outlayers.reservoirs.echo_state import EchoStateLayer
from fairseq_outlayers.reservoirs.frozen_lstm import FrozenLSTM
from fairseq_outlayers.reservoirs.options import (
    LEARNED,
    RELEASES,
    check_echo_options,
    make_scales,
)
from fairseq_outlayers.reservoirs.regenerated import freeze
from fairseq_outlayers.reservoirs.reservoir import INPUT_NORMS, Reservoir


@dataclass
class EchoStateConfig(RNMTPlusConfig):
    release: ChoiceEnum(list(RELEASES)) = field(  # type: ignore[valid-type]
        default="attention",
        metadata={
            "help": "what is trained: the output layer alone; also the embeddings (with the map of "
            "external vectors) and the scales; "
            "also attention; also the encoder's layers or the decoder's, or both"
        },
    )
    spectral_radius: str = field(
        default=LEARNED,
        metadata={"help": "of the recurrent matrices: learned, or a fixed number"},
    )
    radius_init: float = ranged(
        1.0, "learned spectral radii start here", at_least=0, at_most=10_000
    )
    gamma_init: float = ranged(
        10.0,
        "the learned scales of the inputs start here (10 in the paper, where "
        "upper layers saturate: see --input-norm)",
        at_least=0,
        at_most=10_000,
    )
    input_norm: ChoiceEnum(list(INPUT_NORMS)) = field(  # type: ignore[valid-type]
        default="none",
        metadata={
            "help": "none: input weights as drawn, as in the paper; fan_in: divided so that a "
            "layer's drive has the variance of its input"
        },
    )
    reservoir_sparsity: float = share(
        0.25, "share of the frozen recurrent and input weights pruned"
    )
    reservoir_seed: int = ranged(
        1, "decides all frozen weights; --seed has no influence on them", at_least=0, below=2**32
    )


@dataclass
class ESNMTConfig(EchoStateConfig):
    leak_rate: float = ranged(1.0, "share of a state that is new at every step", above=0, at_most=1)


@dataclass
class ESNMTLSTMConfig(EchoStateConfig):
    scales_per_gate: bool = field(
        default=False,
        metadata={"help": "a radius and an input scale for each gate, not one for the layer"},
    )


class EchoStateModel(RNMTSkeleton):
    """The skeleton with frozen layers, as far as ``--release`` does not release them."""

    Config = EchoStateConfig
    gates = 1

    @classmethod
    def build_model(cls, cfg: Any, task: Any) -> RNMTSkeleton:
        check_model(cfg, cls.Config, task)
        check_echo_options(cfg)
        return super().build_model(cfg, task)

    @classmethod
    def layer_makers(cls, cfg: Any) -> Tuple[MakeLayer, MakeLayer]:
        release, trained = RELEASES[cfg.release], trained_layers(cfg)

        def frozen(name: str, input_size: int) -> Any:
            reservoir = Reservoir(
                name,
                cfg.reservoir_seed,
                input_size,
                cfg.hidden_size,
                cls.gates,
                cfg.reservoir_sparsity,
                cfg.input_norm,
            )
            return cls.frozen_layer(cfg, reservoir)

        return (
            trained if release.encoder else frozen,
            trained if release.decoder else frozen,
        )

    @classmethod
    def frozen_layer(cls, cfg: Any, reservoir: Reservoir) -> Any:
        """A layer on a reservoir."""
        raise NotImplementedError

    def freeze(self, cfg: Any) -> None:
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
            freeze(part, name, cfg.reservoir_seed, cfg.init_range)


@register_model("esnmt", dataclass=ESNMTConfig)
class ESNMT(EchoStateModel):
    """RNMT+ with simple echo state layers, frozen but for two scales a layer (ESNMT)."""

    Config = ESNMTConfig

    @classmethod
    def frozen_layer(cls, cfg: Any, reservoir: Reservoir) -> EchoStateLayer:
        return EchoStateLayer(reservoir, *make_scales(cfg, 1), cfg.leak_rate)


@register_model("esnmt_lstm", dataclass=ESNMTLSTMConfig)
class ESNMTLSTM(EchoStateModel):
    """RNMT+ with frozen LSTM layers, but for two scales a layer (ESNMT-LSTM)."""

    Config = ESNMTLSTMConfig
    gates = 4

    @classmethod
    def frozen_layer(cls, cfg: Any, reservoir: Reservoir) -> FrozenLSTM:
        return FrozenLSTM(reservoir, *make_scales(cfg, 4 if cfg.scales_per_gate else 1))


for _size, _options in SIZES.items():
    register_size(f"esnmt_{_size}", ESNMT, f"ESNMT at {_size}.", **_options)
    register_size(f"esnmt_lstm_{_size}", ESNMTLSTM, f"ESNMT-LSTM at {_size}.", **_options)
