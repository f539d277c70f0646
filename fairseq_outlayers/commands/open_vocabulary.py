"""Print the perplexity of a text, with unseen words scored as themselves."""

import argparse
import math
from typing import List, Sequence

import torch

from fairseq_outlayers.analysis.open_vocabulary import (
    GROUPS,
    negative_log_likelihoods,
    open_vocabulary,
)
from fairseq_outlayers.checkpoints import loading
from fairseq_outlayers.commands.base import Command, add_data_argument
from fairseq_outlayers.commands.tables import markdown_table
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.text import lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", metavar="CHECKPOINT")
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
    decoder = loading.load(options.checkpoint, options.data).model.decoder
    dictionary = decoder.dictionary
    text = [word for line in lines(options.text) for word in [*line, dictionary.eos_word]]
    if not text:
        raise UserError(f"{options.text}: an empty text has no perplexity")
    unseen = [word for word in dict.fromkeys(text) if word not in dictionary]
    words = open_vocabulary(decoder, unseen)
    tokens = torch.tensor([words.ids.get(word, dictionary.index(word)) for word in text])
    losses = negative_log_likelihoods(decoder, tokens, words).double()
    members = (
        (tokens < len(dictionary)) & (tokens != dictionary.unk()),
        tokens >= len(dictionary),
        tokens == dictionary.unk(),
    )
    rows: List[Sequence[object]] = [("words", "types", "tokens", "perplexity")]
    for name, chosen in zip(GROUPS, members, strict=True):
        types = len({word for word, here in zip(text, chosen.tolist(), strict=True) if here})
        shown = f"{math.exp(losses[chosen].mean().item()):,.2f}" if chosen.any() else "-"
        rows.append((name, types, int(chosen.sum()), shown))
    rows.append(("all", len(set(text)), len(text), f"{math.exp(losses.mean().item()):,.2f}"))
    print(markdown_table(rows))


COMMAND = Command(
    summary="Print the perplexity of a text, with unseen words scored as themselves",
    example="run/checkpoint_best.pt --text test.txt",
    add_arguments=add_arguments,
    run=run,
)
