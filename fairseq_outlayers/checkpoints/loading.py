"""Load trained models of this package for analysis."""

import re
from pathlib import Path
from typing import Any, Dict, NamedTuple, Optional

import torch
import torch.nn as nn
from fairseq import checkpoint_utils
from fairseq.data import Dictionary
from torch import Tensor

from fairseq_outlayers.checkpoints.stored_options import (
    check_dictionaries,
    read_with_data,
    refusing_other_dictionaries,
    task_options,
)
from fairseq_outlayers.compositions.embedding import ComposedEmbedding
from fairseq_outlayers.errors import UserError, require_checkpoint
from fairseq_outlayers.formats.dictionary import is_padding_word
from fairseq_outlayers.output_layers import OutputLayer
from fairseq_outlayers.tables.table import table_of
from fairseq_outlayers.tasks.translation_outlayers import reset_search


class Trained(NamedTuple):
    """A trained model, on the CPU, in evaluation mode."""

    model: Any  # fairseq's base classes are untyped
    task: Any  # has the dictionaries

    @property
    def output_layer(self) -> OutputLayer:
        return self.model.decoder.output_projection

    @property
    def input_embeddings(self) -> Any:
        """The decoder's table, ``(V, d)``, or :class:`ComposedEmbedding`."""
        return self.model.decoder.embed_tokens

    def words(self) -> Tensor:
        """Ids of all words of the target dictionary."""
        return real_words(self.task.target_dictionary)

    @torch.no_grad()
    def input_vectors(self) -> Tensor:
        """Input embeddings of the decoder, ``(V, d)``."""
        embedding = self.input_embeddings
        if isinstance(embedding, ComposedEmbedding):
            return embedding.all_words()
        return table_of(embedding).rows()

    @torch.no_grad()
    def output_vectors(self) -> Tensor:
        """Class embeddings, ``(V, D)``."""
        return self.output_layer.class_embeddings()


def is_word(dictionary: Dictionary, number: int) -> bool:
    """Whether an id is neither a special symbol nor a ``madeupword``."""
    return number >= dictionary.nspecial and not is_padding_word(dictionary[number])


def real_words(dictionary: Dictionary) -> Tensor:
    """Ids for which :func:`is_word` holds."""
    return torch.tensor([k for k in range(len(dictionary)) if is_word(dictionary, k)])


class Loaded(NamedTuple):
    """A model with its dictionaries, as fairseq loads it, and the content of its checkpoint."""

    model: Any  # fairseq's base classes are untyped
    config: Any
    task: Any
    state: Dict[str, Any]


def load_with_dictionaries(path: str, data: Any = None) -> Loaded:
    """Load a checkpoint with the dictionaries of its data, or with those beside it.

    Args:
        path: the checkpoint.
        data: folder with the dictionaries; if given, no other is searched.
    Raises:
        UserError: if either is missing.
    """
    require_checkpoint(path)
    state, _ = read_with_data(path, data)
    check_dictionaries(path, state)
    reset_search(task_options(state))
    with refusing_other_dictionaries(path, state["model"], state):
        (model,), config, task = checkpoint_utils.load_model_ensemble_and_task([path], state=state)
    return Loaded(model.eval(), config, task, state)


def load(path: str, data: Optional[str] = None) -> Trained:
    """Load a checkpoint with its dictionaries.

    Args:
        path: the checkpoint.
        data: folder with the dictionaries; by default the training data or, if that has none, the
            checkpoint's.
    Raises:
        UserError: if either is missing, or the model is not of this package.
    """
    model, _, task, _ = load_with_dictionaries(path, data)
    kinds: Dict[str, Any] = {
        "embed_tokens": (nn.Embedding, ComposedEmbedding),
        "output_projection": OutputLayer,
    }
    for name, kind in kinds.items():
        found = getattr(model.decoder, name, None)
        if not isinstance(found, kind):
            raise UserError(
                f"{path}: its decoder has {type(found).__name__} as {name}: use a model of an "
                "architecture that has --output-layer"
            )
    return Trained(model, task)


def run_seed(path: str) -> Optional[int]:
    """The seed of a recipe's run folder, ``seedN-KEY``; None of another folder."""
    found = re.fullmatch(r"seed([0-9]+)-\w+", _run_folder(path).name)
    return int(found.group(1)) if found else None


def run_name(path: str) -> str:
    """A model's name in tables: its run folder, or its arm in a recipe.

    The name of the file in fairseq's default folder, ``checkpoints/``.
    """
    if Path(path).parent == Path("checkpoints"):
        return Path(path).stem
    folder = _run_folder(path)
    return folder.parent.name if folder.name.startswith("seed") else folder.name


def _run_folder(path: str) -> Path:
    folder = Path(path).resolve().parent
    return folder.parent if folder.name == "checkpoints" else folder
