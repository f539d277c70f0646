"""What tests of several folders share: small dictionaries, tasks, models and batches."""

import functools
import gc
import json
import os
import signal
import tempfile
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq.criterions import CRITERION_DATACLASS_REGISTRY, CRITERION_REGISTRY
from fairseq.data import Dictionary
from fairseq.models import (
    ARCH_CONFIG_REGISTRY,
    MODEL_DATACLASS_REGISTRY,
    MODEL_REGISTRY,
    FairseqEncoderDecoderModel,
    FairseqLanguageModel,
)

import fairseq_outlayers  # noqa: F401  (registers architectures and criterions)
from fairseq_outlayers.compositions import COMPOSITIONS
from fairseq_outlayers.models.rnmt_plus import RNMTSkeleton
from fairseq_outlayers.options import OutputLayerConfig
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from fairseq_outlayers.registered_options import parts_of_ours
from fairseq_outlayers.samplers import SAMPLERS
from fairseq_outlayers.source_embeddings import SOURCE_EMBEDDINGS
from fairseq_outlayers.source_embeddings.external_map import ExternalConfig
from tests import devices  # noqa: F401  (registers a pretended device before any backward pass)

# Several tests run at a time, and so do the processes that they start: one thread each.
os.environ["OMP_NUM_THREADS"] = "1"
torch.set_num_threads(1)

# Imports and 6,000 tests stay: searching them for garbage takes 40% of the time of collection.
gc.disable()


def pytest_collection_modifyitems(items):
    if torch.cuda.is_available():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="needs a GPU"))


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


# A shell's background job ignores Ctrl-C, one of nohup SIGHUP, and all their children would with
# them, those included that tests send these signals.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# The smallest useful sizes, of every architecture that has options of these names.
SMALL = {
    "embed_dim": 8,
    "hidden_size": 8,
    "dropout": 0.0,
    # By default 8 units would start in 0.8, which amplifies rounding errors.
    "init_range": 0.1,
    "init_std": 0.3,
    "maxout_size": 6,
}
# Three layers: the third is the first with a residual. The output layer scores 2 x 8 dimensions.
SMALL_RNMT = {
    "embed_dim": 16,
    "encoder_layers": 3,
    "decoder_layers": 3,
    "attention_heads": 2,
    "init_range": 0.2,
}
# What an architecture needs beside.
OTHERS: dict = {
    "rnmt_plus": SMALL_RNMT,
    # The input scale of the paper, 10, would saturate these and amplify rounding errors.
    "esnmt": {**SMALL_RNMT, "gamma_init": 0.5, "spectral_radius": "0.9"},
    "esnmt_lstm": {**SMALL_RNMT, "gamma_init": 0.5},
    "transformer_outlayers": {
        "encoder_embed_dim": 8,
        "decoder_embed_dim": 8,
        "encoder_ffn_embed_dim": 16,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "dropout": 0.0,
    },
    "transformer_lm_outlayers": {
        "decoder_embed_dim": 8,
        "decoder_input_dim": 8,
        "decoder_output_dim": 8,
        "decoder_ffn_embed_dim": 16,
        "decoder_layers": 1,
        "decoder_attention_heads": 2,
        "max_target_positions": 64,
        "add_bos_token": False,
        "tokens_per_sample": 64,
        "tpu": False,
    },
    # With composed words only the output layer "subword" has something to start from.
    "subword_lm": {"composition": "word", "tie": "none", "init_range": 0.0},
}


def small_sizes(arch: str) -> dict:
    """Its own, or those of its closest ancestor."""
    known = getattr(MODEL_DATACLASS_REGISTRY.get(arch), "__dataclass_fields__", {})
    usual = {name: value for name, value in SMALL.items() if name in known}
    if arch in OTHERS:
        return {**usual, **OTHERS[arch]}
    ancestors = MODEL_REGISTRY[arch].__mro__[1:]
    # The skeletons of these families are no architectures themselves.
    families = [(MODEL_REGISTRY[name], sizes) for name, sizes in OTHERS.items()]
    families += [(RNMTSkeleton, SMALL_RNMT)]
    found = [(ancestors.index(kind), sizes) for kind, sizes in families if kind in ancestors]
    return {**usual, **min(found, key=lambda pair: pair[0], default=(0, {}))[1]}


def architectures(kind: type) -> dict:
    """Small sizes of every architecture of ours, and of packages that extend us, that is no named
    size of another.
    """
    ours = {
        name: model
        for name, model in parts_of_ours(MODEL_REGISTRY).items()
        if issubclass(model, kind)
    }
    return {
        name: small_sizes(name)
        for name, model in ours.items()
        if "is_named_size" not in vars(model)
    }


# Parts of other packages, which no page of ours has.
INSTALLED_PARTS = {
    name
    for registry in (OUTPUT_LAYERS, SAMPLERS, COMPOSITIONS, SOURCE_EMBEDDINGS)
    for name, part in registry.items()
    if not part.__module__.startswith("fairseq_outlayers.")
}
TRANSLATION_ARCHITECTURES = architectures(FairseqEncoderDecoderModel)
LANGUAGE_MODEL_ARCHITECTURES = architectures(FairseqLanguageModel)


def configuration(arch: str, **options: object) -> object:
    """The options of an architecture at its small size, and those given."""
    options = {**small_sizes(arch), **options}
    if arch in MODEL_DATACLASS_REGISTRY:
        return MODEL_DATACLASS_REGISTRY[arch](**options)
    config = SimpleNamespace(**{**vars(OutputLayerConfig()), **options})
    ARCH_CONFIG_REGISTRY[arch](config)
    return config


def has_option(arch: str, name: str) -> bool:
    """Whether an architecture has an option, its own or, without a dataclass, fairseq's."""
    known = getattr(MODEL_DATACLASS_REGISTRY.get(arch), "__dataclass_fields__", None)
    return hasattr(configuration(arch), name) if known is None else name in known


TABLES = tempfile.TemporaryDirectory()  # removed when the tests end


def make_dictionary(num_words: int) -> Dictionary:
    """A dictionary of ``num_words`` words w0, w1, ... beside fairseq's four specials."""
    dictionary = Dictionary()
    for word in range(num_words):
        dictionary.add_symbol(f"w{word}", n=num_words - word)
    return dictionary


SUBWORD_WORDS = ["walks", "talked", "talks", "stalk", "a", "walkedwalked"]


def dictionary_with_units(folder: Path) -> Dictionary:
    """A dictionary of SUBWORD_WORDS with a table of every kind of units beside it.

    All units have two letters, the last perhaps one: what kind they are makes no difference.
    """

    def cut(word: str) -> str:
        return " ".join(word[place : place + 2] for place in range(0, len(word), 2))

    path = Path(folder) / "dict.txt"
    path.write_text("".join(f"{word} {9 - k}\n" for k, word in enumerate(SUBWORD_WORDS)))
    for kind in {composition.kind for composition in COMPOSITIONS.values()} - {"characters"}:
        rows = [f"{word}\t{cut(word)}\n" for word in SUBWORD_WORDS]
        path.with_name(f"{kind}.txt").write_text("".join(rows))
    return Dictionary.load(str(path))


def make_task(num_source: int = 13, num_target: int = 17) -> SimpleNamespace:
    """What a model's ``build_model`` and a criterion ask of a task."""
    source, target = make_dictionary(num_source), make_dictionary(num_target)
    return SimpleNamespace(
        source_dictionary=source, target_dictionary=target, src_dict=source, tgt_dict=target
    )


def asked_for_tests(part: object, dictionary: Dictionary) -> dict:
    """What a part of another package needs, by its method ``options_for_tests``."""
    if not hasattr(part, "options_for_tests"):
        return {}
    return part.options_for_tests(dictionary, Path(TABLES.name))


def needed_options(output_layer: str, dictionary: Dictionary) -> dict:
    """Options without which an output layer cannot be built."""
    if output_layer != "external_joint":
        return asked_for_tests(OUTPUT_LAYERS.get(output_layer), dictionary)
    return {"external_classes": _class_table(tuple(dictionary.symbols))}


def needed_sampler_options(sampler: str, dictionary: Dictionary) -> dict:
    """Options without which a sampler cannot be built."""
    if sampler != "proposal":
        return asked_for_tests(SAMPLERS[sampler], dictionary)
    path = Path(TABLES.name) / f"proposal.{len(dictionary)}.txt"
    # No order and no round numbers: what no other sampler would draw from.
    rows = [f"{word}\t{1 + 7 * k % 5}" for k, word in enumerate(dictionary.symbols)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return {"proposal_file": str(path)}


def needed_source_options(source_embedding: str, dictionary: Dictionary) -> dict:
    """Options without which a source embedding cannot be built."""
    part = SOURCE_EMBEDDINGS[source_embedding]
    if not issubclass(part.Config, ExternalConfig):
        return asked_for_tests(part, dictionary)
    return {"external_embeddings": _class_table(tuple(dictionary.symbols))}


def needed_criterion_options(criterion: str) -> dict:
    """Options without which a criterion cannot be built."""
    if criterion == "sampled_softmax":
        return {"num_sampled": 8}
    return asked_for_tests(CRITERION_REGISTRY[criterion], make_dictionary(17))


def needed_composition_options(composition: str) -> dict:
    """Options with which padding changes no vector: the authors' convolution reads it."""
    if composition == "charcnn":
        return {"mask_char_padding": True}
    return asked_for_tests(COMPOSITIONS[composition], make_dictionary(17))


@functools.cache
def _class_table(symbols: tuple) -> str:
    rows = np.random.RandomState(1).randn(len(symbols), 5).astype(np.float32)
    path = Path(TABLES.name) / f"{len(symbols)}.npy"
    return write_external_table(path, SimpleNamespace(symbols=symbols), rows)


def make_model(
    arch: str, task: SimpleNamespace, seed: int = 1, **options: object
) -> torch.nn.Module:
    """A model as ``fairseq-train --arch`` builds it, in float64, with the options given."""
    options = {**needed_options(options.get("output_layer"), task.target_dictionary), **options}
    config = configuration(arch, **options)
    torch.manual_seed(seed)
    return MODEL_REGISTRY[arch].build_model(config, task).double()


def make_batch(task: SimpleNamespace, lengths: list, left_pad: bool = True, seed: int = 1) -> dict:
    """A batch as fairseq's translation task collates it.

    Args:
        lengths: ``(source length, target length)`` of each sentence, without ``</s>``.
        left_pad: whether the source is padded on the left, which is fairseq's default.
    """
    generator = torch.Generator().manual_seed(seed)
    source, target = task.source_dictionary, task.target_dictionary
    pad, eos = target.pad(), target.eos()

    def words(dictionary: Dictionary, length: int) -> torch.Tensor:
        ids = torch.randint(dictionary.nspecial, len(dictionary), (length,), generator=generator)
        return torch.cat([ids, torch.tensor([eos])])

    def collate(rows: list, left: bool) -> torch.Tensor:
        width = max(map(len, rows))
        padded = torch.full((len(rows), width), pad)
        for row, ids in enumerate(rows):
            padded[row, width - len(ids) if left else 0 :][: len(ids)] = ids
        return padded

    sources = [words(source, length) for length, _ in lengths]
    targets = [words(target, length) for _, length in lengths]
    previous = [torch.cat([ids[-1:], ids[:-1]]) for ids in targets]
    return {
        "id": torch.arange(len(lengths)),
        "nsentences": len(lengths),
        "ntokens": sum(map(len, targets)),
        "net_input": {
            "src_tokens": collate(sources, left_pad),
            "src_lengths": torch.tensor([len(ids) for ids in sources]),
            "prev_output_tokens": collate(previous, False),
        },
        "target": collate(targets, False),
    }


def make_language_batch(task: SimpleNamespace, lengths: list, seed: int = 1) -> dict:
    """A batch as fairseq's language modeling task collates it."""
    batch = make_batch(task, [(length, length) for length in lengths], seed=seed)
    previous = batch["net_input"]["prev_output_tokens"]
    lengths_with_end = batch["target"].ne(task.target_dictionary.pad()).sum(1)
    batch["net_input"] = {"src_tokens": previous, "src_lengths": lengths_with_end}
    return batch


def write_external_table(path: Path, dictionary: Dictionary, rows: np.ndarray) -> str:
    """A table of external vectors with its sidecar, as data_prep writes them."""
    np.save(path, rows)
    data = path.read_bytes()
    starts = [start for start in (0, 128, 256) if start < len(data)]
    facts = {
        "rows": len(rows),
        "dimensions": rows.shape[1],
        "bytes": len(data),
        "crc32": zlib.crc32(data),
        "block_bytes": 64,
        "blocks": {str(start): zlib.crc32(data[start : start + 64]) for start in starts},
        "dictionary": {
            "symbols": len(dictionary.symbols),
            "crc32": zlib.crc32("\n".join(dictionary.symbols).encode()),
        },
    }
    path.with_name(path.name + ".json").write_text(json.dumps(facts))
    return str(path)


@pytest.fixture
def external_table(tmp_path, task) -> str:
    """A table of 5 dimensions for the source dictionary of ``task``; the last two words unknown."""
    rows = np.random.RandomState(1).randn(len(task.source_dictionary), 5).astype(np.float32)
    rows[-2:] = rows[task.source_dictionary.unk()]
    return write_external_table(tmp_path / "table.npy", task.source_dictionary, rows)


@pytest.fixture
def task() -> SimpleNamespace:
    return make_task()


@pytest.fixture
def disk_calls(monkeypatch):
    """The names of calls of ``os.fsync`` and ``os.replace``, in their order."""
    done = []
    for name in ("fsync", "replace"):
        stock = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *args, name=name, stock=stock: (stock(*args), done.append(name))
        )
    return done


def make_criterion(name: str, task, **options):
    """A criterion made as fairseq does, with its default options but for those given."""
    # The first two are options of other parts of fairseq.
    given = {"sentence_avg": False, "seed": 1, **needed_criterion_options(name), **options}
    config = CRITERION_DATACLASS_REGISTRY[name]()
    for option, value in given.items():
        if hasattr(config, option):
            setattr(config, option, value)
    return CRITERION_REGISTRY[name].build_criterion(config, task)


class Halve(torch.nn.Module):
    """In the place of dropout, what can be compared."""

    def forward(self, x):
        return x / 2
