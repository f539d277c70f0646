"""Load a checkpoint into a model with another output layer or other dictionaries.

fairseq's ``--finetune-from-model`` needs the same architecture and words. Here parameters are
loaded by name, rows of tables by word, and parameters missing from the checkpoint keep their
initialization. Unmatched parameters of either side are reported; outside the output layer and the
source vectors they are refused.
"""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Set, Tuple

import torch
import torch.nn as nn
from fairseq.modules import AdaptiveInput
from torch import Tensor

from fairseq_outlayers.checkpoints.names import BIAS, OUTPUT
from fairseq_outlayers.checkpoints.stored_options import arch_of, model_option
from fairseq_outlayers.checkpoints.word_rows import WordRows, rows_of_sides
from fairseq_outlayers.compositions import COMPOSITIONS
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.models.stock_lstm import our_name
from fairseq_outlayers.output_layers import OUTPUT_LAYERS, SubwordOutputLayer
from fairseq_outlayers.reservoirs.regenerated import VERSION
from fairseq_outlayers.source_embeddings import InternalSourceEmbedding
from fairseq_outlayers.tables.table import declared_tables

SOURCE = "encoder.embed_tokens."
TIED_TO = "decoder.embed_tokens.weight"
# Learned source vectors, alone and beside external ones.
INTERNAL = (f"{SOURCE}weight", f"{SOURCE}internal.weight")
ADAPTIVE = "decoder.adaptive_softmax."
EXCHANGED = (OUTPUT, SOURCE, ADAPTIVE)
FINGERPRINT = "_dictionary_version"
UNITS = ".units_version"
SIDES = {"encoder": "source", "decoder": "target"}


@dataclass
class Adapted:
    """Parameters for the model, and where they come from.

    Attributes:
        state: the state dict for the model.
        loaded: names of parameters copied from the checkpoint.
        filled: which rows of each table mapped by word are from the checkpoint, ``(V,)``.
        new: names of parameters that keep the model's initialization.
        unused: names in the checkpoint that nothing uses, with their sizes.
        lost: number of the checkpoint's words that the model's dictionary lacks, by side.
        new_biases: which class biases are not from the checkpoint, ``(V,)``; None for none.
    """

    state: Dict[str, Tensor]
    loaded: List[str] = field(default_factory=list)
    filled: Dict[str, Tensor] = field(default_factory=dict)
    new: List[str] = field(default_factory=list)
    unused: List[str] = field(default_factory=list)
    lost: Dict[str, int] = field(default_factory=dict)
    new_biases: Optional[Tensor] = None

    @property
    def mapped(self) -> List[Tuple[str, int, int]]:
        """Tables mapped by word: name, mapped rows, all rows."""
        return [(name, int(rows.sum()), len(rows)) for name, rows in self.filled.items()]

    def untrained(self) -> List[str]:
        """Names of parameters that are not, or not for every word, from the checkpoint.

        Not of class biases, which are zero if the checkpoint has none.
        """
        partly = (name for name, found, rows in self.mapped if found < rows)
        return [name for name in (*self.new, *partly) if name != BIAS]

    def lines(self, path: str, arch: str) -> List[str]:
        """A report to print."""
        numbers = sum(self.state[name].numel() for name in self.loaded)
        lines = [f"fine-tuning from {path} (--arch {arch})"]
        lines.append(f"  loaded: {len(self.loaded)} tensors of {numbers:,} numbers")
        for name, found, rows in self.mapped:
            lines.append(f"  mapped by word: {name}: {found:,} of {rows:,} rows; others are new")
        lines += [f"  {n:,} words of its {side} dictionary are not in this one"
                 for side, n in self.lost.items() if n]  # fmt: skip
        lines += [f"  new: {', '.join(self.new)}"] if self.new else []
        lines += [f"  not used: {', '.join(self.unused)}"] if self.unused else []
        return lines


class _Misfit(ValueError):
    """Why a checkpoint cannot be adapted."""


def adapt(path: str, state: Dict[str, Any], model: Any, task: Any) -> Adapted:
    """Adapt a checkpoint's parameters to a model of this package.

    Args:
        path: of the checkpoint.
        state: its content; not changed.
        model: initialized.
        task: has the dictionaries.
    Raises:
        UserError: if parameters outside the output layer and the source vectors do not fit, or a
            dictionary is missing.
    """
    rows = rows_of_sides(path, state, model, task)
    try:
        return _adapted(state, model, rows)
    except _Misfit as why:
        raise UserError(f"--finetune-from-model {path}: {why}") from None


def _adapted(state: Dict[str, Any], model: Any, rows: Dict[str, Optional[WordRows]]) -> Adapted:
    given = _upgraded(state["model"], model)
    in_place = model.state_dict()  # here, because upgrading a checkpoint may change the model
    own = {name: value.detach().cpu() for name, value in in_place.items()}
    tables = _table_names(model)
    _untie(given, own)
    _rename_internal(given, tables)
    _refuse_units(rows["decoder"], model)
    _refuse_rows_by_number(rows, model, own)
    _refuse_frozen(own, given)
    done = Adapted({}, lost={SIDES[p]: r.lost for p, r in rows.items() if r is not None})
    exchanged = _has_another_layer(state, model)
    for name, start in own.items():
        row_map = None
        if name in tables:
            row_map = rows[name.partition(".")[0]] or _shared_rows(start, given.get(name))
        # Another layer may compute something else with a parameter of the same name and shape.
        is_lost = exchanged and name.startswith(OUTPUT) and name not in (*tables, BIAS)
        _load(done, name, start, None if is_lost else given.get(name), row_map)
    _refuse_misfits(arch_of(state), done, own, given)
    _refuse_two_for_one(in_place, done.state)
    done.unused = _unused(done, given)
    done.new_biases = _new_biases(done, model)
    return done


def _upgraded(stored: Dict[str, Tensor], model: Any) -> Dict[str, Tensor]:
    """A copy with the names of fairseq's current version, and of our LSTM if the model is one."""
    given = dict(stored)
    if hasattr(getattr(model, "decoder", None), "recurrence"):
        given = {our_name(name): value for name, value in given.items()}
    model.upgrade_state_dict(given)
    return given


def _load(
    done: Adapted, name: str, start: Tensor, given: Optional[Tensor], rows: Optional[WordRows]
) -> None:
    """Copy one parameter from the checkpoint, map it by word, or keep its initialization.

    A class bias that the checkpoint lacks is zero, so that scores stay as they were.
    """
    is_version = name.endswith("_version") and name.startswith((OUTPUT, SOURCE))
    if name.endswith(UNITS) and given is not None:
        done.state[name] = given  # the layer refuses units of another training
    elif name.endswith(FINGERPRINT) or is_version:
        done.state[name] = start
    elif given is not None and rows is not None and given.shape[1:] == start.shape[1:]:
        done.state[name] = start.clone()
        done.filled[name] = rows.fill(done.state[name], given)
    elif given is not None and rows is None and given.shape == start.shape:
        done.state[name] = given
        done.loaded.append(name)
    else:
        done.state[name] = start
        done.new.append(name)
        if name == BIAS:
            done.state[name] = torch.zeros_like(start)


def _unused(done: Adapted, given: Dict[str, Tensor]) -> List[str]:
    """Names in the checkpoint that nothing uses, with their sizes."""
    names = sorted(given.keys() - {*done.loaded, *done.filled})
    return [
        f"{name} ({_size(given[name])})"
        for name in names
        if not name.endswith("_version") and not _is_tied(name, given)
    ]


def _new_biases(done: Adapted, model: Any) -> Optional[Tensor]:
    """Which class biases are not from the checkpoint, ``(V,)``; None for none."""
    if BIAS in done.filled:
        return ~done.filled[BIAS]
    return ~_scored_by_checkpoint(done, model) if BIAS in done.new else None


def _scored_by_checkpoint(done: Adapted, model: Any) -> Tensor:
    """Which classes have their score from the checkpoint, if it has no biases, ``(V,)``."""
    scored = torch.ones_like(done.state[BIAS], dtype=torch.bool)
    own = [f"{OUTPUT}{name}" for name in declared_tables(model.decoder.output_projection)]
    vectors = [name for name in own if name != BIAS] or [TIED_TO]
    # With parameters that only one of the two has, these are other scores.
    is_new = any(name.startswith(OUTPUT) and name != BIAS for name in done.new)
    is_old = any(name.startswith((OUTPUT, ADAPTIVE)) for name in done.unused)
    if is_new or is_old or any(name in done.new for name in vectors):
        return torch.zeros_like(scored)
    for name in vectors:
        scored &= done.filled.get(name, scored)
    return scored


def _untie(given: Dict[str, Tensor], own: Dict[str, Tensor]) -> None:
    """Initialize an untied output layer from the tied embeddings of the checkpoint.

    An adaptive softmax has class vectors of its own, which are not converted. It can be tied only
    to adaptive inputs, which are no table of this name.
    """
    name = f"{OUTPUT}weight"
    is_tied = all(n == BIAS for n in given if n.startswith((OUTPUT, ADAPTIVE)))
    if is_tied and name in own and TIED_TO in given:
        fits = own[name].shape[1:] == given[TIED_TO].shape[1:]
        given.update({name: given[TIED_TO]} if fits else {})


def _rename_internal(given: Dict[str, Tensor], tables: List[str]) -> None:
    """Rename learned source vectors if only one side has external ones."""
    for own, other in (INTERNAL, INTERNAL[::-1]):
        if own in tables and own not in given and other in given:
            given[own] = given.pop(other)


def _shared_rows(start: Tensor, given: Optional[Tensor]) -> Optional[WordRows]:
    """The first rows of tables of different lengths for one dictionary (internal vocabularies)."""
    if given is None or len(given) == len(start):
        return None
    rows = torch.arange(min(len(given), len(start)))
    return WordRows(rows, rows, 0)


def _is_tied(name: str, given: Dict[str, Tensor]) -> bool:
    """Whether a parameter duplicates the input embeddings, as in fairseq's tied models."""
    other = given.get(TIED_TO)
    return name == f"{OUTPUT}weight" and other is not None and torch.equal(given[name], other)


def _has_another_layer(state: Dict[str, Any], model: Any) -> bool:
    """Whether the checkpoint is of this package and has another output layer or composition."""
    layer = model.decoder.output_projection
    kind = OUTPUT_LAYERS.get(model_option(state, "output_layer"))
    if kind is None or type(layer) is not kind:  # a subclass is another layer
        return kind is not None
    composition = COMPOSITIONS.get(model_option(state, "composition"))
    if composition is None or not isinstance(layer, SubwordOutputLayer):
        return False
    return not isinstance(layer.words.composition, composition)


def _table_names(model: Any) -> List[str]:
    """Names of parameters with a row for every word of a side."""
    names = [f"{OUTPUT}{name}" for name in declared_tables(model.decoder.output_projection)]
    for part in ("encoder", "decoder"):
        prefix = f"{part}.embed_tokens"
        for name, module in getattr(model, part, nn.Module()).named_modules():
            inside = f"{part}.{name}".startswith(prefix)
            plain = f"{part}.{name}" == prefix and isinstance(module, nn.Embedding)
            if plain or (inside and isinstance(module, InternalSourceEmbedding)):
                names.append(f"{part}.{name}.weight")
    return names


def _refuse_units(rows: Optional[WordRows], model: Any) -> None:
    """Refuse another dictionary if words are composed: unit ids depend on the dictionary."""
    composed = [model.decoder.embed_tokens, model.decoder.output_projection]
    if rows is not None and any(hasattr(module, "words") for module in composed):
        raise _Misfit(
            "words composed of units cannot be mapped to another dictionary: binarize the data "
            "with the checkpoint's dictionary"
        )


def _refuse_rows_by_number(
    rows: Dict[str, Optional[WordRows]], model: Any, own: Dict[str, Tensor]
) -> None:
    """Refuse another dictionary if input vectors belong to the numbers of words."""
    for part in (part for part, mapped in rows.items() if mapped is not None):
        name = f"{part}.embed_tokens"
        if f"{name}.{VERSION}" in own:
            reason = "a frozen table is drawn from a seed, row by row (--release)"
        elif isinstance(model.get_submodule(name), AdaptiveInput):
            reason = "--adaptive-input divides words by their number"
        else:
            continue
        raise _Misfit(
            f"{name} cannot be mapped to another dictionary, because {reason}: binarize the data "
            f"with the checkpoint's {SIDES[part]} dictionary"
        )


def _refuse_frozen(own: Dict[str, Tensor], given: Dict[str, Tensor]) -> None:
    """Refuse layers that are frozen on one side only: checkpoints have their seed, no weights."""
    frozen_here, frozen_there = _frozen_layers(own), _frozen_layers(given)
    for name in sorted(frozen_here ^ frozen_there):
        there, here = ("trained", "frozen") if name in frozen_here else ("frozen", "trained")
        raise _Misfit(
            f"{name} is {there} in the checkpoint and {here} in the model: frozen weights are "
            "regenerated from a seed, so they can neither be loaded nor replaced; freeze the "
            "checkpoint's layers (--release, --frozen-encoder-layers, --frozen-decoder-layers)"
        )


def _frozen_layers(state: Dict[str, Tensor]) -> Set[str]:
    """Names of frozen modules outside the output layer and the source vectors."""
    names = (n for n in state if n.endswith(f".{VERSION}") and not n.startswith(EXCHANGED))
    return {name.removesuffix(f".{VERSION}") for name in names}


def _refuse_misfits(
    arch: str, done: Adapted, own: Dict[str, Tensor], given: Dict[str, Tensor]
) -> None:
    """Refuse misfits outside the output layer and the source vectors."""
    missing = [name for name in done.new if not name.startswith(EXCHANGED)]
    extra = [n for n in given if n not in own and not n.startswith(EXCHANGED)]
    extra = [n for n in extra if not n.endswith(FINGERPRINT)]
    misfits = [*missing, *extra]
    if misfits:
        name = misfits[0]
        there = _size(given[name]) if name in given else "no such parameter"
        here = _size(own[name]) if name in own else "none"
        raise _Misfit(
            f"{name}: the checkpoint (--arch {arch}) has {there}, the model {here} "
            f"({len(misfits)} such): give the checkpoint's sizes and numbers of layers; only the "
            "output layer, the source vectors and the words may differ"
        )


def _refuse_two_for_one(in_place: Dict[str, Any], state: Dict[str, Tensor]) -> None:
    """Refuse to load two different tables into one that the model shares."""
    first: Dict[int, str] = {}
    for name, value in in_place.items():
        if value.numel() == 0:
            continue
        other = first.setdefault(value.data_ptr(), name)
        if other != name and not torch.equal(state[name], state[other]):
            raise _Misfit(
                f"{other} and {name} are one table in the model and two in the checkpoint: leave "
                "out --share-all-embeddings"
            )


def _size(value: Tensor) -> str:
    return " x ".join(f"{n:,}" for n in value.shape) or "one number"
