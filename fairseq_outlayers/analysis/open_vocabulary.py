"""Perplexity of a text with unseen words scored as themselves, not as ``<unk>``.

A model that composes its class embeddings has a vector for every word whose units it knows. The
unseen words of the text become additional classes, with the mean bias of the dictionary's rarest
words. Words with an unknown unit stay <unk>. This goes beyond Assylbekov & Takhanov (2018), and the
perplexity does not compare with that of a closed vocabulary, so the three groups of words are
reported separately.

Characters need no preparation. For morphs and syllables, add the words of the text to the table:
data_prep/build_subword_table.py --also-words-of TEXT. The text is read as one column, or by a model
of separate sentences (``--sample-break-mode eos``) sentence by sentence.
"""

import itertools
import math
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.checkpoints import loading
from fairseq_outlayers.compositions.embedding import ComposedEmbedding
from fairseq_outlayers.compositions.units import PADDING, find_table, mark_ends
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers.subword_composed import SubwordOutputLayer

WINDOW = 100
GROUPS = ("known", "composed", "<unk>")


class OpenVocabulary(NamedTuple):
    """Vectors and biases of the dictionary's words, followed by the composed words.

    Attributes:
        input_vectors: ``(V + U, d)``.
        class_embeddings: ``(V + U, D)``.
        class_bias: ``(V + U,)``.
        ids: of the ``U`` new words by word, starting at ``V``.
    """

    input_vectors: Tensor
    class_embeddings: Tensor
    class_bias: Optional[Tensor]
    ids: Dict[str, int]


def unit_rows(decoder: Any, words: Sequence[str]) -> Dict[str, List[int]]:
    """Unit ids of each word whose units the model knows, short words first.

    Leaves out words with more units than the composition's fixed maximum.
    """
    composed = decoder.embed_tokens.words
    kind, units = composed.composition.kind, composed.units
    numbers = {symbol: number for number, symbol in enumerate(units.symbols, start=1)}
    _, pieces = find_table(decoder.dictionary, kind)
    if kind == "characters":
        pieces = {word: mark_ends(pieces.get(word, list(word))) for word in words}
    most = composed.composition.most_units or math.inf
    rows = {
        word: [numbers[unit] for unit in pieces[word]]
        for word in words
        if word in pieces and len(pieces[word]) <= most and numbers.keys() >= set(pieces[word])
    }
    return dict(sorted(rows.items(), key=lambda row: width(row[1], units.longest)))


def width(row: Sequence[int], longest: int) -> int:
    """The padded number of units: that of training, unless the word is longer."""
    return max(longest, len(row))


def unit_tables(rows: Iterable[List[int]], longest: int) -> Iterator[Tensor]:
    """Rows grouped by width and padded, ``(N, L)`` each; padding may affect a vector."""
    for size, group in itertools.groupby(rows, lambda row: width(row, longest)):
        yield torch.tensor([row + [PADDING] * (size - len(row)) for row in group])


@torch.no_grad()
def open_vocabulary(decoder: Any, words: Sequence[str]) -> OpenVocabulary:
    """Compose those words, missing from the dictionary, whose units the model knows.

    Raises:
        UserError: if the model does not compose both its input and its output.
    """
    embedding, output = decoder.embed_tokens, decoder.output_projection
    if not isinstance(embedding, ComposedEmbedding) or not isinstance(output, SubwordOutputLayer):
        raise UserError(
            "this model stores a vector for every word, so unseen words have none: use a model "
            "whose input and output are composed (not --composition word, not --tie original)"
        )
    rows = unit_rows(decoder, words)
    inputs, classes, bias = embedding.all_words(), output.class_embeddings(), output.class_bias()
    layers: Any = embedding.parts
    for ids in unit_tables(rows.values(), embedding.words.units.longest):
        inputs = torch.cat([inputs, embedding.words.compose(layers, ids)])
        classes = torch.cat([classes, output.compose_rows(ids)])
    if bias is not None:
        bias = torch.cat([bias, rarest_bias(decoder.dictionary, bias).expand(len(rows))])
    first = len(decoder.dictionary)
    return OpenVocabulary(inputs, classes, bias, {w: first + n for n, w in enumerate(rows)})


def rarest_bias(dictionary: Any, bias: Tensor) -> Tensor:
    """The mean bias of the words with the smallest training count."""
    words = loading.real_words(dictionary)
    counts = torch.tensor(dictionary.count)[words]
    return bias[words][counts == counts.min()].mean()


@torch.no_grad()
def negative_log_likelihoods(
    decoder: Any, tokens: Tensor, words: OpenVocabulary, after_bos: bool = False
) -> Tensor:
    """NLL of every token given the preceding ones, in nats, ``(N,)``.

    Args:
        decoder: of a language model that composes its words.
        tokens: ids in the open vocabulary, ``(N,)``.
        words: the open vocabulary's vectors and biases.
        after_bos: whether the text starts with ``<s> </s>`` instead of ``</s>``.
    """
    output, state, losses = decoder.output_projection, None, []
    if after_bos:
        first = tokens.new_tensor([decoder.dictionary.bos()])
        _, state = decoder.lstm(F.embedding(first, words.input_vectors)[None], state)
    before = torch.cat([tokens.new_tensor([decoder.dictionary.eos()]), tokens[:-1]])
    for source, target in zip(before.split(WINDOW), tokens.split(WINDOW), strict=True):
        hidden, state = decoder.lstm(F.embedding(source, words.input_vectors)[None], state)
        logits = F.linear(output.project(hidden[0]), words.class_embeddings, words.class_bias)
        losses.append(F.cross_entropy(logits, target, reduction="none"))
    return torch.cat(losses)


class Perplexity(NamedTuple):
    """Words of one group in a text; without tokens, ``value`` is None."""

    words: str
    types: int
    tokens: int
    value: Optional[float]


def perplexities(
    decoder: Any, text: Sequence[str], after_bos: bool = False, by_sentence: bool = False
) -> List[Perplexity]:
    """The perplexity of each group's words and of the whole text.

    Args:
        decoder: of a language model that composes its class embeddings.
        text: its words, with an end-of-sentence symbol after each sentence.
        after_bos: whether the model was trained with ``--add-bos-token``.
        by_sentence: whether every sentence begins with a state of zeros.
    Raises:
        UserError: if the model does not compose them.
    """
    dictionary = decoder.dictionary
    unseen = [word for word in dict.fromkeys(text) if word not in dictionary]
    words = open_vocabulary(decoder, unseen)
    tokens = torch.tensor([words.ids.get(word, dictionary.index(word)) for word in text])
    parts = [tokens]
    if by_sentence:
        ends = torch.nonzero(tokens == dictionary.eos()).flatten().tolist()
        parts = list(tokens.tensor_split([end + 1 for end in ends[:-1]]))
    losses = torch.cat(
        [negative_log_likelihoods(decoder, part, words, after_bos) for part in parts]
    ).double()
    composed, unknown = tokens >= len(dictionary), tokens == dictionary.unk()
    members = dict(zip(GROUPS, (~composed & ~unknown, composed, unknown), strict=True))
    members["all"] = torch.ones_like(unknown)
    found = []
    for name, chosen in members.items():
        types = {word for word, here in zip(text, chosen.tolist(), strict=True) if here}
        value = losses[chosen].mean().exp().item() if chosen.any() else None
        found.append(Perplexity(name, len(types), int(chosen.sum()), value))
    return found
