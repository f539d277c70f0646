"""A model cannot take the name of another one, and its file may be imported by two names."""

import importlib.util
import sys

import pytest
from fairseq.models import MODEL_REGISTRY, BaseFairseqModel, register_model

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.models.luong_lstm import LuongLSTM

CODE = """
from fairseq.models import BaseFairseqModel, register_model

@register_model("imported_twice")
class Mine(BaseFairseqModel):
    pass
"""


def test_a_taken_name_is_refused_and_the_first_model_stays():
    with pytest.raises(UserError, match=r"Other cannot be registered as luong_lstm: .*LuongLSTM"):

        @register_model("luong_lstm")
        class Other(BaseFairseqModel):
            pass

    assert MODEL_REGISTRY["luong_lstm"] is LuongLSTM


def test_a_file_may_be_imported_by_two_names(tmp_path, monkeypatch):
    """As of fairseq's examples, by --user-dir and by an import of their own."""
    monkeypatch.setattr("fairseq.models.MODEL_REGISTRY", MODEL_REGISTRY)
    (tmp_path / "mine.py").write_text(CODE)
    found = []
    for name in ("plug.mine", "project.plug.mine"):
        spec = importlib.util.spec_from_file_location(name, tmp_path / "mine.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(__import__("sys").modules, name, module)
        spec.loader.exec_module(module)
        found.append(module.Mine)
    monkeypatch.delitem(MODEL_REGISTRY, "imported_twice")
    assert found[0] is found[1]


def test_a_copy_whose_class_has_kept_its_name_is_refused_too(tmp_path, monkeypatch):
    copied = tmp_path / "copied.py"
    copied.write_text(CODE.replace("imported_twice", "luong_lstm").replace("Mine", "LuongLSTM"))
    spec = importlib.util.spec_from_file_location("copied", copied)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "copied", module)
    with pytest.raises(UserError, match=r"copied\.LuongLSTM cannot be registered as luong_lstm"):
        spec.loader.exec_module(module)
    assert MODEL_REGISTRY["luong_lstm"] is LuongLSTM
