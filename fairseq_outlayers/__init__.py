"""Output layers for fairseq: ``fairseq-train DATA --user-dir fairseq_outlayers --arch ...``.

Importing the package registers everything in it and applies its patches to fairseq (``patches/``).
Where fairseq is not installed, nothing is registered, and ``losses``,
``samplers``, ``output_layers``, ``compositions`` and ``optim.row_adam`` can be imported all the
same (docs/without_fairseq.md). Nor is anything in the commands of ``data_prep/``, which share
``formats`` with the package and need neither fairseq nor PyTorch.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairseq_outlayers.hub import load

__version__ = "0.1.0"
__all__ = ["load"]


def register() -> None:
    """Patch fairseq and register everything with it, if it is installed; once is enough."""
    try:
        import fairseq  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "fairseq":  # it is there, and something that it needs is not
            raise
    else:
        from fairseq_outlayers import with_fairseq  # noqa: F401


def _is_wanted() -> bool:
    """Whether to register at once: not in `python -m fairseq_outlayers`, nor in data_prep/.

    The first registers when its command needs it, so that its help is quick.
    """
    if sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv) :][:1] == [__name__]:
        return False
    data_prep = Path(__file__).resolve().parents[1] / "data_prep"
    return not sys.argv or Path(sys.argv[0]).resolve().parent != data_prep


if _is_wanted():
    register()


def __getattr__(name: str) -> Any:
    """``load``, imported when it is asked for: it needs fairseq."""
    if name != "load":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fairseq_outlayers.hub import load

    return load
