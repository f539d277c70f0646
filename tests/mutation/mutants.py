"""Modules with one small change."""

import ast
import copy
from typing import Iterator, NamedTuple, Optional


class Mutant(NamedTuple):
    """A module with one change."""

    line: int
    change: str
    tree: ast.Module


COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Add,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}  # fmt: skip


class Mutator(ast.NodeTransformer):
    """Applies the change number ``wanted`` of those that it knows, and counts them.

    Comparisons, arithmetic and ``and``/``or`` are swapped, conditions negated, ``not`` and minus
    removed, numbers increased by one, True and False swapped, in-place changes and calls whose
    value nobody wants removed. Docstrings, annotations, messages and decorators stay.
    """

    def __init__(self, wanted: Optional[int] = None):
        self.wanted, self.count = wanted, 0
        self.line, self.change = 0, ""

    def _take(self, node: ast.AST, change: str) -> bool:
        self.count += 1
        if self.count - 1 != self.wanted:
            return False
        self.line, self.change = node.lineno, change  # type: ignore[attr-defined]
        return True

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        node.defaults = [self.visit(default) for default in node.defaults]
        return node  # without annotations

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.args = self.visit(node.args)
        return self._bodies(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._bodies(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return ast.copy_location(ast.Pass(), node) if self._take(node, "no raise") else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in {"Tuple", "Optional", "Dict"}:
            return node  # an alias of types
        return self.generic_visit(node)

    def _bodies(self, node: ast.AST) -> ast.AST:
        node.body = [self.visit(statement) for statement in node.body]  # type: ignore[attr-defined]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Constant):
            return node  # a docstring
        if isinstance(node.value, ast.Call) and self._take(node, "call removed"):
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if self._take(node, "in-place change removed"):
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(self._swapped(node))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        return self.generic_visit(self._swapped(node))

    def _swapped(self, node):  # type: ignore[no-untyped-def]
        other = OPERATORS.get(type(node.op))
        text = isinstance(getattr(node, "left", None), ast.Constant | ast.JoinedStr)
        is_text = text and not isinstance(getattr(node.left, "value", 0), int | float)
        if other and not is_text:
            change = f"{type(node.op).__name__} -> {other.__name__}"
            if self._take(node, change):
                node.op = other()
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        for index, operator in enumerate(node.ops):
            other = COMPARISONS[type(operator)]
            if self._take(node, f"{type(operator).__name__} -> {other.__name__}"):
                node.ops[index] = other()
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if self._take(node, "and <-> or"):
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if self._take(node, f"{type(node.op).__name__} removed"):
            return self.visit(node.operand)
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST:
        return self._negated(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._negated(node)

    def _negated(self, node):  # type: ignore[no-untyped-def]
        is_mutated_itself = isinstance(node.test, ast.Compare | ast.UnaryOp)
        if not is_mutated_itself and self._take(node, "condition negated"):
            node.test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        value = node.value
        if isinstance(value, bool) and self._take(node, f"{value} -> {not value}"):
            return ast.copy_location(ast.Constant(not value), node)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and self._take(node, f"{value} -> {value + 1}"):
            return ast.copy_location(ast.Constant(value + 1), node)
        return node


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a module."""
    tree = ast.parse(source)
    counter = Mutator()
    counter.visit(copy.deepcopy(tree))
    for number in range(counter.count):
        mutator = Mutator(number)
        changed = ast.fix_missing_locations(mutator.visit(copy.deepcopy(tree)))
        yield Mutant(mutator.line, mutator.change, changed)
