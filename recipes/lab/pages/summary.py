"""A short summary of a paper's results, stored with its ledger and shown in results/README.md.

Generated parts of a file are enclosed in two comments; other text is preserved.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from recipes.lab.claims import CLOSE, FAILS, HOLDS, MARGIN, SAME, UNDECIDED, judge
from recipes.lab.markdown import markdown_table
from recipes.lab.runs import Runs
from recipes.lab.scores import scoring
from recipes.lab.scores.resampling import Estimate, percent_saved, percent_saved_unpaired

FILE = "summary.json"
DIGITS = 9  # of figures there
WORDS = {HOLDS: "better", FAILS: "worse", SAME: "no difference", UNDECIDED: "undecided"}
PAIRED = " (paired)"
UNPAIRED = "unpaired seeds"
COLUMNS = ("paper", "method", "compared with", "difference [95%]", "seeds", "verdict")


@dataclass(frozen=True)
class Compared:
    """A method compared with its baseline.

    Attributes:
        measure: unit of the difference, such as "BLEU".
        found: the difference; larger is better.
        unpaired: the same with unpaired seeds, if known.
        falls: whether the figure falls where the method is better, as perplexity does; it is
            printed with that sign.
        arms: that are compared.
        is_main: whether it is in the table of main results; otherwise the first of the paper is.
        on_page: whether it is on the paper's page, as main results are; if none is, all are.
        values: what the method and the baseline reach, if known.
        judged: the verdict of `claims`, if it depends on more than this difference.
        more: further numbers of that verdict.
    """

    method: str
    against: str
    measure: str
    found: Estimate
    margin: float = MARGIN
    form: str = "+.2f"
    judged: str = ""
    more: str = ""
    values: tuple[float, float] | None = None
    falls: bool = False
    arms: tuple[str, ...] = ()
    is_main: bool = False
    on_page: bool = False
    unpaired: Estimate | None = None

    @classmethod
    def in_bleu(
        cls, runs: Runs, one: str, other: str, words: tuple[str, str], **more: str
    ) -> "Compared | None":
        """Two arms by BLEU; None without seeds of one schedule that both have.

        Args:
            words: what the arms are called.
            more: ``judged`` and ``more``.
        """
        found = runs.difference({one: 1, other: -1})
        if found is None:
            return None
        older = runs.older([one, other])
        if older not in more.get("more", ""):
            more["more"] = more.get("more", "") + older
        first = runs.estimate([one, other], lambda score: score(one))
        second = runs.estimate([one, other], lambda score: score(other))
        assert first
        assert second
        values = first.value, second.value
        unpaired = runs.unpaired_difference({one: 1, other: -1})
        return cls(
            *words, "BLEU", found, values=values, arms=(one, other), unpaired=unpaired, **more
        )

    @classmethod
    def in_validation_perplexity(
        cls, runs: Runs, one: str, other: str, words: tuple[str, str]
    ) -> "Compared | None":
        """Two arms by the change of the validation perplexity; the interval is over seeds.

        Args:
            words: what the arms are called.
        Returns:
            None if they do not compare (`Runs.validation_perplexities`).
        """
        by_seed = runs.validation_perplexities([one, other])
        if not by_seed:
            return None
        more = runs.older([one, other])
        return cls.in_percent(words, "validation perplexity", by_seed, (one, other), more)

    @classmethod
    def in_percent(
        cls,
        words: tuple[str, str],
        what: str,
        by_seed: Sequence[np.ndarray],
        arms: Sequence[str],
        more: str = "",
    ) -> "Compared":
        """Two arms by a figure that is better if smaller, in percent of the baseline's.

        Args:
            words: what the arms are called.
            what: the figure.
            by_seed: of both, arguments of `percent_saved`.
        """
        first, second = (float(of_arm[:, 0].mean()) for of_arm in by_seed)
        return cls(*words, f"% {what}", percent_saved(*by_seed), margin=100 * CLOSE, form="+.1f",
                   more=more, values=(first, second), falls=True, arms=tuple(arms),
                   unpaired=percent_saved_unpaired(*by_seed))  # fmt: skip

    @property
    def verdict(self) -> str:
        return WORDS[self.judged or judge(self.found, margin=self.margin)]

    @property
    def shown(self) -> str:
        """The verdict for readers: "better (paired)" if it is not decided without pairing seeds."""
        decided = self.verdict in (WORDS[HOLDS], WORDS[FAILS])
        if not decided or self.unpaired is None:
            return self.verdict
        # As printed: no verdict by less than a digit that readers see.
        low, high = (float(format(end, self.form)) for end in self.unpaired[1:3])
        printed = self.unpaired._replace(low=low, high=high)
        alike = WORDS[judge(printed, margin=self.margin)] == self.verdict
        return self.verdict + ("" if alike else PAIRED)

    @property
    def said(self) -> str:
        """`shown` within a sentence: "better, paired"."""
        return self.shown.replace(PAIRED, ", paired")

    @property
    def without_pairing(self) -> str:
        """The interval with unpaired seeds; "" where it is that of the sentences alone."""
        if self.unpaired is None or self.unpaired.seeds < 2:
            return ""
        found = self.unpaired.opposite if self.falls else self.unpaired
        interval = found.interval(self.form)
        return interval[interval.index("[") :]

    @property
    def change(self) -> str:
        """The difference with its interval, which figures without sentences lack for one seed."""
        found = self.found.opposite if self.falls else self.found
        value = f"{found.value:{self.form}}" if found.low == found.high else ""
        return (value or found.interval(self.form)) + ("%" if self.measure.startswith("%") else "")

    @property
    def numbers(self) -> str:
        """`change` and what it is a difference of."""
        return f"{self.change} {self.measure.removeprefix('% ')}{self.more}"

    def cells(self, paper: str) -> tuple[str, ...]:
        """One row of the table."""
        names = [self.method, self.against]
        if self.values:
            names = [f"{name}: {value:.1f}" for name, value in zip(names, self.values, strict=True)]
        return paper, *names, self.numbers, str(self.found.seeds), self.shown


def table_of(rows: Sequence[Compared], with_unpaired: bool = False) -> list[str]:
    """A Markdown table of one paper's comparisons.

    Args:
        with_unpaired: add a column of intervals with unpaired seeds.
    """
    cells = [row.cells("")[1:] for row in rows]
    if not with_unpaired or not any(row.without_pairing for row in rows):
        return markdown_table(COLUMNS[1:], cells)
    *first, seeds, verdict = COLUMNS[1:]
    rows_of = zip(rows, cells, strict=True)
    wider = [(*cell[:3], row.without_pairing, *cell[3:]) for row, cell in rows_of]
    return markdown_table((*first, UNPAIRED, seeds, verdict), wider)


def of_page(rows: Sequence[Compared]) -> Sequence[Compared]:
    """The comparisons for a paper's page."""
    return [row for row in rows if row.is_main or row.on_page] or rows


def most_certain(rows: Sequence[Compared]) -> Compared | None:
    """Of the methods that are better, the one whose interval ends farthest from no difference."""
    better = [row for row in rows if row.verdict == WORDS[HOLDS]]
    return max(better, key=lambda row: row.found.low, default=None)


def write(
    folder: Path,
    paper: str,
    rows: Sequence[Compared],
    advice: Sequence[str],
    updates_pages: bool = True,
) -> list[Path]:
    """Store the rows of a paper, and update the tables of pages in the folders above.

    Args:
        folder: of the paper's results, in results/.
        updates_pages: False for a trial in another folder, whose rows are not for those pages.
    Returns:
        The files that are written.
    """
    on_page = of_page(rows)
    facts = {
        "paper": paper,
        "rows": [
            {**asdict(row), **_rounded(row), "on_page": row in on_page, "cells": row.cells(paper)}
            for row in rows
        ],
        "advice": list(advice),
    }
    scoring.write_json(folder / FILE, facts)
    above = (folder.parent, folder.parent.parent) if updates_pages else ()  # results/, the checkout
    pages = [page for one in above if (page := one / "README.md").exists()]
    for page in pages:
        renew(page, tables(folder.parent, page.parent))
    return [folder / FILE, *pages]


def _rounded(row: Compared) -> dict:
    """Its figures without the digits that differ between machines."""
    figures = {"found": row.found, "unpaired": row.unpaired, "values": row.values}
    return {name: of and [round(one, DIGITS) for one in of] for name, of in figures.items()}


def tables(results: Path, page: Path) -> dict[str, list[str]]:
    """Generated parts by name, from all summaries, with links for a page in a folder.

    The summary has the comparisons of the papers' pages, the main table a few of them.
    """
    papers = [_linked(path, page) for path in sorted(results.glob(f"*/{FILE}"))]
    rows = [row["cells"] for paper in papers for row in paper["rows"] if row.get("on_page", True)]
    main = [row["cells"] for paper in papers for row in _main(paper["rows"])]
    advice = [f"- **{one['paper']}**: {' '.join(one['advice'])}" for one in papers if one["advice"]]
    return {
        "summary": markdown_table(COLUMNS, rows),
        "main table": markdown_table(COLUMNS, main),
        "advice": advice,
    }


def _main(rows: Sequence[dict]) -> Sequence[dict]:
    return [row for row in rows if row.get("is_main")] or rows[:1]


def _linked(path: Path, page: Path) -> dict:
    """A summary whose paper is a link to its page."""
    facts = json.loads(path.read_text(encoding="utf-8"))
    address = path.with_name("README.md").relative_to(page).as_posix()
    facts["paper"] = f"[{facts['paper']}]({address})"
    for row in facts["rows"]:
        row["cells"][0] = facts["paper"]
    return facts


def begin(name: str) -> str:
    """The comment before a generated part."""
    return f"<!-- {name}: generated by `python -m recipes.lab report` -->"


def end(name: str) -> str:
    """The comment after a generated part."""
    return f"<!-- end of {name} -->"


def renew(file: Path, parts: dict[str, list[str]]) -> None:
    """Update generated parts between their comments, if the file has these."""
    text, known = file.read_text(encoding="utf-8"), False
    for name, lines in parts.items():
        before, opening, rest = text.partition(begin(name))
        _, closing, after = rest.partition(end(name))
        if opening and closing:
            known = True
            body = "\n".join(["", "", *lines, "", ""])
            text = before + opening + body + closing + after
    if known:
        scoring.write_lines(file, text.rstrip("\n").split("\n"))
