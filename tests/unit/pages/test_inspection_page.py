"""The page of a test set, as the parser of Python's library reads it."""

import random

import pytest

from fairseq_outlayers import load
from fairseq_outlayers.analysis.inspection import System, inspect_test_set
from fairseq_outlayers.pages import inspection_page
from tests.unit.hub.conftest import save_checkpoint
from tests.unit.pages.conftest import EVIL, REFERENCES, SOURCES, Page

LABELS = {
    "unknown": "unknown words",
    "misses": "candidate misses",
    "differ": "models differ",
}


def test_every_sentence_is_there_with_a_link_to_itself(page):
    rows = page.find("li")
    assert [attributes["id"] for attributes, _ in rows] == [f"s{k}" for k in range(1, 7)]
    for (attributes, text), source in zip(rows, SOURCES, strict=True):
        assert source in text
        assert attributes["id"] in [link["href"][1:] for link, _ in page.find("a")]


def test_every_link_leads_to_an_element_of_the_page(page):
    names = {attributes.get("id") for _, attributes, _ in page.elements}
    assert {link["href"][1:] for link, _ in page.find("a")} <= names


def test_nothing_is_fetched_from_anywhere(page, page_file):
    for _, attributes, _ in page.elements:
        for name in ("src", "href"):
            assert attributes.get(name, "#").startswith(("#", "data:"))
    text = page_file.read_text(encoding="utf-8")
    assert "url(" not in text
    assert "@import" not in text
    assert (
        "default-src 'none'"
        in page.find("meta", **{"http-equiv": "Content-Security-Policy"})[0][0]["content"]
    )


def test_text_that_looks_like_html_stays_text(page, page_file):
    assert len(page.find("script")) == 2  # data, and the code
    assert EVIL in page.find("li", id="s2")[0][1]
    assert [s["models"][0]["reference"] for s in page.data["sentences"]][1] == ["w4", EVIL]
    text = page_file.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "\u2028" not in text.split('id="data">')[1]


@pytest.mark.parametrize("name", LABELS)
def test_the_marks_that_filters_go_by_are_those_of_the_sentences(page, name):
    passed = []
    for number, sentence in enumerate(page.data["sentences"], start=1):
        models = sentence["models"]
        found = {
            "unknown": any(model.get("unknown") for model in models),
            "misses": any(model.get("misses") for model in models),
            "differ": models[0].get("target") != models[1].get("target"),
        }
        passed += [f"s{number}"] if found[name] else []
    marked = [row["id"] for row, _ in page.find("li") if name in row["data-marks"].split()]
    assert marked == passed
    assert passed  # else it shows nothing
    assert f"{LABELS[name]} {len(passed)}" in [text for _, text in page.find("label")]


def test_references_are_given_once(page):
    first, second = page.data["sentences"][0]["models"]
    assert first["reference"] == REFERENCES[0].split()
    assert not {"source", "reference"} & second.keys()


def test_controls_are_no_part_of_the_page(tmp_path):
    model = load(save_checkpoint(tmp_path, "luong_lstm"))
    pairs = [("w1 \x1b[31m", "w2 \x00")]
    found = model.translate([source for source, _ in pairs])
    data = inspect_test_set(pairs, [System("a\x07", "p", model, found)])
    text = inspection_page(data, "title \x1b")
    assert not {"\x1b", "\x00", "\x07"} & set(text)
    assert "\N{REPLACEMENT CHARACTER}" in Page(text).find("li")[0][1]


def test_a_thousand_sentences_of_two_models_are_less_than_five_megabytes(tmp_path):
    """25 words a sentence, each attending a bit to all words: what takes most room."""
    model = load(save_checkpoint(tmp_path, "luong_lstm"), candidate_frequent=9)
    draw = random.Random(1)
    words = [f"w{k}" for k in range(13)]
    text = [" ".join(draw.choices(words, k=25)) for _ in range(1000)]
    (one,) = model.translate(text[:1], max_len_a=0, max_len_b=25, min_len=25)
    attention = one.attention.new_full((26, 26), 1 / 26)
    found = [
        one._replace(source=line.split(), target=draw.choices(words, k=25), attention=attention)
        for line in text
    ]
    found = [each._replace(text=" ".join(each.target)) for each in found]
    pairs = list(zip(text, reversed(text), strict=True))
    data = inspect_test_set(pairs, [System(name, "p", model, found) for name in "AB"])
    assert len(inspection_page(data, "title").encode()) < 5e6
