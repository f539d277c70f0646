"""Shared by recipes: arms, ledger, scores, claims, tables and figures.

``python -m recipes.lab`` lists the commands. Nothing is imported here, so that the shell gets
settings within a few milliseconds.
"""
