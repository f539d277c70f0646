"""Layers that models share; nothing here imports output layers."""
