"""Checks of stock fairseq's options, and its error messages in one line with a remedy.

They patch nothing; ``patches/conveniences/option_hints.py`` and ``clear_errors.py`` call them.
"""
