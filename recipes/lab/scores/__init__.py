"""Scores of translations and texts, and their intervals."""
