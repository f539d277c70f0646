"""How many dimensions the input and the output vectors of words really use.

Principal component analysis of the vectors of all words: the number of components that keep a share
of the variance (Assylbekov & Takhanov 2018, Sec. 6).
"""

import argparse
from typing import List, Sequence

import torch
from torch import Tensor

from fairseq_outlayers.command import Command
from fairseq_outlayers.evaluation import checkpoints, plots
from fairseq_outlayers.evaluation.text_files import markdown_table

SHARES = (0.5, 0.8, 0.9, 0.95)


def explained_variance(vectors: Tensor) -> Tensor:
    """The share of the variance that the first 1, 2, ... components keep.

    Args:
        vectors: ``(N, d)``.
    Returns:
        ``(min(N, d),)``, growing to 1.
    """
    centred = vectors.double() - vectors.double().mean(0)
    variances = torch.linalg.svdvals(centred) ** 2
    return variances.cumsum(0) / variances.sum()


def components_needed(explained: Tensor, share: float) -> int:
    """The smallest number of components that keep at least ``share`` of the variance."""
    # A share that is reached exactly must not be missed by rounding.
    return int((explained < share - 1e-9).sum()) + 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoints", nargs="+", metavar="CHECKPOINT")
    checkpoints.add_arguments(parser)
    plots.add_arguments(parser)


def run(options: argparse.Namespace) -> None:
    """Print a table, a row for the input and one for the output of every model."""
    rows: List[Sequence[object]] = [
        ("model", "vectors", "dimensions", *(f"components for {share:.0%}" for share in SHARES))
    ]
    curves = []
    for path in options.checkpoints:
        trained, name = checkpoints.load(path, options.data), checkpoints.run_name(path)
        sides = {"input": trained.input_vectors(), "output": trained.output_vectors()}
        for side, vectors in sides.items():
            explained = explained_variance(vectors[trained.words()])
            needed = [components_needed(explained, share) for share in SHARES]
            rows.append((name, side, vectors.size(1), *needed))
            curves.append((f"{name}, {side}", range(1, len(explained) + 1), explained.tolist()))
    print(markdown_table(rows))
    if options.plot:
        plots.draw(curves, ("principal components", "share of the variance"), options.plot)


COMMAND = Command(
    summary="Count the principal components that the input and the output vectors of words use",
    example="run/checkpoint_best.pt --plot pca.svg",
    add_arguments=add_arguments,
    run=run,
)

if __name__ == "__main__":
    COMMAND.main("fairseq_outlayers.evaluation.principal_components")
