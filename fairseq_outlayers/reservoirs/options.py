"""What the options of the echo state models mean: what is trained, and where scales start."""

import math
from typing import Any, Dict, NamedTuple, Optional, Tuple

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.reservoirs.scale import Scale


class Release(NamedTuple):
    """What is trained beside the output layer (Garg et al. 2020, Table 2)."""

    embeddings: bool = False  # and the scales of the frozen layers
    attention: bool = False  # and the projection of the encoder's states, its input
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
RADIUS_INIT = 1.0
LARGEST = 10_000


def make_scales(cfg: Any, gates: int) -> Tuple[Scale, Scale]:
    """Radius and input scale of one layer."""
    learned = RELEASES[cfg.release].embeddings
    fixed = fixed_radius(cfg)
    initial = cfg.radius_init if fixed is None else fixed
    return Scale(initial, learned and fixed is None, gates), Scale(cfg.gamma_init, learned, gates)


def fixed_radius(cfg: Any) -> Optional[float]:
    """The number in ``--spectral-radius``, or None if it is learned."""
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
    """Refuse what means nothing, before any weight is drawn."""
    fixed = fixed_radius(cfg)
    if fixed is not None and cfg.radius_init != RADIUS_INIT:
        raise UserError(
            f"--radius-init {cfg.radius_init} is where learned radii start, and --spectral-radius "
            f"{cfg.spectral_radius} fixes them: leave one of the two out"
        )
    if not RELEASES[cfg.release].embeddings and cfg.output_layer != "linear":
        raise UserError(
            f"--release {cfg.release} freezes the embeddings, and --output-layer "
            f"{cfg.output_layer} may score with them: choose --output-layer linear, or another "
            "--release"
        )
