"""Untrained models of every architecture, saved as fairseq saves trained ones."""

import functools
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from fairseq.dataclass.configs import FairseqConfig
from fairseq.models import ARCH_CONFIG_REGISTRY, MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY
from fairseq.tasks.language_modeling import LanguageModelingConfig, LanguageModelingTask
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from omegaconf import OmegaConf

from fairseq_outlayers.options import OutputLayerConfig
from fairseq_outlayers.tasks.subword_language_modeling import (
    SubwordLanguageModelingConfig,
    SubwordLanguageModelingTask,
)
from tests.conftest import LANGUAGE_MODEL_ARCHITECTURES, TRANSLATION_ARCHITECTURES, make_dictionary

# fairseq's own architectures, at a small size.
STOCK = {
    "lstm": {
        f"{side}_{name}": size
        for side in ("encoder", "decoder")
        for name, size in (("embed_dim", 8), ("hidden_size", 8), ("layers", 1))
    }
    | {"decoder_out_embed_dim": 8, "criterion": "cross_entropy"},
    "transformer": {
        f"{side}_{name}": size
        for side in ("encoder", "decoder")
        for name, size in (
            ("embed_dim", 8), ("ffn_embed_dim", 16), ("attention_heads", 2), ("layers", 1),
        )
    },
}  # fmt: skip
TASKS = {
    "translation": (TranslationConfig, TranslationTask),
    "language_modeling": (LanguageModelingConfig, LanguageModelingTask),
    "subword_language_modeling": (SubwordLanguageModelingConfig, SubwordLanguageModelingTask),
}


def task_of(arch):
    if arch in {**TRANSLATION_ARCHITECTURES, **STOCK}:
        return "translation"
    return "subword_language_modeling" if arch == "subword_lm" else "language_modeling"


def write_data(folder: Path) -> None:
    """Dictionaries alone: nothing here reads binarized text."""
    for name, size in (("src", 13), ("tgt", 17), (None, 17)):
        make_dictionary(size).save(
            str(folder / ("dict.txt" if name is None else f"dict.{name}.txt"))
        )


@functools.cache
def default_options() -> dict:
    """All options of fairseq at their defaults; those that are equal to others by reference."""
    return OmegaConf.to_container(OmegaConf.structured(FairseqConfig()), enum_to_str=True)


def save_checkpoint(folder: Path, arch: str, seed: int = 1, of_task=None, **options) -> str:
    """A file that fairseq's own commands would load, too.

    Args:
        of_task: options of the task by name.
    """
    write_data(folder)
    name = task_of(arch)
    config_class, task_class = TASKS[name]
    task_config = config_class(data=str(folder), **(of_task or {}))
    if name == "translation":
        task_config.source_lang, task_config.target_lang = "src", "tgt"
    sizes = {**TRANSLATION_ARCHITECTURES, **LANGUAGE_MODEL_ARCHITECTURES, **STOCK}[arch]
    if arch in MODEL_DATACLASS_REGISTRY:
        config = MODEL_DATACLASS_REGISTRY[arch](**{**sizes, **options})
    else:
        config = SimpleNamespace(**{**vars(OutputLayerConfig()), **sizes, **options})
        ARCH_CONFIG_REGISTRY[arch](config)
    of_model = {**vars(config), "_name": arch, "arch": arch}
    whole = {**default_options(), "task": {**vars(task_config), "_name": name}, "model": of_model}
    # As fairseq's trainer stores options.
    whole = OmegaConf.to_container(OmegaConf.create(whole), resolve=True, enum_to_str=True)
    task = task_class.setup_task(OmegaConf.create(whole["task"]))
    torch.manual_seed(seed)
    model = MODEL_REGISTRY[arch].build_model(config, task)
    for parameter in model.parameters():  # far from uniform, so that hypotheses differ
        parameter.data.mul_(3)
    path = folder / f"{arch}.{seed}.pt"
    history = [{"criterion_name": "full_softmax", "lr_scheduler_state": {}, "num_updates": 1}]
    state = {"cfg": whole, "args": None, "model": model.state_dict(), "extra_state": {}}
    torch.save({**state, "optimizer_history": history, "task_state": {}}, path)
    return str(path)


@pytest.fixture(params=[*TRANSLATION_ARCHITECTURES, *STOCK])
def translation_checkpoint(request, tmp_path):
    return save_checkpoint(tmp_path, request.param)


@pytest.fixture(params=LANGUAGE_MODEL_ARCHITECTURES)
def language_checkpoint(request, tmp_path):
    return save_checkpoint(tmp_path, request.param)
