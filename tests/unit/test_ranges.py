"""Ranges of options: every number of ours has one, and nothing outside of it is built."""

import dataclasses
import math
import os
import re
from types import SimpleNamespace

import pytest
from fairseq.models import MODEL_DATACLASS_REGISTRY

from fairseq_outlayers.commands.options_page import REGISTRIES, options_page
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.models import checks
from fairseq_outlayers.models.checks import least_parameters
from fairseq_outlayers.ranges import RANGE, Range, check_ranges, ranged, ranges_of
from fairseq_outlayers.registered_options import KINDS, OURS
from fairseq_outlayers.stock.ranges import STOCK, check_stock_ranges
from tests.conftest import (
    LANGUAGE_MODEL_ARCHITECTURES,
    TRANSLATION_ARCHITECTURES,
    configuration,
    make_model,
)


def our_dataclasses():
    """Every dataclass of options that this package declares."""
    for _, _, classes, found in KINDS:
        for name, part in classes.items():
            if part.__module__.startswith(OURS) and name in found:
                yield found[name]
    for *_, config in REGISTRIES:
        yield config


def our_numbers():
    """Name, dataclass and field of every number that is ours and not fairseq's."""
    for config in our_dataclasses():
        stock = {
            name
            for base in config.__mro__
            if base.__module__.startswith("fairseq.")
            for name in getattr(base, "__dataclass_fields__", {})
        }
        for field in dataclasses.fields(config):
            is_number = field.type in (int, float)
            looked_up = isinstance(field.default, str)  # II("common.seed"): another's option
            if is_number and not looked_up and field.name not in stock:
                yield field


@pytest.mark.parametrize(
    ("limits", "inside", "outside"),
    [
        (Range(at_least=0, below=1), [0, 0.5, 0.999], [-1e-9, 1, 2]),
        (Range(above=0, at_most=1), [1e-9, 1], [0, 1.0001]),
        (Range(), [-1e300, 0, 1e300], []),
    ],
)
def test_a_range_holds_what_lies_between_its_limits_and_neither_nan_nor_infinity(
    limits, inside, outside
):
    assert all(number in limits for number in inside)
    assert not any(number in limits for number in [*outside, math.nan, math.inf, -math.inf])


def test_every_number_of_ours_states_a_range_that_its_default_is_in():
    fields = list(our_numbers())
    assert len({field.name for field in fields}) > 30
    without = {field.name for field in fields if RANGE not in field.metadata}
    assert not without
    assert all(field.default in field.metadata[RANGE] for field in fields)


def test_the_page_of_options_prints_every_range():
    page = options_page()
    for field in our_numbers():
        row = next(row for row in page.split("\n") if f"`--{field.name.replace('_', '-')}`" in row)
        assert f"({field.metadata[RANGE]})" in row


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1.0, -0.1])
def test_a_number_out_of_its_range_is_refused_by_name_value_and_limits(value):
    @dataclasses.dataclass
    class Config:
        some_share: float = ranged(0.0, "a share", at_least=0, below=1)

    with pytest.raises(UserError, match=f"--some-share {value}: must be at least 0 and below 1"):
        check_ranges(Config(value), Config)
    check_ranges(SimpleNamespace(), Config)  # the options of an old checkpoint lack some


def test_nan_passes_for_none_of_fairseqs_numbers():
    for name in [*STOCK, "an_option_that_is_in_no_table"]:
        with pytest.raises(UserError, match=f"--{name.replace('_', '-')} nan"):
            check_stock_ranges(SimpleNamespace(**{name: math.nan}))
    with pytest.raises(UserError, match="--lr nan"):
        check_stock_ranges(SimpleNamespace(lr=[0.1, math.nan]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size_valid": ""}, "--batch-size-valid '': must be a whole number"),
        ({"decoder_output_dim": "0"}, "--decoder-output-dim 0: must be at least 1"),
        ({"lr": []}, "--lr has no value"),
        ({"heartbeat_timeout": -5}, "--heartbeat-timeout -5: must be at least -1"),
        ({"an_option_that_is_in_no_table": math.inf}, "table inf: must be a finite number"),
        (
            {"update_ordered_indices_seed": True, "update_epoch_batch_itr": False},
            "--update-ordered-indices-seed: .* pass both",
        ),
        ({"min_len": 31, "max_len_a": 0, "max_len_b": 30}, "--min-len 31: .* at most 30 tokens"),
        (
            {"lr_scheduler": "inverse_sqrt", "warmup_updates": 0},
            "--warmup-updates 0: .* at least 1",
        ),
        ({"keep_interval_updates_pattern": 0}, "--keep-interval-updates-pattern 0: .* least 1"),
        ({"keep_interval_updates_pattern": -2}, "--keep-interval-updates-pattern -2: .* least -1"),
        (
            {"patience": 3, "disable_validation": True},
            "--patience 3 has no effect with --disable-validation: .* leave one",
        ),
        (
            {"keep_best_checkpoints": 2, "disable_validation": True},
            "--keep-best-checkpoints 2 has no effect with --disable-validation: .* leave one",
        ),
        (
            {"eval_bleu": True, "disable_validation": True},
            "^--eval-bleu has no effect with --disable-validation: .* leave one",
        ),
        ({"lr_scheduler": "reduce_lr_on_plateau", "lr_shrink": 1.0}, "--lr-shrink 1: .* than 1"),
    ],
)
def test_what_fairseq_would_fail_at_later_is_refused(options, message):
    with pytest.raises(UserError, match=message):
        check_stock_ranges(SimpleNamespace(**options))


def test_numbers_that_refer_to_other_options_are_left_to_fairseq():
    check_stock_ranges(SimpleNamespace(batch_size_valid="${dataset.batch_size}"))


def test_the_defaults_of_fairseqs_numbers_are_in_their_ranges():
    from fairseq.dataclass.configs import FairseqConfig

    checked = set()
    for group in dataclasses.fields(FairseqConfig):
        if isinstance(group.default, type):
            for name, value in vars(group.default()).items():
                check_stock_ranges(SimpleNamespace(**{name: value}))
                checked.add(name)
    assert len(checked & set(STOCK)) > 40


@pytest.mark.parametrize("arch", [*TRANSLATION_ARCHITECTURES, *LANGUAGE_MODEL_ARCHITECTURES])
@pytest.mark.parametrize("output_layer", ["linear", "joint"])
def test_the_least_size_is_at_most_the_real_one(task, arch, output_layer):
    options = {"output_layer": output_layer}
    if output_layer == "joint":
        options |= {"joint_dim": 40, "joint_layers": 2}
    model = make_model(arch, task, **options)
    known = {**TRANSLATION_ARCHITECTURES, **LANGUAGE_MODEL_ARCHITECTURES}[arch]
    declared = MODEL_DATACLASS_REGISTRY.get(arch)
    defaults = vars(declared()) if declared else {}
    least = least_parameters(
        SimpleNamespace(**{**defaults, **known, **options}),
        len(task.target_dictionary),
        getattr(type(model), "gates", 1),
    )
    tensors = {id(t): t.numel() for t in [*model.parameters(), *model.buffers()]}
    assert 0 < least <= sum(tensors.values())


@pytest.mark.parametrize("arch", TRANSLATION_ARCHITECTURES)
@pytest.mark.parametrize("size", [200_000, 10**18])
def test_a_model_larger_than_the_machine_is_refused_before_it_is_built(task, arch, size):
    names = ["hidden_size", "embed_dim"]
    if arch.startswith("transformer"):
        names = ["encoder_embed_dim", "decoder_embed_dim"]
    with pytest.raises(UserError, match=r"parameters|must be at least 1 and at most 1,000,000"):
        make_model(arch, task, **dict.fromkeys(names, size))


def test_many_wide_layers_are_refused_before_they_are_built(task, monkeypatch):
    monkeypatch.setattr(checks, "machine_memory", lambda: 25 * 10**9)
    sizes = {"hidden_size": 4000, "encoder_layers": 100, "decoder_layers": 100}
    with pytest.raises(UserError, match=r"at least 19,0\d\d,\d{3},\d{3} parameters"):
        make_model("luong_lstm", task, **sizes)  # it would take 103 GB


def test_ranges_of_a_dataclass_include_those_that_it_inherits():
    assert {"joint_dim", "dropout"} <= set(ranges_of(MODEL_DATACLASS_REGISTRY["luong_lstm"]))


def test_the_limits_of_fairseqs_own_options_are_in_the_page():
    limits = options_page().partition("## Limits of fairseq's own options")[2]
    for name, allowed in STOCK.items():
        option = f"`--{name.replace('_', '-')}`"
        assert re.search(rf"^\| {re.escape(str(allowed))} \|.*{option}", limits, re.M)


@pytest.mark.parametrize(
    ("text", "limit"), [("1000\n", 1000), ("max\n", None), (str(2**70), None), (None, None)]
)
def test_a_containers_limit_counts_where_it_is_smaller(tmp_path, monkeypatch, text, limit):
    path = tmp_path / "memory.max"
    if text is not None:
        path.write_text(text)
    monkeypatch.setattr(checks, "CGROUP_LIMIT", path)
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert checks.machine_memory() == (physical if limit is None else limit)


@pytest.mark.parametrize(
    ("arch", "options"),
    [
        ("luong_lstm", {"output_layer": "joint", "joint_dim": 3000}),
        ("luong_lstm", {"output_layer": "joint", "joint_dim": 300, "joint_layers": 3}),
        ("rnnsearch", {"maxout_size": 3000}),
        ("nematus_gru", {"attention_size": 3000}),
        ("transformer_outlayers", {"encoder_ffn_embed_dim": 3000, "decoder_ffn_embed_dim": 3000}),
    ],
)
def test_the_least_size_counts_wide_parts(task, arch, options):
    model = make_model(arch, task, **options)
    gates = getattr(type(model), "gates", 1)
    least = least_parameters(configuration(arch, **options), len(task.target_dictionary), gates)
    assert least >= sum(p.numel() for p in model.parameters()) / 12
