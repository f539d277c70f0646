"""The figures of the pages are those of the files in results/."""

import json
import re
from functools import cache

import pytest

from tests.docs.figures import statement
from tests.docs.figures.sources import SOURCES
from tests.docs.figures.statement import Statement, faults, is_rounded, read

of_every_source = pytest.mark.parametrize(
    "source",
    SOURCES,
    ids=lambda source: f"{source.__module__.rpartition('.')[2]}-{source.__name__}",
)


@of_every_source
def test_the_figures_of_a_page_are_those_of_its_file(source):
    statements = list(source())
    assert statements
    assert [fault for each in statements for fault in faults(each)] == []


@of_every_source
def test_a_change_that_is_proven_by_paired_seeds_alone_says_so(source):
    known = changes_by_paired_seeds()
    assert known
    for each in source():
        three = zip(each.values, each.values[1:], each.values[2:], strict=False)
        if known.intersection(map(unsigned, three)):
            page = read(each.page)
            place = re.search(each.pattern, page)
            assert "paired" in page[place.start() : place.end() + 300], each.text


@cache  # all sources ask for them
def changes_by_paired_seeds():
    """Of all reports, with their intervals; without signs, because pages say "less" or "more"."""
    found = set()
    for path in (statement.ROOT / "results").glob("*/summary.json"):
        for row in json.loads(path.read_text(encoding="utf-8"))["rows"]:
            if row["cells"][-1].endswith("(paired)"):
                found.add(unsigned(row["found"][:3]))
    return found


def unsigned(change):
    """A key of a change with its interval."""
    return tuple(sorted(round(abs(value), 6) for value in change))


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("5.2", 5.249, True),
        ("5.3", 5.249, False),
        ("1,280", 1279.9, True),
        ("1,280", 1280.6, False),
        ("-0.3", -0.26, True),
        ("0.3", -0.26, False),
        ("9e-7", 8.96e-7, True),
        ("8e-7", 8.96e-7, False),
    ],
)
def test_a_figure_is_its_value_rounded_to_the_printed_digits(text, value, expected):
    assert is_rounded(text, value) == expected


@pytest.mark.parametrize(
    ("text", "values", "fault"),
    [
        ("takes {} s, {}% less", [12.3, -4.5], None),
        ("takes {} s, {}% less", [12.3, 4.5], "-4.5, in the file 4.5"),
        ("takes {} s, {}% less", [12.4, -4.5], "12.3, in the file 12.4"),
        ("takes {} s, 4% less", [12.3], "has 0 times"),
        ("{} s", [12.3], "has 2 times"),
    ],
)
def test_a_page_that_says_something_else_is_a_fault(text, values, fault, tmp_path, monkeypatch):
    monkeypatch.setattr(statement, "ROOT", tmp_path)
    page = "It takes 12.3\ns, \N{MINUS SIGN}4.5% less than the 13 s before.\n"
    (tmp_path / "page.md").write_text(page, encoding="utf-8")
    found = faults(Statement("page.md", text, values))
    assert found == [] if fault is None else fault in found[0]
