"""Frozen random layers that a seed regenerates, their scales and their statistics."""
