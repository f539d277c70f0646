"""The page of an experiment, made of plain data."""

import base64

import pytest

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.pages import recipe_page
from tests.unit.pages.conftest import EVIL, Page

DATA = {
    "title": "Joint output layers",
    "summary": f"Nine claims {EVIL}",
    "command": "recipes/pappas2018_joint/run.sh",
    "claims": [
        {
            "number": 1,
            "text": "joint is better than tied",
            "verdict": "holds",
            "command": "python -m recipes.lab claims",
            "parts": [
                {
                    "inequality": "joint - tied > 0",
                    "verdict": "holds",
                    "numbers": "+1.2 [+0.4, +2.0]",
                }
            ],
        },
        {"number": 2, "text": "and smaller", "verdict": "not run", "parts": []},
    ],
    "figures": [{"title": "BLEU by size", "caption": "Three seeds.", "file": "bleu.svg"}],
    "ledger": {"columns": ["arm", "BLEU"], "rows": [["tied", 30.25], [EVIL, None]]},
    "links": [{"text": "Translations", "href": "joint.html"}],
}


@pytest.fixture
def made(tmp_path):
    (tmp_path / "bleu.svg").write_text("<svg/>")
    return Page(recipe_page(DATA, tmp_path))


def test_claims_stand_with_verdict_interval_and_command(made):
    assert [a["id"] for a, _ in made.find("article")] == ["claim-1", "claim-2"]
    text = made.find("article")[0][1]
    for part in ("joint is better than tied", "holds", "+1.2 [+0.4, +2.0]", "recipes.lab claims"):
        assert part in text
    assert [text for _, text in made.find("span", class_="verdict not-run")] == ["not run"] * 2


def test_figures_are_part_of_the_page(made):
    ((image, _),) = made.find("img")
    assert base64.b64decode(image["src"].removeprefix("data:image/svg+xml;base64,")) == b"<svg/>"
    assert image["alt"] == "BLEU by size"


def test_the_ledger_is_a_table_with_values_to_sort_by(made):
    cells = [(a.get("data-value"), a.get("class"), text) for a, text in made.find("td")][-4:]
    assert cells == [
        ("tied", None, "tied"),
        ("30.25", "number", "30.25"),
        (EVIL, None, EVIL),
        (None, "number", ""),
    ]


def test_text_that_looks_like_html_stays_text(made):
    assert len(made.find("script")) == 1
    assert made.find("p", class_="lead")[0][1] == DATA["summary"]


def test_what_there_is_none_of_has_no_section():
    assert Page(recipe_page({"title": "t"})).find("section") == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"links": [{"text": "x", "href": "https://example.org"}]}, "only to files in its folder"),
        ({"links": [{"text": "x", "href": "javascript:alert(1)"}]}, "only to files in its folder"),
        ({"figures": [{"title": "x", "file": "none.svg"}]}, "none.svg: No such file"),
        ({"figures": [{"title": "x", "file": "a.pdf"}]}, "a.pdf: a figure must be .svg or .png"),
    ],
)
def test_what_a_page_cannot_show_is_named(tmp_path, change, message):
    with pytest.raises(UserError, match=message):
        recipe_page({**DATA, **change}, tmp_path)
