"""Claims 8 and 9: transform gates and principal components, from 50_word_vectors.sh."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from recipes.lab.claims import NOT_RUN, UNDECIDED, Claim, Part, smaller

# The configurations of the paper's figure and the original: the same ties in both models, and the
# side of the gates.
CONFIGURATIONS = (
    ("re_rw", "re_rw", "both"),
    ("E2", "EP2", "input"),
    ("E2", "EP2", "output"),
    ("original", "original", "input"),
)
# The side that is claimed to need fewer components in models that reuse nothing.
FEWER = {
    "word_original": "input",
    "morphsum_none": "input",
    "charcnn_none": "output",
    "sylconcat_none": "output",
}
COMPONENTS = "components for "  # prefix of the headings of counts
Rows = Sequence[Mapping]


def read(folder: Path, name: str) -> list[dict]:
    """The rows of all files of a command, for all data."""
    paths = sorted(folder.glob(f"{name}.*.json"))
    return [row for path in paths for row in json.loads(path.read_text(encoding="utf-8"))]


def data_sets(rows: Rows) -> list[str]:
    """The data sets of the rows; default for messages: the Treebank."""
    return sorted({row["model"].partition(".")[0] for row in rows}) or ["ptb"]


def values(rows: Rows, name: str, **wanted: str) -> dict[object, float]:
    """A figure of all rows with given properties, by seed; older rows, which lack it, by place."""
    chosen = [row for row in rows if all(row[key] == x for key, x in wanted.items())]
    return {row.get("seed", ("place", n)): row[name] for n, row in enumerate(chosen)}


def of_common_seeds(*sides: Mapping[object, float]) -> list[list[float]]:
    """The values of each side, for the seeds that all sides have, in the same order."""
    common = [seed for seed in sides[0] if all(seed in side for side in sides)]
    return [[side[seed] for seed in common] for side in sides]


def by_model(rows: Iterable[Mapping]) -> dict[str, list[Mapping]]:
    """The rows of each model, in the order of their first rows."""
    found: dict[str, list[Mapping]] = {}
    for row in rows:
        found.setdefault(row["model"], []).append(row)
    return found


def output_side(rows: Rows) -> str:
    """The side of a model's output vectors: after a projection they have no more components than
    the states."""
    before = "output before projection"
    return before if any(row["side"] == before for row in rows) else "output"


def gate_claim(rows: Rows) -> Claim:
    """The mean gate of MorphSum's first highway layer is less than half of SylConcat's."""
    parts = []
    for data in data_sets(rows):
        for morphsum, sylconcat, side in CONFIGURATIONS:
            models = f"{data}.morphsum_{morphsum}", f"{data}.sylconcat_{sylconcat}"
            first, second = of_common_seeds(
                *(values(rows, "mean", model=model, side=side, layer="hw1") for model in models)
            )
            words = f"{side}: {models[0]} < half of {models[1]}"
            parts.append(smaller(words, first, [value / 2 for value in second], ".4f"))
    return Claim(8, "Mean transform gate of hw1: MorphSum far below SylConcat.", parts)


def component_claim(rows: Rows) -> Claim:
    """The side that needs more principal components, in models that reuse nothing."""
    parts = [
        component_part(rows, f"{data}.{model}", fewer)
        for data in data_sets(rows)
        for model, fewer in FEWER.items()
    ]
    text = (
        "More principal components for a share of the variance at the output than at the input "
        "with Word and MorphSum, fewer with CharCNN and SylConcat."
    )
    return Claim(9, text, parts)


def component_part(rows: Rows, model: str, fewer: str) -> Part:
    """One model: that side must need fewer components for every share of the variance."""
    words = f"{model}: fewer components at the {fewer}"
    found = list(_by_share([row for row in rows if row["model"] == model], fewer))
    if not found:
        return Part(words, NOT_RUN)
    verdicts = {part.verdict for part in found}
    judged = verdicts.pop() if len(verdicts) == 1 else UNDECIDED
    return Part(words, judged, "; ".join(f"{part.inequality}: {part.numbers}" for part in found))


def _by_share(rows: Rows, fewer: str) -> Iterator[Part]:
    output = output_side(rows)
    small, large = ("input", output) if fewer == "input" else (output, "input")
    for heading in [name for name in (rows or [{}])[0] if name.startswith(COMPONENTS)]:
        counts = of_common_seeds(*(values(rows, heading, side=side) for side in (small, large)))
        yield smaller(heading.removeprefix(COMPONENTS), *counts, ".0f")
