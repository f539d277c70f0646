"""Parameter initialization, and modules that initialize themselves."""

from abc import ABC, abstractmethod
from typing import Set, Tuple, Type

import torch.nn as nn


class Initializer(ABC):
    """An initialization scheme; the model applies it to all of its modules."""

    reaches_output = True
    """Whether it applies to the output layer, or leaves that as built."""

    @abstractmethod
    def fill(self, owner: nn.Module, name: str, parameter: nn.Parameter) -> None:
        """Initialize one parameter.

        Args:
            owner: its module.
            name: its name in that module.
            parameter: changed in place.
        """


class Uniform(Initializer):
    """All parameters uniform in ``[-bound, bound]``."""

    def __init__(self, bound: float):
        self.bound = bound

    def fill(self, owner: nn.Module, name: str, parameter: nn.Parameter) -> None:
        nn.init.uniform_(parameter, -self.bound, self.bound)


class AsBuilt(Initializer):
    """Leaves everything as built, except what initializes itself."""

    reaches_output = False

    def fill(self, owner: nn.Module, name: str, parameter: nn.Parameter) -> None:
        pass


class SelfInitialized(nn.Module):
    """A module with its own initialization, in any model."""

    def reset_parameters(self, initializer: Initializer) -> None:
        """Initialize the parameters; every model calls this once, when it is complete.

        By default submodules are initialized like the rest of the model, and the module's own
        parameters keep their values.

        Args:
            initializer: the initialization of the rest of the model.
        """
        for child in self.children():
            reset_parameters(child, initializer)


def reset_parameters(
    module: nn.Module, initializer: Initializer, apart: Tuple[Type[nn.Module], ...] = ()
) -> None:
    """Initialize all parameters of a module, in the order of ``module.parameters()``.

    Args:
        module: a model, or a part of one.
        initializer: for all parameters; an :class:`SelfInitialized` initializes itself.
        apart: classes of modules to skip.
    """
    _reset(module, initializer, apart, set())


def _reset(
    module: nn.Module, initializer: Initializer, apart: Tuple[Type[nn.Module], ...], seen: Set[int]
) -> None:
    if id(module) in seen or isinstance(module, apart):
        return
    seen.add(id(module))
    if isinstance(module, SelfInitialized):
        module.reset_parameters(initializer)
        return
    for name, parameter in module.named_parameters(recurse=False):
        initializer.fill(module, name, parameter)
    for child in module.children():
        _reset(child, initializer, apart, seen)
