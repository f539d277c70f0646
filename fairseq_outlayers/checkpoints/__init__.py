"""Checkpoint files and their folder: free space, integrity, locking."""
