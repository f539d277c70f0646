"""fairseq's command-line options from the registries' dataclasses."""

import inspect
from dataclasses import field, fields, make_dataclass
from typing import Any, Dict, Iterator, Tuple

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.dataclass.configs import FairseqConfig
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models import MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY, register_model

from fairseq_outlayers.compositions import COMPOSITION, Composition
from fairseq_outlayers.errors import UserError, as_flag
from fairseq_outlayers.extensions import add_installed_parts
from fairseq_outlayers.output_layers import OUTPUT_LAYER, OutputLayer
from fairseq_outlayers.output_layers.subword_composed import (
    SubwordOutputLayer,
    make_config,
    uncomposed,
)
from fairseq_outlayers.registry import Selection
from fairseq_outlayers.samplers import SAMPLER, Sampler
from fairseq_outlayers.source_embeddings import SOURCE_EMBEDDING, SourceEmbedding
from fairseq_outlayers.suggestions import did_you_mean

OWNER = "selected_by"  # in the metadata of an option: the option that selects its owner
_selected: Dict[str, Dict[str, Any]] = {}  # options by name, by the option that selects


def selection_config(class_name: str, selection: Selection) -> Any:
    """A fairseq dataclass with the selecting option and the options of all entries.

    Models and criterions inherit it. fairseq silently merges options of equal names, so names must
    be unique.

    Args:
        class_name: name of the new dataclass.
        selection: an axis; ``metadata["choices"]`` of a field lists its choices.
    Raises:
        UserError: if fairseq, another axis or a subclass has an option of the same name.
    """
    plain = selection.config(class_name)
    options = {option.name: option for option in fields(plain) if option.name != "_name"}
    every = selection.options()
    _refuse_taken(selection, every)
    _selected[selection.option] = every
    made = make_dataclass(
        class_name,
        [_converted(option, selection.option) for option in options.values()],
        bases=(FairseqDataclass,),
        namespace={"__init_subclass__": classmethod(_refuse_redefined)},
    )
    made.__module__ = __name__
    return made


def _converted(option: Any, owner: str) -> Tuple[str, Any, Any]:
    """A field in fairseq's format, with an enumeration for choices."""
    choices = option.metadata.get("choices")
    kind = ChoiceEnum(list(choices)) if choices else option.type
    metadata = {**option.metadata, OWNER: owner}
    return option.name, kind, field(default=option.default, metadata=metadata)


def _refuse_taken(selection: Selection, options: Dict[str, Any]) -> None:
    """Refuse names of fairseq's options and of other axes."""
    for name, option in options.items():
        for taken_by, known in _taken():
            if taken_by != selection.option and known.get(name, option) is not option:
                raise UserError(
                    f"{as_flag(name)}, an option of {', '.join(selection.owners(name))} "
                    f"({as_flag(selection.option)}), is also an option of {taken_by}: "
                    "rename it"
                )


def _taken() -> Iterator[Tuple[str, Dict[str, Any]]]:
    yield from _selected.items()
    for group in fields(FairseqConfig):
        default = FairseqConfig.__dataclass_fields__[group.name].default
        yield "fairseq", getattr(default, "__dataclass_fields__", {})


def add_selection(parser: Any, config: Any) -> None:
    """Add the options of an axis to a model that declares its own with ``add_args``.

    Args:
        parser: an ``argparse`` parser or group.
        config: made by :func:`selection_config`.
    Raises:
        UserError: if the model has an option of the same name.
    """
    for option in fields(config):
        flag = as_flag(option.name)
        if OWNER in option.metadata and flag in parser._option_string_actions:
            selector = as_flag(option.metadata[OWNER])
            raise UserError(
                f"{flag} is both an option of one of {selector}'s entries and of the model: rename "
                "one of them"
            )
    gen_parser_from_dataclass(parser, config())


def _refuse_redefined(cls: Any, **keywords: Any) -> None:
    """Refuse a dataclass that merges two options of one name; runs at subclass creation."""
    owners: Dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        for name in inspect.get_annotations(base):
            # Before @dataclass runs, a field is an attribute.
            here = getattr(base, "__dataclass_fields__", {}).get(name)
            here = vars(base).get(name) if base is cls else here
            owner = getattr(here, "metadata", {}).get(OWNER)
            if name in owners and owners[name] != owner and (owner or owners[name]):
                selector = as_flag(owner or owners[name])
                raise UserError(
                    f"{as_flag(name)} is both an option of one of {selector}'s entries "
                    f"and of {cls.__name__}: rename one of them"
                )
            owners[name] = owner


def changed_defaults(class_name: str, config: Any, **defaults: Any) -> Any:
    """A copy of ``config`` with other defaults of some options.

    Args:
        class_name: name of the new dataclass.
        config: a dataclass of options.
        defaults: by name of the option.
    Raises:
        UserError: if there is no such option.
    """
    known = {option.name: option for option in fields(config)}
    for option in defaults:
        if option not in known:
            raise UserError(
                f"{class_name}: no option {as_flag(option)}{did_you_mean(option, known)}"
            )
    changed = [
        (option, known[option].type, field(default=value, metadata=known[option].metadata))
        for option, value in defaults.items()
    ]
    made = make_dataclass(class_name, changed, bases=(config,))
    made.__module__ = __name__
    return made


def register_size(name: str, model: Any, summary: str, **defaults: Any) -> None:
    """Register ``model`` as ``--arch name`` with other defaults of its options.

    A separate class and dataclass work from the command line and from hydra, which silently ignores
    fairseq's own named architectures.

    Args:
        name: of the architecture.
        model: a registered model class whose options are a dataclass.
        summary: one sentence.
        defaults: by name of the option.
    """
    registered = next(key for key, value in MODEL_REGISTRY.items() if value is model)
    config = MODEL_DATACLASS_REGISTRY[registered]
    made = changed_defaults(f"{config.__name__}_{name}", config, **defaults)
    made.__module__ = model.__module__
    own = {"__doc__": summary, "__module__": model.__module__, "is_named_size": True}
    sized = type(name, (model,), own)
    register_model(name, dataclass=made)(sized)


add_installed_parts(COMPOSITION, Composition)
# With their options; before the output layers, one of which may inherit it.
SubwordOutputLayer.Config = make_config()
add_installed_parts(OUTPUT_LAYER, OutputLayer)
add_installed_parts(SOURCE_EMBEDDING, SourceEmbedding)
add_installed_parts(SAMPLER, Sampler)

# Inherited by the dataclass of every model: `--output-layer` and each layer's own options.
OutputLayerConfig: Any = selection_config("OutputLayerConfig", OUTPUT_LAYER)
# Inherited by the dataclass of every model with a source side.
SourceEmbeddingConfig: Any = selection_config("SourceEmbeddingConfig", SOURCE_EMBEDDING)
# Inherited by the dataclass of every criterion that samples.
SamplerConfig: Any = selection_config("SamplerConfig", SAMPLER)
# Part of OutputLayerConfig, because the output layer subword composes.
CompositionConfig: Any = selection_config("CompositionConfig", COMPOSITION)


def reset_idle_options(config: Any) -> None:
    """Reset options of entries that are not selected to their defaults.

    Args:
        config: of a model or a criterion, as stored; anything else is not changed.
    """
    kind = MODEL_DATACLASS_REGISTRY.get(getattr(config, "_name", None))
    for axis in (OUTPUT_LAYER, COMPOSITION, SOURCE_EMBEDDING, SAMPLER):
        if hasattr(config, axis.option):
            for name, default in list(axis.idle(config, kind)):
                setattr(config, name, default)
    if hasattr(config, OUTPUT_LAYER.option):
        for name, default in list(uncomposed(config, kind)):
            setattr(config, name, default)
