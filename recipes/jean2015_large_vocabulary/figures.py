"""The curves: BLEU by K for each size of partitions, and by K' with and without UNK replacement."""

from recipes.jean2015_large_vocabulary.decodings import lists_of
from recipes.lab.figures import Chart, Panel, Series
from recipes.lab.runs import Runs

Y = "BLEU, test set"


def charts(runs: Runs, default: str) -> dict[str, Chart]:
    """By the name of their file.

    Args:
        default: K and K' that the curves have in common.
    """
    frequent, per_word = (int(part.lstrip("kp")) for part in default.split("."))
    return {
        "bleu_by_k.png": by_frequent(runs, per_word),
        "bleu_by_k_prime.png": by_per_word(runs, frequent),
    }


def by_frequent(runs: Runs, per_word: int) -> Chart:
    """A curve for each model that was decoded with several K; a line for LV over all words."""
    series = []
    for model in sorted({arm.split(".")[0] for arm in runs.arms}):
        lists = [one for one in lists_of(runs, model) if one.per_word == per_word]
        if len(lists) > 1:
            scores = [runs.bleu(str(one)) for one in lists]
            series.append(Series(model, [one.frequent for one in lists], scores))
    whole = runs.bleu("lv")
    if series and whole is not None:
        series.append(Series("lv, all words", (), [whole], style="level"))
    return [Panel(f"K, most frequent words (K' = {per_word})", Y, series, x_scale="log")]


def by_per_word(runs: Runs, frequent: int) -> Chart:
    """One curve of LV, and single points for decodings with UNK replacement."""
    lists = [one for one in lists_of(runs, "lv") if one.frequent == frequent]
    series = []
    if len(lists) > 1:
        numbers = [one.per_word for one in lists]
        series.append(Series("lv", numbers, [runs.bleu(str(one)) for one in lists]))
        replaced = {n: runs.bleu(f"lv.k{frequent}.kp{n}.unk2") for n in numbers}
        known = {n: score for n, score in replaced.items() if score is not None}
        label = "lv, unknown words replaced"
        series.append(Series(label, list(known), list(known.values()), style="points"))
    return [Panel(f"K', translations of each source word (K = {frequent:,})", Y, series)]
