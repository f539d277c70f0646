"""Export to fairseq's own architectures, or to our plain output layer."""

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any, Dict, NamedTuple, Tuple

import torch
from fairseq import checkpoint_utils
from fairseq.models import build_model
from fairseq.tasks.language_modeling import LanguageModelingConfig
from fairseq.tasks.translation import TranslationConfig
from omegaconf import OmegaConf
from torch import Tensor

from fairseq_outlayers.checkpoints.loading import load_with_dictionaries
from fairseq_outlayers.checkpoints.names import EXPORT
from fairseq_outlayers.checkpoints.stored_options import TEXT_OPTIONS, arch_of
from fairseq_outlayers.errors import UserError, as_flag, require_new_path
from fairseq_outlayers.export.baking import ClassMatrix, absorb_bias, bake
from fairseq_outlayers.options import OutputLayerConfig, SourceEmbeddingConfig, reset_idle_options
from fairseq_outlayers.output_layers import output_layer_of

OURS = "_outlayers"
PROJECTION = "decoder.output_projection"
IMPROBABLE = -1e4  # a logit
MOST = 1e-4  # change of a log-probability
# Options of Transformers that CTranslate2's converter does not read.
NOT_CONVERTED = ("cross_self_attention", "no_cross_attention")


class Exported(NamedTuple):
    """Facts about an exported checkpoint.

    Attributes:
        arch: the architecture that loads it.
        needs_plugin: whether the architecture is one of this package.
        difference: maximal change of log-probabilities on random input.
        data: folder of the dictionaries.
        program: of fairseq, which evaluates the model.
        options: of the program, which takes the task from its command line.
    """

    arch: str
    needs_plugin: bool
    difference: float
    data: str
    program: str = "fairseq-generate"
    options: Tuple[str, ...] = ()


def export_checkpoint(
    path: str, output: Path, data: Any = None, for_converter: bool = False
) -> Exported:
    """Write a model with its output layer baked into a class matrix.

    Args:
        path: a checkpoint of this package.
        output: the file to write, which must not exist.
        data: folder of the dictionaries; by default that of the training.
        for_converter: write for CTranslate2's converter: the options are a namespace, which fairseq
            on PyTorch 2.6 or newer refuses, and padding, which fairseq's search excludes but
            CTranslate2's does not, gets a very low logit.
    Raises:
        UserError: if the layer or the model cannot be exported, or ``output`` exists.
    """
    require_new_path(output)
    model, config, task, state = load_with_dictionaries(path, data)
    layer = output_layer_of(model)
    if layer is None:
        raise UserError(
            f"{path}: its output layer is fairseq's own, so there is nothing to bake; for "
            "CTranslate2 use ct2-fairseq-converter --user_dir fairseq_outlayers (docs/export.md)"
        )
    arch = arch_of(state)
    options, is_stock = _stock_options(config, arch)
    if for_converter:
        _refuse_not_converted(path, options)
    target = build_model(argparse.Namespace(**options), task)
    baked = bake(layer, _hidden_size(target))
    target.load_state_dict(_weights(model, target, baked, is_stock), strict=False)
    difference = _difference(model, target.eval(), task)
    if not difference <= MOST:  # also if it is no number
        raise UserError(
            f"{path}: the exported model's scores differ by {difference:.2g}: not written"
        )
    if for_converter:
        closed = _without(task.target_dictionary.pad(), baked)
        target.load_state_dict(_weights(model, target, closed, is_stock), strict=False)
    checkpoint = _checkpoint(config, options, dict(target.state_dict()), state, for_converter)
    output.parent.mkdir(parents=True, exist_ok=True)
    checkpoint_utils.torch_persistent_save(checkpoint, str(output))
    found = Exported(options["_name"], not is_stock, difference, str(config.task.data))
    if hasattr(model, "encoder"):
        return found
    return found._replace(program="fairseq-eval-lm", options=_of_language_modeling(config.task))


def _refuse_not_converted(path: str, options: Dict[str, Any]) -> None:
    """Refuse a model that CTranslate2's converter would write as another one."""
    for name in NOT_CONVERTED:
        if options.get(name):
            raise UserError(
                f"{path}: CTranslate2 does not support {as_flag(name)}: use --to fairseq"
            )


def _of_language_modeling(task: Any) -> Tuple[str, ...]:
    """Options of ``fairseq-eval-lm`` that make it read a text as in training."""
    defaults = LanguageModelingConfig()
    named = [as_flag("task", task._name)] if task._name != "language_modeling" else []
    for name in ("sample_break_mode", "tokens_per_sample", *TEXT_OPTIONS):
        value = task.get(name, getattr(defaults, name))
        if str(value) != str(getattr(defaults, name)):
            named.append(as_flag(name, value))
    return tuple(named)


def _stock_options(config: Any, arch: str) -> Any:
    """Options of the architecture to write, and whether it is fairseq's own (then untied)."""
    model = config.model
    options = dict(vars(model) if isinstance(model, argparse.Namespace) else model)
    is_stock = arch.endswith(OURS)
    if is_stock:
        arch = arch.removesuffix(OURS)
        for name in ("share_all_embeddings", "share_decoder_input_output_embed"):
            options[name] = False
        ours = {
            option.name for c in (OutputLayerConfig, SourceEmbeddingConfig) for option in fields(c)
        }
        options = {name: value for name, value in options.items() if name not in ours}
    else:
        options["output_layer"] = "linear"
        options["no_class_bias"] = False  # the context map may have a constant
        if "tie" in options:
            options["tie"] = OutputLayerConfig().tie
        baked = argparse.Namespace(**{**options, "_name": arch})
        reset_idle_options(baked)  # a plain layer refuses the options of the one that it replaces
        options = vars(baked)
    return {**options, "_name": arch, "arch": arch}, is_stock


@torch.no_grad()
def _weights(model: Any, target: Any, baked: ClassMatrix, is_stock: bool) -> Dict[str, Tensor]:
    """State dict of the target model, including frozen and shared tensors.

    Raises:
        UserError: if the source model lacks one of its parameters.
    """
    found: Dict[str, Tensor] = {}
    if is_stock:
        norm_name = _last_norm(target.decoder)
        ours = model.get_submodule(norm_name)
        out = getattr(model.decoder, "project_out_dim", None)
        weight, offset = absorb_bias(
            baked, ours.weight, ours.bias, None if out is None else out.weight
        )
        found[f"{PROJECTION}.weight"], found[f"{norm_name}.bias"] = weight, offset
    else:
        bias = baked.weight.new_zeros(len(baked.weight)) if baked.bias is None else baked.bias
        found = {f"{PROJECTION}.weight": baked.weight, f"{PROJECTION}.bias": bias}
    for name, like in target.state_dict().items():
        if name not in found:
            found[name] = _tensor(model, name)
        found[name] = found[name].to(like)
        if found[name].shape != like.shape:
            raise UserError(f"{name}: {tuple(found[name].shape)} does not fit {tuple(like.shape)}")
    return found


def _tensor(model: Any, name: str) -> Tensor:
    """A parameter or buffer by name, persistent or not."""
    module_name, _, leaf = name.rpartition(".")
    try:
        tensor = getattr(model.get_submodule(module_name), leaf)
    except AttributeError:
        raise UserError(
            f"{name}: fairseq's architecture has it, but this model has another part (for example "
            "--source-embedding with external vectors), which cannot be exported"
        ) from None
    return tensor


def _last_norm(decoder: Any) -> str:
    """Name of the last layer norm of a Transformer's decoder."""
    if decoder.layer_norm is not None:
        return "decoder.layer_norm"
    last = len(decoder.layers) - 1
    if getattr(decoder.layers[last], "normalize_before", False):
        raise UserError("--no-decoder-final-norm: the class biases cannot be exported")
    return f"decoder.layers.{last}.final_layer_norm"


def _hidden_size(target: Any) -> int:
    return target.decoder.output_projection.weight.size(1)


def _without(number: int, classes: ClassMatrix) -> ClassMatrix:
    """The class matrix with a very low logit for one class."""
    weight, bias = classes
    weight = weight.clone()
    bias = weight.new_zeros(len(weight)) if bias is None else bias.clone()
    weight[number], bias[number] = 0, IMPROBABLE
    return ClassMatrix(weight, bias)


@torch.no_grad()
def _difference(model: Any, target: Any, task: Any) -> float:
    """The maximal difference of both models' log-probabilities on random input."""
    generator = torch.Generator().manual_seed(1)
    dictionary = task.target_dictionary
    words = torch.randint(dictionary.nspecial, len(dictionary), (2, 6), generator=generator)
    inputs = {"prev_output_tokens": words}
    if hasattr(model, "encoder"):
        source = task.source_dictionary
        inputs["src_tokens"] = torch.randint(
            source.nspecial, len(source), (2, 5), generator=generator
        )
        inputs["src_lengths"] = torch.tensor([5, 5])
    else:
        inputs = {"src_tokens": words, "src_lengths": torch.tensor([6, 6])}
    one, other = (m.get_normalized_probs(m(**inputs), log_probs=True) for m in (model, target))
    return (one - other).masked_fill(one == other, 0.0).abs().max().item()  # of infinities, too


def _checkpoint(
    config: Any, options: Dict[str, Any], weights: Any, state: Any, for_converter: bool
) -> Dict[str, Any]:
    """The checkpoint's content: weights and options, no optimizer state."""
    whole = OmegaConf.to_container(config, resolve=True, enum_to_str=True)
    if "output_layer" not in options:  # fairseq's own
        whole["common"]["user_dir"] = None
    if whole["task"]["_name"] == "translation_outlayers":
        known = {option.name for option in fields(TranslationConfig)}
        whole["task"] = {n: v for n, v in whole["task"].items() if n in known}
        whole["task"]["_name"] = "translation"
    whole["criterion"] = {"_name": "cross_entropy", "sentence_avg": False}
    whole["model"] = options
    if for_converter:
        whole["model"] = argparse.Namespace(
            **{**whole["task"], **options, "task": whole["task"]["_name"]}
        )
    history = [
        {
            "criterion_name": "CrossEntropyCriterion",
            "optimizer_name": "FairseqAdam",
            "lr_scheduler_state": {},
            "num_updates": state["optimizer_history"][-1].get("num_updates", 0),
        }
    ]
    return {
        "args": None,
        "cfg": whole,
        "model": weights,
        "optimizer_history": history,
        "extra_state": {EXPORT: True},
        "task_state": {},
    }
