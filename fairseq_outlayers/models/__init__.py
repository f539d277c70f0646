"""One model family a file; importing it registers its architectures."""

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
