"""An integer that is saved with a module's weights and compared when they are loaded.

``load_state_dict`` compares names and sizes only, although weights belong to a dictionary, a table
or a seed: with another one of the same size the model computes garbage, silently. A checksum of it
is an integer buffer whose name ends in ``_version``:

- fairseq's moving average (fairseq/models/ema/ema.py) multiplies all buffers by a float, which
  fails for integers, except those with "version" in their names;
- ``half()`` and ``bfloat16()`` convert floats only;
- fairseq's average_checkpoints.py adds and divides integers exactly, so equal ones do not change,
  and different ones become one that matches nothing.
"""

from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, Optional

import torch
from torch import Tensor, nn

from fairseq_outlayers.errors import UserError


def register_version(
    module: nn.Module,
    name: str,
    version: Tensor,
    refuse: Callable[[Tensor, Tensor], None],
    on_missing: Optional[Callable[[], None]] = None,
) -> None:
    """Save ``version`` as a buffer of ``module``, and compare it when a state is loaded.

    Args:
        module: whose weights are meaningless with another version.
        name: of the buffer; ends in ``_version``.
        version: of integers.
        refuse: raises the error for the state's version and the module's own, if they differ.
            Module-level functions, methods and partial functions can be pickled with the model.
        on_missing: called if an older checkpoint has none, and the module's own is loaded; None:
            strict loading fails as for any missing weight.
    """
    module.register_buffer(name, version)
    module.register_load_state_dict_pre_hook(_Comparison(name, refuse, on_missing))


def stored_version(key: str, found: Tensor, own: Tensor) -> Tensor:
    """A version in a state, in the integer type of the module's own.

    Args:
        key: its name in the state.
        found: its value there.
        own: the module's.
    Raises:
        UserError: if it has another number of dimensions, or numbers that are not whole.
    """
    if found.dim() != own.dim():
        raise UserError(
            f"the checkpoint is damaged: {key} has shape {tuple(found.shape)}, not "
            f"{tuple(own.shape)}; give another one"
        )
    version = found.to(own)
    if not torch.equal(version.to(found), found):
        raise UserError(
            f"the checkpoint is damaged: {key} has a number that is not whole; give another one"
        )
    return version


def accept() -> None:
    """Load an older checkpoint without the version."""


@dataclass(frozen=True)
class _Comparison:
    name: str
    refuse: Callable[[Tensor, Tensor], None]
    on_missing: Optional[Callable[[], None]]

    def __deepcopy__(self, memo: Dict[int, Any]) -> "_Comparison":
        # The moving average is a copy of the model, loaded after every update from a state without
        # integers: nothing is to be reported there.
        return replace(self, on_missing=self.on_missing and accept)

    def __call__(self, module: nn.Module, state: Dict[str, Any], prefix: str, *_: Any) -> None:
        key, own = prefix + self.name, module.get_buffer(self.name)
        if key in state:
            found = stored_version(key, state[key], own)
            if not torch.equal(found, own):
                self.refuse(found, own)
        elif self.on_missing is not None:
            self.on_missing()
            state[key] = own.clone()
