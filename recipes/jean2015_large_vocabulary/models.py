"""The models of Jean et al. (2015): their descriptions and options for fairseq-train.

A model is named in `MODELS`, optionally with ``.frozen``: tuned further with embeddings and class
vectors fixed. lv_corrected_X is lv_X with scores corrected by the words' shares of the text.
lv_tauN has partitions of N words, sampled_log_uniform_tauN N samples.
"""

import re
from typing import NamedTuple

from recipes.lab.settings import Settings

OPTIMIZERS = {
    "multi30k": "--optimizer adam",
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
}  # fmt: skip


class Model(NamedTuple):
    """What the name of a model says.

    Attributes:
        name: without ``.frozen``.
        kind: a key of `MODELS`.
        tau: N of X_tauN; otherwise empty.
    """

    name: str
    kind: str
    tau: str = ""
    corrected: bool = False
    frozen: bool = False


def parse(name: str) -> Model:
    """Read the name of a model.

    Raises:
        KeyError: if there is no such model.
    """
    plain = name.removesuffix(".frozen")
    frozen = plain != name
    corrected = re.fullmatch(r"lv_corrected(.*)", plain)
    kind = f"lv{corrected[1]}" if corrected else plain
    own_tau = re.fullmatch(r"(lv|sampled_log_uniform)_tau(\d+)", kind)
    if own_tau:
        return Model(plain, own_tau[1], own_tau[2], bool(corrected), frozen)
    if kind not in MODELS:
        raise KeyError(name)
    return Model(plain, kind, "", bool(corrected), frozen)


def describe(model: Model, settings: Settings) -> str:
    """The description in tables."""
    if model.frozen:
        return f"{model.name} tuned with embeddings and class vectors fixed"
    words = MODELS[model.kind][0]
    words += "; scores corrected by the words' shares" if model.corrected else ""
    return words.format(tau=model.tau or settings.TAU, shortlist=settings.SHORTLIST)


def training(model: Model, settings: Settings) -> list[str]:
    """Options for fairseq-train, without the checkpoint that a frozen model begins with."""
    s, optimizer = settings, OPTIMIZERS[settings.SETTING]
    epochs, rate = (s.FROZEN_EPOCHS, s.FROZEN_LR) if model.frozen else (s.EPOCHS, s.LR)
    if model.kind == "sampled_log_uniform":
        optimizer, rate = "--optimizer lazy_adam", s.LAZY_LR
    correction = "log_share" if model.corrected else "none"
    criterion = MODELS[model.kind][1].format(tau=model.tau or s.TAU, correction=correction)
    return (
        f"--task translation_outlayers --source-lang {s.SOURCE} --target-lang {s.TARGET} "
        f"--arch rnnsearch --embed-dim {s.EMBED} --hidden-size {s.HIDDEN} "
        f"--maxout-size {s.MAXOUT} --dropout {s.DROPOUT} {optimizer} --lr {rate} "
        f"--clip-norm {s.CLIP} --lr-scheduler reduce_lr_on_plateau --lr-shrink 0.5 "
        f"--lr-patience 0 --batch-size {s.BATCH_SENTENCES} --max-epoch {epochs} "
        f"--patience {s.PATIENCE} --keep-best-checkpoints 2 --log-interval 25 --num-workers 0 "
        f"{criterion}"
    ).split()
