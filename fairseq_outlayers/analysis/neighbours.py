"""Nearest neighbours of a word among the decoder's input embeddings and among its classes.

Pappas et al. (2018, Table 1 and Figure 1): weight tying makes words with similar inputs similar
outputs; a joint space can keep the two apart. The output space is that of ``class_embeddings()``:
of ``d_j`` dimensions for the joint layer, equal to the input space for the tied one.
"""

import argparse
import json
from typing import Dict, List, NamedTuple, Sequence, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from fairseq_outlayers.analysis import checkpoints, plots
from fairseq_outlayers.analysis.text_files import table
from fairseq_outlayers.commands.base import Command
from fairseq_outlayers.errors import UserError

Neighbour = Tuple[str, float]  # a word and the cosine of its vector with that of the word asked for

BLOCK = 256  # words compared with all others together


class Neighbours(NamedTuple):
    """The nearest words, the nearest first, in both spaces of a model."""

    input: List[Neighbour]
    output: List[Neighbour]

    @property
    def shared(self) -> int:
        """How many words are among the nearest in both spaces."""
        return len({word for word, _ in self.input} & {word for word, _ in self.output})


def spaces(trained: checkpoints.Trained) -> Dict[str, Tensor]:
    """The vectors of all ids that are compared, ``(V, D)`` for each space."""
    return {"input": trained.input_vectors(), "output": trained.output_vectors()}


def nearest(vectors: Tensor, query: int, among: Tensor, number: int) -> List[Tuple[int, float]]:
    """Ids with the highest cosine, and the cosines; never the query itself.

    Args:
        vectors: ``(V, D)``.
        query: an id.
        among: ids to choose from.
        number: how many, or fewer if there are not so many.
    """
    others = among[among != query]
    cosines = F.cosine_similarity(vectors[others].float(), vectors[query].float(), dim=-1)
    best = cosines.topk(min(number, len(others)))
    return list(zip(others[best.indices].tolist(), best.values.tolist(), strict=True))


def nearest_of_each(
    vectors: Tensor, queries: Tensor, among: Tensor, number: int
) -> Tuple[Tensor, Tensor]:
    """:func:`nearest` for many words at once.

    Args:
        vectors: ``(V, D)``.
        queries: ids, ``(Q,)``.
        among: ids to choose from.
        number: how many, or fewer if there are not so many.
    Returns:
        Ids and their cosines, ``(Q, number)``, the nearest first.
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
    trained: checkpoints.Trained, words: Sequence[str], number: int
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
    both = spaces(trained).values()
    found = {}
    for word in words:
        lists = [nearest(vectors, dictionary.index(word), among, number) for vectors in both]
        found[word] = Neighbours(*([(dictionary[k], cos) for k, cos in ids] for ids in lists))
    return found


def plane(vectors: Tensor) -> Tensor:
    """Coordinates of directions in the plane that shows most of how they differ.

    Args:
        vectors: ``(N, D)``; only their directions count, as in a cosine.
    Returns:
        ``(N, 2)``, the first two principal components.
    """
    directions = F.normalize(vectors.double(), dim=1)
    centred = directions - directions.mean(0)
    components = torch.linalg.svd(centred, full_matrices=False).Vh[:2]
    coordinates = centred @ components.T
    return F.pad(coordinates, (0, 2 - coordinates.size(1)))


def maps(trained: checkpoints.Trained, name: str, found: Dict[str, Neighbours]) -> List[plots.Map]:
    """Each space with the words asked for and their neighbours there."""
    dictionary, drawn = trained.task.target_dictionary, []
    for side, vectors in spaces(trained).items():
        groups = {
            word: [word, *(other for other, _ in getattr(lists, side))]
            for word, lists in found.items()
        }
        shown = list(dict.fromkeys(word for group in groups.values() for word in group))
        numbers = torch.tensor([dictionary.index(word) for word in shown])
        places = dict(zip(shown, plane(vectors[numbers]).tolist(), strict=True))
        placed = {
            word: [(member, places[member][0], places[member][1]) for member in group]
            for word, group in groups.items()
        }
        drawn.append(plots.Map(f"{name}, {side}", placed))
    return drawn


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--path", required=True, nargs="+", metavar="CHECKPOINT", help="one model or several"
    )
    checkpoints.add_arguments(parser)
    parser.add_argument("--words", required=True, nargs="+", metavar="WORD")
    parser.add_argument(
        "--number", type=int, default=5, metavar="N", help="neighbours of each word (default: 5)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    plots.add_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Print the neighbours in both spaces, model by model."""
    if options.number < 1:
        raise UserError(f"--number {options.number}: must be at least 1")
    report, drawn = {}, []
    for path in options.path:
        trained = checkpoints.load(path, options.data)
        found = report[path] = neighbours(trained, options.words, options.number)
        if options.plot:
            drawn += maps(trained, checkpoints.run_name(path), found)
        if not options.json:
            print(f"{path}: {type(trained.output_layer).__name__}\n\n{_table(found)}\n")
    if options.json:
        dictionaries = {
            path: {word: lists._asdict() for word, lists in found.items()}
            for path, found in report.items()
        }
        print(json.dumps(dictionaries, indent=2, ensure_ascii=False))
    if options.plot:
        plots.draw_maps(drawn, options.plot)


def _table(found: Dict[str, Neighbours]) -> str:
    rows = [("word", "input space", "output space", "in both")]
    for word, lists in found.items():
        for rank, pair in enumerate(zip(lists.input, lists.output, strict=True)):
            at_input, at_output = (f"{cosine:.2f} {neighbour}" for neighbour, cosine in pair)
            first = (word, str(lists.shared)) if rank == 0 else ("", "")
            rows.append((first[0], at_input, at_output, first[1]))
    return table(rows, left=3)


COMMAND = Command(
    summary="Print the nearest neighbours of words in the input and in the output space of models",
    example="--path tied.pt joint.pt --data data-bin --words haus gut",
    add_arguments=add_arguments,
    run=run,
)

if __name__ == "__main__":
    COMMAND.main("fairseq_outlayers.analysis.neighbours")
