"""Patches that the package's models and promises need; always applied."""
