"""Beam search over candidate classes, and what is done to its hypotheses afterwards."""
