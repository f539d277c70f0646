"""Small models of every family, and what their trainings and scores are compared by.

``make.py`` trained them at commit 77bff7b; ``tests/system/test_old_checkpoints.py`` loads them.
"""

import contextlib
import io
import json
import math
import random
import zlib
from pathlib import Path

import numpy as np
import torch

WORDS = [f"w{k}" for k in range(16)]
SENTENCES = {"train": 40, "valid": 6}

LUONG = "--arch luong_lstm --embed-dim 4 --hidden-size 4 --dropout 0"
RNMT = "--embed-dim 4 --hidden-size 4 --encoder-layers 3 --decoder-layers 3 --attention-heads 2"
ESNMT = f"{RNMT} --dropout 0 --gamma-init 0.5"
NEMATUS = "--embed-dim 4 --hidden-size 4"
SMALL_TRANSFORMER = (
    "--arch transformer_tiny_outlayers --dropout 0 --encoder-embed-dim 4 --decoder-embed-dim 4 "
    "--encoder-ffn-embed-dim 8 --decoder-ffn-embed-dim 8 --encoder-layers 1 --decoder-layers 1"
)
SMALL_TRANSFORMER_LM = (
    "--arch transformer_lm_outlayers --dropout 0 --decoder-embed-dim 4 --decoder-ffn-embed-dim 8 "
    "--decoder-layers 1 --decoder-attention-heads 2"
)
SUBWORD = "--hidden-size 4 --dropout 0 --lstm-layers 1"

TRANSLATION = {
    **{
        f"luong_{layer}": f"{LUONG} --output-layer {layer}"
        for layer in ("linear", "tied", "bilinear", "output_structure", "context_structure")
    },
    "luong_joint": f"{LUONG} --output-layer joint --joint-dim 5 --joint-layers 2",
    "luong_deep_residual": f"{LUONG} --output-layer deep_residual",
    "luong_external_joint": f"{LUONG} --output-layer external_joint --joint-dim 5 "
    "--external-classes {target_table}",
    "luong_shared": f"{LUONG} --output-layer tied --share-all-embeddings",
    "luong_correct_targets": f"{LUONG} --output-layer linear --criterion sampled_softmax "
    "--sampler log_uniform --num-sampled 5 --correct-targets",
    "luong_lazy_adam": f"{LUONG} --output-layer joint --joint-dim 5 --criterion sampled_softmax "
    "--num-sampled 5 --optimizer lazy_adam",
    "luong_partitions": f"{LUONG} --output-layer tied --criterion partition_softmax "
    "--partition-size 18",
    "luong_subword": f"{LUONG} --output-layer subword --composition morphsum",
    "rnnsearch": f"--arch rnnsearch {NEMATUS} --maxout-size 3",
    "nematus_gru": f"--arch nematus_gru {NEMATUS} --output-layer tied",
    "nematus_mix_gate": f"--arch nematus_mix_gate {NEMATUS} --external-embeddings {{source_table}}",
    "nematus_mix_sum": f"--arch nematus_mix_sum {NEMATUS} --external-embeddings {{source_table}}",
    "nematus_only_external": f"--arch nematus_only_external {NEMATUS} "
    "--external-embeddings {source_table}",
    "rnmt_plus": f"--arch rnmt_plus {RNMT} --dropout 0",
    "esnmt": f"--arch esnmt {ESNMT} --spectral-radius 0.9",
    "esnmt_lstm": f"--arch esnmt_lstm {ESNMT}",
    "transformer": f"{SMALL_TRANSFORMER} --output-layer tied",
    "transformer_frozen": f"{SMALL_TRANSFORMER} --output-layer joint --joint-dim 5 "
    "--frozen-encoder-layers 0",
}
LANGUAGE_MODELS = {
    "transformer_lm": SMALL_TRANSFORMER_LM,
    "word_lm": f"--arch word_lm {SUBWORD}",
    "charcnn_lm": f"--arch charcnn_lm {SUBWORD} --char-widths 2 --char-filters 2 --unit-dim 3",
    "sylconcat_lm": f"--arch sylconcat_lm {SUBWORD} --unit-dim 3",
    "morphsum_lm": f"--arch morphsum_lm {SUBWORD} --tie none",
    "morphsum_original_lm": f"--arch morphsum_lm {SUBWORD} --tie original",
}
TRAINING = (
    "--cpu --optimizer adam --lr 0.01 --clip-norm 1 --num-workers 0 --seed 1 "
    "--log-format none --disable-validation --no-epoch-checkpoints --no-save-optimizer-state"
)


def write_text(folder):
    """Sentences over the same words on both sides, and tables of units and external vectors."""
    generator = random.Random(1)
    for split, size in SENTENCES.items():
        for side in ("xx", "yy"):
            rows = [generator.choices(WORDS, k=generator.randint(2, 5)) for _ in range(size)]
            text = "".join(" ".join(row) + "\n" for row in rows)
            (folder / f"{split}.{side}").write_text(text, encoding="utf-8")


def write_tables(folder, symbols):
    """Files beside the dictionaries, made anew from their words alone.

    Args:
        folder: of the dictionaries.
        symbols: of the dictionary, which is the same for both sides.
    """
    words = symbols[4:]
    units = {
        "characters": [" ".join(word) for word in words],
        "syllables": [f"w {word[1:]}" for word in words],
        "morphs": [f"w{word[1]} {word[2:] or '-'}" for word in words],
    }
    for kind, rows in units.items():
        text = "".join(f"{word}\t{row}\n" for word, row in zip(words, rows, strict=True))
        for language in ("yy.txt", "txt"):
            (folder / f"{kind}.{language}").write_text(text, encoding="utf-8")
    for side, seed in (("source", 1), ("target", 2)):
        _write_external(folder / f"{side}.npy", symbols, seed)


def _write_external(path, symbols, seed):
    rows = np.random.RandomState(seed).randn(len(symbols), 3).astype(np.float32)
    np.save(path, rows)
    data = path.read_bytes()
    facts = {
        "rows": len(rows),
        "dimensions": rows.shape[1],
        "bytes": len(data),
        "crc32": zlib.crc32(data),
        "block_bytes": 64,
        "blocks": {str(start): zlib.crc32(data[start : start + 64]) for start in (0, 128, 256)},
        "dictionary": {
            "symbols": len(symbols),
            "crc32": zlib.crc32("\n".join(symbols).encode()),
        },
    }
    path.with_name(path.name + ".json").write_text(json.dumps(facts))


def options_of(name, folder):
    """Options of fairseq-train for a family, its task and its tables."""
    data = folder / ("lm" if name in LANGUAGE_MODELS else "bin")
    text = {**TRANSLATION, **LANGUAGE_MODELS}[name]
    text = text.format(source_table=data / "source.npy", target_table=data / "target.npy")
    task = (
        "--task language_modeling --sample-break-mode eos --tokens-per-sample 64"
        if name in LANGUAGE_MODELS
        else "--task translation_outlayers -s xx -t yy"
    )
    return [str(data), *text.split(), *task.split()]


def train(options):
    """``fairseq-train`` in this process."""
    from fairseq import options as fairseq_options
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from fairseq_cli import train as command

    import fairseq_outlayers

    user_dir = str(Path(fairseq_outlayers.__file__).parent)
    parser = fairseq_options.get_training_parser()
    arguments = ["--user-dir", user_dir, *TRAINING.split(), *map(str, options)]
    parsed = fairseq_options.parse_args_and_arch(parser, input_args=arguments)
    with contextlib.redirect_stdout(io.StringIO()):
        command.main(convert_namespace_to_omegaconf(parsed))


def load(path, data):
    """The model of a checkpoint, and its task."""
    from fairseq import checkpoint_utils

    overrides = {"data": str(data)}
    state = torch.load(path, map_location="cpu", weights_only=False)
    saved = state["cfg"]["model"]
    model_options = saved if isinstance(saved, dict) else vars(saved)
    for option, table in (
        ("external_embeddings", "source.npy"),
        ("external_classes", "target.npy"),
    ):
        if model_options.get(option):
            overrides[option] = str(data / table)
    models, _, task = checkpoint_utils.load_model_ensemble_and_task([str(path)], overrides)
    return models[0], task


def make_batch(task):
    """Three fixed sentences, as the task collates them."""
    generator = torch.Generator().manual_seed(5)
    dictionary = task.target_dictionary
    pad, eos = dictionary.pad(), dictionary.eos()

    def rows(lengths, left):
        batch = torch.full((len(lengths), max(lengths) + 1), pad)
        for row, length in zip(batch, lengths, strict=True):
            ids = torch.randint(4, len(dictionary), (length,), generator=generator)
            start = batch.size(1) - length - 1 if left else 0
            row[start : start + length + 1] = torch.cat([ids, torch.tensor([eos])])
        return batch

    source, target = rows([4, 1, 3], left=True), rows([3, 2, 5], left=False)
    previous = target.roll(1, 1)
    previous[:, 0] = eos
    previous[target.eq(pad) | previous.eq(pad)] = pad
    inputs = {"src_tokens": source, "src_lengths": source.ne(pad).sum(1)}
    if getattr(task, "source_dictionary", None) is None or not hasattr(task.cfg, "source_lang"):
        inputs = {"src_tokens": previous, "src_lengths": target.ne(pad).sum(1)}
    else:
        inputs["prev_output_tokens"] = previous
    return {
        "id": torch.arange(3),
        "nsentences": 3,
        "ntokens": int(target.ne(pad).sum()),
        "net_input": inputs,
        "target": target,
    }


@torch.no_grad()
def scores(model, batch):
    """Log-probabilities at the positions of real targets, ``(N, V)``, in float64."""
    model.eval()
    net_output = model(**batch["net_input"])
    found = model.get_normalized_probs(net_output, log_probs=True, sample=batch)
    return found[batch["target"].ne(1)].double()


def train_on(model, task, batch, updates=3):
    """A few updates of gradient descent in float64.

    Returns:
        The names of all parameters, and a digest of each, ``(P, 2)``.
    """
    from fairseq.criterions import CRITERION_REGISTRY

    model.double().train()
    criterion = CRITERION_REGISTRY["full_softmax"](task, 0.1, 0, False, False).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(updates):
        loss, size, _ = criterion(model, batch)
        (loss / size).backward()
        optimizer.step()
        optimizer.zero_grad()
    names, digests = zip(*((n, digest(p)) for n, p in model.named_parameters()), strict=True)
    return list(names), torch.stack(digests)


def digest(parameter):
    """Two numbers that tell whether parameters agree: their norm and a projection of them."""
    numbers = parameter.detach().double().flatten()
    wave = torch.cos(math.sqrt(2) * torch.arange(len(numbers), dtype=torch.float64))
    return torch.stack([numbers.norm(), numbers @ wave])
