"""One model family a file; importing it registers its architectures."""

from fairseq_outlayers.models import luong_lstm, nematus_gru, transformer

__all__ = ["luong_lstm", "nematus_gru", "transformer"]
