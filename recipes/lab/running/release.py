"""Release of a recipe's best run: a small checkpoint with a model card.

    work/release/RECIPE/model.pt      for `from fairseq_outlayers import load`
    work/release/RECIPE/dict.*.txt    the dictionaries, and tables of units
    work/release/RECIPE/README.md     the model card

The arm and its seed are chosen on the validation set, never on the test set.
"""

import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recipes.lab import ledger
from recipes.lab.markdown import markdown_table
from recipes.lab.running import process
from recipes.lab.running.run_arm import is_begun_anew
from recipes.lab.scores import schedules, scoring
from recipes.lab.settings import UserError

if TYPE_CHECKING:
    from recipes.lab.arms import Recipe

FOLDER = Path("work/release")
LARGEST = 20 * 10**6  # bytes
SIDE_FILES = ("dict*.txt", "morphs*.txt", "syllables*.txt")


def write(recipe: "Recipe", names: Sequence[str] | None = None) -> list[Path]:
    """Write the checkpoint, its dictionaries and the card.

    Args:
        names: choose among these arms.
    Returns:
        The files.
    Raises:
        UserError: if there is no checkpoint on this machine, or it is too large.
    """
    entry, why = choose(recipe, ledger.read(recipe.ledger), names)
    folder = FOLDER / recipe.name
    folder.mkdir(parents=True, exist_ok=True)
    model = folder / "model.pt"
    halved = save_small(checkpoint_of(entry), model)  # first, because it may refuse
    files = [model, *copy_side_files(entry, folder)]
    card = folder / "README.md"
    scoring.write_lines(card, card_of(recipe, entry, why, model, halved))
    return [*files, card]


def checkpoint_of(entry: dict) -> Path:
    """The best checkpoint of a run."""
    return ledger.ROOT / entry["run"] / "checkpoints" / "checkpoint_best.pt"


def is_here(entry: dict) -> bool:
    """Whether the checkpoint of a run is here, and not of a repeat that has not come to its end."""
    file = checkpoint_of(entry)
    return file.exists() and not is_begun_anew(file)


def choose(
    recipe: "Recipe", entries: Sequence[dict], names: Sequence[str] | None
) -> tuple[dict, str]:
    """The line of the best run in validation whose checkpoint is here, and the reason.

    The criterion is BLEU on the validation set, of the arm or of one of its decodings. Without
    BLEU, it is perplexity among the runs of the most frequent text, because perplexities of
    different texts and vocabularies do not compare.
    """
    wanted = list(names or recipe.arms())
    entries = ledger.of_arms(entries)
    here = {(e["arm"], e["seed"]): e for e in entries if e["arm"] in wanted and is_here(e)}
    if not here:
        raise UserError(
            f"no checkpoint of {' '.join(wanted[:5])}{' ...' if len(wanted) > 5 else ''} is on"
            " this machine: run an arm first (10_arms.sh)"
        )
    scores = {run: score for run in here if (score := valid_bleu(here[run], entries)) is not None}
    if scores:
        best = max(scores, key=scores.__getitem__)
        return here[best], f"validation BLEU {scores[best]:.2f}, the best of {len(scores)} runs"
    texts = [text_of(entry) for entry in here.values()]
    alike = [e for e in here.values() if text_of(e) == max(texts, key=texts.count)]
    known = [entry for entry in alike if entry["figures"].get("best_valid_ppl") is not None]
    if not known:
        return alike[0], "the first arm that is here: none has a validation score"
    one = min(known, key=lambda entry: entry["figures"]["best_valid_ppl"])
    perplexity = one["figures"]["best_valid_ppl"]
    return one, f"validation perplexity {perplexity:.2f}, the best of {len(known)} runs"


def text_of(entry: dict) -> tuple[str, ...]:
    """The data of a run, which may have two directions, and the language that is predicted."""
    return entry["setting"].get("data", ""), *schedules.given(entry, ["--target-lang"])


def valid_bleu(entry: dict, entries: Sequence[dict]) -> float | None:
    """The best of a run and of the decodings of this run only."""
    own = {entry["arm"]: entry["key"]}
    decoded = [e for e in entries if e["seed"] == entry["seed"] and e["setting"].get("of") == own]
    scores = (one["figures"].get("valid_bleu_tokenised") for one in (entry, *decoded))
    return max((score for score in scores if score is not None), default=None)


def save_small(source: Path, target: Path) -> bool:
    """Save a checkpoint without the state of training.

    Returns:
        Whether its parameters were converted to half precision to fit the limit.
    Raises:
        UserError: if it is still too large.
    """
    import torch
    from fairseq import checkpoint_utils
    from omegaconf import OmegaConf

    import fairseq_outlayers  # noqa: F401  (what may be in a checkpoint, and how it is checked)

    state = checkpoint_utils.load_checkpoint_to_cpu(str(source))
    state |= {"last_optimizer_state": None, "extra_state": {}}
    state["optimizer_history"] = state["optimizer_history"][-1:]  # fairseq reads the last one
    if OmegaConf.is_config(state.get("cfg")):  # as saved by fairseq's trainer
        state["cfg"] = OmegaConf.to_container(state["cfg"], resolve=True, enum_to_str=True)
    halved = size_of(state["model"]) > LARGEST
    if halved:
        state["model"] = in_half(state["model"])
    if (size := size_of(state["model"])) > LARGEST:
        raise UserError(
            f"{source}: {size / 1e6:.0f} MB in half precision; a release has at most "
            f"{LARGEST / 1e6:.0f} MB: name a smaller arm"
        )
    partial = target.with_name(f"{target.name}.partial")
    torch.save(state, partial)
    os.replace(partial, target)
    return halved


def size_of(tensors: dict[str, Any]) -> int:
    """Size in bytes; a tensor under two names is saved, and counted, once."""
    return sum({t.data_ptr(): t.numel() * t.element_size() for t in tensors.values()}.values())


def in_half(tensors: dict[str, Any]) -> dict[str, Any]:
    """Convert tables and matrices to half precision, but not scales and radii.

    A tensor under two names remains one.
    """
    import torch

    halves: dict[tuple, Any] = {}
    for tensor in tensors.values():
        if tensor.dtype == torch.float32 and tensor.dim() > 1:
            halves.setdefault(place_of(tensor), tensor.half())
    return {name: halves.get(place_of(tensor), tensor) for name, tensor in tensors.items()}


def place_of(tensor: Any) -> tuple:
    """What is equal for two names of one tensor alone."""
    return tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()


def data_of(entry: dict) -> Path:
    """The binarized training data of a line."""
    return ledger.ROOT / process.data_of(shlex.split(entry["command"]))


def copy_side_files(entry: dict, folder: Path) -> list[Path]:
    """Copy dictionaries and tables of units."""
    data, copied = data_of(entry), []
    for pattern in SIDE_FILES:
        for path in sorted(data.glob(pattern)):
            copied.append(Path(shutil.copy(path, folder / path.name)))
    if not copied:
        raise UserError(f"{data} has no dictionaries: 00_prepare.sh makes them")
    return copied


def card_of(recipe: "Recipe", entry: dict, why: str, model: Path, halved: bool) -> list[str]:
    """The model card: description, scores, usage, limits."""
    figures = entry["figures"]
    shown = [
        (name, f"{value:,.2f}" if isinstance(value, float) else f"{value:,}")
        for name in ("valid_bleu_tokenised", "best_valid_ppl", "bleu", "bleu_tokenised", "test_ppl",
                     "length_ratio", "parameters", "updates")
        if (value := figures.get(name)) is not None
    ]  # fmt: skip
    precision = "half precision, computed in single" if halved else "single precision"
    return [
        f"# {entry['arm']} of {recipe.title or recipe.name}", "",
        f"{entry.get('words') or entry['arm']}; seed {entry['seed']}, chosen in validation "
        f"({why}). {model.stat().st_size / 1e6:.1f} MB, parameters in {precision}.", "",
        "```python", "from fairseq_outlayers import load", "",
        f'model = load("{model.name}", data=".")',
        *(['print(model.score(["a text in words"]))'] if "test_ppl" in figures else
          ['print(model.translate(["a sentence in words, as the training text had them"]))']),
        "```", "",
        *markdown_table(("figure", ""), shown), "",
        *([f"Signature of BLEU: `{figures['bleu_signature']}`", ""] if "bleu_signature" in figures
          else []),
        "## How it was made", "", "```", entry["command"], "```", "",
        f"Commit {entry['commit']}, {entry['date'][:10]}; versions: "
        + ", ".join(f"{name} {number}" for name, number in entry["versions"].items()) + ".", "",
        "## Limits", "",
        "A model of an experiment, trained on a small corpus of one kind of text and nothing else:"
        " it shows what an output layer or an encoder does, and is no translator for use. Its text"
        " must be split into words (and lower-cased, segmented) as the recipe's 00_prepare.sh does."
        " The corpus has its own license.",
    ]  # fmt: skip
