import sys

import torch
from fairseq import checkpoint_utils, options
from fairseq.data import data_utils
from fairseq.distributed import utils
from fairseq.file_io import PathManager
from fairseq.models import distributed_fairseq_model
from fairseq.trainer import Trainer

from fairseq_outlayers import patches
from fairseq_outlayers.patches.replacing import MARK


def replaced():
    return {
        "excepthook": sys.excepthook,
        "parse_args_and_arch": options.parse_args_and_arch,
        "torch.load": torch.load,
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


def test_importing_the_package_mends_each_function_once_and_applying_again_changes_nothing():
    before = replaced()
    assert [name for name, function in before.items() if not hasattr(function, MARK)] == []
    patches.apply()
    assert replaced() == before
    for name, function in before.items():
        assert not hasattr(getattr(function, MARK), MARK), name
