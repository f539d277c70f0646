"""fairseq tasks; importing a module here registers its task."""

from fairseq_outlayers.tasks import subword_language_modeling

__all__ = ["subword_language_modeling"]
