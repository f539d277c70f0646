"""Evaluate options that are Python expressions: literals and arithmetic only."""

import ast
import operator
from typing import Any, Callable, Dict, Type

LONGEST = 20_000  # characters of an option; items or characters of its value
LARGEST = 1 << 64  # larger integers make no sense here and may take forever to compute

BINARY: Dict[Type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
UNARY: Dict[Type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
}
SEQUENCES = (str, bytes, list, tuple)


def evaluate(text: str) -> Any:
    """The value of an expression of literals, for example ``[(512, 3)] * 20``.

    Args:
        text: numbers, strings, True, False, None; lists, tuples, sets, dicts; arithmetic.
    Raises:
        TypeError: if ``text`` is not a string; fairseq expects that of ``eval``.
        ValueError: if it contains anything else, or its value is too large.
    """
    if not isinstance(text, str):
        raise TypeError(f"{text!r} is no text")
    if len(text) > LONGEST:
        raise ValueError("it is too long")
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError("it is no Python literal") from error
    except (ArithmeticError, TypeError) as error:
        raise ValueError(f"it cannot be computed: {error}") from error


def _value(node: ast.AST) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.List):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_value(item) for item in node.elts)
    if isinstance(node, ast.Set):
        return {_value(item) for item in node.elts}
    if isinstance(node, ast.Dict) and None not in node.keys:
        pairs = zip(filter(None, node.keys), node.values, strict=True)
        return {_value(key): _value(value) for key, value in pairs}
    if isinstance(node, ast.UnaryOp) and type(node.op) in UNARY:
        return UNARY[type(node.op)](_value(node.operand))
    if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
        return _computed(type(node.op), _value(node.left), _value(node.right))
    raise ValueError("it is more than literals and arithmetic")


def _computed(kind: Type[ast.operator], left: Any, right: Any) -> Any:
    """Compute ``left kind right``, unless the result would be too large."""
    if isinstance(left, SEQUENCES) or isinstance(right, SEQUENCES):
        # "%" would format text.
        if kind is ast.Mod or _length(kind, left, right) > LONGEST:
            raise ValueError("it is too long, or formats text")
    elif kind is ast.Pow and (abs(right) > 64 or abs(left) > LARGEST):
        raise ValueError("it is too large")
    result = BINARY[kind](left, right)
    if isinstance(result, int) and abs(result) > LARGEST:
        raise ValueError("it is too large")
    return result


def _length(kind: Type[ast.operator], left: Any, right: Any) -> int:
    if kind is ast.Mult:
        many, times = (left, right) if isinstance(left, SEQUENCES) else (right, left)
        return max(_size(many), len(many)) * (times if isinstance(times, int) else 1)
    return sum(_size(side) for side in (left, right) if isinstance(side, SEQUENCES))


def _size(value: Any) -> int:
    """Items at all levels: ``[[[0] * 100] * 100] * 100`` is small only at the top level."""
    if isinstance(value, (list, tuple)):
        return 1 + sum(_size(item) for item in value)
    return len(value) if isinstance(value, (str, bytes)) else 1
