"""Beam search over candidate classes, and post-processing of its hypotheses."""
