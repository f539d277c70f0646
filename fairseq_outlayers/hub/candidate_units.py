"""The target units that a search could choose from, as a sequence that is read lazily."""

import reprlib
from typing import Any, Iterator, List, Sequence, Tuple, Union, overload

import torch
from torch import Tensor


class CandidateUnits(Sequence[str]):
    """Symbols of a dictionary by their ids: 4 bytes a unit, and no list of texts until it is read.

    Equal to a list of the same units.

    Args:
        symbols: of the target dictionary by id, which may grow later.
        ids: of the candidates, ``(K,)``.
    """

    def __init__(self, symbols: Sequence[str], ids: Tensor):
        self._symbols, self._ids = symbols, ids.to("cpu", torch.int32)

    @classmethod
    def of_dictionary(cls, dictionary: Any, ids: Tensor) -> "CandidateUnits":
        """The units of ids without ``</s>`` and padding."""
        hidden = ids.new_tensor([dictionary.eos(), dictionary.pad()])
        return cls(dictionary.symbols, ids[~torch.isin(ids, hidden)])

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[str]:
        return map(self._symbols.__getitem__, self._ids.tolist())

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> List[str]: ...

    def __getitem__(self, place: Union[int, slice]) -> Union[str, List[str]]:
        if isinstance(place, slice):
            chosen = range(len(self))[place]
            return [self._symbols[number] for number in self._ids[list(chosen)].tolist()]
        return self._symbols[int(self._ids[place])]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (list, CandidateUnits)):
            return NotImplemented
        return len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as of a list

    def __reduce__(self) -> Tuple[Any, ...]:
        """Pickled with its own units alone, not with the dictionary."""
        return type(self), (list(self), torch.arange(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self):,} candidates: {reprlib.repr(self[:7])}>"
