"""Trained models for programs that know nothing of this package."""
