"""A patch says what it replaces where it is defined, and replaces it when it is applied."""

import inspect
import sys
from collections import defaultdict
from types import ModuleType

import pytest

from fairseq_outlayers.patches import replacing
from fairseq_outlayers.patches.replacing import MARK, PATCHES, apply_recorded, replaces

HERE = sys.modules[__name__]


@pytest.fixture(autouse=True)
def nothing_recorded(monkeypatch):
    monkeypatch.setattr(replacing, "_recorded", defaultdict(list))


@pytest.fixture
def stock():
    class Stock:
        def greet(self, name: str, *, mark: str = "!") -> str:
            """Greet somebody."""
            return f"hello {name}{mark}"

        @staticmethod
        def add(first, second):
            return first + second

    return Stock


def test_a_patch_is_recorded_when_defined_and_applied_with_its_module(stock):
    original = stock.greet

    def patch(stock, self, name, **how):
        return stock(self, name.upper(), **how)

    assert replaces(stock, "greet")(patch) is patch
    apply_recorded(ModuleType("another"))
    assert stock.greet is original
    apply_recorded(HERE)
    assert stock().greet("you", mark="?") == "hello YOU?"
    assert getattr(stock.greet, MARK) is original
    assert getattr(stock.greet, PATCHES) == (patch,)


def test_patches_are_applied_once_each_and_the_one_defined_last_is_the_outermost(stock):
    @replaces(stock, "greet")
    def inner(stock, self, name):
        return f"({stock(self, name)})"

    @replaces(stock, "greet")
    def outer(stock, self, name):
        return f"[{stock(self, name)}]"

    apply_recorded(HERE)
    replaced = stock.greet
    apply_recorded(HERE)
    assert stock.greet is replaced
    assert getattr(replaced, PATCHES) == (inner, outer)
    assert stock().greet("you") == "[(hello you!)]"


def test_the_lowest_of_several_decorators_is_applied_first(stock):
    class Derived(stock):
        """It inherits the function, patched before, so that it is not patched again."""

    @replaces(Derived, "greet")
    @replaces(stock, "greet")
    def patch(stock, self, name):
        return f"({stock(self, name)})"

    apply_recorded(HERE)
    assert Derived().greet("you") == stock().greet("you") == "(hello you!)"
    assert "greet" not in vars(Derived)


def test_a_static_method_stays_one(stock):
    @replaces(stock, "add")
    def patch(stock, first, second):
        return -stock(first, second)

    apply_recorded(HERE)
    assert isinstance(inspect.getattr_static(stock, "add"), staticmethod)
    assert stock.add(1, 2) == stock().add(1, 2) == -3


def test_a_replacement_has_the_name_the_docstring_and_the_signature_of_the_original(stock):
    original = stock.greet
    names = ("__name__", "__qualname__", "__module__", "__doc__")

    @replaces(stock, "greet")
    def patch(stock, *args, **kwargs):
        """Another docstring."""

    apply_recorded(HERE)
    assert stock.greet is not original
    for name in names:
        assert getattr(stock.greet, name) == getattr(original, name)
    assert inspect.signature(stock.greet) == inspect.signature(original)


def test_a_class_that_is_only_called_is_replaced_by_a_function():
    class Wrapper:
        """Wraps a module."""

        def __init__(self, module, device=None):
            self.module, self.device = module, device

    models = ModuleType("models")
    models.Wrapper = Wrapper

    @replaces(models, "Wrapper")
    def without_device(stock, module, device=None):
        return stock(module)

    apply_recorded(HERE)
    made = models.Wrapper("a model", device=0)
    assert isinstance(made, Wrapper)
    assert (made.module, made.device) == ("a model", None)
    assert models.Wrapper.__doc__ == Wrapper.__doc__
