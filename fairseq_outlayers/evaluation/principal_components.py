"""How many dimensions the input and the output vectors of words really use.

Principal component analysis of the vectors of all words: the number of components that keep a share
of the variance (Assylbekov & Takhanov 2018, Sec. 6).
"""

import sys
from typing import List, Optional, Sequence

import torch
from torch import Tensor

from fairseq_outlayers.evaluation.word_vectors import arguments_parser, draw, load, table

EXAMPLE = """example:
  python -m fairseq_outlayers.evaluation.principal_components run/checkpoint_best.pt --plot pca.svg
"""
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


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Print a table, a row for the input and one for the output of every model."""
    options = arguments_parser(__doc__, EXAMPLE).parse_args(arguments)
    rows: List[Sequence[object]] = [
        ("model", "vectors", "dimensions", *(f"components for {share:.0%}" for share in SHARES))
    ]
    curves = []
    for path in options.checkpoints:
        model = load(path, options.data)
        for side, vectors in (("input", model.input_vectors()), ("output", model.output_vectors())):
            explained = explained_variance(vectors)
            needed = [components_needed(explained, share) for share in SHARES]
            rows.append((model.name, side, vectors.size(1), *needed))
            numbers = range(1, len(explained) + 1)
            curves.append((f"{model.name}, {side}", numbers, explained.tolist()))
    print(table(rows))
    if options.plot:
        draw(curves, ("principal components", "share of the variance"), options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
