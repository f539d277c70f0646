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
    lines: dict[tuple[str, str], list[int]] = {}
    seeds: dict[tuple[str, str], set[int]] = {}
    for place, entry in enumerate(entries):
        if kind_of(entry) == ARM:
            lines.setdefault((setting := (entry["arm"], entry["key"])), []).append(place)
            seeds.setdefault(setting, set()).add(entry["seed"])
    counts = {setting: min(len(found), SEEDS_NEEDED) for setting, found in seeds.items()}
    counted: dict[str, str] = {}
    begun: set[tuple[str, str]] = set()
    for arm, key in lines:  # in the order of their first lines
        if counts[arm, key] >= counts.get((arm, counted.get(arm, "")), 0):
            counted[arm] = key
        else:
            begun.add((arm, key))
    # A repeat that another setting has replaced is none that others wait for.
    open_repeats = [s for s in begun if lines[s][0] > lines[s[0], counted[s[0]]][0]]
    since = min((lines[arm, counted[arm]][-1] for arm, _ in open_repeats), default=len(entries))
    first: dict[str, str] = {}
    for arm, key in lines:
        if first.setdefault(arm, key) != key and lines[arm, key][0] > since:
            begun.add((arm, key))
    return begun


def _is_of(entry: dict, settings: set[tuple[str, str]]) -> bool:
    """Whether a line is of one of these settings, or a decoding of a model that is."""
    models = entry["setting"].get("of", {}) if "setting" in entry else {}
    return not settings.isdisjoint([(entry["arm"], entry["key"]), *models.items()])
