"""fairseq tasks; importing one registers it."""

from fairseq_outlayers.tasks import translation_outlayers

__all__ = ["translation_outlayers"]
