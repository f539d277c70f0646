import os
import re
import subprocess
import sys
from pathlib import Path

from fairseq import checkpoint_utils, options
from fairseq.data import data_utils
from fairseq.distributed import utils
from fairseq.file_io import PathManager
from fairseq.models import distributed_fairseq_model
from fairseq.trainer import Trainer

from fairseq_outlayers import patches
from fairseq_outlayers.patches.replacing import MARK, PATCHES, _recorded


def replaced():
    return {
        "excepthook": sys.excepthook,
        "parse_args_and_arch": options.parse_args_and_arch,
        "load_checkpoint": checkpoint_utils.load_checkpoint,
        "load_checkpoint_to_cpu": checkpoint_utils.load_checkpoint_to_cpu,
        "load_ema_from_checkpoint": checkpoint_utils.load_ema_from_checkpoint,
        "torch_persistent_save": checkpoint_utils.torch_persistent_save,
        "PathManager.copy": PathManager.copy,
        "batch_by_size": data_utils.batch_by_size,
        "Trainer.__init__": Trainer.__init__,
        "call_main": utils.call_main,
        "_split_tensors_from_obj": utils._split_tensors_from_obj,
        "_broadcast_object_slow": utils._broadcast_object_slow,
        "DistributedDataParallel": distributed_fairseq_model.DistributedDataParallel,
    }


def test_importing_the_package_patches_each_function_once_and_applying_again_changes_nothing():
    before = replaced()
    assert [name for name, function in before.items() if not hasattr(function, MARK)] == []
    patches.apply()
    assert replaced() == before
    for name, function in before.items():
        applied = getattr(function, PATCHES)
        assert len(set(applied)) == len(applied), name


def test_no_patch_on_the_list_does_nothing():
    for folder, names in (("required", patches.REQUIRED), ("conveniences", patches.CONVENIENCES)):
        for name in names:
            patch = sys.modules[f"fairseq_outlayers.patches.{folder}.{name}"]
            assert patch.__name__ in _recorded or hasattr(patch, "apply"), name


def without_conveniences(value):
    """Which functions are replaced in a process of its own, by the variable's value."""
    script = (
        "import sys, warnings; from fairseq import options, utils, checkpoint_utils as c\n"
        "hook, filters = sys.excepthook, list(warnings.filters)\n"
        "import torch; load = torch.load\n"
        "import fairseq_outlayers\n"
        "from fairseq_outlayers.patches.replacing import MARK\n"
        "replaced = [hasattr(f, MARK) for f in "
        "(options.parse_args_and_arch, utils.load_align_dict, "
        "c.load_checkpoint_to_cpu)]\n"
        "print(sys.excepthook is hook, warnings.filters == filters, torch.load is load, "
        "*replaced)"
    )
    environment = {**os.environ, "OUTLAYERS_CONVENIENCES": value, "PYTHONWARNINGS": ""}
    result = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    return result.stdout.split()


def test_one_variable_leaves_errors_and_warnings_to_fairseq_and_keeps_checkpoints_safe():
    assert without_conveniences("0") == ["True", "True", "True", "False", "False", "True"]
    assert without_conveniences("") == ["False", "False", "True", "True", "True", "True"]


def test_warnings_that_a_user_asked_for_are_shown():
    script = "import warnings; f = list(warnings.filters); import fairseq_outlayers; print("
    script += "[x for x in warnings.filters if x not in f and 'hydra' in str(x[1])])"
    shown = [sys.executable, "-W", "default", "-c", script]
    assert subprocess.run(shown, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_page_lists_every_patch_in_its_section():
    page = Path(__file__).parents[3] / "docs" / "patches.md"
    _, required, conveniences = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.M)
    for section, applied in ((required, patches.REQUIRED), (conveniences, patches.CONVENIENCES)):
        listed = re.findall(r"^\| `(\w+)` \| ", section, re.MULTILINE)
        assert sorted(listed) == sorted(applied)
