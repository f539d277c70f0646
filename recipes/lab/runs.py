"""Access to a ledger by arm: runs, figures, files, and scores with intervals."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from recipes.lab.ledger import of_arms
from recipes.lab.scores import kept_translations, schedules, sentence_scores
from recipes.lab.scores.resampling import (
    Estimate,
    Metric,
    bleu,
    estimate,
    over_seeds,
    over_unpaired_seeds,
)
from recipes.lab.scores.sentence_scores import PERPLEXITY

# Factors of the BLEU of arms in a sum.
Weights = Mapping[str, float]
VALIDATION = "best_valid_ppl"
# The score of an arm on the whole test set, then on each resample; default metric: BLEU.
Score = Callable[..., np.ndarray]


class Runs:
    """The runs of each arm.

    Args:
        entries: lines of a ledger; tuning runs are ignored. Only the newest setting of an arm is
            used, and the newest line of a seed.
        form: "plain": BLEU of plain text; "tokenised": BLEU of tokens; None: of plain text if
            available.
        schedule: options that must be equal for arms to be compared.
    """

    def __init__(
        self,
        entries: Sequence[dict],
        form: str | None = "plain",
        schedule: Sequence[str] = schedules.OPTIONS,
    ):
        entries = of_arms(entries)
        newest = {entry["arm"]: entry["key"] for entry in entries}
        labelled = [(e["arm"], e) for e in entries if e["key"] == newest[e["arm"]]]
        self._read(labelled, form)
        self._all, self._options = entries, schedule

    @classmethod
    def by_setting(
        cls, entries: Sequence[dict], order: Sequence[str] = (), form: str | None = None
    ) -> "Runs":
        """Every setting of an arm separately, as ``NAME [KEY]`` if there are several.

        Args:
            order: names of arms in order; others follow.
            form: of BLEU, see `Runs`.
        """
        settings = dict.fromkeys((entry["arm"], entry["key"]) for entry in entries)
        names = [name for name, _ in settings]
        rank = {name: number for number, name in enumerate(order)}
        ordered = sorted(settings, key=lambda setting: rank.get(setting[0], len(rank)))
        labelled = [
            (f"{name} [{key[:6]}]" if names.count(name) > 1 else name, entry)
            for name, key in ordered
            for entry in entries
            if (entry["arm"], entry["key"]) == (name, key)
        ]
        runs = cls([])
        runs._read(labelled, form)
        return runs

    def _read(self, labelled: Sequence[tuple[str, dict]], form: str | None) -> None:
        self._entries: dict[str, dict[int, dict]] = {}
        for label, entry in labelled:
            self._entries.setdefault(label, {})[entry["seed"]] = entry
        self.form = form
        self._all: list[dict] = [entry for _, entry in labelled]
        self._options: Sequence[str] = schedules.OPTIONS
        self._views: dict[schedules.Schedule, Runs] = {}
        self._scores: dict[tuple[str, int, str], np.ndarray] = {}

    def schedule(self, arm: str) -> schedules.Schedule:
        """The schedule of an arm, which determines the arms that it can be compared with."""
        return self._schedule_of(self.entry(arm))

    def _schedule_of(self, entry: dict) -> schedules.Schedule:
        """Of a line; references that are not the newest of its direction are part of it.

        So two directions are alike, which a claim may compare by their gains, but not two test sets
        of one direction. Lines without references are alike with the newest.
        """
        references = schedules.references(entry)
        is_newest = references in ("", self._newest_references[schedules.direction(entry)])
        return *schedules.of(entry, self._options), "" if is_newest else references

    @cached_property
    def _newest_references(self) -> dict[schedules.Schedule, str]:
        """The newest references of each direction."""
        newest: dict[schedules.Schedule, str] = {}
        for entry in self._all:
            direction = schedules.direction(entry)
            newest[direction] = schedules.references(entry) or newest.get(direction, "")
        return newest

    def older(self, arms: Sequence[str]) -> str:
        """``; older runs (DIFFERENCE)`` if arms compare by a replaced schedule; else empty.

        A schedule is replaced if an arm that has it has newer runs with another.
        """
        view = self.alike(arms)
        if view is None:
            return ""
        schedule = self._schedule_of(view.entry(arms[0]))
        by_arm: dict[str, list[dict]] = {}
        for entry in self._all:
            by_arm.setdefault(entry["arm"], []).append(entry)
        for entries in by_arm.values():
            *before, newest = map(self._schedule_of, entries)
            if schedule in before and newest != schedule:
                words = schedules.unlike(view.entry(arms[0]), entries[-1])
                return f"; older runs ({words})"
        return ""

    def form_of(self, arm: str, seed: int | None = None) -> str:
        """The text of which the BLEU of a run is compared: "plain" or "tokenised"."""
        return self.form or ("plain" if "bleu" in self.entry(arm, seed)["figures"] else "tokenised")

    def alike(self, arms: Sequence[str], least: int | None = None) -> "Runs | None":
        """The runs of the newest schedule that all arms share; None if there is none.

        Args:
            least: number of arms that suffices; default: all.
        """
        wanted = len(set(arms)) if least is None else least
        here = [arm for arm in dict.fromkeys(arms) if arm in self]
        if len(here) >= wanted and len({self.schedule(arm) for arm in here}) <= 1:
            return self
        by_schedule: dict[schedules.Schedule, list[dict]] = {}
        for entry in self._all:
            # Newest last.
            own = by_schedule.pop(schedule := self._schedule_of(entry), [])
            by_schedule[schedule] = [*own, entry]
        for schedule, entries in reversed(by_schedule.items()):
            if len({entry["arm"] for entry in entries}.intersection(arms)) >= wanted:
                if schedule not in self._views:
                    self._views[schedule] = Runs(entries, self.form, self._options)
                return self._views[schedule]
        return None

    def mostly_alike(self, arms: Sequence[str]) -> "Runs":
        """The runs of the newest schedule that two of the arms share; all runs if there is none."""
        return self.alike(arms, least=2) or self

    @property
    def arms(self) -> list[str]:
        """Arms with at least one run, in the order of their first run."""
        return list(self._entries)

    def __contains__(self, arm: str) -> bool:
        return arm in self._entries

    def seeds(self, arms: Sequence[str]) -> list[int]:
        """Seeds that all the arms were run with."""
        return sorted(set.intersection(*(set(self._entries.get(arm, {})) for arm in arms)))

    def with_seeds_of(self, arms: Sequence[str]) -> "Runs":
        """The runs of the seeds that all the arms have, of those arms that were run."""
        here = [arm for arm in arms if arm in self]
        seeds = set(self.seeds(here)) if here else set()
        lines = [entry for arm in self.arms for entry in self.entries(arm)]
        return Runs([e for e in lines if e["seed"] in seeds], self.form, self._options)

    def entry(self, arm: str, seed: int | None = None) -> dict:
        """The line of one run; default: the first seed."""
        return self._entries[arm][min(self._entries[arm]) if seed is None else seed]

    def entries(self, arm: str) -> list[dict]:
        """The lines of all seeds."""
        return [self._entries[arm][seed] for seed in self.seeds([arm])]

    def file(self, arm: str, name: str, seed: int | None = None) -> Path | None:
        """A file of the run with a seed, or of the first run where it is available.

        Args:
            name: relative to the run folder.
        """
        return next(iter(self.files(arm, name, seed)), None)

    def files(self, arm: str, name: str, seed: int | None = None) -> list[Path]:
        """A file of every seed's run, if available."""
        seeds = [s for s in self.seeds([arm]) if seed in (None, s)]
        found = (kept_translations.find(self.entry(arm, s), name) for s in seeds)
        return [path for path in found if path]

    def translations(
        self, arm: str, form: str, seed: int | None = None
    ) -> tuple[list[str], list[str]] | None:
        """Hypotheses and references of a seed (default: the first); None if not available."""
        if arm not in self:
            return None
        return kept_translations.translations(self.entry(arm, seed), form)

    def by_seed(self, arm: str, name: str) -> dict[int, float]:
        """A figure by seed."""
        found = {s: e["figures"].get(name) for s, e in self._entries.get(arm, {}).items()}
        return {seed: value for seed, value in found.items() if value is not None}

    def paired(self, arms: Sequence[str], name: str) -> list[list[float]]:
        """A figure of each arm, for the seeds that all arms have, in the same order.

        Empty if their schedules differ.
        """
        view = self.alike(arms)
        found = [view.by_seed(arm, name) if view else {} for arm in arms]
        seeds = sorted(set.intersection(*map(set, found)))
        return [[values[seed] for seed in seeds] for values in found]

    def validation_perplexities(self, arms: Sequence[str]) -> list[np.ndarray]:
        """Validation perplexity of each arm by seed, ``(seeds, 1)`` each.

        Empty if they do not compare: without a common seed, or if schedules or target words differ
        (lines without a fingerprint of these are taken to be alike), or if fairseq without this
        package has validated some of them: it leaves out the longest sentences.
        """
        found, view = self.paired(arms, VALIDATION), self.alike(arms)
        if view is None or not all(found):
            return []
        entries = [entry for arm in arms for entry in view.entries(arm)]
        words = {entry.get("target_words") for entry in entries} - {None}
        stock = {bool(entry.get("setting", {}).get("stock")) for entry in entries}
        if len(words) > 1 or len(stock) > 1:
            return []
        return [np.array(values)[:, None] for values in found]

    def values(self, arm: str, name: str) -> list[float]:
        """The values of a figure for all seeds."""
        return list(self.by_seed(arm, name).values())

    def figure(self, arm: str, name: str) -> float | None:
        """The mean of a figure over seeds, or None."""
        known = self.values(arm, name)
        return sum(known) / len(known) if known else None

    def bleu_values(self, arm: str) -> list[float]:
        """BLEU on the whole test set, for every seed."""
        plain = self.values(arm, "bleu") if self.form != "tokenised" else []
        return plain or (self.values(arm, "bleu_tokenised") if self.form != "plain" else [])

    def bleu(self, arm: str) -> float | None:
        """Mean BLEU over seeds."""
        known = self.bleu_values(arm)
        return sum(known) / len(known) if known else None

    def difference(self, weights: Weights) -> Estimate | None:
        """The weighted sum of the arms' BLEU; see `estimate`."""
        return self.estimate(
            list(weights), lambda score: sum(w * score(arm) for arm, w in weights.items())
        )

    def unpaired_difference(self, weights: Weights) -> Estimate | None:
        """`difference`, if the seeds of one arm have nothing to do with those of another."""
        view = self.alike(list(weights))
        if view is not self:
            return view.unpaired_difference(weights) if view else None
        here = self._with_scores(list(weights))
        if not here:
            return None
        terms = [weight * self._by_seed(arm, here) for arm, weight in weights.items()]
        return estimate(over_unpaired_seeds(terms), len(here))

    def estimate(
        self, arms: Sequence[str], statistic: Callable[[Score], np.ndarray]
    ) -> Estimate | None:
        """A figure computed from arms' scores, with its interval over sentences and seeds.

        Args:
            statistic: gets ``score(arm, metric=None)``, the mean over seeds.
        Returns:
            None if no seed has all translations on this machine, or schedules differ.
        """
        view = self.alike(arms)
        if view is not self:
            return view.estimate(arms, statistic) if view else None
        here = self._with_scores(arms)
        if not here:
            return None

        def score(arm: str, metric: Metric | None = None) -> np.ndarray:
            return over_seeds(self._by_seed(arm, here, metric))

        return estimate(statistic(score), len(here))

    def _with_scores(self, arms: Sequence[str]) -> list[int]:
        """The seeds of which all the arms' translations are on this machine."""
        return [
            seed
            for seed in self.seeds(arms)
            if all(self._resampled(arm, seed) is not None for arm in arms)
        ]

    def _by_seed(self, arm: str, seeds: Sequence[int], metric: Metric | None = None) -> np.ndarray:
        """Scores of the whole test set, then of its resamples, ``(seeds, 1 + RESAMPLES)``."""
        return np.stack([self._resampled(arm, seed, metric) for seed in seeds])

    def perplexities_by_seed(self, arms: Sequence[str]) -> list[np.ndarray]:
        """Test perplexity of each arm by seed: on the whole text, then on every resample of it.

        Returns:
            ``(seeds, 1 + RESAMPLES)`` each, of the seeds that all arms have; ``(seeds, 1)`` unless
            all runs have stored their scores. Empty without a common seed, or if schedules differ.
        """
        view = self.alike(arms)
        if view is not self:
            return view.perplexities_by_seed(arms) if view else []
        seeds = [s for s in self.seeds(arms) if all(s in self.by_seed(a, "test_ppl") for a in arms)]
        if not seeds:
            return []
        scores = [[self._resampled(arm, seed, PERPLEXITY) for seed in seeds] for arm in arms]
        if all(score is not None for of_arm in scores for score in of_arm):
            return [np.stack(of_arm) for of_arm in scores]
        return list(np.array(self.paired(arms, "test_ppl"))[..., None])

    def _resampled(self, arm: str, seed: int, metric: Metric | None = None) -> np.ndarray | None:
        """Scores of the whole test set, then of its resamples; None without translations."""
        entry = self.entry(arm, seed)
        if metric is None:
            lowercase = "case:lc" in entry["figures"].get("bleu_signature", "")
            metric = bleu(self.form_of(arm, seed) == "tokenised", lowercase)
        known = arm, seed, metric.name
        if known not in self._scores:
            rows = _statistics(entry, metric)
            self._scores[known] = None if rows is None else metric.of_rows(rows)
        return self._scores[known]


def _statistics(entry: dict, metric: Metric) -> np.ndarray | None:
    """Statistics of the sentences of a run, ``(sentences, n)``; None if they are not available."""
    if metric.form == PERPLEXITY.form:
        return sentence_scores.find(entry)
    texts = kept_translations.translations(entry, metric.form)
    return None if texts is None else metric.statistics(*texts)
