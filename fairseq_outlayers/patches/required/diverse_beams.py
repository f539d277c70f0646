"""Keep the groups of ``--diverse-beam-groups`` apart by sentence.

``DiverseBeamSearch`` (fairseq/search.py) holds the overlap of groups in one row per sentence of the
batch, but selects rows by ``sample["id"]``, the sentences' numbers in the data set.
``fairseq-generate`` ends in an IndexError, or if the numbers happen to be those of other rows,
sentences are penalized by each other's overlap. The search reads ``id`` for nothing else, and
without it counts the rows of the batch.
"""

from typing import Any, Callable, Dict

from fairseq.sequence_generator import SequenceGenerator, SequenceGeneratorWithAlignment

from fairseq_outlayers.patches.replacing import replaces


# TorchScript compiles ``_generate``.
@replaces(SequenceGeneratorWithAlignment, "generate")
@replaces(SequenceGenerator, "generate")
def _without_id(
    stock: Callable[..., Any], self: Any, models: Any, sample: Dict[str, Any], **kwargs: Any
) -> Any:
    unnumbered = {name: value for name, value in sample.items() if name != "id"}
    return stock(self, models, unnumbered, **kwargs)
