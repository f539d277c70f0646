"""The benchmark of large vocabularies takes off what there is, and no more."""

import importlib
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq import options
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.modules import AdaptiveSoftmax

from tests.conftest import make_task

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module("large_vocabulary")
    sys.modules.pop("large_vocabulary", None)


def test_make_speed_asks_for_what_the_benchmark_has(benchmark, monkeypatch):
    (rule,) = (
        rule
        for rule in (BENCHMARKS.parent / "Makefile").read_text().split("\n\n")
        if rule.startswith("speed:")
    )
    command = rule.replace("\\\n", "").partition("benchmarks/large_vocabulary.py")[2]
    monkeypatch.setattr(sys, "argv", ["large_vocabulary.py", *shlex.split(command)])
    settings = benchmark.parse_arguments()
    assert settings.arms == ["stock", "adaptive", "sampled"]
    assert settings.vocabularies == [100_000]
    assert not settings.output.is_relative_to("results")  # which has measurements of five rounds


@pytest.mark.parametrize(("updates", "leaves"), [(2, False), (3, True), (50, True)])
def test_moments_of_whole_tables_exist_once_a_second_partition_is_reached(
    benchmark, tmp_path, updates, leaves
):
    """Sentence n has the words 10 n to 10 n + 9, so that 46 fit four sentences and a bit."""
    words = np.arange(200, dtype=np.int32)
    for language in ("xx", "yy"):
        words.tofile(tmp_path / f"train.xx-yy.{language}.bin")
    settings = SimpleNamespace(
        partition_size=50, length=10, sentences=20, max_tokens=20, updates=updates
    )
    assert benchmark.leaves_first_partition(tmp_path, settings) == leaves


def test_a_vocabulary_that_fits_into_one_partition_never_leaves_it(benchmark, tmp_path):
    for language in ("xx", "yy"):
        np.zeros(200, dtype=np.int32).tofile(tmp_path / f"train.xx-yy.{language}.bin")
    settings = SimpleNamespace(
        partition_size=50, length=10, sentences=20, max_tokens=20, updates=10
    )
    assert not benchmark.leaves_first_partition(tmp_path, settings)


@pytest.mark.parametrize("kind", ["stock", "adaptive"])
@pytest.mark.parametrize("vocabulary", [30_000, 60_000])
def test_parameters_of_the_output_are_those_of_fairseqs_layers(benchmark, kind, vocabulary):
    found = benchmark.output_parameters(kind, vocabulary, 64)
    layer = torch.nn.Linear(64, vocabulary)
    if kind == "adaptive":
        layer = AdaptiveSoftmax(vocabulary, 64, benchmark.cutoffs_of(vocabulary), dropout=0.0)
    assert found == sum(parameter.numel() for parameter in layer.parameters())


@pytest.mark.parametrize("model", ["lstm", "transformer"])
@pytest.mark.parametrize(("device", "precision"), [("cpu", "float32"), ("cuda", "amp")])
def test_arms_differ_in_what_they_compare_alone(benchmark, model, device, precision):
    settings = SimpleNamespace(
        dimensions=8, max_tokens=100, partition_size=50, num_sampled=10, device=device,
        precision=precision, model=model,
    )  # fmt: skip
    kinds = ("stock", "adaptive", "adaptive_lazy", "exact", "sampled_adam", "sampled", "partitions")
    found = {kind: benchmark.options_of(kind, 12_000, settings) for kind in kinds}
    for words in found.values():
        assert words[words.index("--dropout") + 1] == "0"
        assert ("--cpu" in words, "--amp" in words) == (device == "cpu", precision == "amp")
    for kind, with_adam in (("sampled", "sampled_adam"), ("adaptive_lazy", "adaptive")):
        assert set(found[kind]) ^ set(found[with_adam]) == {"lazy_adam", "adam"}
    assert "--reshuffle-partitions" in found["partitions"]


def test_transformers_of_both_sides_have_the_same_parameters_but_for_biases(benchmark):
    parser = options.get_training_parser()
    task, sizes = make_task(num_source=26, num_target=36), []
    for words in benchmark.models_of("transformer", 8):
        given = options.parse_args_and_arch(parser, ["data", *words.split()])
        parser = options.get_training_parser()
        model = ARCH_MODEL_REGISTRY[given.arch].build_model(given, task)
        sizes.append(sum(parameter.numel() for parameter in model.parameters()))
    assert sizes[1] - sizes[0] == 40  # a bias for each of our classes
