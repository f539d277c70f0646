"""What the report of a recipe has stored: comparisons, claims, tables and speeds."""

import json
import math
import re
from functools import cached_property
from pathlib import Path
from statistics import mean, stdev

from tests.docs.figures.statement import NUMBER, ROOT, by_round, rows

KINDS = {"BLEU": "BLEU", "valid": "% validation perplexity", "test": "% test perplexity"}
STUDENT = {3: 4.302653, 6: 2.570582}  # of 95%, by the number of seeds
Change = tuple[float, float, float]  # with the ends of its interval


def opposite(found: Change) -> Change:
    """A difference the other way round."""
    value, low, high = found
    return -value, -high, -low


def lines(folder: str) -> list[dict]:
    """All lines of the ledger in a folder of results/."""
    text = (ROOT / "results" / folder / "ledger.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


class Results:
    """Files of one recipe in results/."""

    def __init__(self, folder: str, *tables: str):
        self.folder: Path = ROOT / "results" / folder
        self.compared = {
            (*row["arms"], row["measure"]): row for row in self.json("summary")["rows"]
        }
        self.parts = {
            part["inequality"]: part["numbers"]
            for claim in self.json("claims")["claims"]
            for part in claim["parts"]
        }
        self.rows = [row for name in tables for row in self.json(name)["rows"]]
        # Of an arm with several settings the last row counts; others are named with their key.
        self.table = {row["arm"].split(" [")[0]: row for row in self.rows}
        self.table |= {row["arm"]: row for row in self.rows}
        self.speeds = rows(f"{folder}/speed.json", "arm") if self._has_speeds() else {}

    def _has_speeds(self) -> bool:
        return (self.folder / "speed.json").exists()

    def json(self, name: str) -> dict:
        return json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))

    def change(self, one: str, other: str, kind: str = "BLEU") -> Change:
        """From the other arm to the first, in BLEU or percent, as the report prints it."""
        row = self.compared[one, other, KINDS[kind]]
        value, low, high, _ = row["found"]
        found = value, low, high
        return opposite(found) if row["falls"] else found

    def less(self, one: str, other: str, kind: str = "BLEU") -> Change:
        """The opposite of the change."""
        return opposite(self.change(one, other, kind))

    def values(self, one: str, other: str, kind: str = "BLEU") -> tuple[float, float]:
        """The BLEU or perplexity of both, over the seeds that both have."""
        return tuple(self.compared[one, other, KINDS[kind]]["values"])

    def claimed(self, inequality: str) -> Change:
        """The first three numbers of an inequality of the claims."""
        found = re.findall(NUMBER, self.parts[inequality])
        value, low, high = map(float, found[:3])
        return value, low, high

    def cell(self, arm: str, heading: str) -> float:
        """A figure of the report's table: the mean over seeds."""
        return float(self.table[arm]["table"][heading].split(" ±")[0].replace(",", ""))

    def seed(self, arm: str, number: int, figure: str) -> float:
        """A figure of one seed."""
        return self.table[arm]["seeds"][str(number)][figure]

    @cached_property
    def ledger(self) -> list[dict]:
        """All lines of the ledger."""
        return lines(self.folder.name)

    def runs(self, arm: str, number: int, key: str) -> list[dict]:
        """Figures of every run of one seed and setting, in the order of the ledger."""
        return [
            line["figures"]
            for line in self.ledger
            if (line["arm"], line["seed"], line["key"]) == (arm, number, key)
        ]

    def tuned(self, arm: str) -> float:
        """Validation perplexity of the only tuning run of this name."""
        (found,) = [
            line["figures"]["best_valid_ppl"]
            for line in self.ledger
            if line["arm"] == arm and line.get("kind") == "tuning"
        ]
        return found

    def seeds_mean(self, arm: str, figure: str) -> float:
        """A figure, as a mean over seeds that is not rounded."""
        return mean(seed[figure] for seed in self.table[arm]["seeds"].values())

    def above(self, one: str, other: str, figure: str = "best_valid_ppl") -> Change:
        """Percent of a figure from the other arm to the first, with an interval of 95% over seeds.

        Student's t of the logarithms of the ratios by seed, as the pages of the results say.
        """
        by_seed = [self.table[arm]["seeds"] for arm in (one, other)]
        seeds = sorted(by_seed[0].keys() & by_seed[1].keys())
        ratios = [math.log(by_seed[0][n][figure] / by_seed[1][n][figure]) for n in seeds]
        middle = mean(ratios)
        width = STUDENT[len(seeds)] * stdev(ratios) / math.sqrt(len(seeds))
        value, low, high = (100 * (math.exp(middle + x * width) - 1) for x in (0, -1, 1))
        return value, low, high

    def fewer_parameters(self, arm: str, other: str) -> float:
        """Percent of the other arm's parameters that this one does without."""
        return 100 * (1 - self.cell(arm, "parameters") / self.cell(other, "parameters"))

    def times(self, arm: str, of: str) -> Change:
        """How many times the speed of another arm, by rounds: median, smallest, largest."""
        return by_round(self.speeds[arm]["rounds"], self.speeds[of]["rounds"])
