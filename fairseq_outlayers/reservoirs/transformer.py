"""Frozen random layers between trained layers of a Transformer."""

from dataclasses import dataclass, field
from typing import Any, List, Optional

from fairseq.dataclass import FairseqDataclass

from fairseq_outlayers.errors import UserError, as_flag, refuse_idle
from fairseq_outlayers.ranges import check_ranges, ranged
from fairseq_outlayers.reservoirs.regenerated import freeze

SIDES = ("encoder", "decoder")
SEED = "reservoir_seed"


@dataclass
class FrozenLayersConfig(FairseqDataclass):
    frozen_encoder_layers: str = field(
        default="",
        metadata={
            "help": "encoder layers, counted from 0, with random weights that are neither trained "
            "nor saved: 1,3 for the second and the fourth"
        },
    )
    frozen_decoder_layers: str = field(default="", metadata={"help": "the same for the decoder"})
    reservoir_seed: int = ranged(
        1, "seed of all frozen weights; --seed does not affect them", at_least=0, below=2**32
    )


def freeze_layers(model: Any, args: Any) -> None:
    """Freeze the layers given by options (Garg et al. 2020, Sec. 6; Shen et al. 2021).

    Args:
        model: a fairseq Transformer.
        args: with the fields of ``FrozenLayersConfig``; older checkpoints lack them.
    Raises:
        UserError: if a layer does not exist or would get another number, or a seed is given for
            none.
    """
    if freezes_none(args):
        if hasattr(args, SEED):
            needed = "--frozen-encoder-layers or --frozen-decoder-layers"
            refuse_idle(args, FrozenLayersConfig, needed, SEED)
        return
    check_ranges(args, FrozenLayersConfig)
    for side in SIDES:
        option = f"frozen_{side}_layers"
        _check_pruned(args, side, option)
        layers = getattr(model, side).layers
        for number in _numbers(getattr(args, option, ""), len(layers), option):
            freeze(layers[number], f"{side}.layers.{number}", args.reservoir_seed)


def freezes_none(args: Any) -> bool:
    """Whether no layer is to be frozen."""
    return not any(_words(getattr(args, f"frozen_{side}_layers", "")) for side in SIDES)


def _check_pruned(args: Any, side: str, option: str) -> None:
    """Refuse to leave out layers of a checkpoint below a frozen one, or that one itself.

    Frozen weights follow from the layer's number, and fairseq renumbers the layers that it keeps.
    """
    name = f"{side}_layers_to_keep"
    kept = sorted(int(word) for word in _words(getattr(args, name, "")))
    frozen = [int(word) for word in _words(getattr(args, option, "")) if word.isdecimal()]
    if kept and any(kept[number : number + 1] != [number] for number in frozen):
        raise UserError(
            f"--model-overrides {{'{name}': '{getattr(args, name)}'}}: the weights of frozen "
            f"layers ({as_flag(option, getattr(args, option))}) follow from their numbers, which "
            f"this changes: keep all layers from 0 to {max(frozen)}, or leave out the frozen ones "
            f"and add '{option}': ''"
        )


def _words(text: Optional[str]) -> List[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _numbers(text: Optional[str], count: int, option: str) -> List[int]:
    words = _words(text)
    for word in words:
        if not (word.isdecimal() and int(word) < count):
            raise UserError(
                f"{as_flag(option, text)}: no layer '{word}'; there are {count}, counted from 0"
            )
    return sorted({int(word) for word in words})
