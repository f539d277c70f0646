"""What a ledger holds of each arm: its runs, their figures and files, and BLEU with an interval."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import comparison
import kept_translations
import scoring
import tuning
from resampling import Interval, drawn_seeds, interval, resampled_bleu

# Arms with the factors of their BLEU in a sum.
Weights = Mapping[str, float]


class Runs:
    """What the ledger holds of each arm, and its BLEU on resampled test sets.

    Args:
        entries: lines of a ledger. Of an arm with several settings the newest counts; runs among
            which a setting was chosen are left out.
        form: "plain" for text with its own words, "tokenised" for words as they stand.
    """

    def __init__(self, entries: Sequence[dict], form: str = "plain"):
        entries = tuning.without(entries)
        newest = {entry["arm"]: entry["key"] for entry in entries}
        self._entries: dict[str, dict[int, dict]] = {}
        for entry in entries:
            if entry["key"] == newest[entry["arm"]]:
                self._entries.setdefault(entry["arm"], {})[entry["seed"]] = entry
        self.form = form
        self._scores: dict[tuple[str, int], np.ndarray | None] = {}

    @property
    def arms(self) -> list[str]:
        """Those with at least one run, the first one run first."""
        return list(self._entries)

    def __contains__(self, arm: str) -> bool:
        return arm in self._entries

    def seeds(self, arms: Sequence[str]) -> list[int]:
        """Those that all the arms were run with."""
        return sorted(set.intersection(*(set(self._entries.get(arm, {})) for arm in arms)))

    def entry(self, arm: str, seed: int) -> dict:
        """The line of one run."""
        return self._entries[arm][seed]

    def file(self, arm: str, name: str) -> Path | None:
        """A file of the first run that has it kept or on this machine, or None.

        Args:
            name: as seen from the run folder.
        """
        return next(iter(self.files(arm, name)), None)

    def files(self, arm: str, name: str) -> list[Path]:
        """A file of every seed's run, those that are kept or on this machine."""
        found = (kept_translations.find(self.entry(arm, s), name) for s in self.seeds([arm]))
        return [path for path in found if path]

    def translations(self, arm: str, kind: str) -> tuple[list[str], list[str]] | None:
        """Hypotheses and references of the first seed, or None if they are not on this machine."""
        seeds = self.seeds([arm])
        return comparison.translations(self.entry(arm, seeds[0]), kind) if seeds else None

    def values(self, arm: str, name: str) -> list[float]:
        """A figure of every seed that has it."""
        found = (entry["figures"].get(name) for entry in self._entries.get(arm, {}).values())
        return [value for value in found if value is not None]

    def figure(self, arm: str, name: str) -> float | None:
        """The mean of a figure over seeds, or None if there is none."""
        known = self.values(arm, name)
        return sum(known) / len(known) if known else None

    def bleu(self, arm: str) -> float | None:
        """On the whole test set, the mean over seeds."""
        return self.figure(arm, "bleu" if self.form == "plain" else "bleu_tokenised")

    def difference(self, weights: Weights) -> tuple[Interval, int] | None:
        """The weighted sum of the arms' BLEU with its interval, and the number of seeds.

        None if there is no seed of which all translations are on this machine.
        """
        sums = []
        for seed in self.seeds(list(weights)):
            scores = {arm: self._scores_of(arm, seed) for arm in weights}
            if all(found is not None for found in scores.values()):
                sums.append(sum(weight * scores[arm] for arm, weight in weights.items()))
        if not sums:
            return None
        whole, resampled = np.stack(sums)[:, 0], np.stack(sums)[:, 1:]
        means = np.take_along_axis(resampled, drawn_seeds(len(sums)), axis=0).mean(axis=0)
        return interval(float(whole.mean()), means), len(sums)

    def _scores_of(self, arm: str, seed: int) -> np.ndarray | None:
        """BLEU of the whole test set, then of its resamples; None without translations."""
        if (arm, seed) not in self._scores:
            self._scores[arm, seed] = self._score(self.entry(arm, seed))
        return self._scores[arm, seed]

    def _score(self, entry: dict) -> np.ndarray | None:
        found = comparison.translations(entry, self.form)
        if found is None:
            return None
        hypotheses, references = found
        lowercase = "case:lc" in entry["figures"].get("bleu_signature", "")
        metric = scoring.bleu_metric(self.form == "tokenised", lowercase)
        whole = metric.corpus_score(hypotheses, [references]).score
        return np.array([whole, *resampled_bleu(hypotheses, references, metric)])
