"""The page in a real browser. Screenshots go to work/screenshots, to be looked at."""

import json
from pathlib import Path

import pytest

from fairseq_outlayers.pages import recipe_page
from tests.browser import PROGRAM, Browser
from tests.unit.pages.conftest import SOURCES
from tests.unit.pages.test_recipe_page import DATA

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no chromium on the PATH")
SCREENSHOTS = Path(__file__).parents[3] / "work" / "screenshots"
SEEN = "[...document.querySelectorAll('#sentences li')].filter(e => !e.hidden).map(e => e.id)"
WIDTH = "document.documentElement.scrollWidth"
PAPER = "getComputedStyle(document.body).backgroundColor"
WHITE = "rgb(255, 255, 255)"
DETAIL = "document.querySelector('#detail h2').textContent"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    started = Browser(tmp_path_factory.mktemp("browser") / "profile")
    yield started
    started.close()


@pytest.fixture
def opened(browser, page_file):
    browser.errors.clear()
    yield lambda **options: browser.open(page_file, **options)
    assert browser.errors == []


def with_last_source(page, word):
    """The text of the page with one word as the last source, which adds no candidates."""
    ((_, stored),) = page.find("script", id="data")
    data = page.data
    data["sentences"][-1]["models"][0]["source"] = [word]
    return page.text.replace(stored, json.dumps(data).replace("<", "\\u003c"))


def test_typing_filters_the_sentences_and_keys_go_through_them(browser, opened):
    opened()
    assert browser.run(SEEN) == [f"s{k}" for k in range(1, len(SOURCES) + 1)]
    browser.press("/", "/")
    browser.type("alert w5")
    assert browser.run(SEEN) == ["s2"]
    assert browser.run("document.querySelector('#count').textContent") == "1 of 6 sentences"
    browser.press("Escape")
    browser.run("document.querySelector('#search').value = ''")
    browser.run("document.querySelector('#toolbar').dispatchEvent(new Event('input'))")
    opened(fragment="#s1")
    for key in ("j", "ArrowDown", "j", "k"):
        browser.press(key, key if len(key) == 1 else "")
    assert browser.run(DETAIL) == "Sentence 3 of 6"
    assert browser.run("location.hash") == "#s3"
    browser.screenshot(SCREENSHOTS / "inspect.desktop.png")


@pytest.mark.parametrize("name", ["unknown", "misses", "differ"])
def test_a_filter_leaves_the_sentences_that_have_its_mark(browser, opened, page, name):
    opened()
    browser.run(f"document.querySelector('input[name={name}]').click()")
    marked = [row["id"] for row, _ in page.find("li") if name in row["data-marks"].split()]
    assert browser.run(SEEN) == marked


def test_the_worst_sentences_come_first_when_asked_for(browser, opened, page):
    opened()
    browser.run("document.querySelector('#order').value = 'worst B'")
    browser.run(
        "document.querySelector('#order').dispatchEvent(new Event('input', {bubbles: true}))"
    )
    scores = {row["id"]: float(row["data-chrf"].split()[1]) for row, _ in page.find("li")}
    assert browser.run(SEEN) == sorted(scores, key=scores.get)


def test_a_sentence_shows_attention_replacements_misses_and_neighbours(browser, opened, page):
    sentences = page.data["sentences"]
    number = next(
        k
        for k, s in enumerate(sentences, 1)
        if s["models"][1].get("replaced") and s["models"][0].get("misses")
    )
    first, view = sentences[number - 1]["models"]
    opened(fragment=f"#s{number}")
    rows = "document.querySelectorAll('.side')[1].querySelectorAll('.attention tbody tr').length"
    assert browser.run(rows) == len(view["target"]) + 1
    marked = (
        "[...document.querySelectorAll('.side:nth-child(2) .replaced')].map(e => e.textContent)"
    )
    source = sentences[number - 1]["models"][0]["source"]
    assert browser.run(marked) == [
        f"{view['target'][k]} \u2190 {source[view['alignment'][k]]}" for k in view["replaced"]
    ]
    missed = {first["reference"][k] for k in first["misses"]}
    for place in (".pair", ".candidates"):
        texts = f"[...document.querySelectorAll('{place} .miss')].map(e => e.textContent)"
        assert set(browser.run(texts)) == missed
    browser.run("document.querySelector('#detail [data-word]').click()")
    ends = "[...document.querySelectorAll('#neighbours h4')].map(e => e.textContent)"
    assert browser.run(ends) == ["at the input", "at the output"] * 2
    lists = "[...document.querySelectorAll('#neighbours h4 + *')].map(e => e.children.length)"
    assert browser.run(lists) == [5] * 4
    assert browser.run("document.querySelectorAll('.lists tr').length") == len(set(source))
    browser.screenshot(SCREENSHOTS / "inspect.sentence.png")


@pytest.mark.parametrize("word", ["constructor", "toString", "__proto__"])
def test_a_source_word_may_be_the_name_of_a_member_of_every_object(browser, page, tmp_path, word):
    path = tmp_path / "page.html"
    path.write_text(with_last_source(page, word), encoding="utf-8")
    browser.errors.clear()
    browser.open(path, fragment=f"#s{len(SOURCES)}")
    assert browser.errors == []
    assert browser.run(DETAIL) == f"Sentence {len(SOURCES)} of {len(SOURCES)}"
    row = "[...document.querySelectorAll('.lists tr > *')].map(e => e.textContent)"
    assert browser.run(row) == [word, "none"]


def longest_common(one, other):
    """How many words two lists have in common, in order, by trying everything."""
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + longest_common(one[1:], other[1:])
    return max(longest_common(one[1:], other), longest_common(one, other[1:]))


def test_words_outside_the_longest_common_part_are_marked_as_changed(browser, opened, page):
    for number, sentence in enumerate(page.data["sentences"], start=1):
        opened(fragment=f"#s{number}")
        targets = [model.get("target", []) for model in sentence["models"]]
        for side, target in enumerate(targets):
            words = f"document.querySelectorAll('.side')[{side}].querySelectorAll('.words .word')"
            marks = browser.run(f"[...{words}].map(e => e.classList.contains('changed'))")
            same = [unit for unit, mark in zip(target, marks, strict=True) if not mark]
            assert len(same) == longest_common(*targets)
            assert longest_common(same, targets[1 - side]) == len(same)


def test_light_and_dark_follow_the_system_until_the_button_is_pressed(browser, opened):
    opened()
    assert browser.run(PAPER) == WHITE
    opened(dark=True)
    assert browser.run(PAPER) != WHITE
    browser.screenshot(SCREENSHOTS / "inspect.dark.png")
    browser.run("document.querySelector('#theme').click()")
    assert browser.run(PAPER) == WHITE
    opened(dark=True)  # remembered
    assert browser.run(PAPER) == WHITE
    browser.run("localStorage.clear()")


@pytest.mark.parametrize("fragment", ["", "#s2", "#s4"])
def test_nothing_is_wider_than_a_phone(browser, opened, fragment):
    opened(width=390, height=844, fragment=fragment)
    assert browser.run(WIDTH) == 390
    shown = "getComputedStyle(document.querySelector('#detail')).display"
    assert browser.run(shown) == ("block" if fragment else "none")
    browser.screenshot(SCREENSHOTS / f"inspect.phone{fragment.replace('#', '.')}.png")
    if fragment:
        browser.run("document.querySelector('.back').click()")
        assert browser.run(shown) == "none"


def test_the_page_of_a_recipe_sorts_its_ledger(browser, tmp_path):
    (tmp_path / "bleu.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    rows = [["b", 2.0], ["a", None], ["c", 10.0]]
    data = {**DATA, "ledger": {"columns": ["arm", "BLEU"], "rows": rows}}
    (tmp_path / "recipe.html").write_text(recipe_page(data, tmp_path))
    browser.errors.clear()
    browser.open(tmp_path / "recipe.html", width=390, height=844)
    assert browser.run(WIDTH) == 390
    cells = "[...document.querySelectorAll('.sortable td:first-child')]"
    arms = f"{cells}.map(e => e.textContent).join('')"
    for expected in ("bca", "cba"):
        browser.run("document.querySelectorAll('.sortable th button')[1].click()")
        assert browser.run(arms) == expected
    browser.screenshot(SCREENSHOTS / "recipe.phone.png")
    assert browser.errors == []
