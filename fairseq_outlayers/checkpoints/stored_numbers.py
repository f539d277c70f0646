"""Numpy arrays and numbers in a checkpoint, made without numpy's constructors.

With ``weights_only=True`` torch's unpickler calls every allowed global with any arguments, and
``numpy.ndarray((1,), "O", 8 bytes)`` is an array whose element is an arbitrary address. So while
this package loads a checkpoint (:func:`numbers_as_stored`), that gets the classes and functions of
this module under numpy's names. They accept what numpy pickles:

    numpy.dtype(name, False, True), state (3, byte order, None, None, None, ...)
    _reconstruct(numpy.ndarray, (0,), b"b"), state (1, shape, dtype, Fortran order, bytes)
    scalar(dtype, bytes)

Of dtypes in torch's safe globals those of objects and texts are accepted, but not dates, whose unit
is elsewhere, nor records.
"""

import math
import pickle
import threading
from contextlib import contextmanager
from typing import Any, Iterator, NoReturn

import numpy as np
import torch

NUMBER_TYPES = "?bBhHiIlLqQefd"  # numpy's letters; never "O", objects


class StoredType:
    """A ``numpy.dtype`` of numbers, or of a class in torch's safe globals.

    Raises:
        pickle.UnpicklingError: for another type.
    """

    dtype: Any

    def __new__(cls, name: Any, *flags: Any) -> "StoredType":
        try:
            dtype = np.dtype(name) if isinstance(name, str) else None
        except (TypeError, ValueError):
            dtype = None
        if dtype is None:
            _refuse("a forged numpy.dtype")
        allowed = torch.serialization.get_safe_globals()
        is_text = dtype.kind in "OSU" and type(dtype) in allowed
        if dtype.char not in NUMBER_TYPES and not is_text:
            _refuse(f"class '{type(dtype).__module__}.{type(dtype).__qualname__}'")
        self = super().__new__(cls)
        self.dtype = dtype
        return self

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) < 5:
            _refuse("a forged numpy.dtype")
        _, order, subarray, names, fields = state[:5]
        if any(part is not None for part in (subarray, names, fields)):
            _refuse("a forged numpy.dtype")
        if not isinstance(order, str) or order not in ("<", ">", "|", "="):
            _refuse("a forged numpy.dtype")
        self.dtype = self.dtype.newbyteorder(order)

    def __reduce__(self) -> Any:
        return self.dtype.__reduce__()


class StoredArray(np.ndarray):
    """An array whose type, size and bytes agree; pickles and computes as ``numpy.ndarray``."""

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse("a call of numpy.ndarray")

    def __setstate__(self, state: Any) -> None:
        # Only once: new data frees the old, which a tensor may share.
        if self.size or not isinstance(state, tuple) or len(state) != 5:
            _refuse("a forged numpy.ndarray")
        _, shape, stored, is_fortran, data = state
        dtype = _dtype_of(stored)
        holds = list if dtype.hasobject else bytes
        if not isinstance(data, holds) or not _is_shape(shape) or not isinstance(is_fortran, bool):
            _refuse("a forged numpy.ndarray")
        if math.prod(shape) * (1 if dtype.hasobject else dtype.itemsize) != len(data):
            _refuse("a forged numpy.ndarray")
        checked: Any = (1, shape, dtype, is_fortran, data)
        super().__setstate__(checked)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.view(np.ndarray).__reduce_ex__(protocol)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if "out" in options:
            options["out"] = tuple(_plain(out) for out in options["out"])
        if "where" in options:
            options["where"] = _plain(options["where"])
        return getattr(ufunc, method)(*map(_plain, inputs), **options)


def reconstruct(kind: Any, shape: Any, code: Any) -> StoredArray:
    """numpy's ``_reconstruct``: an empty array, whose content is set later."""
    if kind is not StoredArray:
        _refuse("a forged numpy.ndarray")
    return np.ndarray.__new__(StoredArray, (0,), np.int8)


def scalar(stored: Any, data: Any) -> Any:
    """numpy's ``scalar``: a number from its bytes."""
    dtype = _dtype_of(stored)
    if dtype.hasobject or not isinstance(data, bytes) or len(data) != dtype.itemsize:
        _refuse("a forged numpy number")
    return np.frombuffer(data, dtype, 1)[0]


# Names in a checkpoint, of numpy 2 and numpy 1.
STAND_INS = {
    "numpy.ndarray": StoredArray,
    "numpy.dtype": StoredType,
    **{
        f"{package}.multiarray.{name}": function
        for package in ("numpy._core", "numpy.core")
        for name, function in (("_reconstruct", reconstruct), ("scalar", scalar))
    },
}
_LOADING = threading.RLock()


@contextmanager
def numbers_as_stored() -> Iterator[None]:
    """Allow numpy's arrays and numbers within, in place of what the user allows by their names.

    Torch's safe globals are those of the process, and of two by one name it takes either.
    """
    with _LOADING:
        given = torch.serialization.get_safe_globals()
        others = [each for each in given if _name_of(each) not in STAND_INS]
        _set_safe_globals([*others, *((one, name) for name, one in STAND_INS.items())])
        try:
            yield
        finally:
            _set_safe_globals(given)


def _set_safe_globals(allowed: Any) -> None:
    torch.serialization.clear_safe_globals()
    torch.serialization.add_safe_globals(allowed)


def _name_of(allowed: Any) -> str:
    """The name of one of torch's safe globals: a type or function, or a pair of it and a name."""
    if isinstance(allowed, tuple):
        return str(allowed[1])
    return f"{allowed.__module__}.{allowed.__qualname__}"


def _dtype_of(stored: Any) -> Any:
    return stored.dtype if type(stored) is StoredType else _refuse("a forged numpy.ndarray")


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, tuple) and all(type(size) is int and size >= 0 for size in shape)


def _plain(array: Any) -> Any:
    return array.view(np.ndarray) if isinstance(array, StoredArray) else array


def _refuse(what: str) -> NoReturn:
    # checkpoints/refusal.py reads what is between the brackets.
    raise pickle.UnpicklingError(f"Only numbers as numpy saves them are allowed, but got <{what}>")
