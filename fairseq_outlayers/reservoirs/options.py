"""Options of the echo state models: which parts are trained, and initial scales."""

import math
from typing import Any, Dict, Iterator, NamedTuple, Optional, Tuple, Type

from fairseq_outlayers.errors import UserError, changes_nothing
from fairseq_outlayers.ranges import check_ranges
from fairseq_outlayers.registry import class_of
from fairseq_outlayers.reservoirs.frozen_layer import FrozenLayer
from fairseq_outlayers.reservoirs.reservoir import Reservoir
from fairseq_outlayers.reservoirs.scale import EchoStart, Scale


class Release(NamedTuple):
    """Parts that are trained beside the output layer (Garg et al. 2020, Table 2)."""

    embeddings: bool = False  # and the scales of the frozen layers
    attention: bool = False  # and its input, the projection of the encoder states
    encoder: bool = False
    decoder: bool = False


RELEASES: Dict[str, Release] = {
    "softmax": Release(),
    "embeddings": Release(embeddings=True),
    "attention": Release(embeddings=True, attention=True),
    "encoder": Release(embeddings=True, attention=True, encoder=True),
    "decoder": Release(embeddings=True, attention=True, decoder=True),
    "all": Release(embeddings=True, attention=True, encoder=True, decoder=True),
}
LEARNED = "learned"
LARGEST = 10_000
FORMER_RADIUS_INIT = 1.0  # an old default; checkpoints with a fixed radius have it


# Options of frozen parts: without effect where all parts are trained.
FROZEN_PART_OPTIONS = (
    "spectral_radius",
    "echo_start",
    "gamma_init",
    "radius_init",
    "input_norm",
    "reservoir_sparsity",
    "reservoir_seed",
    "leak_rate",
    "scales_per_gate",
)


ECHO_STARTS = ("output_variance", "paper")  # their scales are those of the layer
BY_START = "auto"


def echo_start(cfg: Any, kind: Type[FrozenLayer]) -> EchoStart:
    """Initial scales by ``--echo-start`` for this kind of layer, overridden by single options.

    Raises:
        UserError: if the layer has no scales of that name.
    """
    if cfg.echo_start not in kind.starts:
        known = ", ".join(kind.starts)
        raise UserError(
            f"--echo-start {cfg.echo_start}: {kind.__name__}.starts has {known or 'no scales'}"
        )
    named = kind.starts[cfg.echo_start]
    return EchoStart(
        named.gamma if cfg.gamma_init is None else cfg.gamma_init,
        named.radius if cfg.radius_init is None else cfg.radius_init,
        named.input_norm if cfg.input_norm == BY_START else cfg.input_norm,
    )


def make_reservoir(cfg: Any, kind: Type[FrozenLayer], name: str, input_size: int) -> Reservoir:
    """The frozen matrices of the layer ``name``, which is of this kind."""
    return Reservoir(
        name,
        cfg.reservoir_seed,
        input_size,
        cfg.hidden_size,
        kind.gates,
        cfg.reservoir_sparsity,
        echo_start(cfg, kind).input_norm,
        kind.draw,
    )


def make_scales(cfg: Any, kind: Type[FrozenLayer], count: int = 1) -> Tuple[Scale, Scale]:
    """Radius and input scale of one layer of this kind, with ``count`` factors each."""
    learned = RELEASES[cfg.release].embeddings
    fixed, start = fixed_radius(cfg), echo_start(cfg, kind)
    radius = start.radius if fixed is None else fixed
    return Scale(radius, learned and fixed is None, count), Scale(start.gamma, learned, count)


def fixed_radius(cfg: Any) -> Optional[float]:
    """The number in ``--spectral-radius``, or None if it is learned.

    Raises:
        UserError: if it is neither a number in range nor ``learned``.
    """
    if cfg.spectral_radius == LEARNED:
        return None
    try:
        radius = float(cfg.spectral_radius)
    except ValueError:
        radius = math.nan
    if not 0 <= radius <= LARGEST:
        raise UserError(
            f"--spectral-radius {cfg.spectral_radius}: must be {LEARNED}, or a number that is at "
            f"least 0 and at most {LARGEST:,}"
        )
    return radius


def check_echo_options(cfg: Any) -> None:
    """Refuse options that are invalid or have no effect, before any weight is drawn."""
    fixed = fixed_radius(cfg)
    check_ranges(cfg, class_of(cfg))
    idle = [name for name, _ in idle_echo_options(cfg)]
    if idle:
        remedy = "nothing is frozen; choose another --release, or leave it out"
        where = f"with --release {cfg.release}"
        raise changes_nothing(idle[0], getattr(cfg, idle[0]), where, remedy)
    if fixed is not None and cfg.radius_init not in (None, FORMER_RADIUS_INIT):
        raise UserError(
            f"--radius-init {cfg.radius_init} initializes learned radii, but --spectral-radius "
            f"{cfg.spectral_radius} fixes them: leave one of them out"
        )
    if not RELEASES[cfg.release].embeddings and cfg.output_layer != "linear":
        raise UserError(
            f"--release {cfg.release} freezes the embeddings, but --output-layer "
            f"{cfg.output_layer} may use them: choose --output-layer linear, or another --release"
        )


def idle_echo_options(cfg: Any, kind: Optional[type] = None) -> Iterator[Tuple[str, Any]]:
    """Given options of frozen parts in a model that has none.

    Args:
        cfg: of an echo state model.
        kind: the dataclass with its defaults; by default that of ``cfg``.
    Yields:
        The name and the default.
    """
    declared = getattr(kind or class_of(cfg), "__dataclass_fields__", {})
    for name in FROZEN_PART_OPTIONS if all(RELEASES[cfg.release]) else ():
        if name not in declared:  # one kind of cell has it
            continue
        default = declared[name].default
        # A choice may be an enumeration or its name.
        if str(getattr(cfg, name, default)) != str(default):
            yield name, default
