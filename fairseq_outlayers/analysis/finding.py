"""The result type of studies of word vectors."""

from typing import Any, Callable, Dict, Iterator, NamedTuple, Sequence, Tuple

from fairseq_outlayers.checkpoints import loading

Points = Tuple[Sequence[float], Sequence[float]]


class Finding(NamedTuple):
    """Measurements of one part of a model: a row of the table and a curve of the plot.

    Attributes:
        facts: numbers and names by heading, the same headings in every row.
        curve: horizontal and vertical coordinates.
    """

    facts: Dict[str, Any]
    curve: Points


Study = Callable[[loading.Trained], Iterator[Finding]]
