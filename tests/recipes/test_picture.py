"""The picture of a translation shows what the model did, and is well-formed."""

import re
from xml.etree import ElementTree

import pytest

from recipes.demo.picture import RED, Picture, svg

SVG = "{http://www.w3.org/2000/svg}"
PICTURE = Picture(
    source=["a", "<b>", "</s>"],
    target=["x", "b&", "</s>"],
    attention=[[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.25, 0.25, 0.5]],
    sources={1: 1},
    added={"a": ["x", "y"], "<b>": []},
    candidates=(502, 19219),
)


@pytest.fixture(scope="module")
def drawn():
    return ElementTree.fromstring(svg(PICTURE))


def texts(drawn):
    return ["".join(each.itertext()).strip() for each in drawn.iter(f"{SVG}text")]


def test_cells_are_as_dark_as_the_attention_row_by_row(drawn):
    found = [
        float(re.fullmatch(r"rgba\(.*, (\S+)\)", cell.get("fill"))[1])
        for cell in drawn.iter(f"{SVG}rect")
        if cell.get("fill") != "white"
    ]
    assert found == [weight for row in PICTURE.attention for weight in row]


def test_only_the_replaced_word_and_where_it_comes_from_are_marked(drawn):
    marked = [each.text for each in drawn.iter(f"{SVG}text") if each.get("fill") == RED]
    assert marked == ["b&", "<unk> replaced: b&, from <b>"]
    edges = [cell.get("stroke") for cell in drawn.iter(f"{SVG}rect") if cell.get("stroke")]
    assert [number for number, edge in enumerate(edges) if edge == RED] == [4]


def test_candidates_stand_beside_their_source_word_and_those_used_are_underlined(drawn):
    assert "502 candidates of 19,219 words" in " ".join(texts(drawn))
    spans = {each.text: each.get("text-decoration") for each in drawn.iter(f"{SVG}tspan")}
    assert spans == {"x": "underline", "y": "none"}


def test_everything_lies_within_the_frame(drawn):
    _, _, width, height = map(float, drawn.get("viewBox").split())
    for each in [*drawn.iter(f"{SVG}text"), *drawn.iter(f"{SVG}rect")]:
        assert 0 <= float(each.get("x", 0)) < width
        assert 0 <= float(each.get("y", 0)) <= height
