"""Experiments that can be repeated: `lab` is what they share, every other folder is one of them."""
