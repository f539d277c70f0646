"""Tables: declared once, asked for rows, and indexed by nothing else."""

import ast
import copy
from pathlib import Path

import pytest
import torch
import torch.nn as nn

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers import OUTPUT_LAYERS, OutputLayer
from fairseq_outlayers.partitions.working_set import WorkingSet
from fairseq_outlayers.tables.table import (
    TableOwner,
    declared_tables,
    table_of,
    tables_of_model,
)
from tests.conftest import make_model, make_task

PACKAGE = Path(__file__).parents[3] / "fairseq_outlayers"
V, D = 5, 3


class Owner(TableOwner):
    def __init__(self):
        super().__init__()
        self.register_table("vectors", nn.Parameter(torch.randn(V, D)))
        self.register_table("missing", None)
        self.other = nn.Parameter(torch.randn(V, D))


def test_a_table_is_a_plain_parameter_to_everyone_else():
    owner = Owner()
    assert [name for name, _ in owner.named_parameters()] == ["vectors", "other"]
    assert list(owner.state_dict()) == ["vectors", "other"]
    assert owner.missing is None
    assert list(declared_tables(owner)) == ["vectors"]
    assert type(owner.vectors) is nn.Parameter


def test_rows_are_those_of_the_parameter_as_it_is_at_the_moment():
    owner = Owner()
    ids = torch.tensor([[4, 0], [2, 2]])
    for _ in range(2):
        assert torch.equal(owner.rows("vectors", ids), owner.vectors[ids])
        assert torch.equal(owner.rows("vectors"), owner.vectors)
        owner.vectors = nn.Parameter(torch.randn(V, D))


def test_the_first_rows_are_the_parameters_after_rows_were_looked_up_elsewhere():
    owner = Owner()
    table = table_of(owner, "vectors")
    table.use_elsewhere(lambda ids: torch.zeros(*ids.shape, D), block_size=2)
    assert owner.rows("vectors", torch.tensor([1])).tolist() == [[0.0] * D]
    table.use_first(2)
    assert table.block_size is None
    assert torch.equal(owner.rows("vectors"), owner.vectors[:2])
    assert torch.equal(owner.rows("vectors", torch.tensor([1])), owner.vectors[1:2])


def test_a_copy_of_a_model_has_tables_of_its_own():
    model = nn.Sequential(Owner(), nn.Embedding(V, D))
    for table in tables_of_model(model):
        table.make_row_sparse()
    other = copy.deepcopy(model)
    for table, copied in zip(tables_of_model(model), tables_of_model(other), strict=True):
        assert copied.row_sparse
        assert copied.parameter is not table.parameter
        copied.use_first(2)
        assert (len(copied.rows()), len(table.rows())) == (2, V)


def test_a_tied_table_is_one_object_wherever_it_is_asked_for():
    task = make_task()
    task.source_dictionary = task.target_dictionary
    model = make_model("luong_lstm", task, output_layer="tied", share_all_embeddings=True)
    of_both = table_of(model.encoder.embed_tokens)
    assert table_of(model.decoder.embed_tokens) is of_both
    assert of_both in model.decoder.output_projection.class_tables()
    assert [t for t in tables_of_model(model) if t.parameter is of_both.parameter] == [of_both]


def test_appended_rows_are_words_behind_the_others():
    embedding = nn.Embedding(V, D)
    before, new = embedding.weight.detach().clone(), torch.randn(2, D)
    table_of(embedding).append(new)
    assert torch.equal(table_of(embedding).rows(), torch.cat([before, new]))
    assert embedding.num_embeddings == table_of(embedding).num_words == V + 2
    assert torch.equal(embedding(torch.tensor([V + 1])), new[1:])


class Undeclared(OutputLayer):
    """What a newcomer may write: a parameter read as if it were always the whole table."""

    Config = OutputLayer.Config

    def __init__(self, num_classes, size):
        super().__init__(num_classes)
        self.weight = nn.Parameter(torch.randn(num_classes, size))

    @classmethod
    def build(cls, config, embedding, hidden_size, dictionary):
        return cls(len(dictionary), hidden_size)

    def class_embeddings(self, ids=None):
        return self.weight if ids is None else nn.functional.embedding(ids, self.weight)


class Hidden(Undeclared):
    """The same, where no look at the layer's own parameters finds the table."""

    def __init__(self, num_classes, size):
        super().__init__(num_classes, size)
        weight = self.weight
        del self.weight
        self.inner = nn.Module()
        self.inner.weight = weight

    def class_embeddings(self, ids=None):
        weight = self.inner.weight
        return weight if ids is None else nn.functional.embedding(ids, weight)


class Declared(Undeclared):
    """The remedy, and parameters beside it of which one is no table at all."""

    def __init__(self, num_classes, size):
        super().__init__(num_classes, size)
        weight = self.weight
        del self.weight
        self.register_table("weight", weight)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def class_embeddings(self, ids=None):
        return self.scale * self.rows("weight", ids)


@pytest.fixture
def layer(monkeypatch):
    def choose(kind):
        monkeypatch.setitem(OUTPUT_LAYERS, "own", kind)
        task = make_task(num_source=30, num_target=40)
        return make_model("luong_lstm", task, output_layer="own")

    return choose


def test_a_layer_that_does_not_declare_its_table_is_refused_at_start_up_with_the_remedy(layer):
    with pytest.raises(UserError, match=r"Undeclared.weight.*44 classes.*register_table\('weight'"):
        layer(Undeclared)


def test_partitions_refuse_a_layer_that_reads_a_table_past_its_object(layer):
    with pytest.raises(UserError, match=r"2 rows in use, Hidden scores 44 classes.*self.rows"):
        WorkingSet(layer(Hidden), 12, None)


class Prior(Declared):
    """A fixed number for each class, without ``depends_on_words``."""

    def __init__(self, num_classes, size):
        super().__init__(num_classes, size)
        self.register_buffer("prior", torch.ones(num_classes, 1))

    def class_embeddings(self, ids=None):
        prior = self.prior if ids is None else self.prior[ids]
        return super().class_embeddings(ids) * prior


def test_partitions_refuse_a_layer_that_fails_with_some_rows(layer):
    with pytest.raises(UserError, match=r"2 rows in use, Prior fails .*depends_on_words = True"):
        WorkingSet(layer(Prior), 12, None)


def test_a_declared_table_beside_a_parameter_of_one_number_works_under_partitions(layer):
    model = layer(Declared)
    whole = model.decoder.output_projection.weight.detach().clone()
    working_set = WorkingSet(model, 12, None)
    ids = torch.tensor([0, 1, 2, 3, 9, 30])
    working_set.activate({"target": ids.numpy()}, None)
    projection = model.decoder.output_projection
    assert projection.num_in_use == len(ids)
    assert torch.equal(projection.class_embeddings(), 2 * whole[ids])


def test_sizes_of_one_dimension_do_not_make_a_table(layer):
    class Narrow(Declared):
        def __init__(self, num_classes, size):
            super().__init__(num_classes, size)
            self.gain = nn.Parameter(torch.ones(num_classes + 1, 2))

    layer(Narrow)


# Where a parameter that may be a table is read as such, without its table object.
READERS = {"embedding", "embedding_bag", "index_select", "gather", "take", "index_copy_"}
TABLES = {"weight", "bias", "parameter"}
MAY_TAKE_PARAMETERS = {"fill", "register_table"}  # the start of a parameter, and its declaration


def dotted(node):
    """``nn.init.zeros_`` for its syntax tree."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return getattr(node, "id", "")


def is_table(node):
    return isinstance(node, ast.Attribute) and node.attr in TABLES


class Walk(ast.NodeVisitor):
    """Finds the lines where something else than the table object reads rows."""

    def __init__(self):
        self.found = []
        self.own = set()  # tables that the class around declares

    def visit_ClassDef(self, node):
        before = self.own
        calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
        declared = [c for c in calls if dotted(c.func) == "self.register_table"]
        self.own = {call.args[0].value for call in declared}
        self.generic_visit(node)
        self.own = before

    def visit_Call(self, node):
        name = dotted(node.func)
        last = name.rpartition(".")[2]
        if ".init." in name or last in MAY_TAKE_PARAMETERS:
            return
        parts = [*node.args, getattr(node.func, "value", None)]
        if last in READERS and any(map(is_table, parts)):
            self.found.append(node.lineno)
        self.generic_visit(node)

    def visit_Subscript(self, node):
        if is_table(node.value):
            self.found.append(node.lineno)
        self.generic_visit(node)

    def visit_Compare(self, node):  # self.bias is None
        if not any(isinstance(other, ast.Constant) for other in node.comparators):
            self.generic_visit(node)

    def visit_Attribute(self, node):
        owner = dotted(node.value)
        embeds = owner.rpartition(".")[2] in ("embedding", "embed_tokens", "input_embeddings")
        reads = isinstance(node.ctx, ast.Load)
        if reads and (
            (embeds and node.attr == "weight") or (owner == "self" and node.attr in self.own)
        ):
            self.found.append(node.lineno)
        self.generic_visit(node)


def readers(source):
    walk = Walk()
    walk.visit(ast.parse(source))
    return sorted(set(walk.found))


def test_nothing_but_the_table_object_reads_rows_of_a_table():
    files = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "tables"]
    assert len(files) > 100
    found = {str(path): readers(path.read_text(encoding="utf-8")) for path in files}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    [
        "rows = layer.weight[ids]",
        "bias = self.bias[ids] if self.bias is not None else None",
        "rows = F.embedding(ids, self.weight)",
        "rows = torch.index_select(layer.weight, 0, ids)",
        "rows = model.decoder.embed_tokens.weight",
        "rows = self.embedding.weight.detach()",
        "class A:\n def f(self):\n  self.register_table('vectors', p)\n  return self.vectors",
    ],
)
def test_the_walk_finds_those_who_read_rows_past_the_table_object(source):
    assert readers(source)


@pytest.mark.parametrize(
    "source",
    [
        "rows = self.rows('weight', ids)",
        "nn.init.zeros_(target.weight[target.padding_idx].detach())",
        "class A:\n def f(self):\n  self.register_table('bias', p)\n  return self.bias is None",
        "out = F.linear(x, self.projection.weight)",
    ],
)
def test_the_walk_passes_over_those_who_do_not(source):
    assert not readers(source)
