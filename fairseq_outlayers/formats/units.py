"""Subword units, recognized by their marks."""

from typing import Iterable, Optional

# fairseq's segmentations, and the option that names their file.
CODES = {"subword_nmt": "bpe_codes", "fastbpe": "bpe_codes", "sentencepiece": "sentencepiece_model"}


def segmentation_of(words: Iterable[str]) -> Optional[str]:
    """fairseq's ``--bpe`` of units: ``subword_nmt`` or ``sentencepiece``; None for words."""
    found = None
    for word in words:
        if word.endswith("@@"):
            return "subword_nmt"
        if word.startswith("▁"):
            found = "sentencepiece"
    return found
