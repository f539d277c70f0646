"""Refuse options that a command takes and does not use.

fairseq's commands share groups of options, and ignore what they do not need: fairseq-generate with
``--num-shards 2`` translates all sentences, and with ``--lm-path`` alone the language model has a
weight of 0. Called right after the command line is parsed
(``patches/conveniences/option_hints.py``).
"""

import argparse
import re
from typing import Any, Iterator, NamedTuple, Optional, Sequence

from fairseq_outlayers.errors import UserError, as_flag, changes_nothing
from fairseq_outlayers.stock.impossible_values import check_values
from fairseq_outlayers.stock.known_metrics import TASKS

LEAVE_OUT = "leave it out"
ADD_OR_LEAVE_OUT = "add that, or leave it out"


class Unused(NamedTuple):
    """An option that a command ignores.

    Args:
        commands: pattern of their names.
        option: its name in the parsed command line.
        remedy: what to do.
        needed: another option with which it does have an effect, if any.
    """

    commands: str
    option: str
    remedy: str = LEAVE_OUT
    needed: Optional[str] = None


UNUSED = (
    Unused(
        "generate",
        "num_shards",
        "all sentences are translated: for a part of them use --distributed-world-size and "
        "--distributed-rank",
    ),
    Unused("train|validate|interactive", "num_shards"),
    Unused("train|validate|interactive|generate", "shard_id"),
    Unused(
        "generate",
        "sacrebleu",
        "use --scoring sacrebleu, also where fairseq's own warning recommends --sacrebleu",
    ),
    *(
        Unused("generate|interactive", name, f"it is for non-autoregressive models: {LEAVE_OUT}")
        for name in (
            "print_step",
            "retain_iter_history",
            "iter_decode_eos_penalty",
            "iter_decode_force_max_iter",
            "iter_decode_max_iter",
            "iter_decode_with_beam",
            "iter_decode_with_external_reranker",
        )
    ),
    Unused(
        "generate|interactive", "no_early_stop", f"fairseq's search does not read it: {LEAVE_OUT}"
    ),
    *(
        Unused("generate|interactive", name, f"it is for speech: {LEAVE_OUT}")
        for name in (
            "eos_token",
            "decoding_format",
            "beam_mt",
            "lenpen_mt",
            "max_len_a_mt",
            "max_len_b_mt",
        )
    ),
    *(
        Unused("generate|interactive|eval.lm|validate", name, "only --fp16 acts there")
        for name in ("bf16", "amp", "memory_efficient_bf16")
    ),
    Unused(
        "generate|interactive", "retain_dropout_modules", ADD_OR_LEAVE_OUT, needed="retain_dropout"
    ),
    Unused(
        "generate|interactive",
        "diverse_beam_strength",
        ADD_OR_LEAVE_OUT,
        needed="diverse_beam_groups",
    ),
    Unused("generate|eval.lm", "valid_subset", "the set is named by --gen-subset"),
    Unused("validate|eval.lm", "max_tokens_valid", "use --max-tokens"),
    Unused("validate|eval.lm", "batch_size_valid", "use --batch-size"),
    Unused("validate", "combine_valid_subsets", "name the sets by --valid-subset"),
    *(  # of transformer_lm, which does not hand them on to its layers
        Unused("train", f"scale_{part}", f"fairseq builds nothing for it: {LEAVE_OUT}")
        for part in ("attn", "fc", "heads", "resids")
    ),
    Unused("train", "char_inputs", f"fairseq builds nothing for it: {LEAVE_OUT}"),
    *(
        Unused("train", name, needed="adaptive_softmax_cutoff")
        for name in ("adaptive_softmax_dropout", "adaptive_softmax_factor", "tie_adaptive_proj")
    ),
    Unused("train", "quant_noise_pq_block_size", ADD_OR_LEAVE_OUT, needed="quant_noise_pq"),
    Unused("train", "no_decoder_final_norm", ADD_OR_LEAVE_OUT, needed="decoder_normalize_before"),
    Unused(
        "interactive|eval.lm|validate",
        "results_path",
        "only fairseq-generate writes a file: redirect the output (> FILE), or leave it out",
    ),
    Unused("validate", "max_valid_steps", f"whole sets are validated: {LEAVE_OUT}"),
    Unused("interactive", "sacrebleu"),
    Unused("interactive", "prefix_size"),
    Unused("interactive", "score_reference", "use fairseq-generate, or load(...).score in Python"),
    Unused("interactive", "source_text", "words of the input are copied without it: leave it out"),
    Unused("interactive", "lm_path", "only fairseq-generate adds a language model"),
    Unused("interactive", "lm_weight", "only fairseq-generate adds a language model"),
    Unused("generate", "lm_path", ADD_OR_LEAVE_OUT, needed="lm_weight"),
    Unused("generate", "lm_weight", ADD_OR_LEAVE_OUT, needed="lm_path"),
    *(
        Unused("train", f"ema_{name}", ADD_OR_LEAVE_OUT, needed="store_ema")
        for name in ("decay", "start_update", "seed_model", "update_freq", "fp32")
    ),
    *(
        Unused("train", f"eval_{name}", ADD_OR_LEAVE_OUT, needed="eval_bleu")
        for name in (
            "bleu_args",
            "bleu_detok",
            "bleu_detok_args",
            "bleu_print_samples",
            "bleu_remove_bpe",
            "tokenized_bleu",
        )
    ),
)
# Where an option is not given, fairseq takes the value of another.
TAKEN_FROM = {"max_tokens_valid": "max_tokens", "batch_size_valid": "batch_size"}
UNUSED_IN_SCORING = (
    "beam",
    "nbest",
    "lenpen",
    "unnormalized",
    "unkpen",
    "temperature",
    "sampling",
    "sampling_topk",
    "sampling_topp",
    "max_len_a",
    "max_len_b",
    "min_len",
    "match_source_len",
    "no_repeat_ngram_size",
    "diverse_beam_groups",
    "diversity_rate",
    "prefix_size",
    "lm_path",
)


def check_unused(parser: argparse.ArgumentParser, options: Any, words: Sequence[str] = ()) -> None:
    """Refuse options of the command line without effect, and values that are impossible.

    Args:
        parser: of the command.
        options: what it has parsed; with other tasks than translation and language modeling, other
            options may have an effect, so they are left to fairseq.
        words: of the command line. An option that another one needs may be given at its default, as
            in ``--lm-path FILE --lm-weight 0``.
    Raises:
        UserError: about the first one.
    """
    if getattr(options, "task", None) not in TASKS:
        return
    if getattr(options, "score_reference", False):
        _check_scoring(parser, options)
    _check_beside(parser, options)
    command = re.sub(r"\.py$", "", parser.prog)
    for unused in (*UNUSED, *_unused_in_training()):
        given = is_given(parser, options, unused.option, words)
        if not given or not re.search(unused.commands, command):
            continue
        if unused.needed is None:
            where = f"in {command}"
        elif _is_set(parser, options, unused.needed, words):
            continue
        else:
            where = f"without {as_flag(unused.needed)}"
        raise changes_nothing(unused.option, getattr(options, unused.option), where, unused.remedy)
    check_values(command, options)


def is_given(
    parser: argparse.ArgumentParser, options: Any, name: str, words: Sequence[str] = ()
) -> bool:
    """Whether an option has another value than its default; of a model, whether it is named."""
    default = parser.get_default(name)
    if default == argparse.SUPPRESS:  # of a model: its architecture may have set the value
        return is_named(name, words)
    if name in TAKEN_FROM:
        default = getattr(options, TAKEN_FROM[name], default)
    return str(getattr(options, name, default)) != str(default)


def _is_set(parser: argparse.ArgumentParser, options: Any, name: str, words: Sequence[str]) -> bool:
    """Whether an option that another one needs is there, by the user or by the architecture."""
    if parser.get_default(name) == argparse.SUPPRESS:
        return bool(getattr(options, name, None))
    return is_given(parser, options, name) or is_named(name, words)


def is_named(option: str, words: Sequence[str]) -> bool:
    """Whether the words of a command line name an option."""
    return any(word.partition("=")[0] == as_flag(option) for word in words)


def _unused_in_training() -> Iterator[Unused]:
    """Options of our task for the search, which only ``--eval-bleu`` uses in training.

    fairseq-validate has ``--eval-bleu`` from the checkpoint.
    """
    # Imported here, because patches are applied before other parts are imported.
    from fairseq_outlayers.decoding.search_options import search_option_names

    for option in search_option_names():
        yield Unused("train", option, ADD_OR_LEAVE_OUT, needed="eval_bleu")


def _check_beside(parser: argparse.ArgumentParser, options: Any) -> None:
    """Refuse options of fairseq's search that another one leaves without effect."""
    from fairseq_outlayers.decoding.search_strategy import IDLE_BESIDE, idle_beside

    for name, other in IDLE_BESIDE.items():
        if is_given(parser, options, name) and is_given(parser, options, other):
            raise idle_beside(name, getattr(options, name), other, as_flag)


def _check_scoring(parser: argparse.ArgumentParser, options: Any) -> None:
    """Refuse fairseq's options of a search with ``--score-reference``, which searches nothing."""
    for name in UNUSED_IN_SCORING:
        if is_given(parser, options, name):
            remedy = "given translations are scored by their mean log-probability: " + LEAVE_OUT
            raise changes_nothing(name, getattr(options, name), "with --score-reference", remedy)
    if options.print_alignment == "soft":
        raise UserError(
            "--print-alignment soft: --score-reference prints only hard alignments: leave out soft"
        )
