"""Decoders and their recurrences, under any output layer."""
