"""Correct the class biases of a model trained by partitions without correction.

Applies ``--partition-correction log_share`` after training: a class is a negative only in
partitions that contain it, so its score is too high by minus the logarithm of their share of target
tokens. ``docs/large_vocabularies.md`` has the derivation.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, Optional

import torch
from fairseq import checkpoint_utils, utils

from fairseq_outlayers.checkpoints import loading
from fairseq_outlayers.checkpoints.names import BIAS
from fairseq_outlayers.checkpoints.stored import load_stored
from fairseq_outlayers.checkpoints.stored_options import task_options
from fairseq_outlayers.errors import UserError, require_new_file
from fairseq_outlayers.partitions.batches import CORRECTION
from fairseq_outlayers.partitions.options import is_corrected


def correct(path: str, output: Path, data: Optional[str] = None) -> torch.Tensor:
    """Write a checkpoint with the logarithm of each class's share added to its bias.

    Training can continue from it with ``--partition-correction log_share``.

    Args:
        path: of a checkpoint trained by partitions.
        output: of the new checkpoint, which must not exist.
        data: folder with the training text, or several (``bin1:bin2``); by default the training
            data's path.
    Returns:
        The added values, ``(V,)``.
    Raises:
        UserError: if there is nothing to correct, the training text is missing, or ``output``
            cannot be written.
    """
    require_new_file(output)
    state = load_stored(path)
    _check(state, path)
    _check_text(state, data)
    trained = loading.load(path, data)
    added = torch.from_numpy(_log_shares(state, trained))
    bias = state["model"][BIAS]
    state["model"][BIAS] = (bias.double() + added).to(bias)
    state["cfg"]["criterion"]["partition_correction"] = "log_share"
    _recorded_partitions(state)[CORRECTION] = "log_share"
    checkpoint_utils.torch_persistent_save(state, str(output))
    return added


def is_corrected_model(state: Dict[str, Any]) -> bool:
    """Whether the scores of a stored model need no correction for partitions."""
    task = SimpleNamespace(**task_options(state))
    criterion = SimpleNamespace(**((state.get("cfg") or {}).get("criterion") or {}))
    return not getattr(task, "partition_size", 0) or is_corrected(criterion, task)


def _check(state: Dict[str, Any], path: str) -> None:
    task = SimpleNamespace(**task_options(state))
    if not getattr(task, "partition_size", 0):
        raise UserError(
            f"{path}: was not trained with --partition-size, so its scores need no correction"
        )
    if is_corrected_model(state):
        raise UserError(
            f"{path}: its scores are corrected already (--partition-correction log_share); use it "
            "unchanged"
        )
    if BIAS not in state["model"]:
        raise UserError(
            f"{path}: was trained with --no-class-bias, so there is no bias to correct; train "
            "again with --partition-correction log_share"
        )


def _check_text(state: Dict[str, Any], data: Optional[str]) -> None:
    task = task_options(state)
    for folder in utils.split_paths(data or task["data"]):
        if not any(Path(folder).glob(f"{task['train_subset']}.*-*.*")):  # of any --dataset-impl
            raise UserError(
                f"{folder}: has no training text to count words in: pass --data with the folder "
                "that the model was trained on"
            )


def _recorded_partitions(state: Dict[str, Any]) -> Dict[str, Any]:
    """The checkpoint's record of its partitions; empty if it has no iterator state."""
    return state.get("extra_state", {}).get("train_iterator", {}).get("partitions", {})


def _log_shares(state: Dict[str, Any], trained: loading.Trained) -> Any:
    """Log shares in the partitions of the training, counted in the training text."""
    task, options = trained.task, state["cfg"]
    # The folder of --data may have another format than that of the training.
    binarized = list(
        Path(utils.split_paths(task.cfg.data)[0]).glob(f"{task.cfg.train_subset}.*.bin")
    )
    task.cfg.dataset_impl = None if binarized else "raw"
    task.cfg.num_batch_buckets = 0  # padding is no word
    max_positions = utils.resolve_max_positions(
        task.max_positions(), trained.model.max_positions(), options["dataset"]["max_tokens"]
    )
    return task.log_shares(
        {
            "max_positions": max_positions,
            "ignore_invalid_inputs": True,
            "seed": _recorded_partitions(state).get("--seed", options["common"]["seed"]),
        }
    )
