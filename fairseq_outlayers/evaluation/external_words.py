"""What a model with external vectors knows of a text, and what it makes of words known to one side.

Di Gangi & Federico (2017), tables 3 to 5: words unknown to the internal vocabulary, to the external
table, to both; unknown symbols in translations; sentences with a word that one side alone knows.
"""

import argparse
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence

import torch
from fairseq.data import Dictionary

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.external_table import ExternalTable

SIDES = ("internal", "external", "both")


class Knowledge(NamedTuple):
    """Who knows a word: the model's own vocabulary, the external table."""

    internal: bool
    external: bool


class SourceWords:
    """What is known of source words.

    Args:
        dictionary: the source dictionary.
        internal_vocabulary: how many of its symbols have embeddings of the model's own.
        table: external vectors.
    """

    def __init__(self, dictionary: Dictionary, internal_vocabulary: int, table: ExternalTable):
        self.dictionary = dictionary
        self.internal_vocabulary = internal_vocabulary
        self.table = table
        self._known: Dict[str, Knowledge] = {}

    def knowledge(self, word: str) -> Knowledge:
        """Who knows ``word``. A word with the shared vector of unknown ones is not known."""
        if word not in self._known:
            id = self.dictionary.index(word)
            listed = id != self.dictionary.unk()
            vector = self.table.vectors(torch.tensor([id]))
            self._known[word] = Knowledge(
                listed and id < self.internal_vocabulary,
                listed and not bool(self.table.is_unknown(vector)),
            )
        return self._known[word]

    def missing(self, word: str) -> List[str]:
        """Those of ``SIDES`` to which a word is unknown."""
        known = self.knowledge(word)
        lacks = (not known.internal, not known.external, not any(known))
        return [side for side, lacking in zip(SIDES, lacks, strict=True) if lacking]


class Amount(NamedTuple):
    """How often words of a kind occur, and how many different ones do."""

    tokens: int
    types: int


def unknown_words(sentences: Sequence[List[str]], words: SourceWords) -> Dict[str, Amount]:
    """Words of a text that each of ``SIDES`` does not know (table 3)."""
    found: Dict[str, List[str]] = {side: [] for side in SIDES}
    for sentence in sentences:
        for word in sentence:
            for side in words.missing(word):
                found[side].append(word)
    return {side: Amount(len(tokens), len(set(tokens))) for side, tokens in found.items()}


def unknown_symbols(translations: Sequence[List[str]], symbol: str = "<unk>") -> Amount:
    """Unknown symbols in translations (table 4), and sentences that have one."""
    counts = [translation.count(symbol) for translation in translations]
    return Amount(sum(counts), sum(count > 0 for count in counts))


class OneSided(NamedTuple):
    """A sentence with a word that one side alone knows."""

    number: int
    word: str
    unknown_to: str


def one_sided(sentences: Sequence[List[str]], words: SourceWords) -> Iterator[OneSided]:
    """Sentences for table 5, the first such word of each."""
    for number, sentence in enumerate(sentences):
        for word in sentence:
            missing = words.missing(word)
            if len(missing) == 1:
                yield OneSided(number, word, missing[0])
                break


def read_sentences(path: str, expected: Optional[int] = None) -> List[List[str]]:
    """The words of each line.

    Raises:
        UserError: if the file cannot be read or has another number of lines than ``expected``.
    """
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            sentences = [line.split() for line in file]
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    if expected is not None and len(sentences) != expected:
        raise UserError(f"{path}: {len(sentences)} lines, but the source has {expected}")
    return sentences


def report(
    source: Sequence[List[str]],
    words: SourceWords,
    translations: Dict[str, List[List[str]]],
    examples: int,
) -> Iterator[str]:
    """The three tables in Markdown."""
    yield "| source words unknown to | tokens | types |"
    yield "|---|---|---|"
    for side, amount in unknown_words(source, words).items():
        yield f"| {side} | {amount.tokens} | {amount.types} |"
    if translations:
        yield ""
        yield "| translation | unknown symbols | sentences with one |"
        yield "|---|---|---|"
    for name, sentences in translations.items():
        amount = unknown_symbols(sentences)
        yield f"| {name} | {amount.tokens} | {amount.types} |"
    for side in SIDES[:2] if translations else ():
        found = [example for example in one_sided(source, words) if example.unknown_to == side]
        yield ""
        yield f"{len(found)} sentences have a word unknown to the {side} side alone."
        for number, word, _ in found[:examples]:
            yield ""
            yield f"- line {number + 1}, **{word}**: {' '.join(source[number])}"
            for name, sentences in translations.items():
                yield f"  - {name}: {' '.join(sentences[number])}"


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Print the tables of a text and its translations."""
    parser = argparse.ArgumentParser(
        prog="python -m fairseq_outlayers.evaluation.external_words",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--dictionary", required=True, metavar="FILE", help="dict.SOURCE.txt")
    parser.add_argument("--internal-vocabulary", required=True, type=int, metavar="N")
    parser.add_argument("--external-embeddings", required=True, metavar="FILE.npy")
    parser.add_argument("--source", required=True, metavar="FILE", help="tokenised text")
    parser.add_argument(
        "--translations", nargs="*", default=[], metavar="NAME=FILE", help="the reference, too"
    )
    parser.add_argument("--examples", type=int, default=5, metavar="N", help="of each kind")
    options = parser.parse_args(arguments)
    dictionary = Dictionary.load(options.dictionary)
    table = ExternalTable(options.external_embeddings, dictionary)
    source = read_sentences(options.source)
    translations = {}
    for pair in options.translations:
        name, separator, path = pair.partition("=")
        if not separator:
            raise UserError(f"--translations {pair}: must be NAME=FILE")
        translations[name] = read_sentences(path, len(source))
    words = SourceWords(dictionary, options.internal_vocabulary, table)
    print("\n".join(report(source, words, translations, options.examples)))


if __name__ == "__main__":
    main()
