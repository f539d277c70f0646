"""Every model with every output layer, trained on the words of a partition."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fairseq_outlayers.criterions.full_softmax import FullSoftmax
from fairseq_outlayers.criterions.partition_softmax import PartitionSoftmax
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.losses import streamed
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from fairseq_outlayers.partitions.batches import Partitions
from fairseq_outlayers.partitions.model_tables import source_tables, target_tables
from fairseq_outlayers.partitions.working_set import WorkingSet
from tests.conftest import TRANSLATION_ARCHITECTURES, make_batch, make_model, make_task

LAYERS = [name for name, layer in OUTPUT_LAYERS.items() if not layer.depends_on_words]
PAIRS = {("luong_lstm", layer) for layer in LAYERS} | {
    (arch, "tied") for arch in TRANSLATION_ARCHITECTURES
}
each_pair = pytest.mark.parametrize(("arch", "layer"), sorted(PAIRS))


@pytest.fixture
def task():
    return make_task(num_source=30, num_target=40)


@pytest.fixture
def batch(task):
    return make_batch(task, [(4, 5), (1, 3), (6, 2)])


def make_criterion(task, log_shares=None, **options):
    task.cfg = SimpleNamespace(partition_size=1, partition_mode="paper")
    task.log_shares_in_use = lambda: log_shares
    config = {"label_smoothing": 0.0, "loss_chunk_size": 0, "sentence_avg": False, **options}
    config["partition_correction"] = "none" if log_shares is None else "log_share"
    criterion = PartitionSoftmax.build_criterion(
        SimpleNamespace(**config, smooth_real_classes=False), task
    )
    return criterion.train()


def words_of(batch, extra=()):
    """Words of a partition: specials, those of the batch, and some that the batch lacks."""
    inputs = batch["net_input"]
    target = np.unique(
        [*range(4), *extra, *batch["target"].flatten(), *inputs["prev_output_tokens"].flatten()]
    )
    return {"target": target, "source": np.unique([*range(4), *inputs["src_tokens"].flatten()])}


def everything_read(batch):
    """Of both sides, what ``PartitionedTraining`` finds in a batch of validation."""
    return {side: torch.from_numpy(ids) for side, ids in words_of(batch).items()}


def by_local_ids(working_set, batch):
    inputs = batch["net_input"]
    return {
        **batch,
        "target": working_set.to_local_ids("target", batch["target"]),
        "net_input": {
            **inputs,
            "src_tokens": working_set.to_local_ids("source", inputs["src_tokens"]),
            "prev_output_tokens": working_set.to_local_ids("target", inputs["prev_output_tokens"]),
        },
    }


def plain_loss(model, batch, classes, padding_idx, log_shares=0.0):
    """Softmax over some classes, from the whole model's scores."""
    scores, _ = model(**batch["net_input"])
    scores = scores[..., torch.from_numpy(classes)] - log_shares
    log_probabilities = torch.log_softmax(scores, dim=-1)
    places = torch.searchsorted(torch.from_numpy(classes), batch["target"])
    own = log_probabilities.gather(-1, places.unsqueeze(-1)).squeeze(-1)
    return -own[batch["target"].ne(padding_idx)].sum()


@each_pair
@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("no_class_bias", [False, True])
def test_loss_and_gradients_are_those_of_a_softmax_over_the_words_of_the_partition(
    arch, layer, corrected, no_class_bias, task, batch
):
    whole = make_model(arch, task, output_layer=layer, no_class_bias=no_class_bias).train()
    model = copy.deepcopy(whole)
    words = words_of(batch, extra=[30, 43])
    log_shares = None
    if corrected:
        generator = torch.Generator().manual_seed(1)
        size = (len(words["target"]),)
        log_shares = torch.rand(size, generator=generator, dtype=torch.float64).log()
    working_set = WorkingSet(model, len(words["target"]) + 3, len(words["source"]) + 2)
    working_set.activate(words, None)
    loss, _, log = make_criterion(task, log_shares)(model, by_local_ids(working_set, batch))
    loss.backward()
    padding = task.target_dictionary.pad()
    expected = plain_loss(whole, batch, words["target"], padding, log_shares if corrected else 0.0)
    expected.backward()
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=1e-12)
    assert (log["scored_classes"], log["all_classes"]) == (len(words["target"]), 44)
    parameters = dict(model.named_parameters())
    small = {n: t.ids for side in working_set.tables.values() for n, t in side.items()}
    for name, parameter in whole.named_parameters():
        gradient = parameters[name].grad
        if name in small:
            ids = small[name]
            assert not gradient[len(ids) :].any()
            others = np.setdiff1d(np.arange(len(parameter)), ids)
            assert not parameter.grad[others].any()
            torch.testing.assert_close(gradient[: len(ids)], parameter.grad[ids])
        elif parameter.requires_grad:
            torch.testing.assert_close(gradient, parameter.grad)


def test_autocast_costs_a_partition_no_more_than_a_softmax_over_the_same_words(task, batch):
    """Errors against float64 under bfloat16, of the loss and of the tables' gradients."""
    model = make_model("luong_lstm", task, output_layer="tied").train()
    words = words_of(batch, extra=[30, 43])
    size, padding = len(words["target"]), task.target_dictionary.pad()
    expected = plain_loss(model, batch, words["target"], padding)
    expected.backward()
    plain, small = copy.deepcopy(model).float(), copy.deepcopy(model).float()
    plain.zero_grad(set_to_none=True), small.zero_grad(set_to_none=True)
    working_set = WorkingSet(small, size, len(words["source"]))
    working_set.activate(words, None)
    with torch.autocast("cpu", torch.bfloat16):
        found, _, _ = make_criterion(task)(small, by_local_ids(working_set, batch))
        other = plain_loss(plain, batch, words["target"], padding)
    found.backward(), other.backward()
    assert abs(found - expected) <= 2 * abs(other - expected) + 1e-2 * expected
    ids = torch.from_numpy(words["target"])
    exact = model.decoder.embed_tokens.weight.grad[ids]
    ours = small.decoder.embed_tokens.weight.grad
    assert ours.dtype == torch.float32
    error = (ours[:size] - exact).norm()
    assert error <= 2 * (plain.decoder.embed_tokens.weight.grad[ids] - exact).norm()
    assert error <= 0.02 * exact.norm()


@each_pair
def test_a_checkpoint_holds_whole_tables_that_any_model_can_load(arch, layer, task, batch):
    whole = make_model(arch, task, output_layer=layer)
    model = copy.deepcopy(whole)
    words = words_of(batch)
    working_set = WorkingSet(model, len(words["target"]), len(words["source"]))
    working_set.activate(words, None)
    with torch.no_grad():
        for table in working_set.tables["target"].values():
            table.parameter.add_(1.0)
    saved = copy.deepcopy(model.state_dict())
    assert {n: v.shape for n, v in saved.items()} == {
        n: v.shape for n, v in whole.state_dict().items()
    }
    names = set(working_set.tables["target"])
    before = dict(whole.named_parameters())
    changed = {n: p for n, p in before.items() if n in names}
    assert changed
    for name, parameter in changed.items():
        expected = parameter.detach().clone()
        expected[words["target"]] += 1.0
        assert torch.equal(saved[name], expected)
    other = make_model(arch, task, seed=2, output_layer=layer)
    other.load_state_dict(saved)
    # And back into a model with a working set.
    again = copy.deepcopy(make_model(arch, task, seed=3, output_layer=layer))
    theirs = WorkingSet(again, len(words["target"]), len(words["source"]))
    again.load_state_dict(saved)
    theirs.activate(words_of(batch, extra=[]), None)
    theirs.begin_evaluation(everything_read(batch))
    model.eval(), again.eval(), other.eval(), working_set.begin_evaluation(everything_read(batch))
    for one in (again, other):
        torch.testing.assert_close(one(**batch["net_input"])[0], model(**batch["net_input"])[0])


def test_validation_scores_all_classes(task, batch):
    whole = make_model("luong_lstm", task, output_layer="joint").eval()
    model = copy.deepcopy(whole)
    words = words_of(batch)
    working_set = WorkingSet(model, len(words["target"]), len(words["source"]))
    working_set.activate(words, None)
    working_set.begin_evaluation(everything_read(batch))
    criterion = make_criterion(task, torch.full((len(words["target"]),), -1.0)).eval()
    loss, _, log = criterion(model, batch)
    everything = np.arange(len(task.target_dictionary))
    expected = plain_loss(whole, batch, everything, task.target_dictionary.pad())
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=1e-12)
    assert "scored_classes" not in log


@each_pair
@pytest.mark.parametrize(("smoothing", "most"), [(0.0, 30), (0.1, 30), (0.1, 4)])
def test_validation_with_tables_elsewhere_scores_all_classes_a_block_at_a_time(
    arch, layer, smoothing, most, task, batch
):
    whole = make_model(arch, task, output_layer=layer).eval()
    model = copy.deepcopy(whole)
    words = words_of(batch)
    working_set = WorkingSet(model, most, most, torch.device("cpu"))
    working_set.activate({side: ids[:4] for side, ids in words.items()}, None)
    working_set.begin_evaluation(everything_read(batch))  # more than four
    assert len(model.decoder.output_projection.class_bias(torch.arange(44))) == 44
    mapped = {**by_local_ids(working_set, batch), "target": batch["target"]}
    criterion = make_criterion(task, label_smoothing=smoothing).eval()
    config = SimpleNamespace(label_smoothing=smoothing, loss_chunk_size=0, sentence_avg=False,
                             smooth_real_classes=False)  # fmt: skip
    reference = FullSoftmax.build_criterion(config, task).eval()
    with torch.no_grad():
        found = criterion(model, mapped)
        expected = reference(whole, batch)
    for key in ("loss", "nll_loss"):
        torch.testing.assert_close(found[2][key], expected[2][key], rtol=1e-12, atol=1e-12)


def test_loss_chunk_size_also_bounds_the_scores_of_tables_elsewhere(task, batch, monkeypatch):
    asked = []
    choose = streamed.choose_chunk_size
    monkeypatch.setattr(
        streamed, "choose_chunk_size", lambda size, *of: asked.append(size) or choose(size, *of)
    )
    model = make_model("luong_lstm", task, output_layer="joint").eval()
    working_set = WorkingSet(model, 40, 30, torch.device("cpu"))
    working_set.begin_evaluation(everything_read(batch))
    mapped = {**by_local_ids(working_set, batch), "target": batch["target"]}
    with torch.no_grad():
        make_criterion(task, loss_chunk_size=3).eval()(model, mapped)
    assert set(asked) == {3}


def test_where_every_word_is_in_every_partition_nothing_is_corrected_bit_for_bit(task, batch):
    found = []
    for log_shares in (None, torch.zeros(44, dtype=torch.float64)):
        model = make_model("luong_lstm", task, output_layer="joint").train()
        working_set = WorkingSet(model, 44, 34)
        working_set.activate({"target": np.arange(44), "source": np.arange(34)}, None)
        loss, _, _ = make_criterion(task, log_shares)(model, batch)
        loss.backward()
        found.append([loss, *(parameter.grad for parameter in model.parameters())])
    assert all(torch.equal(*pair) for pair in zip(*found, strict=True))


def test_the_words_in_use_are_known_by_the_plan_and_the_number_of_their_partition(task, batch):
    def plan():
        return Partitions({}, np.arange(3), [[np.arange(3)], [np.arange(3)]])

    one, other, words = plan(), plan(), words_of(batch)
    working_set = WorkingSet(make_model("luong_lstm", task), 44, 34)
    assert not working_set.is_active((one, 0))
    working_set.activate(words, None, (one, 0))
    assert working_set.is_active((one, 0))
    assert not working_set.is_active((one, 1))
    assert not working_set.is_active((other, 0))
    working_set.activate(words, None)
    assert not working_set.is_active((one, 0))


class LargestTensor(TorchDispatchMode):
    """Remembers the size of the largest tensor that any operation makes."""

    def __init__(self):
        super().__init__()
        self.size = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        made = result if isinstance(result, (tuple, list)) else [result]
        self.size = max([self.size, *(t.numel() for t in made if torch.is_tensor(t))])
        return result


def what_the_device_holds(layer, num_words):
    """Numbers in parameters and optimizer, in the largest tensor of a step, and of validation."""
    task = make_task(num_source=num_words, num_target=num_words)
    small = make_task(num_source=30, num_target=30)
    batch = make_batch(small, [(4, 5), (1, 3), (6, 2)])
    model = make_model("luong_lstm", task, output_layer=layer).train()
    working_set = WorkingSet(model, 60, 60, torch.device("cpu"))
    optimizer = torch.optim.Adam(model.parameters())
    words = words_of(batch)
    working_set.activate(words, optimizer)
    mapped = by_local_ids(working_set, batch)
    with LargestTensor() as largest:
        make_criterion(task)(model, mapped)[0].backward()
        optimizer.step()
    optimizer.zero_grad()
    working_set.begin_evaluation(everything_read(batch))
    mapped = {**by_local_ids(working_set, batch), "target": batch["target"]}
    with LargestTensor() as in_validation, torch.no_grad():
        make_criterion(task).eval()(model.eval(), mapped)
    states = [v for state in optimizer.state.values() for v in state.values()]
    held = sum(tensor.numel() for tensor in [*model.parameters(), *states])
    return held, largest.size, in_validation.size


@pytest.mark.parametrize("layer", LAYERS)
def test_what_the_device_holds_does_not_grow_with_the_vocabulary(layer):
    assert what_the_device_holds(layer, 100) == what_the_device_holds(layer, 3000)


def test_full_loss_less_partition_loss_is_the_surprise_of_the_partition(task):
    """``CE - CE' = -log P(V')``, and score gradients differ by ``2 (1 - P(V'))`` in L1."""
    batch = make_batch(task, [(3, 0)])  # one target: </s>
    whole = make_model("luong_lstm", task, output_layer="linear")
    model = copy.deepcopy(whole)
    words = words_of(batch, extra=[9, 20, 33])
    working_set = WorkingSet(model, 12, 12)
    working_set.activate(words, None)
    part, _, _ = make_criterion(task)(model, by_local_ids(working_set, batch))
    full, _, _ = make_criterion(task)(whole.train(), batch)
    mass = torch.softmax(whole(**batch["net_input"])[0].flatten(), 0)[words["target"]].sum()
    torch.testing.assert_close(full - part, -mass.log(), rtol=1e-12, atol=1e-12)
    full.backward(), part.backward()
    # The gradient by a score is the gradient by the bias of its class.
    of_full, of_part = (m.decoder.output_projection.bias.grad for m in (whole, model))
    spread = torch.zeros_like(of_full)
    spread[words["target"]] = of_part[: len(words["target"])]
    torch.testing.assert_close((of_full - spread).abs().sum(), 2 * (1 - mass))


def test_layers_that_look_at_the_words_are_refused(task, monkeypatch):
    model = make_model("luong_lstm", task, output_layer="tied")
    monkeypatch.setattr(model.decoder.output_projection, "depends_on_words", True)
    with pytest.raises(UserError, match="computes classes from the words themselves"):
        WorkingSet(model, 10, 10)


@pytest.mark.parametrize("arch", ["esnmt", "esnmt_lstm"])
def test_embeddings_that_are_regenerated_are_refused(arch, task):
    with pytest.raises(UserError, match="regenerates its embeddings from a seed: use --release"):
        WorkingSet(make_model(arch, task, output_layer="linear", release="softmax"), 14, None)
    trained = make_model(arch, task, output_layer="linear", release="embeddings")
    assert len(WorkingSet(trained, 14, None).tables["target"]) == 3


def test_a_negative_size_is_named(task):
    task.cfg = SimpleNamespace(partition_size=-1)
    with pytest.raises(UserError, match="--partition-size -1: must be at least 0"):
        PartitionSoftmax.build_criterion(SimpleNamespace(), task)


def test_shared_embeddings_are_refused():
    task = make_task(num_source=30, num_target=40)
    task.source_dictionary = task.target_dictionary
    model = make_model("luong_lstm", task, output_layer="tied", share_all_embeddings=True)
    with pytest.raises(UserError, match="--share-all-embeddings"):
        WorkingSet(model, 10, None)


def test_tables_elsewhere_leave_padding_out_of_the_smoothing_when_asked(task, batch):
    whole = make_model("luong_lstm", task, output_layer="linear").eval()
    model = copy.deepcopy(whole)
    working_set = WorkingSet(model, 40, 30, torch.device("cpu"))
    working_set.begin_evaluation(everything_read(batch))
    mapped = {**by_local_ids(working_set, batch), "target": batch["target"]}
    criterion = FullSoftmax(task, 0.1, 0, False, smooth_real_classes=True).eval()
    with torch.no_grad():
        expected, found = criterion(whole, batch)[0], criterion(model, mapped)[0]
        each = criterion(model, mapped, reduce=False)[0]
        other = FullSoftmax(task, 0.1, 0, False).eval()(whole, batch)[0]
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    assert each.shape == (batch["ntokens"],)
    torch.testing.assert_close(each.sum(), expected, rtol=1e-12, atol=0)
    assert not torch.isclose(found, other, rtol=1e-9)


def test_source_partitions_need_a_row_for_every_source_word(task):
    model = make_model("luong_lstm", task, output_layer="tied", internal_vocabulary=9)
    said = "plain embedding table for the 34 source words.*has InternalSourceEmbedding of 9 rows"
    with pytest.raises(UserError, match=said):
        WorkingSet(model, 14, 14)
    WorkingSet(model, 14, None)


def test_what_freezing_fixes_in_the_papers_model_are_its_four_tables(task):
    model = make_model("rnnsearch", task, output_layer="linear")
    assert {*target_tables(model), *source_tables(model)} == {
        "encoder.embed_tokens.weight",
        "decoder.embed_tokens.weight",
        "decoder.output_projection.weight",
        "decoder.output_projection.bias",
    }


def test_a_partition_of_all_words_is_the_full_softmax(task, batch):
    whole = make_model("luong_lstm", task, output_layer="joint").train()
    model = copy.deepcopy(whole)
    working_set = WorkingSet(model, 44, 34)
    working_set.activate({"target": np.arange(44), "source": np.arange(34)}, None)
    found, _, _ = make_criterion(task)(model, batch)
    expected, _, _ = FullSoftmax(task, 0.0, 0, False)(whole, batch)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    found.backward()
    expected.backward()
    for one, other in zip(model.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-10, atol=1e-12)
