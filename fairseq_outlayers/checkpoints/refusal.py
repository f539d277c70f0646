"""Why torch does not load a checkpoint, in one line; a warning where it loads any."""

import logging
import os
import re

from fairseq_outlayers.checkpoints.integrity import recovery_hint

logger = logging.getLogger(__name__)

FORCED = "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"


def warn_if_unchecked(path: str) -> None:
    """Warn if torch's switch lets code in a checkpoint run."""
    if os.environ.get(FORCED, "").lower() in ("1", "y", "yes", "true"):
        logger.warning(f"{FORCED} is set: code in {path} runs unchecked")


def explain_refusal(path: str, message: str) -> str:
    """Summarize torch's error in one line.

    Args:
        path: the checkpoint.
        message: torch's; it names a refused global as ``GLOBAL posix.system``, or what was built
            as ``<class 'name'>``, and ``stored_numbers.py`` as ``<name>``.
    """
    refused = re.search(r"GLOBAL (\S+) w|but got <(?:class ')?([^'>]+)", message)
    if refused is None:
        return (
            f"{path} is damaged, or not a checkpoint: truncated, or written by another program. "
            f"{recovery_hint(path)}"
        )
    return (
        f"{path} was not loaded, and nothing in it was run: it contains "
        f"{refused[1] or refused[2]}, which fairseq does not save in a checkpoint and which may "
        f"run code. {_remedy(refused[1] or refused[2])}"
    )


def _remedy(refused: str) -> str:
    if refused.startswith("omegaconf."):
        return (
            "If a script of yours has saved it after fairseq had loaded it: convert its options "
            "first, state['cfg'] = OmegaConf.to_container(state['cfg'])"
        )
    return "Use a checkpoint from a source that you trust."
