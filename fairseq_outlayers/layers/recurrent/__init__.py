"""Recurrent layers over padded batches."""
