"""The models of Jean et al. (2015): their descriptions and options for fairseq-train.

A model is named in `MODELS`, optionally with ``.frozen``: tuned further with embeddings and class
vectors fixed. lv_corrected_X is lv_X with scores corrected by the words' shares of the text.
lv_tauN has partitions of N words, sampled_log_uniform_tauN N samples. transformer_X is X with
fairseq's Transformer, of all words and never frozen; only that has fairseq's adaptive softmax.
"""

import re
from typing import NamedTuple

from recipes.lab.settings import Settings

ADAM = "--optimizer adam"
OPTIMIZERS = {
    "multi30k": ADAM,
    "paper": "--optimizer adadelta --adadelta-rho 0.95 --adadelta-eps 1e-6",
}
PARTITIONS = "--criterion partition_softmax --partition-correction {correction} --partition-size"
SAMPLED = "--criterion sampled_softmax --sampler unigram --num-sampled {tau}"
# Description and criterion of each model; {tau} is TAU, or N of X_tauN.
MODELS = {
    "shortlist": ("the {shortlist} most frequent target words, all of them in every step",
                  "--criterion full_softmax"),
    "lv": ("partitions of {tau} target words", PARTITIONS + " {tau}"),
    "lv_authors": ("partitions filled up to {tau} words with those of the one before, "
                   "on both sides", PARTITIONS + " {tau} --partition-mode authors"),
    "lv_reshuffle": ("partitions of {tau} target words, new ones in every epoch",
                     PARTITIONS + " {tau} --reshuffle-partitions"),
    "full": ("all target words, all of them in every step", "--criterion full_softmax"),
    "sampled_log_uniform": (
        "{tau} words drawn by rank for every step, scores corrected by -log Q, lazy Adam",
        "--criterion sampled_softmax --sampler log_uniform --num-sampled {tau}"),
    "sampled": ("{tau} words drawn by frequency for every step, scores corrected by -log Q",
                SAMPLED),
    "sampled_uncorrected": ("{tau} words drawn by frequency for every step, scores as they are",
                            SAMPLED + " --no-logq-correction"),
    "adaptive": ("adaptive softmax of fairseq: rarer words in clusters with smaller vectors",
                 "--criterion adaptive_loss --adaptive-softmax-cutoff {cutoffs} "
                 "--ddp-backend legacy_ddp"),
}  # fmt: skip
RNNSEARCH = "--arch rnnsearch --embed-dim {EMBED} --hidden-size {HIDDEN} --maxout-size {MAXOUT}"
TRANSFORMER = "--arch {arch} " + " ".join(
    f"--{side}-embed-dim {{HIDDEN}} --{side}-ffn-embed-dim {{inner}} --{side}-layers 2 "
    f"--{side}-attention-heads 4"
    for side in ("encoder", "decoder")
)
HALVING = "--lr-scheduler reduce_lr_on_plateau --lr-shrink 0.5 --lr-patience 0"
WARMING_UP = "--lr-scheduler inverse_sqrt --warmup-updates 400"


class Model(NamedTuple):
    """What the name of a model says.

    Attributes:
        name: without ``.frozen``.
        kind: a key of `MODELS`.
        tau: N of X_tauN; otherwise empty.
        transformer: whether it is fairseq's Transformer, not RNNsearch.
    """

    name: str
    kind: str
    tau: str = ""
    corrected: bool = False
    frozen: bool = False
    transformer: bool = False


def parse(name: str) -> Model:
    """Read the name of a model.

    Raises:
        KeyError: if there is no such model.
    """
    plain = name.removesuffix(".frozen")
    frozen = plain != name
    trained = plain.removeprefix("transformer_")
    transformer = trained != plain
    corrected = re.fullmatch(r"lv_corrected(.*)", trained)
    kind = f"lv{corrected[1]}" if corrected else trained
    own_tau = re.fullmatch(r"(lv|sampled_log_uniform)_tau(\d+)", kind)
    tau = ""
    if own_tau:
        kind, tau = own_tau.groups()
    others = ("shortlist",) if transformer else ("adaptive",)
    if kind not in MODELS or kind in others or (transformer and frozen):
        raise KeyError(name)
    return Model(plain, kind, tau, bool(corrected), frozen, transformer)


def describe(model: Model, settings: Settings) -> str:
    """The description in tables."""
    if model.frozen:
        return f"{model.name} tuned with embeddings and class vectors fixed"
    words = MODELS[model.kind][0]
    words += "; scores corrected by the words' shares" if model.corrected else ""
    words += "; fairseq's Transformer" if model.transformer else ""
    return words.format(tau=model.tau or settings.TAU, shortlist=settings.SHORTLIST)


def training(model: Model, settings: Settings) -> list[str]:
    """Options for fairseq-train, without the checkpoint that a frozen model begins with."""
    s, optimizer = settings, OPTIMIZERS[settings.SETTING]
    epochs, rate = (s.FROZEN_EPOCHS, s.FROZEN_LR) if model.frozen else (s.EPOCHS, s.LR)
    if model.kind == "sampled_log_uniform":
        optimizer, rate = "--optimizer lazy_adam", s.LAZY_LR
    elif model.transformer:
        optimizer = ADAM
    layers, schedule = RNNSEARCH.format(**s), HALVING
    if model.transformer:
        schedule = WARMING_UP
        rate = s.TRANSFORMER_LR if optimizer == ADAM else s.TRANSFORMER_LAZY_LR
        arch = "transformer" if model.kind == "adaptive" else "transformer_outlayers"
        layers = TRANSFORMER.format(**s, arch=arch, inner=4 * s.whole("HIDDEN"))
    correction = "log_share" if model.corrected else "none"
    criterion = MODELS[model.kind][1].format(
        tau=model.tau or s.TAU, correction=correction, cutoffs=s.CUTOFFS.replace(" ", ",")
    )
    return (
        f"--task translation_outlayers --source-lang {s.SOURCE} --target-lang {s.TARGET} "
        f"{layers} --dropout {s.DROPOUT} {optimizer} --lr {rate} --clip-norm {s.CLIP} {schedule} "
        f"--batch-size {s.BATCH_SENTENCES} --max-epoch {epochs} --patience {s.PATIENCE} "
        f"--keep-best-checkpoints 2 --log-interval 25 --num-workers 0 {criterion}"
    ).split()
