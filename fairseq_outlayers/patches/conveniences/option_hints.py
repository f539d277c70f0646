"""Hints for options that fairseq calls unrecognized.

``parse_args_and_arch`` (fairseq/options.py) knows only the options of the selected parts: with
``--arch transformer_iwslt_de_en``, ``--output-layer`` is as unknown as a misspelling, and the error
follows two hundred lines of usage. The patch leaves out the usage, and adds for our options which
architecture, criterion or task takes them, and for others and for choices the most similar known
name. It also checks values and data folders right after parsing.
"""

import argparse
import logging
import re
import sys
from typing import Any, Callable, Iterator, List, NoReturn, Optional

from fairseq import options

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces
from fairseq_outlayers.stock.data_folders import check_data_folders
from fairseq_outlayers.stock.known_metrics import check_best_metric
from fairseq_outlayers.stock.ranges import check_stock_ranges
from fairseq_outlayers.stock.texts import check_stock_texts
from fairseq_outlayers.stock.unused_options import check_unused, is_named
from fairseq_outlayers.suggestions import closest, explain_choice

logger = logging.getLogger(__name__)

NAMED = 4  # at most this many parts are listed for an option
ALIKE = 0.75  # stricter than for choices: there are two hundred options

# fairseq-generate checks this itself.
NEEDING_A_CHECKPOINT = r"validate|eval.lm"


@replaces(options, "parse_args_and_arch")
def _explain(
    stock: Callable[..., Any],
    parser: argparse.ArgumentParser,
    input_args: Optional[List[str]] = None,
    *arguments: Any,
    **keywords: Any,
) -> Any:
    _replace_error(parser, input_args)
    try:
        parsed = stock(parser, input_args, *arguments, **keywords)
    except KeyError as unnamed:
        # fairseq-validate has no default task, and looks up None.
        if unnamed.args != (None,):
            raise
        raise UserError(f"{parser.prog} needs --task: give that of the training") from unnamed
    except RuntimeError as unnamed:
        # fairseq looks up no model as one, and raises without a message.
        if unnamed.args:
            raise
        raise UserError(
            f"{parser.prog} needs --arch: name a model, such as luong_lstm or "
            "transformer_iwslt_de_en_outlayers"
        ) from unnamed
    namespace = parsed[0] if isinstance(parsed, tuple) else parsed
    if re.search(NEEDING_A_CHECKPOINT, parser.prog) and not namespace.path:
        raise UserError("no checkpoint: give its path as --path")
    check_stock_ranges(namespace)
    check_stock_texts(namespace)
    check_best_metric(namespace)
    check_data_folders(namespace)
    words = sys.argv[1:] if input_args is None else input_args
    check_unused(parser, namespace, words)
    _warn_of_default_rate(parser, words)
    return parsed


def _warn_of_default_rate(parser: argparse.ArgumentParser, words: List[str]) -> None:
    """fairseq's default is for plain gradient descent; Adam diverges or learns nothing with it."""
    if "train" in parser.prog and not is_named("lr", words):
        logger.warning("no --lr: fairseq's default of %s is used", parser.get_default("lr"))


# fairseq-preprocess parses its options itself, after this.
@replaces(options, "add_preprocess_args")
def _explain_preprocessing(stock: Callable[..., Any], parser: argparse.ArgumentParser) -> Any:
    _replace_error(parser, None)
    return stock(parser)


def _replace_error(parser: argparse.ArgumentParser, input_args: Optional[List[str]]) -> None:
    """Make a parser's errors one line with hints."""

    def error(message: str) -> NoReturn:
        head, _, unknown = message.partition("unrecognized arguments: ")
        hints = _hints(parser, unknown.split(), input_args) if head == "" else []
        text = "; ".join([explain_choice(parser, message), *hints])
        parser.exit(2, f"{parser.prog}: error: {text}\n")

    parser.error = error  # type: ignore[method-assign]


def _hints(
    parser: argparse.ArgumentParser, unknown: List[str], input_args: Optional[List[str]]
) -> Iterator[str]:
    """Hints for unknown options."""
    known = parser._option_string_actions
    arch = getattr(parser.parse_known_args(input_args)[0], "arch", None)
    for word in unknown:
        option = word.partition("=")[0]
        if not option.startswith("--"):
            continue
        owners = _owners(option)
        similar = closest(option, known, ALIKE)
        if any(owner.startswith("--arch") for owner in owners) and "--arch" not in known:
            yield f"{option} is stored in the checkpoint: leave it out"
        elif f"--arch {arch}_outlayers" in owners:
            yield f"{option} is an option of --arch {arch}_outlayers"
        elif owners:
            more = ", ... (docs/options.md)" if len(owners) > NAMED else ""
            yield f"{option} is an option of {', '.join(owners[:NAMED])}{more}"
        elif similar:
            yield f"instead of {option}, did you mean {similar}?"


def _owners(option: str) -> List[str]:
    """Parts of this package that take an option, such as ``--criterion sampled_softmax``."""
    from fairseq_outlayers.registered_options import option_owners

    return option_owners(option)
