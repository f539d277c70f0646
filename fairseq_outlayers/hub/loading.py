"""Load checkpoints as objects that translate or score text."""

import functools
import inspect
import threading
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import (
    Any,
    Callable,
    Dict,
    List,
    Optional,
    Sequence,
    Type,
    TypeVar,
    Union,
    Unpack,
    overload,
)

import torch
from fairseq import checkpoint_utils
from omegaconf import open_dict

from fairseq_outlayers.checkpoints.moved_tables import update_table_paths
from fairseq_outlayers.checkpoints.stored_options import (
    TRANSLATION,
    check_dictionaries,
    check_texts,
    read_checkpoint,
    read_with_data,
    refusing_other_dictionaries,
    set_languages,
)
from fairseq_outlayers.errors import UserError, require_checkpoint
from fairseq_outlayers.hub.arguments import check_iterable, checked
from fairseq_outlayers.hub.base import TrainedModels
from fairseq_outlayers.hub.environment import (
    check_device,
    check_dtype,
    check_equal_dictionaries,
)
from fairseq_outlayers.hub.language_model import LanguageModel
from fairseq_outlayers.hub.text import TextProcessor
from fairseq_outlayers.hub.translator import Translator
from fairseq_outlayers.hub.typed_options import DecodingOptions, LoadKeywords
from fairseq_outlayers.suggestions import did_you_mean
from fairseq_outlayers.tasks.translation_outlayers import TranslationOutlayersConfig, reset_search

Paths = Union[str, Path, Sequence[Union[str, Path]]]
Model = TypeVar("Model", bound=TrainedModels)

DECODING_OPTIONS = tuple(DecodingOptions.__annotations__)
FREQUENT = 2000  # default of K with a file of candidates
LOADING = threading.RLock()


def _one_at_a_time(function: Callable[..., Any]) -> Callable[..., Any]:
    """Serialize loading: patches keep the checkpoint being loaded in module-level state."""

    @functools.wraps(function)
    def in_turn(*args: Any, **kwargs: Any) -> Any:
        with LOADING:
            return function(*args, **kwargs)

    return in_turn


@overload
def load(
    checkpoint: Paths,
    data: Union[str, Path, None] = ...,
    candidates: Union[str, Path, None] = ...,
    *,
    kind: Type[Model],
    **options: Unpack[LoadKeywords],
) -> Model: ...


@overload
def load(
    checkpoint: Paths,
    data: Union[str, Path, None] = ...,
    candidates: Union[str, Path, None] = ...,
    *,
    kind: None = ...,
    **options: Unpack[LoadKeywords],
) -> Any: ...


@_one_at_a_time
def load(
    checkpoint: Paths,
    data: Union[str, Path, None] = None,
    candidates: Union[str, Path, None] = None,
    *,
    kind: Optional[type] = None,
    device: Union[str, torch.device] = "cpu",
    dtype: torch.dtype = torch.float32,
    tokenizer: Optional[str] = None,
    bpe: Optional[str] = None,
    bpe_codes: Union[str, Path, None] = None,
    **options: Any,
) -> Any:
    """Load a trained model to translate or to score text.

    Args:
        checkpoint: a file of our or fairseq's architectures; several are an ensemble.
        data: folder with the dictionaries; by default the training data or, if that has none, the
            checkpoint's.
        candidates: file of ``data_prep/build_candidates.py``, for translation models.
        kind: :class:`Translator` or :class:`LanguageModel`, to refuse a checkpoint of the other;
            it also tells type checkers what is returned.
        device: of the model.
        dtype: of its parameters.
        tokenizer: fairseq's ``--tokenizer``, such as ``moses``; by default the stored one.
        bpe: fairseq's ``--bpe``, such as ``subword_nmt`` or ``sentencepiece``; by default the
            stored one.
        bpe_codes: its file of codes, or its model.
        options: decoding options of ``--task translation_outlayers``:
            ``candidate_frequent=2000`` (the default with ``candidates``), ``candidate_per_word``,
            ``candidate_scope``, ``candidate_copies=True``, ``unk_replacement``,
            ``unk_dictionary``, ``ensemble_average``, ``int8_projection=True``, ``min_len_a``.
    Returns:
        A :class:`Translator`, or a :class:`LanguageModel` for language models.
    Raises:
        UserError: if a file is missing, an option is unknown, or the model is neither a translation
            nor a language model, or not of ``kind``.
    """
    paths = _checked_paths(checkpoint)
    if kind not in (None, Translator, LanguageModel):
        raise UserError(f"kind={kind!r}: must be Translator or LanguageModel")
    check_device(device)
    check_dtype(dtype)
    if data is not None and not str(data):
        raise UserError("data='': must be a folder; leave it out for that of the training")
    state, data = read_with_data(paths[0], data)
    config = state["cfg"]
    task_name = str(config.task._name)
    made = _kind_of(paths[0], task_name)
    if kind not in (None, made):
        raise UserError(
            f"{paths[0]}: --task {task_name}, which gives a {made.__name__}, but "
            f"kind={kind.__name__}"
        )
    check_dictionaries(paths[0], state)
    if candidates is not None:
        options = {"candidates": str(candidates), "candidate_frequent": FREQUENT, **options}
    if made is Translator:
        _set_decoding(config, options)
    elif options:
        raise UserError(
            f"{next(iter(options))}: only for translation models, not --task {task_name}; leave it "
            "out"
        )
    models, task = _load_models(paths, state, data)
    for model in models:
        _prepare(model, config, device, dtype)
    text = TextProcessor.build(
        config, task, tokenizer, bpe, None if bpe_codes is None else str(bpe_codes)
    )
    loaded = made(models, task, config, text)
    if isinstance(loaded, Translator):
        loaded.build_generator({})  # reports errors in the candidate file now
    return loaded


def _kind_of(path: str, task_name: str) -> Type[TrainedModels]:
    """:class:`Translator` or :class:`LanguageModel`, by the task of a checkpoint."""
    if task_name in TRANSLATION:
        return Translator
    if "language_modeling" in task_name:
        return LanguageModel
    raise UserError(
        f"{path}: --task {task_name}: load supports only translation and language models"
    )


def _prepare(model: Any, config: Any, device: Union[str, torch.device], dtype: torch.dtype) -> None:
    """Place a model, for inference only."""
    model.to(device=device, dtype=dtype).eval()
    model.prepare_for_inference_(config)
    for module in model.modules():  # fairseq sets None, but TorchScript needs a bool
        if getattr(module, "need_attn", False) is None:
            module.need_attn = False


def _checked_paths(checkpoint: Any) -> List[str]:
    given = [checkpoint] if isinstance(checkpoint, (str, Path)) else checkpoint
    given = list(check_iterable("checkpoint", given, "a path, or several"))
    if not given:
        raise UserError(f"checkpoint={checkpoint}: must have at least one path")
    paths = [_converted_path(path) for path in given]
    for path in paths:
        require_checkpoint(path)
    return paths


def _converted_path(path: Any) -> str:
    if not isinstance(path, (str, Path)):
        raise UserError(f"checkpoint={path!r:.80}: must be a path")
    return str(path)


def _set_decoding(config: Any, options: Dict[str, Any]) -> None:
    """Set the task to ours, whatever the training's, with its decoding options."""
    known = (*DECODING_OPTIONS, "candidates")
    for name in options:
        if name not in known:
            raise UserError(
                f"{name}: unknown option; known are {', '.join(DECODING_OPTIONS)}"
                f"{did_you_mean(name, (*known, *inspect.signature(load).parameters))}"
            )
    options = checked(options, TranslationOutlayersConfig)
    defaults = TranslationOutlayersConfig()
    with open_dict(config):
        for option in fields(defaults):
            if option.name not in config.task:
                value = getattr(defaults, option.name)
                if not is_dataclass(value) and not str(value).startswith("${"):
                    config.task[option.name] = value
        config.task._name = "translation_outlayers"
        reset_search(config.task)
        for name, value in options.items():
            config.task[name] = value


def _load_models(paths: List[str], state: Dict[str, Any], data: Union[str, Path, None]) -> Any:
    config, first = state["cfg"], state
    with refusing_other_dictionaries(paths[0], state["model"], first):
        (model,), _, task = checkpoint_utils.load_model_ensemble_and_task(paths[:1], state=state)
    models = [model]
    for path in paths[1:]:
        state = read_checkpoint(path)
        set_languages(state)
        other = state["cfg"]
        name = str(other.task._name)
        kind = _kind_of(path, name)
        if (kind is Translator) != (config.task._name in TRANSLATION):
            raise UserError(
                f"{path}: --task {name}, but {paths[0]} has --task {config.task._name}: the "
                "models of an ensemble must have the same task"
            )
        if kind is LanguageModel:
            check_texts(path, other.task, config.task)
        check_equal_dictionaries(path, other, task)  # in its own data folder
        if data:
            other.task.data = str(data)
            update_table_paths(state, Path(path).parent)
        with refusing_other_dictionaries(path, state["model"], first):
            more, _, _ = checkpoint_utils.load_model_ensemble_and_task(
                [path], task=task, state=state
            )
        models += more
    return models, task
