"""A checkpoint's options: reading them, and finding its data folder and languages."""

import os
from collections.abc import Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

from fairseq import checkpoint_utils
from fairseq.data import Dictionary
from fairseq.data.data_utils import infer_language_pair

from fairseq_outlayers.checkpoints.names import option_of
from fairseq_outlayers.errors import UserError, as_flag
from fairseq_outlayers.formats.dictionary import fingerprint

TRANSLATION = ("translation", "translation_outlayers")  # tasks
LANGUAGES = ("source_lang", "target_lang")
FINGERPRINTS = ("encoder.source_dictionary_version", "decoder.target_dictionary_version")
PASS_THE_FOLDER = (
    "pass --data (in Python data=) with the folder that the model was trained on, or one with the "
    "same dictionaries"
)

# Options of language modeling that change what precedes a position, or what is predicted there.
TEXT_OPTIONS = ("add_bos_token", "self_target", "future_target", "past_target")


def read_checkpoint(path: str, data: Any = None) -> Dict[str, Any]:
    """Load a checkpoint onto the CPU, with its options in ``cfg`` (OmegaConf) alone.

    fairseq converts an old checkpoint's ``args`` to ``cfg``, but would build the model from
    ``args``, without our changes to ``cfg``.

    Args:
        path: of the checkpoint.
        data: folder that replaces the training data, if given.
    """
    overrides = {"data": str(data)} if data else {}
    state: Dict[str, Any] = checkpoint_utils.load_checkpoint_to_cpu(path, overrides)
    state["args"] = None
    return state


def task_options(state: Dict[str, Any]) -> Any:
    """The task's options in a checkpoint, as a mutable mapping."""
    options = state["cfg"]["task"] if state.get("args") is None else state["args"]
    # A task without a dataclass has a namespace.
    return options if isinstance(options, MutableMapping) else vars(options)


def model_option(state: Dict[str, Any], name: str) -> Any:
    """An option of a checkpoint's model; None if it has none of this name."""
    return option_of(_stored_model(state), name)


def model_options(state: Dict[str, Any]) -> Mapping[str, Any]:
    """All options of a checkpoint's model; a model without a dataclass has those of the command."""
    options = _stored_model(state)
    return options if isinstance(options, Mapping) else vars(options)


def training_option(state: Dict[str, Any], part: str, name: str) -> Any:
    """An option of fairseq's configuration in a checkpoint; None if it has none of this name.

    Args:
        state: with all options in one namespace if it is old.
        part: of the configuration, ``common`` say.
        name: of the option.
    """
    whole = option_of(state["cfg"], part) if state.get("args") is None else state["args"]
    return option_of(whole, name)


def _stored_model(state: Dict[str, Any]) -> Any:
    return state["cfg"]["model"] if state.get("args") is None else state["args"]


def changed_values(
    stored: Mapping[str, Any], given: Mapping[str, Any], names: Iterable[str]
) -> Dict[str, Tuple[Any, Any]]:
    """Options with two different values: the stored and the given one by name.

    Args:
        stored, given: options of two models.
        names: of the options to compare, of those that both have.
    """
    return {
        name: (stored[name], given[name])
        for name in names
        if name in stored and name in given and str(stored[name]) != str(given[name])
    }


def arch_of(state: Dict[str, Any]) -> str:
    """The architecture of a checkpoint."""
    return str(model_option(state, "arch") or model_option(state, "_name") or "?")


def check_texts(path: str, trained: Any, given: Any) -> None:
    """Compare how texts are scored with how they were in the training of a language model.

    Args:
        path: of the checkpoint.
        trained: options of its task, as a mapping.
        given: options of the task that scores texts, by attribute.
    Raises:
        UserError: if texts start otherwise, or other words are predicted.
    """
    for name in TEXT_OPTIONS:
        before, now = bool(trained.get(name, False)), bool(getattr(given, name, False))
        if before != now:
            how, remedy = ("with", "add it") if before else ("without", "leave it out")
            raise UserError(
                f"{path}: was trained {how} {as_flag(name)}: other texts than it knows would be "
                f"scored; {remedy}"
            )


def data_folder(state: Dict[str, Any]) -> Path:
    """The folder with a checkpoint's dictionaries."""
    return first_folder(task_options(state)["data"])


def use_folder_beside(path: str, state: Dict[str, Any]) -> Optional[Path]:
    """Take a checkpoint's folder as its data if that has dictionaries and the data's has none.

    Args:
        path: of the checkpoint.
        state: its content, changed in place.
    Returns:
        The folder if it is taken.
    """
    beside = Path(path).parent
    if _has_dictionaries(data_folder(state)) or not _has_dictionaries(beside):
        return None
    task_options(state)["data"] = str(beside)
    return beside


def read_with_data(path: str, data: Any = None) -> Tuple[Dict[str, Any], Any]:
    """Load a checkpoint, and find the folder of its dictionaries and its languages.

    Args:
        path: of the checkpoint.
        data: folder that replaces the training data; by default the checkpoint's if that has
            dictionaries and the training data have none.
    Returns:
        Its content, and the folder that replaces the training data, if any.
    """
    state = read_checkpoint(path, data)
    if data is None:
        data = use_folder_beside(path, state)
    set_languages(state)
    return state, data


def check_dictionaries(path: str, state: Dict[str, Any]) -> None:
    """Check that the data folder of a checkpoint has every dictionary of its task.

    Args:
        path: of the checkpoint.
        state: of :func:`read_checkpoint`, with the languages of :func:`set_languages`.
    Raises:
        UserError: if one is missing, or languages are unknown.
    """
    folder = data_folder(state)
    if not _has_dictionaries(folder):
        raise UserError(f"{folder}, the data of {path}, has no dictionaries: {PASS_THE_FOLDER}")
    missing = [name for name in _dictionaries(state) if not (folder / name).is_file()]
    if missing:
        raise UserError(
            f"{folder}, the data of {path}, has no {', '.join(missing)}: {PASS_THE_FOLDER}"
        )


@contextmanager
def refusing_other_dictionaries(
    path: str, weights: Dict[str, Any], state: Dict[str, Any]
) -> Iterator[None]:
    """Name dictionaries of another size than the model's embeddings where it fails to load.

    Of fairseq's own models, which store no fingerprint of their dictionaries.

    Args:
        path: of the model's checkpoint.
        weights: its parameters by name.
        state: of :func:`read_checkpoint`, whose data folder has the dictionaries.
    Raises:
        UserError: instead of PyTorch's error.
    """
    try:
        yield
    except RuntimeError as error:
        # A language model has a decoder only; other tasks have no known dictionaries.
        for name, part in zip(_dictionaries(state)[::-1], ("decoder", "encoder"), strict=False):
            file, table = data_folder(state) / name, weights.get(f"{part}.embed_tokens.weight")
            if table is not None and len(table) != (given := len(Dictionary.load(str(file)))):
                raise UserError(
                    f"{file}: has {given} symbols, but {path} has {len(table)}: {PASS_THE_FOLDER}"
                ) from error
        raise


def _has_dictionaries(folder: Path) -> bool:
    try:
        return any(folder.glob("dict*.txt"))
    except OSError:  # a name that is too long for a path, or a folder that may not be searched
        return False


def _dictionaries(state: Dict[str, Any]) -> List[str]:
    """Names of the files, of translation and language models; none for other tasks."""
    options = task_options(state)
    task = str(options.get("_name"))
    if task not in TRANSLATION:
        return ["dict.txt"] if "language_modeling" in task else []
    pair = [options.get(name) for name in LANGUAGES]
    if None in pair:
        raise UserError(
            f"{data_folder(state)}: the checkpoint stores no languages, no file of the folder is "
            "named by them, as train.de-en.de.idx, and no dictionaries are recognized: pass --data "
            "(in Python data=) with the folder of the binarized text, or with the model's "
            "dictionaries alone"
        )
    return [f"dict.{language}.txt" for language in pair]


def first_folder(data: Any) -> Path:
    """The first of the data folders, which fairseq reads dictionaries from."""
    return Path(str(data).split(os.pathsep)[0])


def set_languages(state: Dict[str, Any]) -> None:
    """Set the languages of a translation model if they can be inferred from its data folder.

    fairseq stores only those that were given, and infers others from the names of binarized text,
    which a folder of dictionaries alone does not have. There, a dictionary is recognized by the
    checkpoint's fingerprint, if it is the only one.
    """
    options, folder = task_options(state), data_folder(state)
    known = [options.get(name, "none") for name in LANGUAGES]
    # Unlike Path.is_dir, os.path.isdir is False for a name that is too long.
    if None not in known or not os.path.isdir(folder):
        return
    pair: List[Optional[str]] = list(infer_language_pair(str(folder)))
    if None in pair:
        found = {
            file.name[len("dict.") : -len(".txt")]: fingerprint(Dictionary.load(str(file)))
            for file in folder.glob("dict.*.txt")
        }
        for side, name in enumerate(FINGERPRINTS):
            stored = state["model"].get(name)
            fitting = [
                lang for lang, one in found.items() if stored is not None and stored.tolist() == one
            ]
            pair[side] = fitting[0] if len(fitting) == 1 else None
    if None not in pair:
        options.update(zip(LANGUAGES, pair, strict=True))
