"""Ranges for fairseq's own numeric options, which accept NaN, infinity and invalid numbers.

``--clip-norm nan`` does not clip, ``--beam 0`` and ``--max-tokens 0`` end in a traceback, and
``--num-workers 1000000000000000000`` never ends. fairseq's dataclasses declare no ranges; the table
below does. It is checked after ``parse_args_and_arch`` has parsed the command line
(``patches/conveniences/option_hints.py``); our options declare their own (``ranges.py``).
"""

import math
from typing import Any, Callable, Dict

from fairseq_outlayers.errors import UserError, as_flag, changes_nothing
from fairseq_outlayers.optim.betas import parse_betas
from fairseq_outlayers.ranges import DEEPEST, WIDEST, Range, check_number

FINITE = Range()
FROM_ZERO = Range(at_least=0)
FROM_ONE = Range(at_least=1)
# -1 disables the option.
OR_OFF = Range(at_least=-1)
SHARE = Range(at_least=0, at_most=1)
WIDTH = Range(at_least=1, at_most=WIDEST)
LAYERS = Range(at_least=0, at_most=DEEPEST)
HEADS = Range(at_least=1, at_most=DEEPEST)
BEAM = Range(at_least=1, at_most=10_000)

STOCK: Dict[str, Range] = {
    "log_interval": FROM_ONE,
    # NumPy's seeds are below 2**32, and fairseq adds the epoch: a million epochs are enough.
    "seed": Range(at_least=0, at_most=2**32 - 1_000_001),
    # batches
    "num_workers": Range(at_least=0, at_most=1_000),
    "max_tokens": FROM_ONE,
    "max_tokens_valid": FROM_ONE,
    "batch_size": FROM_ONE,
    "batch_size_valid": FROM_ONE,
    "max_valid_steps": FROM_ONE,
    "required_batch_size_multiple": WIDTH,
    "required_seq_len_multiple": WIDTH,
    "data_buffer_size": FROM_ZERO,
    "curriculum": FROM_ZERO,
    "num_shards": FROM_ONE,
    "shard_id": FROM_ZERO,
    "tokens_per_sample": FROM_ONE,
    "workers": Range(at_least=1, at_most=1_000),
    "thresholdsrc": FROM_ZERO,
    "thresholdtgt": FROM_ZERO,
    "nwordssrc": OR_OFF,
    "nwordstgt": OR_OFF,
    "padding_factor": FROM_ONE,
    # training
    "max_epoch": FROM_ZERO,
    "max_update": FROM_ZERO,
    "stop_time_hours": FROM_ZERO,
    "clip_norm": FROM_ZERO,
    "update_freq": FROM_ONE,
    "lr": FROM_ZERO,
    "stop_min_lr": FINITE,
    "label_smoothing": SHARE,
    "validate_interval": FROM_ONE,
    "validate_interval_updates": FROM_ZERO,
    "validate_after_updates": FROM_ZERO,
    "save_interval": FROM_ONE,
    "save_interval_updates": FROM_ZERO,
    "keep_interval_updates": OR_OFF,
    "keep_interval_updates_pattern": OR_OFF,
    "keep_last_epochs": OR_OFF,
    "keep_best_checkpoints": OR_OFF,
    "patience": OR_OFF,
    "ema_decay": SHARE,
    "ema_start_update": FROM_ZERO,
    "ema_update_freq": FROM_ONE,
    "heartbeat_timeout": OR_OFF,
    # optimizers and schedules
    "adam_eps": Range(above=0),
    "weight_decay": FROM_ZERO,
    "momentum": FROM_ZERO,
    "adadelta_rho": SHARE,
    "adadelta_eps": Range(above=0),
    "power": FROM_ZERO,
    "min_lr": FINITE,
    "total_num_update": FROM_ONE,
    "t_mult": FROM_ONE,
    "lr_shrink": SHARE,
    "lr_threshold": FINITE,
    "lr_patience": FROM_ZERO,
    "warmup_updates": FROM_ZERO,
    "warmup_init_lr": FINITE,
    # decoding
    "beam": BEAM,
    "nbest": BEAM,
    # Limits the search for translations that never end.
    "max_len_a": Range(at_least=0, at_most=1_000),
    "max_len_b": Range(at_least=0, at_most=10_000),
    "min_len": FROM_ZERO,
    # The length of a translation is raised to it, in float32.
    "lenpen": Range(at_least=-10, at_most=10),
    "unkpen": FINITE,
    "temperature": Range(above=0),
    "prefix_size": FROM_ZERO,
    "no_repeat_ngram_size": FROM_ZERO,
    "sampling_topk": OR_OFF,
    "sampling_topp": Range(at_least=-1, at_most=1),
    "diverse_beam_groups": OR_OFF,
    "diverse_beam_strength": FINITE,
    "diversity_rate": OR_OFF,
    "lm_weight": FINITE,
    "buffer_size": Range(at_least=0, at_most=WIDEST),
    "context_window": FROM_ZERO,
    "softmax_batch": FROM_ONE,
    # models
    "dropout": SHARE,
    "attention_dropout": SHARE,
    "activation_dropout": SHARE,
    "encoder_layerdrop": SHARE,
    "decoder_layerdrop": SHARE,
    "encoder_embed_dim": WIDTH,
    "decoder_embed_dim": WIDTH,
    "decoder_output_dim": WIDTH,
    "decoder_input_dim": WIDTH,
    "encoder_ffn_embed_dim": WIDTH,
    "decoder_ffn_embed_dim": WIDTH,
    "encoder_attention_heads": HEADS,
    "decoder_attention_heads": HEADS,
    "adaptive_softmax_factor": Range(above=0),
    "adaptive_softmax_dropout": SHARE,
    "quant_noise_pq": SHARE,
    "quant_noise_pq_block_size": FROM_ONE,
    "encoder_layers": LAYERS,
    "decoder_layers": LAYERS,
    "max_source_positions": WIDTH,
    "max_target_positions": WIDTH,
}


# Numbers that fairseq's parser leaves as texts, because they may refer to other options.
TEXTS: Dict[str, Callable[[str], float]] = {
    "max_tokens_valid": int,
    "batch_size_valid": int,
    "decoder_input_dim": int,
    "decoder_output_dim": int,
    "total_num_update": float,
}
REFERENCE = "${"


def check_stock_ranges(
    options: Any, spelled: Callable[..., str] = as_flag, empty_lines: bool = True
) -> None:
    """Check the numbers of a parsed command line.

    Args:
        options: a namespace; numbers that are not in the table must be finite.
        spelled: an option in messages, of its name or of its name and value.
        empty_lines: whether empty sources are searched.
    Raises:
        UserError: for the first number out of its range, or options that exclude each other.
    """
    for name, value in vars(options).items():
        limits, option = STOCK.get(name), spelled(name)
        if name in TEXTS and isinstance(value, str) and not value.startswith(REFERENCE):
            value = _number(option, value, TEXTS[name])
        if value == [] and limits is not None:
            raise UserError(f"{option} has no value: must be {limits}")
        for number in value if isinstance(value, list) else [value]:
            if limits is not None:
                check_number(name, number, limits, spelled)
            elif isinstance(number, float) and not math.isfinite(number):
                raise UserError(f"{spelled(name, number)}: must be a finite number")
    if getattr(options, "adam_betas", None) is not None:
        parse_betas(options.adam_betas)
    _check_decoding(options, spelled, empty_lines)
    _check_schedule(options)
    _check_saving(options)
    _check_batches(options)


def _number(option: str, text: str, kind: Callable[[str], float]) -> float:
    try:
        return kind(text)
    except ValueError as error:
        what = "whole number" if kind is int else "number"
        raise UserError(f"{option} {text!r}: must be a {what}") from error


def _check_decoding(options: Any, spelled: Callable[..., str], empty_lines: bool) -> None:
    nbest, beam = getattr(options, "nbest", None) or 1, getattr(options, "beam", None) or 1
    if nbest > beam:
        raise UserError(
            f"{spelled('nbest', nbest)}: {spelled('beam', beam)} finds only {beam} hypotheses; "
            f"raise {spelled('beam')}"
        )
    for name in ("sampling_topk", "sampling_topp"):
        if (number := getattr(options, name, None)) == 0:
            raise UserError(
                f"{spelled(name, number)}: must be above 0; leave it out to sample among all words"
            )
    shortest = getattr(options, "min_len", None)
    if shortest is None or not hasattr(options, "max_len_b"):
        return
    a, b = options.max_len_a, options.max_len_b
    most, source = (a + b, "an empty line") if empty_lines else (2 * a + b, "one word")
    if shortest > most:  # the source's </s> counts
        raise UserError(
            f"{spelled('min_len', shortest)}: with {spelled('max_len_a', a)} "
            f"{spelled('max_len_b', b)}, the translation of {source} has at most {most:g} "
            f"tokens; raise {spelled('max_len_b')}"
        )


def _check_schedule(options: Any) -> None:
    schedule = getattr(options, "lr_scheduler", None)
    if schedule == "inverse_sqrt" and options.warmup_updates == 0:
        raise UserError("--warmup-updates 0: --lr-scheduler inverse_sqrt needs at least 1")
    if schedule == "reduce_lr_on_plateau" and options.lr_shrink == 1:
        raise UserError("--lr-shrink 1: --lr-scheduler reduce_lr_on_plateau needs less than 1")


def _check_saving(options: Any) -> None:
    if getattr(options, "keep_interval_updates_pattern", None) == 0:
        raise UserError(
            "--keep-interval-updates-pattern 0: must be at least 1, or -1 to disable it"
        )
    for name, remedy in (
        ("patience", "it counts validations; leave one of them out"),
        ("keep_best_checkpoints", "the best are known by validation; leave one of them out"),
        ("eval_bleu", "it translates the validation set; leave one of them out"),
    ):
        value = getattr(options, name, -1)
        if getattr(options, "disable_validation", False) and value > 0:
            raise changes_nothing(name, value, "with --disable-validation", remedy)


def _check_batches(options: Any) -> None:
    shards, shard = getattr(options, "num_shards", 0), getattr(options, "shard_id", 0)
    if shards and shard >= shards:
        raise UserError(
            f"--shard-id {shard}: must be at most {shards - 1} with --num-shards {shards}"
        )
    reseeded = getattr(options, "update_ordered_indices_seed", False)
    if reseeded and not options.update_epoch_batch_itr:
        raise UserError(
            "--update-ordered-indices-seed: without --update-epoch-batch-itr, batches are built "
            "once, and a resumed run would build others; pass both (--update-epoch-batch-itr True)"
        )
