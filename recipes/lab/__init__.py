"""What recipes share: arms, the ledger of their runs, scores, claims, tables and figures.

``python -m recipes.lab`` lists the commands. Nothing is imported here: the shell asks for a setting
in a few milliseconds.
"""
