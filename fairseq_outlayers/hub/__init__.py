"""Use trained models from Python: ``from fairseq_outlayers import load``."""

from fairseq_outlayers.hub.language_model import Continuation, LanguageModel, TextScore
from fairseq_outlayers.hub.loading import load
from fairseq_outlayers.hub.translation import PairScore, Translation
from fairseq_outlayers.hub.translator import Translator

__all__ = [
    "Continuation",
    "LanguageModel",
    "PairScore",
    "TextScore",
    "Translation",
    "Translator",
    "load",
]
