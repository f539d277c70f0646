"""Report files that are not fairseq checkpoints, although PyTorch can read them.

``load_checkpoint_to_cpu`` (fairseq/checkpoint_utils.py) and its callers assume a dictionary with
``model``, ``args`` or ``cfg``, and more; other objects end in various KeyErrors and TypeErrors.
What a model or an optimizer cannot use is reported by ``checkpoint_content.py``.
"""

import os
from typing import Any, Callable

from fairseq import checkpoint_utils

from fairseq_outlayers.checkpoints.stored import REMEDY, structure_error
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces


@replaces(checkpoint_utils, "load_checkpoint_to_cpu")
def _refuse_other_structure(stock: Callable[..., Any], path: str, *args: Any, **kwargs: Any) -> Any:
    if os.path.isdir(path):
        raise UserError(f"{path}: is a folder; {REMEDY}, perhaps a file in it")
    try:
        state = stock(path, *args, **kwargs)
    except (UserError, FileNotFoundError):
        raise
    except OSError as error:
        # PyTorch's reader of old checkpoints seeks beyond the end of the file.
        raise UserError(
            f"{path}: damaged, or not a checkpoint ({error.strerror}); {REMEDY}"
        ) from error
    except Exception as error:
        raise UserError(
            f"{path}: not a fairseq checkpoint, or damaged "
            f"({type(error).__name__}: {str(error).splitlines()[0][:100] if str(error) else ''}"
            f"); {REMEDY}"
        ) from error
    wrong = structure_error(state)
    if wrong is not None:
        raise UserError(f"{path}: not a fairseq checkpoint, {wrong}; {REMEDY}")
    return state
