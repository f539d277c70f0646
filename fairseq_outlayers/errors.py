"""The one exception of this package that is addressed to its users."""


class UserError(ValueError):
    """A mistake of the user's, said in one line: what, where, which value, what to do.

    fairseq's command lines show it without a traceback (see ``compat/clear_errors.py``).
    """
