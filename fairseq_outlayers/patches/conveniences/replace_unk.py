"""Refuse ``--replace-unk``, which does not work, and recommend ``--unk-replacement``.

``--replace-unk`` without a file opens one called ``@@ `` (``load_align_dict`` in fairseq/utils.py).
With a file, it uses an alignment that fairseq's search leaves empty, or with ``--print-alignment``
one of another type. The patch reports this before anything is translated.
"""

from typing import Any, Callable

from fairseq import utils

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces
from fairseq_outlayers.stock.mistakes import OUR_REPLACEMENT


@replaces(utils, "load_align_dict")
def _refuse(stock: Callable[..., Any], replace_unk: Any) -> Any:
    if replace_unk is not None:
        raise UserError(
            f"--replace-unk does not work in this version of fairseq: {OUR_REPLACEMENT}"
        )
    return stock(replace_unk)
