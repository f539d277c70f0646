"""Checkpoint files and the folder that they lie in: room, integrity, and who may write there."""
