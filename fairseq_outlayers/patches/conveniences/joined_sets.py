"""Join several sets of a split by their text, each once.

``load_langpair_dataset`` (fairseq/tasks/translation.py) takes -1, the default of
``--upsample-primary``, for a number of copies of the first set, so ``--combine-val`` and training
text in several files (``train``, ``train1``) end in a traceback.
"""

from typing import Any, Callable

from fairseq.tasks import translation

from fairseq_outlayers.patches.replacing import replaces


@replaces(translation, "load_langpair_dataset")
def _upsample_once(
    stock: Callable[..., Any], *args: Any, upsample_primary: int = -1, **kwargs: Any
) -> Any:
    return stock(*args, upsample_primary=max(upsample_primary, 1), **kwargs)
