"""Encoders of the translation models."""
