"""Load trained models of this package for analysis."""

import os
from pathlib import Path
from typing import Any, Dict, NamedTuple, Optional

import torch
import torch.nn as nn
from fairseq import checkpoint_utils
from fairseq.data import Dictionary
from torch import Tensor

from fairseq_outlayers.compositions.embedding import ComposedEmbedding
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import is_padding_word
from fairseq_outlayers.output_layers import OutputLayer
from fairseq_outlayers.tables.table import table_of


class Trained(NamedTuple):
    """A model as it was trained, on the CPU, in evaluation mode."""

    model: Any  # fairseq's base classes carry no types
    task: Any  # has the dictionaries

    @property
    def output_layer(self) -> OutputLayer:
        return self.model.decoder.output_projection

    @property
    def input_embeddings(self) -> Any:
        """The decoder's: a table, ``(V, d)``, or a :class:`ComposedEmbedding`."""
        return self.model.decoder.embed_tokens

    def words(self) -> Tensor:
        """The ids of all words of the target side."""
        return real_words(self.task.target_dictionary)

    @torch.no_grad()
    def input_vectors(self) -> Tensor:
        """What the decoder reads, ``(V, d)``."""
        embedding = self.input_embeddings
        if isinstance(embedding, ComposedEmbedding):
            return embedding.all_words()
        return table_of(embedding).rows()

    @torch.no_grad()
    def output_vectors(self) -> Tensor:
        """What classes are scored by, ``(V, D)``."""
        return self.output_layer.class_embeddings()


def is_word(dictionary: Dictionary, number: int) -> bool:
    """Whether an id is neither a special symbol nor padding of the dictionary."""
    return number >= dictionary.nspecial and not is_padding_word(dictionary[number])


def real_words(dictionary: Dictionary) -> Tensor:
    """The ids of all words."""
    return torch.tensor([k for k in range(len(dictionary)) if is_word(dictionary, k)])


def load(path: str, data: Optional[str] = None) -> Trained:
    """Load a checkpoint with its dictionaries.

    Args:
        path: the checkpoint.
        data: the binarized data it was trained on, or a folder with the same dictionaries; by
            default where it was in training.
    Raises:
        UserError: if either is missing, or the model is not of this package.
    """
    if not Path(path).is_file():
        raise UserError(f"{path}: no such checkpoint")
    state = checkpoint_utils.load_checkpoint_to_cpu(path, {"data": data} if data else {})
    folder = str(task_options(state)["data"]).split(os.pathsep)[0]
    if not any(Path(folder).glob("dict*.txt")):
        raise UserError(
            f"{folder}, the data of {path}, has no dictionaries: pass --data with the folder that "
            "the model was trained on"
        )
    (model,), _, task = checkpoint_utils.load_model_ensemble_and_task([path], state=state)
    kinds: Dict[str, Any] = {
        "embed_tokens": (nn.Embedding, ComposedEmbedding),
        "output_projection": OutputLayer,
    }
    for name, kind in kinds.items():
        found = getattr(model.decoder, name, None)
        if not isinstance(found, kind):
            raise UserError(
                f"{path}: its decoder has {type(found).__name__} as {name}: give a model of an "
                "architecture that has --output-layer"
            )
    return Trained(model.eval(), task)


def run_name(path: str) -> str:
    """What to call a model in a table: its run folder, or the arm that a recipe made it for."""
    folder = Path(path).resolve().parent
    folder = folder.parent if folder.name == "checkpoints" else folder
    return folder.parent.name if folder.name.startswith("seed") else folder.name


def task_options(state: Dict[str, Any]) -> Any:
    """The options of the task in a checkpoint, which can be read and set by name."""
    return state["cfg"]["task"] if state.get("args") is None else vars(state["args"])
