"""More of the table of bad inputs: files of the right structure with contents that cannot be."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

from tests.faults import world
from tests.faults.bad_inputs import Case, arrays_of, facts_of, holds, nothing, saved, typed

READERS = {
    "generate": world.GENERATE,
    "validate": f"{world.VALIDATE} --task translation",
    "resume": f"{world.TRAIN} --restore-file model.pt --max-update 4",
}
LARGEST = np.iinfo(np.int64).max


def edited(edit: Callable[[dict], object]) -> Callable[[Path], None]:
    """A checkpoint that was changed in place."""

    def make(state: dict) -> dict:
        edit(state)
        return state

    return saved("model.pt", make)


def with_weight(value: float) -> Callable[[dict], None]:
    def edit(state: dict) -> None:
        state["model"]["decoder.output_projection.weight"].view(-1)[3] = value

    return edit


def checkpoints() -> Iterator[Case]:
    history, batches = (
        lambda state: state["optimizer_history"][-1],
        lambda state: state["extra_state"]["train_iterator"],
    )
    everywhere: dict[str, Callable[[dict], object]] = {
        "options that are a text": lambda state: state.update(cfg="text"),
        "no options of the task": lambda state: state["cfg"].pop("task"),
        "no options of the model": lambda state: state["cfg"].pop("model"),
        "an optimizer that is a text": lambda state: state.update(last_optimizer_state="text"),
        "an epoch that is a text": lambda state: batches(state).update(epoch="x"),
        "a negative number of batches": lambda state: batches(state).update(iterations_in_epoch=-1),
        "nan updates": lambda state: history(state).update(num_updates=float("nan")),
        "updates that are a text": lambda state: history(state).update(num_updates="x"),
    }
    for name, edit in everywhere.items():
        for reader, line in READERS.items():
            yield Case(f"checkpoint with {name}, {reader}", edited(edit), line)
    for reader in ("generate", "validate"):
        for name, edit in {
            "an unknown model": lambda state: state["cfg"]["model"].update(_name="no_such"),
            "a size that is a text": lambda state: state["cfg"]["model"].update(embed_dim="many"),
            "weights that are no numbers": with_weight(float("nan")),
            "an infinite weight": with_weight(float("-inf")),
            "two fingerprints of a dictionary": lambda state: state["model"].update(
                {"decoder.target_dictionary_version": torch.tensor([1, 2])}
            ),
        }.items():
            yield Case(f"checkpoint with {name}, {reader}", edited(edit), READERS[reader])
    yield Case(
        "checkpoint with an unknown task, validate",
        edited(lambda state: state["cfg"]["task"].update(_name="no_such")),
        READERS["validate"],
    )
    for name, edit in {
        "another shape": lambda state: state["last_optimizer_state"]["state"][0].update(
            exp_avg=torch.ones(3)
        ),
        "no parameters": lambda state: state["last_optimizer_state"].pop("param_groups"),
        "fewer parameters": lambda state: state["last_optimizer_state"]["param_groups"][0].update(
            params=[0]
        ),
    }.items():
        yield Case(
            f"checkpoint with an optimizer of {name}, resume", edited(edit), READERS["resume"]
        )


def tables() -> Iterator[Case]:
    table = world.TRAIN.replace("train bin", "train ext") + (
        " --source-embedding mix_sum --external-embeddings table.npy"
    )
    for value in (10**18, 10**30):
        change = facts_of("table.npy.json", block_bytes=value)
        yield Case(f"sidecar's block_bytes is {value}", change, table)
        change = facts_of("table.npy.json", blocks={str(value): 1})
        yield Case(f"sidecar's block at {value}", change, table)
    for dtype in (">f4", "longdouble"):
        yield Case(f"table of {dtype}", typed(dtype), table)
    candidates = f"{world.GENERATE} {world.CANDIDATES}"
    wrapped = arrays_of(
        "candidates.npz",
        offsets=lambda offsets: np.array([0, LARGEST, -2, *offsets[3:]]),
        per_word=lambda number: LARGEST,
    )
    yield Case("candidates with offsets that wrap around", wrapped, candidates)
    line = "extract_embeddings --vectors {} --format {} --train train.xx --output new"
    for name, kind in {"words.vec": "vec", "words.bin": "word2vec", "words.glove": "glove"}.items():
        yield Case(
            f"{name} of a number of 5,000 digits",
            holds(name, b"9" * 5000 + b" 3\n"),
            line.format(name, kind),
        )


def corpora() -> Iterator[Case]:
    """Good files that do not suit the command."""
    yield Case(
        "resumed on less than was trained on",
        nothing,
        f"{READERS['resume']} --train-subset valid --max-update 9",
    )
    short = "--skip-invalid-size-inputs-valid-test --max-source-positions 1"
    yield Case("generate, no sentence left", nothing, f"{world.GENERATE} {short}")
    yield Case("validate, no sentence left", nothing, f"{READERS['validate']} {short}")
    for task in ("", world.OURS):
        yield Case(
            f"generate, constraints {task}", nothing, f"{world.GENERATE} {task} --constraints"
        )
    for folder in ("/proc/outlayers", "/sys/outlayers"):
        yield Case(
            f"train, --save-dir {folder}, which nobody can write",
            nothing,
            world.TRAIN.replace("--save-dir save", f"--save-dir {folder}"),
        )


GROUPS = {
    "contents: checkpoints": checkpoints,
    "contents: tables": tables,
    "contents: corpora and folders": corpora,
}
