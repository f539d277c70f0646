"""Vectors of words composed from those of their characters, syllables or morphs."""
