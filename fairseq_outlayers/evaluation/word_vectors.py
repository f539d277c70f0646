"""The vectors that a trained language model reads and scores words by."""

import argparse
from pathlib import Path
from typing import Any, List, NamedTuple, Optional, Sequence

import torch
import torch.nn as nn
from fairseq import checkpoint_utils
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.modules.composed_embedding import ComposedEmbedding
from fairseq_outlayers.output_layers import OutputLayer


class TrainedDecoder(NamedTuple):
    """A trained decoder, on the CPU, in evaluation mode, and its name in tables."""

    name: str
    decoder: Any

    def words(self) -> Tensor:
        """Ids of all words, fairseq's specials left out."""
        dictionary = self.decoder.dictionary
        return torch.arange(dictionary.nspecial, len(dictionary))

    @torch.no_grad()
    def input_vectors(self) -> Tensor:
        """What the words are read as, ``(words, d)``."""
        return self.decoder.embed_tokens(self.words())

    @torch.no_grad()
    def output_vectors(self) -> Tensor:
        """What the words are scored by, ``(words, D)``."""
        return self.decoder.output_projection.class_embeddings()[self.words()]


def load(path: str, data: Optional[str] = None) -> TrainedDecoder:
    """Load the decoder of a checkpoint; it is named after its run folder.

    Args:
        path: the checkpoint.
        data: the binarized data with its dictionary; by default where it was in training.
    Raises:
        UserError: if there is no checkpoint, or its decoder has no output layer of this package.
    """
    if not Path(path).is_file():
        raise UserError(f"{path}: no such checkpoint")
    (model,), _, _ = checkpoint_utils.load_model_ensemble_and_task(
        [path], arg_overrides={"data": data} if data else {}
    )
    decoder = model.decoder
    embedding = getattr(decoder, "embed_tokens", None)
    readable = isinstance(embedding, (nn.Embedding, ComposedEmbedding))
    if not readable or not isinstance(getattr(decoder, "output_projection", None), OutputLayer):
        raise UserError(
            f"{path}: give a model of an architecture that has --output-layer, such as subword_lm"
        )
    folder = Path(path).resolve().parent
    folder = folder.parent if folder.name == "checkpoints" else folder
    name = folder.parent.name if folder.name.startswith("seed") else folder.name
    return TrainedDecoder(name, model.eval().decoder)


def arguments_parser(description: Optional[str], example: str) -> argparse.ArgumentParser:
    """Checkpoints, their data, and where to draw."""
    parser = argparse.ArgumentParser(
        description=description,
        epilog=example,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("checkpoints", nargs="+", metavar="CHECKPOINT")
    parser.add_argument("--data", help="binarized data, if it is no longer where it was")
    parser.add_argument("--plot", metavar="FILE", help="draw a plot too: FILE.svg, .png or .pdf")
    return parser


def table(rows: Sequence[Sequence[Any]]) -> str:
    """Rows in Markdown, the first of them the heading."""
    lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def draw(curves: List[Any], labels: Sequence[str], path: str) -> None:
    """Lines of points ``(name, xs, ys)`` into a file; ``labels`` are those of the axes.

    Raises:
        UserError: if matplotlib is missing.
    """
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise UserError(
            f"--plot {path}: matplotlib is not installed; pip install matplotlib"
        ) from None
    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    for name, xs, ys in curves:
        axes.plot(xs, ys, label=name)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.legend()
    figure.savefig(path)
    print(path)
