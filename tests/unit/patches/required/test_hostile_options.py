"""A checkpoint whose options are code: every route, through every command that builds a model."""

import copy
import functools
import sys
from argparse import ArgumentParser, Namespace

import pytest
import torch
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq_cli import eval_lm, generate, interactive, validate
from omegaconf import OmegaConf

import fairseq_outlayers.__main__ as own
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.hub import load

# Architecture, the options without which it is not reached, and the option that is code.
TRANSLATION = [
    ("transformer_outlayers", {}, "encoder_xformers_att_config"),
    ("transformer_outlayers", {}, "decoder_xformers_att_config"),
    ("transformer", {}, "encoder_xformers_att_config"),
    ("transformer", {}, "adaptive_softmax_cutoff"),
    ("lstm", {}, "decoder_attention"),
    ("lstm", {"criterion": "adaptive_loss"}, "adaptive_softmax_cutoff"),
    ("fconv", {}, "encoder_layers"),
    ("fconv", {}, "decoder_layers"),
    ("fconv", {}, "decoder_attention"),
    ("fconv_self_att", {}, "pretrained"),
    ("fconv_self_att", {}, "self_attention"),
    ("fconv_self_att", {}, "encoder_attention"),
    ("fconv_self_att", {}, "gated_attention"),
]
LANGUAGE_MODELS = [
    ("transformer_lm_outlayers", {"character_embeddings": True}, "character_filters"),
    ("transformer_lm_outlayers", {"adaptive_input": True}, "adaptive_input_cutoff"),
    ("transformer_lm", {"character_embeddings": True}, "character_filters"),
    ("transformer_lm", {"adaptive_input": True}, "adaptive_input_cutoff"),
    ("lightconv_lm", {"character_embeddings": True}, "character_filters"),
    ("fconv_lm", {}, "decoder_layers"),
    ("fconv_lm", {}, "decoder_attention"),
]
AS_SAVED = {
    "optimizer_history": [{"num_updates": 1, "optimizer_name": "", "lr_scheduler_state": {}}],
    "extra_state": {"train_iterator": {"epoch": 1}},
}
INTERPOLATED = "${oc.env:PATH}"
NAMES = ("checkpoint", "checkpoints", "path")  # of a command's argument


@pytest.fixture
def data(tmp_path):
    """A folder with the dictionaries alone: every command builds the model before it reads text."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("dict.txt", "dict.en.txt", "dict.de.txt"):
        (folder / name).write_text("word 1\n", encoding="utf-8")
    return folder


def parsed(parser, *given):
    arguments = options.parse_args_and_arch(parser, input_args=[str(word) for word in given])
    return convert_namespace_to_omegaconf(arguments)


@functools.cache
def defaults(*given):
    """Default options of a training, as fairseq stores them."""
    cfg = parsed(options.get_training_parser(), "data", *given)
    return OmegaConf.to_container(cfg, resolve=True, enum_to_str=True)


def checkpoint(data, arch, needed, option, value):
    """A file like fairseq's with default options, but for ``needed`` and ``option``."""
    of_task = (
        ["--task", "language_modeling"]
        if arch in {name for name, _, _ in LANGUAGE_MODELS}
        else ["--task", "translation", "-s", "en", "-t", "de"]
    )
    needed = dict(needed)
    criterion = needed.pop("criterion", "cross_entropy")
    cfg = copy.deepcopy(defaults("--arch", arch, "--criterion", criterion, *of_task))
    cfg["task"]["data"] = str(data)
    model = cfg["model"]
    for name, chosen in {**needed, option: value}.items():
        if isinstance(model, Namespace):
            setattr(model, name, chosen)
        else:
            model[name] = chosen
    state = {"cfg": cfg, "model": {"weight": torch.zeros(1)}, **AS_SAVED}
    path = data.parent / "hostile.pt"
    torch.save({"args": None, "task_state": {}, **state}, path)
    return path


def generate_with(path, data):
    given = [data, "--path", path, "--cpu", "-s", "en", "-t", "de"]
    generate.main(parsed(options.get_generation_parser(), *given))


def interactive_with(path, data):
    given = [data, "--path", path, "--cpu", "-s", "en", "-t", "de"]
    interactive.main(parsed(options.get_interactive_generation_parser(), *given))


def validate_with(path, data):
    given = [data, "--path", path, "--cpu", "--max-tokens", 9, "--task", "translation"]
    validate.main(parsed(options.get_validation_parser(), *given))


def eval_lm_with(path, data):
    eval_lm.main(parsed(options.get_eval_lm_parser(), data, "--path", path, "--cpu"))


def own_command(*command):
    def run(path, data):
        text = data.parent / "text"
        text.write_text("a\tb\n", encoding="utf-8")
        meant = {"DATA": data, "FILE": path, "TEXT": text, "OUT": data.parent / "out"}
        own.main([str(meant.get(word, word)) for word in command])

    return run


OWN = {
    "neighbours": own_command("neighbours", "--path", "FILE", "--words", "a", "--data", "DATA"),
    "principal-components": own_command("principal-components", "FILE", "--data", "DATA"),
    "transform-gates": own_command("transform-gates", "FILE", "--data", "DATA"),
    "open-vocabulary": own_command("open-vocabulary", "FILE", "--text", "TEXT", "--data", "DATA"),
    "unseen-words": own_command(
        *["unseen-words", "--path", "FILE", "--data", "DATA", "--descriptions", "TEXT"],
        *["--output", "OUT"],
    ),
    "export": own_command("export", "FILE", "--to", "fairseq", "--output", "OUT", "--data", "DATA"),
    "inspect": own_command(
        *["inspect", "--path", "FILE", "--source", "TEXT", "--reference", "TEXT"],
        *["--output", "OUT", "--data", "DATA"],
    ),
}
OF_BOTH = ("neighbours", "open-vocabulary", "unseen-words")
FAIRSEQ = {"generate": generate_with, "interactive": interactive_with, "validate": validate_with}
# Every route once, and every command once for each kind of model.
TRIED = [
    *(("generate", generate_with, *route) for route in TRANSLATION),
    *(("eval_lm", eval_lm_with, *route) for route in LANGUAGE_MODELS),
    *((name, command, *TRANSLATION[0]) for name, command in {**FAIRSEQ, **OWN}.items()),
    *((name, command, *LANGUAGE_MODELS[0]) for name, command in OWN.items() if name in OF_BOTH),
    ("load", lambda path, data: load(str(path), data=str(data)), *TRANSLATION[0]),
]
TRIED = {f"{name}-{arch}-{option}": rest for name, *rest in TRIED for arch, _, option in [rest[1:]]}


@pytest.fixture
def no_command_line(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["python"])


@pytest.mark.usefixtures("no_command_line")
@pytest.mark.parametrize(("command", "arch", "needed", "option"), TRIED.values(), ids=TRIED)
def test_no_command_runs_an_option_and_the_option_is_named(command, arch, needed, option, data):
    ran = data.parent / "ran"
    code = f"__import__('os').mkdir({str(ran)!r})"
    path = checkpoint(data, arch, needed, option, code)
    named = option.replace("_", "-")
    with pytest.raises(UserError, match=rf"^{path}: --{named} .* was not evaluated"):
        command(path, data)
    assert not ran.exists()


@pytest.mark.parametrize(
    ("name", "command"),
    {**FAIRSEQ, "eval_lm": eval_lm_with, **OWN}.items(),
    ids=[*FAIRSEQ, "eval_lm", *OWN],
)
def test_no_command_interpolates_an_option(name, command, data):
    arch = "transformer_lm" if name == "eval_lm" else "transformer"
    path = checkpoint(data, arch, {}, "activation_fn", INTERPOLATED)
    with pytest.raises(UserError, match=r"hostile\.pt was not loaded: its option --activation-fn"):
        command(path, data)


HIDDEN = [r"'\x24{oc.env:PATH}'", "'$' '{oc.env:PATH}'", "['$' '{oc.env:PATH}']"]


@pytest.mark.parametrize("value", HIDDEN)
@pytest.mark.parametrize("option", ["label_smoothing", "adam_betas", "num_batch_buckets"])
def test_an_interpolation_that_a_literal_hides_is_refused(option, value, data):
    given = [data, "--arch", "transformer", "--task", "translation", "-s", "en", "-t", "de",
             "--criterion", "label_smoothed_cross_entropy", "--optimizer", "adam"]  # fmt: skip
    parser = options.get_training_parser()
    args = options.parse_args_and_arch(parser, input_args=[str(word) for word in given])
    setattr(args, option, value)
    path = data.parent / "hostile.pt"
    torch.save({"args": args, "cfg": None, "model": {"weight": torch.zeros(1)}, **AS_SAVED}, path)
    named = option.replace("_", "-")
    with pytest.raises(UserError, match=rf"hostile\.pt was not loaded: its option --{named} "):
        generate_with(path, data)


@pytest.mark.usefixtures("no_command_line")
def test_code_in_a_list_is_refused_and_the_option_is_named(data):
    path = checkpoint(data, "fconv", {}, "encoder_layers", ["__import__('os').getcwd()"])
    with pytest.raises(UserError, match=rf"^{path}: --encoder-layers .* was not evaluated"):
        generate_with(path, data)


def test_every_command_that_takes_a_checkpoint_is_tried():
    building = {name for name, command in own.COMMANDS.items() if _takes_a_checkpoint(command)}
    # The first two build no model; the third wants a checkpoint trained on
    # partitions, and then loads it by the function that "neighbours" does.
    assert building - {"average", "checkpoint", "partition-correction"} == set(OWN)


def _takes_a_checkpoint(command):
    parser = ArgumentParser()
    command.prepare(parser)
    return any(action.metavar in ("CHECKPOINT", "FILE") and action.dest in NAMES
               for action in parser._actions)  # fmt: skip
