"""Decodings of a model: what their names say, and the choice of K and K' on the dev set.

Parts of a name: kN.kpN (K and K' of candidate lists), common (one list for a batch), unk0 to unk2
(UNK replacement, by the authors' numbers), seedsN (an ensemble of seeds 1 to N), nbest.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from recipes.lab.runs import Runs

LISTS = re.compile(r"(?P<model>.+)\.k(?P<frequent>\d+)\.kp(?P<per_word>\d+)")

PARTS = "kN.kpN, common, unk0, unk1, unk2, seedsN, nbest"
PART = re.compile(
    r"k(?P<frequent>\d.*)|kp(?P<per_word>\d.*)|unk(?P<unk>[012])|seeds(?P<seeds>[2-9])"
    r"|(?P<common>common)|(?P<nbest>nbest)"
)
HEURISTICS = ("copy", "dictionary", "lower_case")


@dataclass(frozen=True)
class Parts:
    """How a model is decoded.

    Attributes:
        frequent, per_word: K and K'; empty for all words.
        common: one list for a batch instead of one for each sentence.
        heuristic: that replaces unknown words; empty if they stay.
        seeds: number of seeds of an ensemble; 0 for none.
        nbest: whether all hypotheses of the beam are written.
    """

    frequent: str = ""
    per_word: str = ""
    common: bool = False
    heuristic: str = ""
    seeds: int = 0
    nbest: bool = False

    @property
    def complete(self) -> bool:
        """Whether candidate lists have both K and K'."""
        return bool(self.frequent) == bool(self.per_word) and bool(self.frequent or not self.common)

    @property
    def scope(self) -> str:
        """Value of --candidate-scope."""
        return "common" if self.common else "sentence"

    def words(self) -> str:
        """What they add to the description of the model."""
        words = f"; its seeds 1 to {self.seeds} together" if self.seeds else ""
        if self.heuristic:
            words += f"; unknown words replaced: {self.heuristic}"
        if self.frequent:
            words += f"; over {self.frequent} frequent words and {self.per_word} translations of "
            words += f"each, {self.scope} lists"
        return words

    def options(self, beam: str, source: str, files: Mapping[str, str]) -> str:
        """Options for fairseq-generate.

        Args:
            source: tokenized source text.
            files: ``lexicon`` and ``candidates``, if needed.
        """
        generate = ""
        if self.common:  # its list has K words in total, too few for a large batch
            generate += " --batch-size 4"
        if self.seeds:
            generate += " --ensemble-average log_probabilities"
        if self.nbest:
            generate += f" --nbest {beam}"
        if self.heuristic:
            generate += f" --unk-replacement {self.heuristic} --source-text {source}"
        if "lexicon" in files:
            generate += f" --unk-dictionary {files['lexicon']}"
        if self.frequent:
            generate += f" --candidates {files['candidates']} --candidate-frequent {self.frequent}"
            generate += f" --candidate-per-word {self.per_word} --candidate-scope {self.scope}"
        return generate


def parse(how: str) -> Parts:
    """Read PART.PART...

    Raises:
        ValueError: with the part that does not exist.
    """
    found: dict[str, str] = {}
    for part in how.split("."):
        match = PART.fullmatch(part)
        if not match:
            raise ValueError(part)
        found |= {name: value for name, value in match.groupdict().items() if value}
    return Parts(
        frequent=found.get("frequent", ""),
        per_word=found.get("per_word", ""),
        common="common" in found,
        heuristic=HEURISTICS[int(found["unk"])] if "unk" in found else "",
        seeds=int(found.get("seeds", 0)),
        nbest="nbest" in found,
    )


class Lists(NamedTuple):
    """A model decoded over the candidates of each sentence."""

    model: str
    frequent: int  # K
    per_word: int  # K'

    def __str__(self) -> str:
        return f"{self.model}.k{self.frequent}.kp{self.per_word}"


def lists_of(runs: "Runs", model: str) -> list[Lists]:
    """Plain decodings of a model in the ledger, ordered by K and K'."""
    matches = [match for arm in runs.arms if (match := LISTS.fullmatch(arm))]
    found = [Lists(m["model"], int(m["frequent"]), int(m["per_word"])) for m in matches]
    return sorted(lists for lists in found if lists.model == model)


def comparable(runs: "Runs") -> tuple["Runs", list[Lists]]:
    """The plain decodings of lv with the newest schedule, and the runs of seeds that all have."""
    names = [str(lists) for lists in lists_of(runs, "lv")]
    alike = runs.mostly_alike(names)
    return alike.with_seeds_of(names), lists_of(alike, "lv")


def choice(runs: "Runs", default: str) -> str:
    """K and K' with which lv has the highest BLEU on the dev set; the smaller ones if equal.

    Args:
        default: if there are none, e.g. ``k2000.kp10`` for K = 2,000 and K' = 10.
    """
    view, found = comparable(runs)
    scores = {
        lists: score
        for lists in found
        if (score := view.figure(str(lists), "valid_bleu_tokenised")) is not None
    }
    if not scores:
        return default
    best = max(scores, key=lambda lists: scores[lists])  # the first of equals
    return str(best).removeprefix("lv.")
