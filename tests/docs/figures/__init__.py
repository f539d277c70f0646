"""Figures that pages state, compared with the files that hold them.

A module for each source yields statements; ``python -m tests.docs.figures`` prints which lines of a
page have figures that none of them compares.
"""
