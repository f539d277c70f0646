"""A pretended accelerator: real numbers, computed on the CPU, on a device of its own.

Its tensors wrap tensors of the CPU. Every operation is first checked as CUDA would check it (all
tensors on one device, but for numbers and indices of the CPU) and then done on the CPU. So code
whose flow depends on data runs, results can be compared with the CPU's, tensors on the wrong device
raise :class:`WrongDevice`, and what would make the host wait for a device is counted, with the
function of this project that did it.

What it cannot see: cuDNN, NCCL, kernels of CUDA and their precision, memory. It leans on private
interfaces of PyTorch (>= 2.9).
"""

import collections
import sys
from pathlib import Path
from typing import Any, Optional

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from tests.devices.pretended_cells import CELLS

NAME = "pretended"
PACKAGE = f"{Path(__file__).resolve().parents[2] / 'fairseq_outlayers'}/"
FAIRSEQ = "/site-packages/fairseq/"
aten = torch.ops.aten

# Their result has a size, or is a number of Python's, that only the device knows.
WAITING = {
    aten._local_scalar_dense.default, aten.equal.default, aten.is_nonzero.default,
    aten.nonzero.default, aten.masked_select.default, aten.unique_dim.default,
    aten._unique2.default, aten.unique_consecutive.default, aten.repeat_interleave.Tensor,
    aten._coalesce.default, aten.bincount.default,
}  # fmt: skip
INDEXING = {
    aten.index.Tensor, aten.index_put.default, aten.index_put_.default,
    aten._index_put_impl_.default, aten._unsafe_index.Tensor,
}  # fmt: skip
COPYING = {aten._to_copy.default, aten.copy_.default, aten.copy.default}


class WrongDevice(RuntimeError):
    """Tensors of the CPU and of the device in one operation, which CUDA would refuse."""


class _Backend:
    """What ``torch.pretended`` must have, for autocast, checkpointing and random numbers."""

    def is_available(self) -> bool:
        return PretendedDevice.current is not None

    is_initialized = is_available

    def device_count(self) -> int:
        return 1

    def current_device(self) -> int:
        return 0

    def _is_in_bad_fork(self) -> bool:
        return False

    def manual_seed_all(self, seed: int) -> None:
        pass

    def get_amp_supported_dtype(self) -> list:
        return [torch.float16, torch.bfloat16]

    def get_rng_state(self, device: Any = None) -> torch.Tensor:
        return torch.get_rng_state()

    def set_rng_state(self, state: torch.Tensor, device: Any = None) -> None:
        torch.set_rng_state(state)

    class device:
        def __init__(self, index: int):
            pass

        def __enter__(self) -> None:
            pass

        def __exit__(self, *_: Any) -> None:
            pass


_setup_privateuseone_for_python_backend(NAME, backend_module=_Backend())
DEVICE = torch.device(NAME, 0)


class OnDevice(torch.Tensor):
    """A tensor of the pretended device; its numbers are in ``inner``, on the CPU."""

    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> "OnDevice":
        options: dict = {"dtype": inner.dtype, "layout": inner.layout, "device": DEVICE}
        if not inner.is_sparse:
            options |= {"strides": inner.stride(), "storage_offset": inner.storage_offset()}
        return torch.Tensor._make_wrapper_subclass(cls, inner.size(), **options)

    def __init__(self, inner: torch.Tensor):
        self.inner = inner

    def __repr__(self, **_: Any) -> str:
        return f"OnDevice({self.inner!r})"

    def tolist(self) -> Any:
        count_wait("tolist")
        return self.inner.tolist()

    def numpy(self, **_: Any) -> Any:
        raise TypeError(f"a tensor of the device made into NumPy's, in {place()}")

    def resize_(self, *size: Any, **_: Any) -> "OnDevice":
        self.data = OnDevice(self.inner.resize_(*size))
        return self

    @property
    def data(self) -> Any:
        with torch.no_grad():
            return self.detach()

    @data.setter
    def data(self, new: "OnDevice") -> None:
        torch.Tensor.data.__set__(self, new)  # type: ignore[attr-defined]
        self.inner = new.inner

    @classmethod
    def __torch_dispatch__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return run(function, args, kwargs or {})


class PretendedDevice(TorchDispatchMode):
    """While it lasts, tensors can be on :data:`DEVICE`.

    Attributes:
        waits: what the host waited for, and where in the project, by how often.
        uploads: where tensors of more than one number were copied to the device; what a blocking
            copy starts with is ``"upload, blocking"``.
    """

    current: Optional["PretendedDevice"] = None
    device = DEVICE

    def __init__(self) -> None:
        super().__init__()
        self.forget()

    def forget(self) -> None:
        """Begin to count anew."""
        self.waits: collections.Counter = collections.Counter()
        self.uploads: collections.Counter = collections.Counter()
        self.lines: collections.Counter = collections.Counter()

    def __enter__(self) -> "PretendedDevice":
        PretendedDevice.current = self
        torch._C._set_only_lift_cpu_tensors(True)  # torch.tensor(..., device=) copies where we see
        return super().__enter__()

    def __exit__(self, *args: Any) -> None:
        super().__exit__(*args)
        torch._C._set_only_lift_cpu_tensors(False)
        PretendedDevice.current = None

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return run(function, args, kwargs or {})


def run(function: Any, args: Any, kwargs: dict) -> Any:
    """Check an operation, count what it costs the host, and do it on the CPU."""
    leaves, structure = pytree.tree_flatten((args, kwargs))
    on_device = [leaf for leaf in leaves if isinstance(leaf, OnDevice)]
    on_cpu = [x for x in leaves if isinstance(x, torch.Tensor) and not isinstance(x, OnDevice)]
    asked = kwargs.get("device")
    goes_to_device = is_pretended(asked) if asked is not None else bool(on_device)
    if function in COPYING:
        goes_to_device = _count_copy(function, args, kwargs, goes_to_device)
    elif on_device:
        _check(function, args, on_cpu)
    plain = [_on_cpu(leaf) for leaf in leaves]
    plain_args, plain_kwargs = pytree.tree_unflatten(plain, structure)
    result = CELLS.get(function, function)(*plain_args, **plain_kwargs)
    if goes_to_device:
        result = pytree.tree_map(_wrap, result)
        has_sparse = any(tensor.inner.is_sparse for tensor in on_device)
        if on_device and not has_sparse and function not in CELLS:
            return return_and_correct_aliasing(function, args, kwargs, result)
    return result


def _on_cpu(leaf: Any) -> Any:
    if isinstance(leaf, OnDevice):
        return leaf.inner
    return torch.device("cpu") if isinstance(leaf, torch.device) and is_pretended(leaf) else leaf


def _wrap(value: Any) -> Any:
    plain = isinstance(value, torch.Tensor) and not isinstance(value, OnDevice)
    return OnDevice(value) if plain else value


def is_pretended(device: Any) -> bool:
    return device is not None and torch.device(device).type == NAME


def _count_copy(function: Any, args: Any, kwargs: dict, goes_to_device: bool) -> bool:
    """Count a copy between devices; returns whether its result is on the pretended one."""
    source, is_blocking = args[0], not kwargs.get("non_blocking", False)
    if function is not aten._to_copy.default:
        goes_to_device = isinstance(args[0], OnDevice)
        source, is_blocking = args[1], not (len(args) > 2 and args[2])
    if isinstance(source, OnDevice) and not goes_to_device:
        count_wait("copy to the host")
    elif goes_to_device and not isinstance(source, OnDevice) and source.numel() > 1:
        count_upload(is_blocking)
    return goes_to_device


def _check(function: Any, args: Any, on_cpu: list) -> None:
    """Raise for tensors on the wrong device; count what waits."""
    strangers = [tensor for tensor in on_cpu if tensor.dim() > 0]
    if function in INDEXING:
        if not isinstance(args[0], OnDevice):
            raise WrongDevice(f"{function}: a CPU tensor indexed by the device's, in {place()}")
        if any(getattr(index, "dtype", None) in (torch.bool, torch.uint8) for index in args[1]):
            count_wait("boolean index")
        strangers = [x for x in strangers if not any(x is index for index in args[1])]
        if on_cpu and len(strangers) < len([x for x in on_cpu if x.dim() > 0]):
            count_upload(is_blocking=True)
    if strangers and function is not aten.set_.source_Tensor:
        shapes = [tuple(tensor.shape) for tensor in strangers]
        raise WrongDevice(f"{function}: {shapes} of the CPU among the device's, in {place()}")
    if function in WAITING:
        count_wait(function._opname)


def count_wait(kind: str) -> None:
    if PretendedDevice.current is not None:
        PretendedDevice.current.waits[f"{kind}: {place()}"] += 1
        PretendedDevice.current.lines[f"{kind}: {place(with_line=True)}"] += 1


def count_upload(is_blocking: bool) -> None:
    kind = "upload, blocking" if is_blocking else "upload"
    if PretendedDevice.current is not None:
        PretendedDevice.current.uploads[f"{kind}: {place()}"] += 1
        PretendedDevice.current.lines[f"{kind}: {place(with_line=True)}"] += 1


def place(with_line: bool = False) -> str:
    """The innermost function of this package or of fairseq on the stack."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        line = f":{frame.f_lineno}" if with_line else ""
        if file.startswith(PACKAGE):
            return f"{file.removeprefix(PACKAGE)}{line} {frame.f_code.co_name}"
        if FAIRSEQ in file:
            return f"fairseq's {file.split(FAIRSEQ)[-1]}{line} {frame.f_code.co_name}"
        frame = frame.f_back
    return "elsewhere"
