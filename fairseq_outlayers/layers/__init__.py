"""Layers that the models share; nothing here knows of output layers."""
