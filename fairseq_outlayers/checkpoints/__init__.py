"""Checkpoint files, the options in them, and their folder: free space, integrity, locking."""
