"""Architectures that are a model with other defaults, and options that fairseq can read."""

from dataclasses import dataclass
from typing import Any

from fairseq.dataclass import FairseqDataclass
from fairseq.models import MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY, register_model

from fairseq_outlayers.registry import changed_defaults


def for_fairseq(config: Any) -> Any:
    """A dataclass of options as one that fairseq makes a parser of.

    The options of output layers, samplers and source embeddings are plain dataclasses, so that they
    can be used without fairseq.
    """

    @dataclass
    class Joined(config, FairseqDataclass):
        pass

    return Joined


def register_size(name: str, model: Any, summary: str, **defaults: Any) -> None:
    """Register ``model`` a second time, as ``--arch name``, with other defaults of its options.

    A class and a dataclass of its own make it work from the command line and from hydra alike;
    fairseq's own named architectures are silently ignored by hydra.

    Args:
        name: of the architecture.
        model: a registered model class whose options are a dataclass.
        summary: what is special about it, one sentence.
        defaults: by name of the option.
    """
    registered = next(key for key, value in MODEL_REGISTRY.items() if value is model)
    config = MODEL_DATACLASS_REGISTRY[registered]
    made = changed_defaults(f"{config.__name__}_{name}", config, **defaults)
    made.__module__ = model.__module__
    sized = type(name, (model,), {"__doc__": summary, "__module__": model.__module__})
    register_model(name, dataclass=made)(sized)
