"""Statistics of the transform gates of the highway layers that compose word vectors.

Taken over all words of the dictionary and all dimensions, for input and output layers (Assylbekov &
Takhanov 2018). A gate of 0 is the identity.
"""

from typing import Any, Dict, Iterator, Tuple

import torch
from torch import Tensor

from fairseq_outlayers.checkpoints import loading
from fairseq_outlayers.compositions import HIGHWAYS, ComposedEmbedding
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers.subword_composed import SubwordOutputLayer

BINS = 50


@torch.no_grad()
def gates(composition: Any, layers: Any, ids: Tensor) -> Dict[str, Tensor]:
    """Transform gates of each highway layer.

    Args:
        composition: computes word vectors from ``layers``.
        layers: by name.
        ids: units of the words, ``(N, L)``.
    Returns:
        ``(N, D)`` for each layer.
    """
    vectors, found = composition.combine(layers, composition.prepare(ids)), {}
    for name in HIGHWAYS:
        found[name] = layers[name].transform_gate(vectors)
        vectors = layers[name](vectors)
    return found


def sides(decoder: Any) -> Iterator[Tuple[str, Any, Any]]:
    """Sides that compose word vectors, each with its words and layers; one side if all is tied.

    Raises:
        UserError: if neither side does.
    """
    embedding, output = decoder.embed_tokens, decoder.output_projection
    composed = isinstance(embedding, ComposedEmbedding)
    free = isinstance(output, SubwordOutputLayer) and len(output.parts) > 0
    if composed:
        tied = isinstance(output, SubwordOutputLayer) and not free
        yield "both" if tied else "input", embedding.words, embedding.parts
    if free:
        yield "output", output.words, output.layers()
    if not composed and not free:
        raise UserError("this model composes no word vectors, so it has no transform gates")


def study(trained: loading.Trained) -> Iterator[Tuple[Dict[str, Any], Any]]:
    """Mean, median and density of the gates of every highway layer."""
    centres = [(number + 0.5) / BINS for number in range(BINS)]
    for side, words, layers in sides(trained.model.decoder):
        found = gates(words.composition, layers, words.ids[trained.words()])
        for name, values in found.items():
            facts = {
                "side": side,
                "layer": name,
                "mean": values.mean().item(),
                "median": values.median().item(),
                "share over 0.5": values.gt(0.5).double().mean().item(),
            }
            density = torch.histc(values.float(), BINS, 0, 1) * BINS / values.numel()
            yield facts, (centres, density.tolist())
