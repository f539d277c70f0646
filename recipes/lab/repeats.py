"""Arms that are being repeated with a new setting, which does not count yet."""

from collections.abc import Sequence

from recipes.lab.ledger import ARM, kind_of
from recipes.lab.scores.resampling import SEEDS_NEEDED


def without_begun_repeats(entries: Sequence[dict]) -> list[dict]:
    """Lines of a ledger without arms that are being repeated with a new setting.

    Until the new setting has as many seeds as the last one, or those of a verdict, the last counts.
    Until then, so do the last settings of other arms whose repeats are newer than it: arms repeated
    together are compared together. Decodings of a model that does not count do not count, either.
    """
    begun = begun_repeats(entries)
    return [entry for entry in entries if kind_of(entry) != ARM or not _is_of(entry, begun)]


def begun_repeats(entries: Sequence[dict]) -> set[tuple[str, str]]:
    """Arms and keys of the settings that do not count yet (:func:`without_begun_repeats`)."""
    runs: dict[str, dict[str, list[tuple[int, int]]]] = {}  # places and seeds by arm and key
    for place, entry in enumerate(entries):
        if kind_of(entry) == ARM:
            of_arm = runs.setdefault(entry["arm"], {})
            of_arm.setdefault(entry["key"], []).append((place, entry["seed"]))
    begun, since = set(), len(entries)
    for arm, settings in runs.items():
        most, is_open = 0, False
        for key, lines in settings.items():  # in the order of their first lines
            number = min(len({seed for _, seed in lines}), SEEDS_NEEDED)
            if is_open := number < most:
                begun.add((arm, key))
            else:
                most, newest = number, lines[-1][0]  # this setting counts
        if is_open:  # not replaced by a later setting, so that others wait for it
            since = min(since, newest)
    for arm, settings in runs.items():
        _, *repeats = settings.items()
        begun |= {(arm, key) for key, lines in repeats if lines[0][0] > since}
    return begun


def _is_of(entry: dict, settings: set[tuple[str, str]]) -> bool:
    """Whether a line is of one of these settings, or a decoding of a model that is."""
    models = entry["setting"].get("of", {}) if "setting" in entry else {}
    return not settings.isdisjoint([(entry["arm"], entry["key"]), *models.items()])
