"""Every option of a part is read when the part is selected; one that is not changes nothing."""

import sys
from dataclasses import fields, make_dataclass
from types import SimpleNamespace

import pytest
import torch.nn as nn
from fairseq.criterions import CRITERION_DATACLASS_REGISTRY, CRITERION_REGISTRY
from fairseq.models import MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY

from fairseq_outlayers.compositions import COMPOSITION, COMPOSITIONS
from fairseq_outlayers.criterions.sampled_softmax import SampledSoftmax, SampledSoftmaxConfig
from fairseq_outlayers.options import OutputLayerConfig, SourceEmbeddingConfig
from fairseq_outlayers.output_layers import OUTPUT_LAYER, OUTPUT_LAYERS, build_output_layer
from fairseq_outlayers.registered_options import parts_of_ours
from fairseq_outlayers.samplers import SAMPLER, SAMPLERS
from fairseq_outlayers.source_embeddings import (
    SOURCE_EMBEDDING,
    SOURCE_EMBEDDINGS,
    build_source_embedding,
)
from fairseq_outlayers.source_embeddings.external_map import ExternalConfig
from tests.conftest import (
    LANGUAGE_MODEL_ARCHITECTURES,
    TRANSLATION_ARCHITECTURES,
    asked_for_tests,
    configuration,
    dictionary_with_units,
    make_task,
    needed_criterion_options,
    needed_options,
    needed_sampler_options,
)

H = 6
# They read every option, of whatever part, to check it.
CHECKS = ("fairseq_outlayers.options", "fairseq_outlayers.ranges", "fairseq_outlayers.registry")
AXES = (OUTPUT_LAYER, COMPOSITION, SOURCE_EMBEDDING, SAMPLER)
PART_OPTIONS = {name for axis in AXES for name in (axis.option, *axis.options())}
WITH_DATACLASS = [
    arch
    for arch in (*TRANSLATION_ARCHITECTURES, *LANGUAGE_MODEL_ARCHITECTURES)
    if arch in MODEL_DATACLASS_REGISTRY
]


def recorded(config):
    """The configuration, and the set of names that will have been read from it."""
    kind, names = type(config), set()

    def read(self, name):
        if sys._getframe(1).f_globals["__name__"] not in CHECKS:
            names.add(name)
        return kind.__getattribute__(self, name)

    config.__class__ = type(kind.__name__, (kind,), {"__getattribute__": read})
    return config, names


def options_of(part):
    """Names of its own options, without those that it inherits from fairseq's models."""
    kind = part if isinstance(part, type) else type(part)
    of_fairseq = {
        name
        for base in kind.__mro__
        if base.__module__.startswith("fairseq.")
        for name in getattr(base, "__dataclass_fields__", ())
    }
    return {option.name for option in fields(kind)} - of_fairseq


def test_an_option_that_is_checked_but_not_read_is_noticed():
    config, read = recorded(make_dataclass("Config", [("used", int, 1), ("unused", int, 2)])())
    assert config.used == 1
    OUTPUT_LAYER.options()
    list(OUTPUT_LAYER.idle(SimpleNamespace(output_layer="tied")))
    assert options_of(config) - read == {"unused"}


@pytest.mark.parametrize("name", OUTPUT_LAYERS)
def test_an_output_layer_reads_its_options(task, name):
    dictionary = task.target_dictionary
    config, read = recorded(
        OutputLayerConfig(output_layer=name, **needed_options(name, dictionary))
    )
    build_output_layer(config, nn.Embedding(len(dictionary), H), H, dictionary)
    assert not options_of(OUTPUT_LAYERS[name].Config) - set(COMPOSITION.options()) - read


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_a_composition_reads_its_options(tmp_path, composition):
    dictionary = dictionary_with_units(tmp_path)
    config, read = recorded(OutputLayerConfig(output_layer="subword", composition=composition))
    build_output_layer(config, nn.Embedding(len(dictionary), H), H, dictionary)
    assert not options_of(COMPOSITIONS[composition].Config) - read


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_sampler_reads_its_options(name):
    task = make_task()
    needed = needed_sampler_options(name, task.target_dictionary)
    config = SampledSoftmaxConfig(sampler=name, num_sampled=8, **needed)
    config.sentence_avg, config.seed = False, 1
    config, read = recorded(config)
    SampledSoftmax.build_criterion(config, task)
    assert not options_of(SAMPLERS[name].Config) - read


@pytest.mark.parametrize("name", SOURCE_EMBEDDINGS)
def test_a_source_embedding_reads_its_options(task, external_table, name):
    part = SOURCE_EMBEDDINGS[name].Config
    needed = {"external_embeddings": external_table} if issubclass(part, ExternalConfig) else {}
    needed |= asked_for_tests(SOURCE_EMBEDDINGS[name], task.source_dictionary)
    config, read = recorded(SourceEmbeddingConfig(source_embedding=name, **needed))
    build_source_embedding(config, task.source_dictionary, H, bidirectional=True)
    assert not options_of(part) - read


@pytest.mark.parametrize("name", parts_of_ours(CRITERION_REGISTRY))
def test_a_criterion_reads_its_options(task, name):
    kind = CRITERION_DATACLASS_REGISTRY[name]
    config = kind(**needed_criterion_options(name))
    config.sentence_avg = False
    config, read = recorded(config)
    task.cfg = SimpleNamespace(partition_size=1, partition_mode="paper")
    CRITERION_REGISTRY[name].build_criterion(config, task)
    assert not options_of(config) - PART_OPTIONS - read - {"sentence_avg", "seed"}


@pytest.mark.parametrize("arch", WITH_DATACLASS)
def test_a_model_reads_its_options(task, arch):
    config, read = recorded(configuration(arch))
    MODEL_REGISTRY[arch].build_model(config, task)
    assert not options_of(config) - PART_OPTIONS - read
