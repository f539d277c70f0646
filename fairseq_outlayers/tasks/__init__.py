"""fairseq tasks; importing one registers it."""

from fairseq_outlayers.tasks import subword_language_modeling, translation_outlayers

__all__ = ["subword_language_modeling", "translation_outlayers"]
