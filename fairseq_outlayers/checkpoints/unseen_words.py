"""Add words to a trained model from a description.

The structure-aware output layers compute a class from its row of the decoder's input embeddings
(Pappas et al. 2018, eqs. 4-15). So a new class needs only a new row and a bias.
``docs/unseen_words.md`` has an example.
"""

import io
import os
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
import torch.nn.functional as F
from fairseq import checkpoint_utils
from fairseq.data import Dictionary
from torch import Tensor

from fairseq_outlayers.checkpoints.loading import Trained, is_word, real_words
from fairseq_outlayers.checkpoints.names import without_average
from fairseq_outlayers.checkpoints.stored import load_stored
from fairseq_outlayers.checkpoints.stored_options import task_options
from fairseq_outlayers.compositions.embedding import ComposedEmbedding
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.output_file import write_together
from fairseq_outlayers.formats.text import read_words
from fairseq_outlayers.models.dictionary_check import update_dictionary
from fairseq_outlayers.output_layers import EmbeddingOutputLayer
from fairseq_outlayers.tables.table import declared_tables, table_of


@torch.no_grad()
def add_words(
    trained: Trained, words: Sequence[str], vectors: Tensor, bias: Optional[float] = None
) -> None:
    """Add words to a model's target dictionary, in place.

    Each gets the next free id, a row of the decoder's input embeddings and, if classes have one, a
    bias. Existing ids and scores do not change. If both sides share one table, the source
    dictionary gets the words, too.

    Args:
        trained: the model, changed in place.
        words: not in the dictionary.
        vectors: a row of input embeddings for each word, ``(number of words, d)``.
        bias: of the new classes; by default the mean of the known words' biases.
    Raises:
        UserError: if the output layer has other parameters for each class, a word is known or not
            one word, a vector or the bias is not finite in the model's precision, or a bias is
            given and classes have none.
    """
    layer, embedding = extensible(trained), trained.input_embeddings
    dictionary = trained.task.target_dictionary
    if isinstance(words, str):
        raise UserError(f"words={words!r}: must be a list of words")
    for number, word in enumerate(words):
        if word.split() != [word]:
            raise UserError(f"{word!r} is not one word")
        if word in dictionary or word in words[:number]:
            raise UserError(f"{word!r} is in the target dictionary already, or given twice")
    expected = (len(words), embedding.embedding_dim)
    if tuple(vectors.shape) != expected:
        raise ValueError(f"vectors of shape {tuple(vectors.shape)}; expected {expected}")
    if not vectors.to(table_of(embedding).parameter.dtype).isfinite().all():
        raise UserError("the vectors of the new words must be finite")
    biases = layer.class_bias(real_words(dictionary))
    if biases is None and bias is not None:
        raise UserError(f"--bias {bias}: the classes of this model have no biases; leave it out")
    if biases is not None:
        known = biases.mean() if bias is None else torch.tensor(bias, dtype=biases.dtype)
        if not known.isfinite():
            raise UserError(f"--bias {bias}: give a number that is finite in {biases.dtype}")
        table_of(layer, "bias").append(known.expand(len(words)))
    table_of(embedding).append(vectors)
    layer.num_classes += len(words)
    _extend_dictionaries(trained, words)


def extensible(trained: Trained) -> EmbeddingOutputLayer:
    """The output layer of a model that accepts new words.

    Raises:
        UserError: if a class has parameters beyond its row of input embeddings and bias.
    """
    layer = trained.output_layer
    if isinstance(trained.input_embeddings, ComposedEmbedding):
        raise UserError(
            "this model composes its words from subword units, so they cannot be described by "
            "other words; use the command open-vocabulary to score a text with unseen words"
        )
    instead = (
        "use --output-layer tied, joint or another one that computes classes from the input "
        "embeddings"
    )
    of_classes = declared_tables(layer).keys() - {"bias"}
    if of_classes or not isinstance(layer, EmbeddingOutputLayer):
        raise UserError(
            f"{type(layer).__name__} has trained parameters for every class, which a description "
            f"cannot provide: {instead}"
        )
    if layer.depends_on_words:
        raise UserError(
            f"{type(layer).__name__} depends on the words themselves, which a description cannot "
            f"replace: {instead}"
        )
    return layer


def _extend_dictionaries(trained: Trained, words: Sequence[str]) -> None:
    for side, (dictionary, module) in _sides(trained).items():
        if module.embed_tokens is trained.input_embeddings:
            for word in words:
                if word not in dictionary:
                    dictionary.add_symbol(word, n=0)
            update_dictionary(module, side, dictionary)


def _sides(trained: Trained) -> Dict[str, Tuple[Dictionary, Any]]:
    """The model's dictionaries by side, each with the module that has its embeddings."""
    sides = {"target": (trained.task.target_dictionary, trained.model.decoder)}
    if hasattr(trained.model, "encoder"):  # not a language model
        sides["source"] = (trained.task.source_dictionary, trained.model.encoder)
    return sides


def described_vector(trained: Trained, description: Sequence[str]) -> Tensor:
    """The mean input embedding of a description's words, ``(d,)``.

    It is rescaled to the mean norm of these embeddings: a mean has a smaller norm, and would score
    low in every context.

    Raises:
        UserError: if a word of the description is not in the target dictionary.
    """
    dictionary = trained.task.target_dictionary
    unknown = [word for word in description if not is_word(dictionary, dictionary.index(word))]
    if unknown or not description:
        raise UserError(
            f"described by {' '.join(unknown) or 'nothing'}: give words of the target dictionary, "
            "spelled as there"
        )
    ids = torch.tensor([dictionary.index(word) for word in description])
    vectors = trained.input_vectors()[ids]
    return F.normalize(vectors.mean(0), dim=0) * vectors.norm(dim=1).mean()


def read_descriptions(path: str) -> Dict[str, List[str]]:
    """Descriptions by new word, from lines ``new word<TAB>words``.

    Raises:
        UserError: if a line has another format.
    """
    descriptions: Dict[str, List[str]] = {}
    for number, (first, *description) in enumerate(read_words(path, separator="\t"), start=1):
        word = first.strip()
        if len(description) != 1 or len(word.split()) != 1 or word in descriptions:
            raise UserError(
                f"{path}:{number}: expected a new word (once per file), a tab and its description, "
                f"found {word!r} and {len(description)} more columns"
            )
        descriptions[word] = description[0].split()
    return descriptions


def save(trained: Trained, path: str, folder: Path) -> None:
    """Write ``checkpoint.pt`` and the dictionaries in fairseq's formats.

    Args:
        trained: the extended model.
        path: the checkpoint that it was loaded from.
        folder: to write to; created if missing.
    Raises:
        UserError: if one of the files exists, ``path`` is damaged, or the checkpoint could not
            store the folder; nothing is written.
    """
    data = str(folder.resolve())
    if os.pathsep in data:  # fairseq reads it as several folders
        raise UserError(
            f"--output {folder}: the checkpoint stores the folder {data}, and fairseq splits it at "
            f"{os.pathsep!r}; name a folder without {os.pathsep!r} in its full path"
        )
    names = {}
    for side, (dictionary, _) in _sides(trained).items():
        language = getattr(trained.task.cfg, f"{side}_lang", None)
        names[f"dict.{language}.txt" if language else "dict.txt"] = dictionary
    for name in ("checkpoint.pt", *names):
        if (folder / name).exists():
            raise UserError(f"--output {folder}: {name} already exists there; name a new folder")
    state = load_stored(path)
    options = task_options(state)
    options["data"] = data
    for side in _sides(trained):
        language = getattr(trained.task.cfg, f"{side}_lang", None)
        if language:
            options[f"{side}_lang"] = language  # cannot be inferred from this folder
    state["model"] = trained.model.state_dict()
    # Its tensors have the old sizes; resume training with --reset-optimizer.
    state.pop("last_optimizer_state", None)
    state["extra_state"] = without_average(state["extra_state"])
    with write_together([folder / name for name in names]) as outputs:
        for output, dictionary in zip(outputs, names.values(), strict=True):
            text = io.StringIO()
            dictionary.save(text)
            output.write(text.getvalue().encode("utf-8"))
        checkpoint_utils.torch_persistent_save(state, str(folder / "checkpoint.pt"))
