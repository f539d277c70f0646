"""Parameter initialization, and modules that initialize themselves."""

from abc import ABC, abstractmethod
from typing import Set, Tuple, Type

import torch.nn as nn


class Start(ABC):
    """How a model's parameters start; the model hands it to every module that it is made of."""

    reaches_output = True
    """Whether the output layer starts like the rest of the model, or stays as it was built."""

    @abstractmethod
    def fill(self, owner: nn.Module, name: str, parameter: nn.Parameter) -> None:
        """Draw the values of one parameter.

        Args:
            owner: the module that has it.
            name: its name there.
            parameter: is changed in place.
        """


class Uniform(Start):
    """Every parameter is uniform in ``[-bound, bound]``."""

    def __init__(self, bound: float):
        self.bound = bound

    def fill(self, owner: nn.Module, name: str, parameter: nn.Parameter) -> None:
        nn.init.uniform_(parameter, -self.bound, self.bound)


class OwnStart(nn.Module):
    """A module that decides how its parameters start, whatever model it is part of."""

    def reset_parameters(self, start: Start) -> None:
        """Give the parameters their start. Every model calls this once, when it is complete.

        Unless a subclass says otherwise, the modules inside start like the rest of the model, and
        parameters that the module itself has made keep the values that it gave them.

        Args:
            start: how the rest of the model starts.
        """
        for child in self.children():
            reset_parameters(child, start)


def reset_parameters(
    module: nn.Module, start: Start, apart: Tuple[Type[nn.Module], ...] = ()
) -> None:
    """Give all parameters of a module their start, in the order of ``module.parameters()``.

    Args:
        module: a model, or a part of one.
        start: of all parameters but those inside an :class:`OwnStart`, which is asked.
        apart: classes of modules that are passed over.
    """
    _reset(module, start, apart, set())


def _reset(
    module: nn.Module, start: Start, apart: Tuple[Type[nn.Module], ...], seen: Set[int]
) -> None:
    if id(module) in seen or isinstance(module, apart):
        return
    seen.add(id(module))
    if isinstance(module, OwnStart):
        module.reset_parameters(start)
        return
    for name, parameter in module.named_parameters(recurse=False):
        start.fill(module, name, parameter)
    for child in module.children():
        _reset(child, start, apart, seen)
