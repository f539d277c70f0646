"""Keywords of ``load`` and of its objects, declared once: their names and types.

Type checkers read them (``**options: Unpack[...]``), and the checks of names while running.
"""

from pathlib import Path
from typing import Optional, TypedDict, Union

import torch


class DecodingOptions(TypedDict, total=False):
    """Keywords of ``load`` for translation models: options of ``--task translation_outlayers``.

    The task's other options concern training.
    """

    candidate_frequent: int
    candidate_per_word: int
    candidate_scope: str
    candidate_copies: bool
    ensemble_average: str
    int8_projection: bool
    min_len_a: float
    unk_replacement: str
    unk_dictionary: Union[str, Path]


class LoadKeywords(DecodingOptions, total=False):
    """All keywords of ``load`` but ``data``, ``candidates`` and ``kind``."""

    device: Union[str, torch.device]
    dtype: torch.dtype
    tokenizer: Optional[str]
    bpe: Optional[str]
    bpe_codes: Union[str, Path, None]


class SearchOptions(TypedDict, total=False):
    """Options of fairseq's search that act in ``translate`` and ``continue_``.

    ``build_generator`` hands them to a search. ``fairseq-generate`` itself acts on the others.
    """

    diverse_beam_groups: int
    diverse_beam_strength: float
    diversity_rate: float
    min_len: int
    no_repeat_ngram_size: int
    sampling_topk: int
    sampling_topp: float
    temperature: float
    unkpen: float
    unnormalized: bool


class ContinuationOptions(SearchOptions, total=False):
    """The same for ``continue_`` alone. ``translate`` has ``length_penalty``."""

    lenpen: float


class TranslationOptions(SearchOptions, total=False):
    """The same for ``translate`` alone. ``continue_`` has other limits of the length."""

    match_source_len: bool
    max_len_a: float
    max_len_b: int
    sampling: bool


class TranslateKeywords(TranslationOptions, total=False):
    """All keywords of ``translate`` but ``beam``, which may also be given by position."""

    batch_size: int
    length_penalty: float
    progress: bool
