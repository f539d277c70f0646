"""No option of a checkpoint is run: every route that installed fairseq has is closed."""

import ast
import importlib
import re
import sys
from argparse import Namespace
from pathlib import Path

import fairseq
import pytest
import torch
from fairseq import checkpoint_utils, utils
from fairseq.data.fasta_dataset import FastaDataset
from fairseq.models.fconv import FConvModel
from omegaconf import OmegaConf

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.required.literal_options import evaluate_option
from tests.unit.patches.required.test_safe_checkpoints import checkpoint_with

ROOT = Path(fairseq.__file__).parent
SECURITY = Path(__file__).parents[4] / "docs" / "security.md"


def calls_of_eval():
    """Module and lines of every call of eval, exec or compile in installed fairseq."""
    for path in sorted(ROOT.rglob("*.py")):
        relative = path.relative_to(ROOT).with_suffix("")
        if relative.parts[0] == "examples":  # loaded by a --user-dir only
            continue
        calls = [
            (node.lineno, node.func.id)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        ]
        lines = [
            line
            for line, name in sorted(calls)
            if name in ("eval", "exec", "compile", "__import__")
        ]
        if lines:
            name = ".".join(("fairseq", *relative.parts)).removesuffix(".__init__")
            yield name, path.relative_to(ROOT).as_posix(), lines


CALLS = list(calls_of_eval())


@pytest.mark.parametrize("name", [name for name, _, _ in CALLS])
def test_every_module_of_fairseq_that_evaluates_text_gets_the_safe_function(name):
    assert name in sys.modules, "fairseq loads it later than the patches: it would keep eval"
    assert importlib.import_module(name).eval is evaluate_option


def test_the_list_in_the_documentation_is_what_fairseq_has():
    listed = re.findall(r"^\| `(\S+\.py)` \| ([\d, ]+) \|", SECURITY.read_text("utf-8"), re.M)
    listed = {path: [int(line) for line in lines.split(",")] for path, lines in listed}
    assert listed == {path: lines for _, path, lines in CALLS}


def test_fairseq_s_helpers_still_compute_what_they_should():
    assert utils.eval_str_list("[2, 3] + [4] * 2", int) == [2, 3, 4, 4]
    assert utils.eval_str_list("20000,60000", int) == [20000, 60000]
    assert utils.eval_str_dict("{'a': 1}") == {"a": 1}
    assert utils.eval_bool("False") is False
    assert utils.eval_bool(True, default=None) is None  # as stock: eval(True) is a TypeError


def evil(folder):
    return f"__import__('os').mkdir({str(folder / 'ran')!r})"


def test_an_option_on_the_command_line_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["fairseq-train", "--encoder-layers", evil(tmp_path)])
    options = Namespace(encoder_layers=evil(tmp_path), encoder_embed_path=None)
    options.decoder_embed_path = None
    options.encoder_embed_dim, options.dropout, options.max_source_positions = 2, 0, 9
    task = Namespace(source_dictionary=None, target_dictionary=None)
    with pytest.raises(UserError, match=r"^--encoder-layers .*more than literals and arithmetic"):
        FConvModel.build_model(options, task)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("as_namespace", [True, False])
def test_an_option_of_a_checkpoint_is_named_with_the_checkpoint(tmp_path, as_namespace):
    options = Namespace(arch="fconv", decoder_layers=evil(tmp_path))
    state = checkpoint_with()
    state["cfg"] = {"model": options if as_namespace else vars(options), "task": {"_name": "x"}}
    path = tmp_path / "a.pt"
    torch.save(state, path)
    loaded = checkpoint_utils.load_checkpoint_to_cpu(str(path))["cfg"]["model"]
    value = loaded.decoder_layers
    with pytest.raises(
        UserError, match=rf"^{path}: --decoder-layers .__import__.* was not evaluated"
    ):
        evaluate_option(value)


@pytest.mark.parametrize(
    "value", ["${oc.env:HOME}", "a${task.data}", ["x", "${oc.decode:'1'}"], {"k": "${x}"}]
)
@pytest.mark.parametrize("place", ["cfg", "namespace in cfg", "args"])
def test_values_that_omegaconf_would_compute_are_refused_by_option(tmp_path, value, place):
    options = {"_name": "luong_lstm", "label_smoothing": value}
    state = checkpoint_with()
    if place == "args":
        state["args"] = Namespace(arch="luong_lstm", task="translation", label_smoothing=value)
    else:
        state["cfg"] = {"model": Namespace(**options) if place != "cfg" else options}
    path = tmp_path / "a.pt"
    torch.save(state, path)
    with pytest.raises(UserError, match=r"a\.pt was not loaded: its option --\S+ is .*omegaconf"):
        checkpoint_utils.load_checkpoint_to_cpu(str(path))


@pytest.mark.parametrize("container", [["__import__('os')"], {"a": 1}])
def test_a_container_of_a_checkpoint_is_refused_and_not_evaluated(container):
    with pytest.raises(UserError, match="it is not text"):
        evaluate_option(OmegaConf.create(container))


def test_a_path_that_a_shell_would_run_is_refused(tmp_path):
    path = str(tmp_path / "x;touch ran.fasta")
    with pytest.raises(UserError, match="through a shell"):
        FastaDataset._build_index(None, path)
    assert list(tmp_path.iterdir()) == []
