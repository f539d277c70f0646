"""Print the perplexity of a text, with unseen words scored as themselves."""

import argparse
from typing import List, Sequence

from fairseq_outlayers.commands.base import Command, add_checkpoint, add_data_argument
from fairseq_outlayers.commands.tables import markdown_table
from fairseq_outlayers.errors import UserError, padding_in_text, returns_within_lines
from fairseq_outlayers.formats.text import read_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser, "of a composing language model")
    parser.add_argument(
        "--text",
        required=True,
        metavar="FILE",
        help="split into words as for training; the table of morphs or syllables must have these "
        "words (data_prep/build_subword_table.py --also-words-of FILE)",
    )
    add_data_argument(parser)


def run(options: argparse.Namespace) -> None:
    """Print the perplexities of the known, the composed and the remaining words of a text."""
    from fairseq_outlayers.analysis.open_vocabulary import perplexities
    from fairseq_outlayers.checkpoints import loading

    model, task = loading.load(options.checkpoint, options.data)
    if hasattr(model, "encoder"):
        raise UserError(
            f"{options.checkpoint}: a translation model; open-vocabulary needs a language model"
        )
    decoder, after_bos = model.decoder, bool(getattr(task.args, "add_bos_token", False))
    by_sentence = str(getattr(task.args, "sample_break_mode", None)) == "eos"
    lines = list(read_lines(options.text))
    if returns := sum(line.count("\r") for line in lines):
        raise returns_within_lines(options.text, returns)
    end = decoder.dictionary.eos_word
    text = [word for line in lines for word in [*line.split(), end]]
    if not text:
        raise UserError(f"{options.text}: an empty text has no perplexity")
    padding = decoder.dictionary.pad_word
    if padding in text:
        raise padding_in_text(options.text, padding, text.count(padding))
    rows: List[Sequence[object]] = [("words", "types", "tokens", "perplexity")]
    for words, types, tokens, value in perplexities(decoder, text, after_bos, by_sentence):
        rows.append((words, types, tokens, "-" if value is None else f"{value:,.2f}"))
    print(markdown_table(rows))


COMMAND = Command(
    example="run/checkpoint_best.pt --text test.txt",
    add_arguments=add_arguments,
    run=run,
)
