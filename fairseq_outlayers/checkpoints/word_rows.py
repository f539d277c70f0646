"""Map rows of a checkpoint's tables to words of the model's dictionaries."""

from pathlib import Path
from typing import Any, Dict, NamedTuple, Optional

import torch
from fairseq.data import Dictionary
from torch import Tensor

from fairseq_outlayers.checkpoints.stored_options import data_folder, task_options
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import (
    fingerprint,
    is_padding_word,
    number_of_symbols,
)
from fairseq_outlayers.tables.stored_version import stored_version


class WordRows(NamedTuple):
    """Rows of the words that two dictionaries have in common."""

    old: Tensor  # in the checkpoint
    new: Tensor  # in the model
    lost: int  # how many words of the checkpoint the model's dictionary lacks

    @classmethod
    def between(cls, old: Any, new: Any) -> "Optional[WordRows]":
        """Match words by spelling; None if the dictionaries are equal."""
        if old.symbols == new.symbols:
            return None
        words = {w: n for n, w in enumerate(old.symbols) if not is_padding_word(w)}
        pairs = [(words[w], n) for n, w in enumerate(new.symbols) if w in words]
        rows = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)
        return cls(rows[:, 0], rows[:, 1], len(words) - len(pairs))

    def fill(self, table: Tensor, trained: Tensor) -> Tensor:
        """Copy the rows of common words into a table, in place.

        Args:
            table: ``(V, ...)``, initialized.
            trained: ``(V', ...)``, of the checkpoint.
        Returns:
            Which rows of the table were filled, ``(V,)``.
        """
        known = (self.old < len(trained)) & (self.new < len(table))
        table[self.new[known]] = trained[self.old[known]].to(table)
        filled = torch.zeros(len(table), dtype=torch.bool)
        filled[self.new[known]] = True
        return filled


def rows_of_sides(path: str, state: Dict[str, Any], model: Any, task: Any) -> Dict[str, Any]:
    """Row maps for the model's encoder and decoder; None where the dictionaries are equal.

    Args:
        path: of the checkpoint.
        state: its content.
        model: to be fine-tuned.
        task: has the model's dictionaries.
    Raises:
        UserError: if a dictionary of the checkpoint is needed and cannot be found, or its
            fingerprint is damaged.
    """
    sides = {"target": ("decoder", task.target_dictionary)}
    if hasattr(model, "encoder"):
        sides["source"] = ("encoder", task.source_dictionary)
    rows: Dict[str, Any] = {}
    for side, (part, new) in sides.items():
        old = _trained_dictionary(path, state, side, part, new, task)
        rows[part] = None if old is None else WordRows.between(old, new)
    return rows


def _trained_dictionary(
    path: str, state: Dict[str, Any], side: str, part: str, new: Any, task: Any
) -> Optional[Any]:
    """The dictionary of a checkpoint, or None if it is the model's own."""
    stored = _stored_fingerprint(path, state, f"{part}.{side}_dictionary_version", new)
    table = state["model"].get(f"{part}.embed_tokens.weight")
    size = len(new) if table is None else len(table)

    def is_it(dictionary: Any) -> bool:
        if stored is None:
            return len(dictionary) == size
        return fingerprint(dictionary) == stored

    if stored is not None and is_it(new):
        return None
    folders = Path(path).parent, data_folder(state)
    name = _name(state, side, task, is_recognized=stored is not None)
    files = [file for folder in folders for file in sorted(folder.glob(name))]
    for file in files:
        found = Dictionary.load(str(file))
        if is_it(found):
            return found
    if stored is None and is_it(new):
        return None  # assume the same, as fairseq does; loading warns
    symbols = size if stored is None else number_of_symbols(stored)
    raise UserError(
        f"--finetune-from-model {path}: rows are mapped by word, and its {side} dictionary, of "
        f"{symbols:,} symbols, is no {name} in {folders[0]} or {folders[1]}: copy the {name} of "
        "its training data beside the checkpoint"
    )


def _stored_fingerprint(path: str, state: Dict[str, Any], key: str, new: Any) -> Optional[int]:
    """The fingerprint of a checkpoint's dictionary; None for fairseq's models."""
    stored = state["model"].get(key)
    if stored is None:
        return None
    try:
        return int(stored_version(key, stored, torch.tensor(fingerprint(new))))
    except UserError as error:
        raise UserError(f"--finetune-from-model {path}: {error}") from None


def _name(state: Dict[str, Any], side: str, task: Any, is_recognized: bool) -> str:
    """The name of the dictionary's file, or a pattern.

    Args:
        is_recognized: whether the checkpoint has a checksum. Then any name will do where the
            languages were not stored, because fairseq had inferred them.
    """
    options = task_options(state)
    language = options.get(f"{side}_lang")
    if language is None and f"{side}_lang" in options:
        language = "*" if is_recognized else getattr(task.cfg, f"{side}_lang", None)
    return f"dict.{language}.txt" if language else "dict.txt"
