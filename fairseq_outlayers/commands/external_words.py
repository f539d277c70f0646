"""Print how many words of a text a model with external vectors knows."""

import argparse
from typing import TYPE_CHECKING, Dict, Iterator, List, Sequence

from fairseq_outlayers.commands.base import Command
from fairseq_outlayers.commands.tables import markdown_table
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.text import read_parallel_words, read_words
from fairseq_outlayers.ranges import WIDEST
from fairseq_outlayers.suggestions import between

if TYPE_CHECKING:
    from fairseq_outlayers.analysis.external_words import SourceWords


def report(
    source: Sequence[List[str]],
    words: "SourceWords",
    translations: Dict[str, List[List[str]]],
    examples: int,
) -> Iterator[str]:
    """The three tables in Markdown."""
    from fairseq_outlayers.analysis import external_words as analysis

    unknown = [(side, *amount) for side, amount in analysis.unknown_words(source, words).items()]
    yield markdown_table([("source words unknown to", "tokens", "types"), *unknown])
    if translations:
        yield ""
        symbols = [(name, *analysis.unknown_symbols(found)) for name, found in translations.items()]
        heading = ("translation", "unknown symbols", "sentences with one")
        yield markdown_table([heading, *symbols])
    for side in analysis.SIDES[:2] if translations else ():
        found = [one for one in analysis.one_sided(source, words) if one.unknown_to == side]
        yield ""
        yield f"{len(found)} sentences have a word unknown to the {side} side alone."
        for number, word, _ in found[:examples]:
            yield ""
            yield f"- line {number + 1}, **{word}**: {' '.join(source[number])}"
            for name, sentences in translations.items():
                yield f"  - {name}: {' '.join(sentences[number])}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dictionary", required=True, metavar="FILE", help="dict.SOURCE.txt")
    parser.add_argument(
        "--internal-vocabulary",
        type=between(0, WIDEST),
        default=0,
        metavar="N",
        help="as in training (default: 0, all training words)",
    )
    parser.add_argument(
        "--external-embeddings", required=True, metavar="FILE.npy", help="made by data_prep"
    )
    parser.add_argument("--source", required=True, metavar="FILE", help="tokenized text")
    parser.add_argument(
        "--translations",
        nargs="*",
        default=[],
        metavar="NAME=FILE",
        help="translations to show, may include the reference",
    )
    parser.add_argument(
        "--examples", type=between(0, WIDEST), default=5, metavar="N", help="of each kind"
    )


def _paths_by_name(pairs: Sequence[str]) -> Dict[str, str]:
    paths: Dict[str, str] = {}
    for pair in pairs:
        name, separator, path = pair.partition("=")
        if not separator:
            raise UserError(f"--translations {pair}: must be NAME=FILE")
        if name in paths:
            raise UserError(
                f"--translations {name}={paths[name]} {pair}: the name {name} is given twice; "
                "give each file another name"
            )
        paths[name] = path
    return paths


def run(options: argparse.Namespace) -> None:
    """Print the tables of a text and its translations."""
    from fairseq.data import Dictionary

    from fairseq_outlayers.analysis.external_words import SourceWords
    from fairseq_outlayers.source_embeddings import internal_vocabulary_size
    from fairseq_outlayers.tables.external_table import ExternalTable

    paths = _paths_by_name(options.translations)
    dictionary = Dictionary.load(options.dictionary)
    table = ExternalTable(options.external_embeddings, dictionary)
    source = list(read_words(options.source))
    translations = {name: read_parallel_words(options.source, path) for name, path in paths.items()}
    if not any(source):
        raise UserError(f"{options.source}: has no words; give the tokenized source text")
    size = internal_vocabulary_size(options, dictionary)
    words = SourceWords(dictionary, size, table)
    print("\n".join(report(source, words, translations, options.examples)))


COMMAND = Command(
    example="--dictionary data-bin/dict.en.txt --internal-vocabulary 8000 "
    "--external-embeddings table.npy --source test.en --translations reference=test.de mix=mix.hyp",
    add_arguments=add_arguments,
    run=run,
)
