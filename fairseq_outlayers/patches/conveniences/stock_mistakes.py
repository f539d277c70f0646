"""Mistakes of the user's that fairseq finds and tells under a traceback: one line with the remedy.

What fairseq says is in its ``trainer.py``, ``checkpoint_utils.py``, ``data/data_utils.py``,
``tasks/`` and commands. Only :mod:`~fairseq_outlayers.patches.conveniences.clear_errors` uses this
file; nothing here is replaced. An error that is not on the list keeps its traceback, and so does a
file that is missing although nobody named it.
"""

import os
import re
import sys
from typing import Dict, Optional, Sequence

# What fairseq (or PyTorch, or Python) says, and what to say instead; {1} is the first group.
SAID: Dict[str, str] = {
    r"Must specify batch size": ("the batches have no size: give --max-tokens or --batch-size"),
    r"Sentences lengths should not exceed max_tokens=(\d+)": (
        "--max-tokens {1}: there are longer sentences: raise it, or leave them out of the data"
    ),
    r"Size of sample #\d+ is invalid \(=(.*)\) since max_positions=(.*), skip": (
        "a sentence is longer than the model allows ({1} tokens, at most {2}): raise "
        "--max-source-positions and --max-target-positions, or leave such sentences out by "
        "--skip-invalid-size-inputs-valid-test"
    ),
    r"Could not infer language pair": (
        "the data folder has no train.XX-YY.* of two languages: check its path, or name them by "
        "--source-lang and --target-lang; a language model needs its --task"
    ),
    r"Dataset not found: (\S+) \((.*)\)": (
        "{2}: no binarized text called {1}: check the folder, and the name (--train-subset, "
        "--valid-subset, --gen-subset)"
    ),
    r"--path required for generation": "no checkpoint: give its path as --path",
    r"Model file not found: (.*)": "{1}: no such checkpoint: check the path",
    r"Cannot load model parameters from checkpoint (.*); please": (
        "{1} holds another model than the options describe: train on with the options it was "
        "trained with, or choose another --save-dir (or --restore-file)"
    ),
    r"--replace-unk requires a raw text dataset": (
        "--replace-unk cannot work in this version of fairseq: use --task translation_outlayers "
        "--unk-replacement copy, or dictionary with --unk-dictionary"
    ),
    r"Torch not compiled with CUDA enabled|Found no NVIDIA driver": (
        "this PyTorch finds no GPU, and --fp16 needs one: leave it out"
    ),
}

MISSING = r"No such file or directory: '(.*)'"
NO_DICTIONARY = (
    "{}: no such file: check the data folder, which fairseq-preprocess makes, and whether it fits "
    "--task (dict.txt for language models, dict.LANGUAGE.txt for translation)"
)


def told_plainly(error: BaseException, command: Sequence[str] = ()) -> Optional[str]:
    """One line for a mistake on the list, with its remedy; None for any other error.

    Args:
        command: what was given on the command line; if nothing, what this program was started with.
    """
    missing = re.search(MISSING, str(error))
    if missing is not None:
        return _missing(missing[1], command or sys.argv[1:])
    for said, instead in SAID.items():
        found = re.search(said, str(error))
        if found is not None:
            line = instead.format(found[0], *found.groups())
            return line + _differences(error.__context__)
    return None


def _missing(path: str, command: Sequence[str]) -> Optional[str]:
    """One line if the user has named the path, its folder or its beginning; else None."""
    place = os.path.abspath(path)
    words = (word.partition("=")[2] if word.startswith("-") else word for word in command)
    for given in filter(None, os.pathsep.join(words).split(os.pathsep)):
        named = os.path.abspath(given)
        inside = place.startswith(named + os.sep)
        if inside and re.fullmatch(r"dict\.(.*\.)?txt", os.path.basename(path)):
            return NO_DICTIONARY.format(path)
        # What is missing from a folder that is there may be a mistake of the program.
        within = inside and not os.path.exists(named)
        if place == named or place.startswith(named + ".") or within:
            return f"{path}: no such file or folder: check the path"
    return None


def _differences(cause: Optional[BaseException]) -> str:
    """What PyTorch says first about parameters that a checkpoint and a model do not share."""
    lines = str(cause).split("\n") if isinstance(cause, RuntimeError) else []
    if len(lines) < 2 or not lines[0].startswith("Error(s) in loading state_dict"):
        return ""
    return f". The first difference: {lines[1].strip()[:200]}"
