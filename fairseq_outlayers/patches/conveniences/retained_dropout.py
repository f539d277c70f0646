"""Refuse names in ``--retain-dropout-modules`` that no module with dropout has.

Such a name turns all dropout off (``FairseqDropout``, in ``make_generation_fast_``), silently. The
command line gives one text, in which fairseq looks for names.
"""

import re
from typing import Any, Callable, Optional

from fairseq.modules import FairseqDropout
from fairseq.tasks import FairseqTask

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces


@replaces(FairseqTask, "build_generator")
def _refuse_no_dropout(
    stock: Callable[..., Any], self: Any, models: Any, args: Any, *more: Any, **named: Any
) -> Any:
    chosen = getattr(args, "retain_dropout_modules", None)
    if getattr(args, "retain_dropout", False) and chosen is not None:
        owners = {_dropout_owner(module) for model in models for module in model.modules()}
        names = re.findall(r"\w+", chosen) or [chosen] if isinstance(chosen, str) else chosen
        for name in names:
            if name not in owners:
                known = ", ".join(sorted(filter(None, owners))) or "none"
                raise UserError(
                    f"--retain-dropout-modules {name}: not a module with dropout; the model has "
                    f"{known}: name some of these, or leave it out to retain all"
                )
    return stock(self, models, args, *more, **named)


def _dropout_owner(module: Any) -> Optional[str]:
    """The name of a dropout for ``--retain-dropout-modules``; None for other modules."""
    # Imported here, because patches are applied before other parts are imported.
    from fairseq_outlayers.layers.dropout import RetainableDropout

    if isinstance(module, RetainableDropout):
        return module.owner or type(module).__name__
    return module.module_name if isinstance(module, FairseqDropout) else None
