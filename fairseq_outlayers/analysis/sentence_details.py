"""Attention, candidates and neighbours for a page, as dictionaries, lists, texts and numbers."""

import re
from collections import Counter
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.analysis.neighbours import nearest
from fairseq_outlayers.checkpoints.loading import is_word
from fairseq_outlayers.compositions.embedding import ComposedEmbedding
from fairseq_outlayers.hub.translation import Translation
from fairseq_outlayers.hub.translator import Translator
from fairseq_outlayers.output_layers import OutputLayer
from fairseq_outlayers.tables.table import table_of

MOST_CLASSES = 50_000  # neighbours are among this many most frequent words
# Attention weights as letters, in steps of 2%; runs of weights below 1% as their length.
LEVELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwx"
LETTER_OF_LEVEL = bytes.maketrans(bytes(range(len(LEVELS) + 1)), f" {LEVELS}".encode())


class Vocabulary:
    """Numbers words, so that the page stores each once."""

    def __init__(self) -> None:
        self.numbers: Dict[str, int] = {}

    def number(self, word: str) -> int:
        return self.numbers.setdefault(word, len(self.numbers))

    def all(self, words: Sequence[str]) -> List[int]:
        return [self.number(word) for word in words]


def attention_text(attention: Tensor) -> str:
    """Encode weights ``(S, T)``, target by target (see ``LEVELS``)."""
    levels = (attention.T * len(LEVELS)).round().clamp(0, len(LEVELS)).to(torch.uint8)
    letters = levels.contiguous().numpy().tobytes().translate(LETTER_OF_LEVEL).decode()
    return re.sub(" +", lambda run: str(len(run[0])), letters)


def candidate_data(
    translator: Translator, translations: Sequence[Translation], vocabulary: Vocabulary
) -> Dict[str, Any]:
    """Candidates shared by all sentences, and those that each source word adds.

    Returns:
        ``shared``; ``translations`` by source word; ``others``, the remaining candidates of each
        sentence (from other sentences of the batch); ``mean``, the mean size of the lists. Empty
        if the search was over all words.
    """
    if translations[0].candidates is None:
        return {}
    # Read one at a time: as texts, the lists of a test set take hundreds of megabytes.
    lists = [found.candidates or [] for found in translations]
    shared = set(lists[0])
    for candidates in lists[1:]:
        shared.intersection_update(candidates)
    added: Dict[str, List[str]] = {}
    others = []
    for found, candidates in zip(translations, lists, strict=True):
        allowed = set(candidates)
        units = found.source
        for unit in set(units) - added.keys():
            added[unit] = [w for w in translations_of(translator, unit) if w in allowed]
        of_words = {word for unit in units for word in added[unit]}
        others.append(vocabulary.all(sorted(allowed - shared - of_words)))
    return {
        "shared": vocabulary.all([word for word in lists[0] if word in shared]),
        "translations": {unit: vocabulary.all(words) for unit, words in added.items() if words},
        "others": others,
        "mean": sum(map(len, lists)) / len(lists),
    }


def translations_of(translator: Translator, unit: str) -> List[str]:
    """Candidates that a source unit adds: its translations, and its copy if enabled."""
    lists, target = translator.task.candidate_lists, translator.task.target_dictionary
    ids = torch.tensor([[translator.task.source_dictionary.index(unit)]])
    found = lists.of_words(ids.to(lists.by_frequency.device)).flatten().tolist()
    return [target[k] for k in dict.fromkeys(found) if k != target.eos()]


def words_by_frequency(views: Sequence[Sequence[Dict[str, Any]]]) -> List[str]:
    """The words of references and translations, most frequent first."""
    counts: Counter = Counter()
    for of_system in views:
        for view in of_system:
            counts.update(view["target"])
            counts.update(view["reference"])
    return [word for word, _ in counts.most_common()]


@torch.no_grad()
def neighbour_data(
    translator: Translator, words: List[str], vocabulary: Vocabulary, most: int, number: int
) -> Optional[Dict[str, Any]]:
    """Neighbours of words at the input and at the output of a model.

    Args:
        words: to look up; words that the model does not know are skipped.
        most: use at most this many words.
        number: of neighbours.
    Returns:
        ``tied``: whether both spaces are equal; ``words``: by word number, a list for each space
        of alternating word numbers and cosines in percent. None for models without such vectors.
    """
    dictionary = translator.task.target_dictionary
    spaces = word_spaces(translator.models[0])
    size = min(translator.num_target, MOST_CLASSES)
    among = torch.tensor([k for k in range(size) if is_word(dictionary, k)], dtype=torch.long)
    ids = [dictionary.index(word) for word in words]
    kept = [k for k in ids if k < translator.num_target and is_word(dictionary, k)][:most]
    if spaces is None or not kept or len(among) < 2:
        return None
    queries = torch.tensor(kept)
    tied = spaces[0] is spaces[1] or torch.equal(*spaces)
    found = [nearest(v, queries, among, number) for v in spaces[: 1 if tied else 2]]
    table = {}
    for row, query in enumerate(kept):
        table[str(vocabulary.number(dictionary[query]))] = [
            [
                item
                for other, cosine in zip(ids[row].tolist(), cosines[row].tolist(), strict=True)
                for item in (vocabulary.number(dictionary[other]), round(100 * cosine))
            ]
            for ids, cosines in found
        ]
    return {"tied": tied, "words": table}


def word_spaces(model: Any) -> Optional[Tuple[Tensor, Tensor]]:
    """Input and output vectors of words, also of stock models; None if there are none."""
    embedding = getattr(model.decoder, "embed_tokens", None)
    layer = getattr(model.decoder, "output_projection", None)
    if isinstance(embedding, ComposedEmbedding):
        inputs = embedding.all_words()
    elif isinstance(embedding, nn.Embedding):
        inputs = table_of(embedding).rows()
    else:
        return None
    if isinstance(layer, OutputLayer):
        return inputs.cpu(), layer.class_embeddings().cpu()
    return (inputs.cpu(), layer.weight.cpu()) if isinstance(layer, nn.Linear) else None
