"""Output layers for fairseq: ``fairseq-train DATA --user-dir fairseq_outlayers --arch ...``.

Importing the package registers all its parts and patches fairseq (``patches/``). Without fairseq,
``losses``, ``samplers``, ``output_layers``, ``compositions``, ``source_embeddings``, ``tables`` and
``optim.row_adam`` can still be imported (docs/without_fairseq.md). The scripts of ``data_prep/``
import ``formats`` only, and register nothing: they need neither fairseq nor PyTorch.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairseq_outlayers.hub import load

__version__ = "0.1.0"
__all__ = ["load"]


def register() -> None:
    """Patch fairseq and register all parts with it, if it is installed. Idempotent."""
    try:
        import fairseq  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "fairseq":  # a dependency of fairseq is missing
            raise
    else:
        from fairseq_outlayers import with_fairseq  # noqa: F401


def _is_wanted() -> bool:
    """Whether to register at import: not for `python -m fairseq_outlayers`, nor in data_prep/.

    The former registers when a command runs, so that its help is fast.
    """
    if sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv) :][:1] == [__name__]:
        return False
    data_prep = Path(__file__).resolve().parents[1] / "data_prep"
    return not sys.argv or Path(sys.argv[0]).resolve().parent != data_prep


if _is_wanted():
    register()


def __getattr__(name: str) -> Any:
    """Import ``load`` lazily: it needs fairseq."""
    if name != "load":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from fairseq_outlayers.hub import load

    return load
