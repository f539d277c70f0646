"""One model family a file; importing it registers its architectures."""

from fairseq_outlayers.models import luong_lstm, subword_lm, transformer

__all__ = ["luong_lstm", "subword_lm", "transformer"]
