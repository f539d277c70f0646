"""The other options of the walk: fairseq's own that have a range, those of commands and scripts."""

import argparse
import importlib
import shlex
import sys
from collections.abc import Iterator
from unittest import mock

from fairseq_outlayers import __main__ as package
from fairseq_outlayers.stock.ranges import STOCK
from tests.faults import world
from tests.faults.option_walk import TRANSFORMER, VALUES, Step
from tests.faults.warm import DATA_PREP

OF_TRANSFORMER = world.TRAIN.replace(
    "--arch luong_lstm --embed-dim 8 --hidden-size 8", f"--arch transformer {TRANSFORMER}"
)
PATHS = {"Path", "figure_path"}  # types of options that are no numbers
# The command in which an option is walked; fairseq-train of an LSTM unless it is named here.
STOCK_COMMANDS = {
    "": world.TRAIN,
    "tokens_per_sample": world.TRAIN_LM,
    "curriculum": world.TRAIN,
    "patience keep_best_checkpoints": world.TRAIN.replace("--disable-validation", ""),
    "max_update": f"{world.TRAIN} --max-epoch 1",  # 0: no limit
    "momentum": world.TRAIN.replace("--optimizer adam", "--optimizer sgd"),
    "adadelta_rho adadelta_eps": world.TRAIN.replace("--optimizer adam", "--optimizer adadelta"),
    "power total_num_update": f"{world.TRAIN} --lr-scheduler polynomial_decay "
    "--total-num-update 10",
    "t_mult min_lr": f"{world.TRAIN} --lr-scheduler cosine --lr-period-updates 10",
    "adaptive_softmax_factor adaptive_softmax_dropout": OF_TRANSFORMER.replace(
        "full_softmax", "adaptive_loss --adaptive-softmax-cutoff 5 --ddp-backend legacy_ddp"
    ),
    "quant_noise_pq": OF_TRANSFORMER,
    "quant_noise_pq_block_size": f"{OF_TRANSFORMER} --quant-noise-pq 0.1",
    "lr_shrink lr_threshold lr_patience": f"{world.TRAIN} --lr-scheduler reduce_lr_on_plateau",
    "warmup_updates warmup_init_lr": f"{world.TRAIN} --lr-scheduler inverse_sqrt",
    "ema_decay ema_start_update ema_update_freq": f"{world.TRAIN} --store-ema",
    "attention_dropout activation_dropout encoder_layerdrop decoder_layerdrop encoder_embed_dim "
    "decoder_embed_dim decoder_output_dim decoder_input_dim encoder_ffn_embed_dim "
    "decoder_ffn_embed_dim encoder_attention_heads decoder_attention_heads encoder_layers "
    "decoder_layers max_source_positions max_target_positions": OF_TRANSFORMER,
    "beam nbest max_len_a max_len_b min_len lenpen unkpen temperature prefix_size "
    "no_repeat_ngram_size sampling_topk sampling_topp diverse_beam_groups "
    "diverse_beam_strength diversity_rate lm_weight": world.GENERATE,
    "num_shards shard_id": world.EVAL_LM,
    "buffer_size": world.INTERACTIVE,
    "context_window softmax_batch": world.EVAL_LM,
}
DICTIONARIES = "--source-dictionary bin/dict.xx.txt --target-dictionary bin/dict.yy.txt"
# Good lines of all commands that take numbers.
COMMANDS = {
    "capacity": "--num-classes 100 --embed-dim 8 --hidden-size 8 --joint-dim 8",
    "inspect": "--path model.pt --data bin --source test.xx --reference test.yy --output page.html",
    "partitions": "bin --partition-size 12",
    "frequency-bins": "--reference test.yy --hypothesis test.yy --training-text train.yy",
    "neighbours": "--path model.pt --data bin --words yy1 yy2",
    "unseen-words": "--path model.pt --data bin --descriptions descriptions --output new",
    "echo-gain": "",
    "external-words": "--dictionary ext/dict.xx.txt --internal-vocabulary 8 "
    "--external-embeddings table.npy --source test.xx",
}
SCRIPTS = {
    "build_candidates": f"--lexicon lexicon {DICTIONARIES} --output new.npz",
    "build_lexicon": "--source train.xx --target train.yy --output new",
    "build_subword_table": "bin/dict.yy.txt --units characters",
    "extract_embeddings": "--vectors words.vec --format vec --train train.xx --output new",
    "segment learn": "--inputs train.xx --output new",
    "tokenize_corpus": "--input train --output new --languages xx yy",
    "toy_corpus": "--output new",
    "train_embeddings": "--input train.xx --output new.vec --dimensions 4 --epochs 1",
}


def stock_steps() -> Iterator[Step]:
    """fairseq's options that this package gives a range."""
    commands = {name: line for names, line in STOCK_COMMANDS.items() for name in names.split()}
    for name in STOCK:
        line, option = commands.get(name, world.TRAIN), name.replace("_", "-")
        for value in VALUES:
            yield Step(name, value, True, f"{line} --{option}={shlex.quote(value)}")


def command_steps() -> Iterator[Step]:
    """Numbers that commands of the package and scripts of ``data_prep/`` take."""
    for name, parser in {**_commands(), **_scripts()}.items():
        line = f"{name} {COMMANDS.get(name.removeprefix('outlayers '), '') or SCRIPTS.get(name)}"
        for action in _numbers(parser):
            option, many = action.option_strings[0], action.nargs
            for value in VALUES:
                # A number that comes twice counts as what is said last.
                words = [f"{option}={shlex.quote(value)}"]
                if isinstance(many, int):
                    words = [option, *[shlex.quote(value) or "''"] * many]
                dest = f"{name.removeprefix('outlayers ')} {option}"
                yield Step(dest, value, True, f"{line} {' '.join(words)}")


def _numbers(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Its options that turn a text into something else than a path."""
    return [
        action
        for action in parser._actions
        if action.option_strings and getattr(action.type, "__name__", "Path") not in PATHS
    ]


def _commands() -> dict[str, argparse.ArgumentParser]:
    parsers = {}
    for name, command in package.COMMANDS.items():
        parser = argparse.ArgumentParser()
        command.prepare(parser)
        if _numbers(parser):
            parsers[f"outlayers {name}"] = parser
    return parsers


def _scripts() -> dict[str, argparse.ArgumentParser]:
    """The parsers of the scripts, and of their commands where they have some."""
    parsers = {}
    with mock.patch.object(sys, "path", [str(DATA_PREP), *sys.path]):
        for name in sorted({name.split()[0] for name in SCRIPTS}):
            parser = _parser_of(importlib.import_module(name))
            parsers[name] = parser
            for action in parser._actions:
                if isinstance(action, argparse._SubParsersAction):
                    parsers |= {f"{name} {word}": one for word, one in action.choices.items()}
    return {name: parser for name, parser in parsers.items() if _numbers(parser)}


def _parser_of(script: object) -> argparse.ArgumentParser:
    """What a script parses its arguments with."""
    found = []

    def keep(parser: argparse.ArgumentParser, *_: object) -> None:
        found.append(parser)
        raise SystemExit

    with mock.patch.object(argparse.ArgumentParser, "parse_args", keep):
        try:
            script.parse_arguments([])  # type: ignore[attr-defined]
        except SystemExit:
            return found[0]
    raise AssertionError("it parses no arguments")
