"""Principal components of the input and output vectors of words.

Reports how many components explain a share of the variance (Assylbekov & Takhanov 2018).
"""

from typing import Any, Dict, Iterator, Tuple

import torch
from torch import Tensor

from fairseq_outlayers.checkpoints import loading
from fairseq_outlayers.output_layers.subword_composed import SubwordOutputLayer

SHARES = (0.5, 0.8, 0.9, 0.95)


def explained_variance(vectors: Tensor) -> Tensor:
    """The share of the variance that the first 1, 2, ... components explain.

    Args:
        vectors: ``(N, d)``.
    Returns:
        ``(min(N, d),)``, growing to 1.
    """
    centred = vectors.double() - vectors.double().mean(0)
    variances = torch.linalg.svdvals(centred) ** 2
    return variances.cumsum(0) / variances.sum()


def components_needed(explained: Tensor, share: float) -> int:
    """The smallest number of components that explain at least ``share`` of the variance."""
    # The tolerance keeps rounding from missing a share that is reached exactly.
    return int((explained < share - 1e-9).sum()) + 1


@torch.no_grad()
def sides(trained: loading.Trained) -> Dict[str, Tensor]:
    """The vectors of the dictionary at the input and at the output, ``(V, d)`` each.

    If a projection reduces composed output rows to the hidden size, they are also given before it:
    after it, their rank is at most the hidden size.
    """
    found = {"input": trained.input_vectors(), "output": trained.output_vectors()}
    output = trained.output_layer
    if isinstance(output, SubwordOutputLayer) and output.projection is not None:
        found["output before projection"] = output.words(output.layers())
    return found


def study(trained: loading.Trained) -> Iterator[Tuple[Dict[str, Any], Any]]:
    """The number of components that the vectors of all words need on each side."""
    for side, vectors in sides(trained).items():
        explained = explained_variance(vectors[trained.words()])
        needed = {heading(share): components_needed(explained, share) for share in SHARES}
        facts = {"side": side, "dimensions": vectors.size(1), **needed}
        yield facts, (range(1, len(explained) + 1), explained.tolist())


def heading(share: float) -> str:
    """The column heading for a share of the variance."""
    return f"components for {share:.0%}"
