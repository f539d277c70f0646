"""One file per model family; importing it registers its architectures."""

from fairseq_outlayers.models import (
    esnmt,
    luong_lstm,
    nematus_gru,
    rnmt_plus,
    rnnsearch,
    subword_lm,
    transformer,
)

__all__ = [
    "esnmt",
    "luong_lstm",
    "nematus_gru",
    "rnmt_plus",
    "rnnsearch",
    "subword_lm",
    "transformer",
]
