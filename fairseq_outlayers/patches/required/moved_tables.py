"""Find tables of external vectors that have moved since the training.

A checkpoint contains the path of such a table, not its rows. If there is no file of that path,
``load_checkpoint_to_cpu`` (fairseq/checkpoint_utils.py) looks for one of its name beside the
checkpoint and in the data folder, so that every command and ``load`` find it. A table has a
checksum in the checkpoint, so another one of that name is refused.
"""

from pathlib import Path
from typing import Any, Callable, Dict

from fairseq import checkpoint_utils
from omegaconf import OmegaConf, open_dict

from fairseq_outlayers.patches.replacing import replaces

TABLES = ("external_embeddings", "external_classes")


@replaces(checkpoint_utils, "load_checkpoint_to_cpu")
def _with_its_tables(stock: Callable[..., Any], path: str, *args: Any, **kwargs: Any) -> Any:
    state = stock(path, *args, **kwargs)
    if isinstance(state, dict):
        _find_moved(state, Path(path).parent)
    return state


def _find_moved(state: Dict[str, Any], folder: Path) -> None:
    cfg = state.get("cfg")
    model, task = (getattr(cfg, part, None) for part in ("model", "task"))
    data = str(getattr(task, "data", "")).split(":")[0]
    for option in TABLES:
        stored = getattr(model, option, None)
        if not isinstance(stored, str) or not stored or Path(stored).is_file():
            continue
        name = Path(stored).name
        found = [place / name for place in (folder, Path(data)) if (place / name).is_file()]
        if found and OmegaConf.is_config(model):
            with open_dict(model):
                setattr(model, option, str(found[0]))
        elif found:  # a model without a dataclass has a namespace
            setattr(model, option, str(found[0]))
