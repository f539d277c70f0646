"""The curves: BLEU by K for each size of partitions, and by K' with and without UNK replacement."""

import logging
from pathlib import Path
from typing import Any

from jean2015_large_vocabulary.decodings import lists_of
from recorded_runs import Runs

SIZE = (6, 3.6)  # inches


def draw(runs: Runs, folder: Path, default: str) -> list[Path]:
    """Write bleu_by_k.png and bleu_by_k_prime.png, each if there is something to show.

    Args:
        default: K and K' that the curves have in common.
    Raises:
        ImportError: without matplotlib, which the extra ``report`` installs.
    """
    logging.getLogger("matplotlib").setLevel(logging.WARNING)  # fairseq makes every library talk
    import matplotlib

    matplotlib.use("Agg")  # no screen needed
    from matplotlib import pyplot

    frequent, per_word = (int(part.lstrip("kp")) for part in default.split("."))
    written = []
    for name, plot, crossing in (
        ("bleu_by_k.png", by_frequent, per_word),
        ("bleu_by_k_prime.png", by_per_word, frequent),
    ):
        figure, axes = pyplot.subplots(figsize=SIZE, layout="constrained")
        if plot(runs, axes, crossing):
            axes.set_ylabel("BLEU, test set")
            axes.legend(fontsize="small")
            axes.grid(alpha=0.3)
            figure.savefig(folder / name, dpi=120)
            written.append(folder / name)
        pyplot.close(figure)
    return written


def by_frequent(runs: Runs, axes: Any, per_word: int) -> bool:
    """A curve for each model that was decoded with several K; a line for LV over all words."""
    drawn = False
    for model in sorted({arm.split(".")[0] for arm in runs.arms}):
        found = {one.frequent: runs.bleu(str(one)) for one in lists_of(runs, model)
                 if one.per_word == per_word}  # fmt: skip
        if len(found) > 1:
            axes.plot(list(found), list(found.values()), "o-", label=model)
            drawn = True
    whole = runs.bleu("lv")
    if drawn and whole is not None:
        axes.axhline(whole, color="black", linestyle=":", label="lv, all words")
    axes.set_xscale("log")
    axes.set_xlabel(f"K, most frequent words (K' = {per_word})")
    return drawn


def by_per_word(runs: Runs, axes: Any, frequent: int) -> bool:
    """One curve of LV, and single points for decodings with UNK replacement."""
    curve = {one.per_word: runs.bleu(str(one)) for one in lists_of(runs, "lv")
             if one.frequent == frequent}  # fmt: skip
    if len(curve) < 2:
        return False
    axes.plot(list(curve), list(curve.values()), "o-", label="lv")
    replaced = {n: runs.bleu(f"lv.k{frequent}.kp{n}.unk2") for n in curve}
    points = [(n, score) for n, score in replaced.items() if score is not None]
    if points:
        axes.plot(*zip(*points, strict=True), "s", label="lv, unknown words replaced")
    axes.set_xlabel(f"K', translations of each source word (K = {frequent:,})")
    return True
