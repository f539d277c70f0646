"""Nearest neighbours of a word among the decoder's input embeddings and among its classes.

Pappas et al. (2018, Table 1 and Figure 1): with weight tying, words with similar inputs have
similar outputs; a joint space can separate the two. The output space is ``class_embeddings()``:
``d_j`` dimensions for the joint layer, the input space for the tied one.
"""

from typing import Dict, List, NamedTuple, Sequence, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.checkpoints import loading
from fairseq_outlayers.errors import UserError

Neighbour = Tuple[str, float]  # a word and its cosine with the query

BLOCK = 256  # queries per matrix product


class Neighbours(NamedTuple):
    """The nearest words in both spaces of a model, nearest first."""

    input: List[Neighbour]
    output: List[Neighbour]

    @property
    def shared(self) -> int:
        """The number of words in both lists."""
        return len({word for word, _ in self.input} & {word for word, _ in self.output})


class WordMap(NamedTuple):
    """Words by group, each with its two coordinates."""

    title: str
    groups: Dict[str, List[Tuple[str, float, float]]]


def spaces(trained: loading.Trained) -> Dict[str, Tensor]:
    """The vectors of all ids, ``(V, D)`` for each space."""
    return {"input": trained.input_vectors(), "output": trained.output_vectors()}


def nearest(vectors: Tensor, queries: Tensor, among: Tensor, number: int) -> Tuple[Tensor, Tensor]:
    """The ids with the highest cosines with each query, without the query itself.

    Args:
        vectors: ``(V, D)``.
        queries: ids, ``(Q,)``, which are among those to choose from.
        among: ids to choose from.
        number: at most this many.
    Returns:
        Ids and their cosines, ``(Q, number)``, nearest first.
    """
    others = F.normalize(vectors[among].float(), dim=1)
    ids, cosines = [], []
    for block in queries.split(BLOCK):
        found = F.normalize(vectors[block].float(), dim=1) @ others.T
        found.masked_fill_(block.unsqueeze(1) == among, -2)
        best = found.topk(min(number, len(among) - 1))
        ids.append(among[best.indices])
        cosines.append(best.values)
    return torch.cat(ids), torch.cat(cosines)


def neighbours(
    trained: loading.Trained, words: Sequence[str], number: int
) -> Dict[str, Neighbours]:
    """The nearest words of each word.

    Raises:
        UserError: if a word is not in the target dictionary.
    """
    dictionary = trained.task.target_dictionary
    among = trained.words()
    unknown = [word for word in words if word not in dictionary]
    if unknown:
        raise UserError(
            f"--words {' '.join(unknown)}: not in the target dictionary. Spell them as there, "
            "segmented and lower-cased like the training text"
        )
    queries = torch.tensor([dictionary.index(word) for word in words])
    both = [nearest(vectors, queries, among, number) for vectors in spaces(trained).values()]

    def listed(ids: Tensor, cosines: Tensor) -> List[Neighbour]:
        return [
            (dictionary[k], cosine)
            for k, cosine in zip(ids.tolist(), cosines.tolist(), strict=True)
        ]

    return {
        word: Neighbours(*(listed(ids[row], cosines[row]) for ids, cosines in both))
        for row, word in enumerate(words)
    }


def plane(vectors: Tensor) -> Tensor:
    """Project directions to the plane of their two first principal components.

    Args:
        vectors: ``(N, D)``; only their directions count, as in a cosine.
    Returns:
        Coordinates, ``(N, 2)``.
    """
    directions = F.normalize(vectors.double(), dim=1)
    centred = directions - directions.mean(0)
    components = torch.linalg.svd(centred, full_matrices=False).Vh[:2]
    coordinates = centred @ components.T
    return F.pad(coordinates, (0, 2 - coordinates.size(1)))


def word_maps(trained: loading.Trained, name: str, found: Dict[str, Neighbours]) -> List[WordMap]:
    """A map of each space with the given words and their neighbours."""
    dictionary, drawn = trained.task.target_dictionary, []
    for side, vectors in spaces(trained).items():
        groups = {
            word: [word, *(other for other, _ in getattr(lists, side))]
            for word, lists in found.items()
        }
        shown = list(dict.fromkeys(word for group in groups.values() for word in group))
        numbers = torch.tensor([dictionary.index(word) for word in shown])
        points = dict(zip(shown, plane(vectors[numbers]).tolist(), strict=True))
        placed = {
            word: [(member, points[member][0], points[member][1]) for member in group]
            for word, group in groups.items()
        }
        drawn.append(WordMap(f"{name}, {side}", placed))
    if len({str(one.groups) for one in drawn}) == 1:  # one space under two names
        return [WordMap(f"{name}, {' and '.join(spaces(trained))}", drawn[0].groups)]
    return drawn
