"""Attention over encoder states."""
