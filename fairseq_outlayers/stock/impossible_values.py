"""Refuse values with which a command ends in a traceback, or does not do what they say.

Each check looks at one option of the parsed command line, which other commands may lack. Called
after the checks of options without effect (``stock/unused_options.py``).
"""

import ast
import importlib.util
import logging
import os
import re
from pathlib import Path
from typing import Any

from fairseq import utils
from fairseq.data import data_utils

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import DictionaryFile

logger = logging.getLogger(__name__)


def check_values(command: str, options: Any) -> None:
    """Refuse impossible values; warn of a translation of only a part of the text.

    Args:
        command: its name, such as ``fairseq-generate``.
        options: the parsed command line, of translation or language modeling.
    Raises:
        UserError: about the first one.
    """
    for check in CHECKS:
        check(command, options)


def _soft_alignments(command: str, options: Any) -> None:
    if "interactive" in command and getattr(options, "print_alignment", None) == "soft":
        raise UserError(
            "--print-alignment soft: fairseq-interactive prints only hard alignments: use "
            "fairseq-generate, or leave out soft"
        )


def _divided_words(command: str, options: Any) -> None:
    merged = getattr(options, "post_process", None)
    if "eval" in command and options.task == "subword_language_modeling" and merged is not None:
        raise UserError(
            f"--post-process {merged}: a word that the end of a window divides would count as two: "
            "leave it out, and raise the perplexity per unit to the power of units / words"
        )


def _context_as_long_as_the_window(command: str, options: Any) -> None:
    context = getattr(options, "context_window", 0) or 0
    window = getattr(options, "tokens_per_sample", None)
    if re.search("eval.lm", command) and window is not None and context >= window:
        raise UserError(
            f"--context-window {context}: must be below --tokens-per-sample {window}, which counts "
            "the words of the context too: lower it, or raise --tokens-per-sample"
        )


def _writing_without_iopath(command: str, options: Any) -> None:
    asynchronous = getattr(options, "write_checkpoints_asynchronously", False)
    if "train" in command and asynchronous and importlib.util.find_spec("iopath") is None:
        raise UserError(
            "--write-checkpoints-asynchronously needs the package iopath, which is not installed: "
            "pip install iopath, or leave it out"
        )


def _part_of_the_text(command: str, options: Any) -> None:
    parts = getattr(options, "distributed_world_size", 1)
    if "generate" in command and parts > 1:
        logger.warning(
            f"--distributed-world-size {parts}: this process translates one of {parts} parts of "
            "the text (--distributed-rank, from 0 on); BLEU is that of the part"
        )


def _sets_named_and_joined(command: str, options: Any) -> None:
    sets = getattr(options, "valid_subset", None) or "valid"
    if getattr(options, "combine_valid_subsets", None) and sets != "valid":
        raise UserError(
            f"--valid-subset {sets}: --combine-valid-subsets joins all sets named valid, valid1, "
            "...: leave one of the two out"
        )


def _composite_optimizer(command: str, options: Any) -> None:
    if getattr(options, "optimizer", None) == "composite":
        raise UserError(
            "--optimizer composite takes its groups from the configuration of fairseq-hydra-train: "
            "use that, or choose another optimizer"
        )


def _moses_without_languages(command: str, options: Any) -> None:
    named = getattr(options, "source_lang", None) and getattr(options, "target_lang", None)
    if getattr(options, "tokenizer", None) == "moses" and not named:
        raise UserError(
            "--tokenizer moses needs the languages: give --source-lang and --target-lang"
        )


def _merged_dictionaries(command: str, options: Any) -> None:
    if "train" not in command or not getattr(options, "merge_src_tgt_embed", False):
        return
    if getattr(options, "dataset_impl", None) == "raw":  # read with the joined dictionary
        return
    folder = utils.split_paths(options.data)[0]
    languages = [getattr(options, f"{side}_lang", None) for side in ("source", "target")]
    if None in languages:
        languages = data_utils.infer_language_pair(folder)
    source, target = (Path(folder, f"dict.{language}.txt") for language in languages)
    if not (source.is_file() and target.is_file()):  # the task says so
        return
    if DictionaryFile.read(source).symbols != DictionaryFile.read(target).symbols:
        raise UserError(
            f"--merge-src-tgt-embed: {source} and {target} differ, and binarized words keep their "
            "numbers, so that unrelated words would share a vector: binarize with "
            "fairseq-preprocess --joined-dictionary, and use --share-all-embeddings"
        )


def _layers_to_keep(command: str, options: Any) -> None:
    for side in ("encoder", "decoder"):
        layers = getattr(options, f"{side}_layers_to_keep", None)
        # A text, as of transformer_lm, is what fairseq can read; an empty list is none.
        if "train" in command and layers and isinstance(layers, list):
            numbers = ",".join(map(str, layers))
            raise UserError(
                f"--{side}-layers-to-keep {numbers}: fairseq cannot train a Transformer with it: "
                "train all layers, and leave some out when the model is loaded: fairseq-generate "
                "--model-overrides \"{'encoder_layers_to_keep': '0,2', 'decoder_layers_to_keep': "
                "'0,1'}\""
            )


def _layers_to_keep_of_one_side(command: str, options: Any) -> None:
    overrides = ast.literal_eval(getattr(options, "model_overrides", None) or "{}")
    names = "encoder_layers_to_keep", "decoder_layers_to_keep"
    given = {name: overrides[name] for name in names if overrides.get(name)}
    if len(given) == 1 and options.task.startswith("translation"):
        raise UserError(
            f"--model-overrides {given}: name the layers to keep of both sides: fairseq drops all "
            "layers of the side that is not named"
        )


def _experts_of_one_process(command: str, options: Any) -> None:
    layers = getattr(options, "base_layers", 0) or 0
    if "train" not in command or layers == 0 or options.distributed_init_method:
        return
    if options.distributed_world_size == 1 and os.environ.get("WORLD_SIZE", "1") == "1":
        raise UserError(
            f"--base-layers {layers}: these layers have an expert in each of several processes, "
            "and this is a single process: leave it out"
        )


CHECKS = (
    _soft_alignments,
    _divided_words,
    _context_as_long_as_the_window,
    _writing_without_iopath,
    _part_of_the_text,
    _sets_named_and_joined,
    _composite_optimizer,
    _moses_without_languages,
    _merged_dictionaries,
    _layers_to_keep,
    _layers_to_keep_of_one_side,
    _experts_of_one_process,
)
