"""The page of a recipe in a real browser: everything is in the one file and can be seen."""

import pytest

from recipes.lab.figures import charts
from recipes.lab.pages import html_page
from tests.browser import PROGRAM, Browser
from tests.recipes.test_paper_page import ENTRIES, FOUND, recipe  # noqa: F401
from tests.unit.pages.test_browser import SCREENSHOTS, WIDTH

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no chromium on the PATH")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    started = Browser(tmp_path_factory.mktemp("browser") / "profile")
    yield started
    started.close()


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_claims_figures_and_ledger_are_seen_at_every_size(browser, recipe, width, dark):  # noqa: F811
    pytest.importorskip("matplotlib")
    charts.draw(FOUND.charts, recipe.ledger.parent)
    path = html_page.write(recipe, ENTRIES, FOUND)
    for other in recipe.ledger.parent.glob("gain.*"):
        other.unlink()  # the page needs no other file
    browser.errors.clear()
    browser.open(path, width=width, dark=dark)
    assert browser.run(WIDTH) == width
    verdicts = "[...document.querySelectorAll('.claim h3 .verdict')].map(e => e.textContent)"
    assert browser.run(verdicts) == ["partly run", "not run"]
    # What stands in a claim needs no scrolling, long names of arms included.
    boxes = "[...document.querySelectorAll('.claim .scroll')]"
    held = f"{boxes}.every(e => e.scrollWidth <= e.clientWidth)"
    assert browser.run(held)
    numbers = "[...document.querySelectorAll('.claim .numbers')].map(e => e.textContent)"
    assert browser.run(numbers) == ["+1.00 [-1.23, +3.21], 3 seeds"]
    commands = "[...document.querySelectorAll('.claim code')].map(e => e.textContent)"
    assert browser.run(commands)[0] == "ARMS=c recipes/joint2018/10_arms.sh"
    browser.run("document.querySelector('.picture img').scrollIntoView()")
    drawn = "(i => i.complete && i.naturalWidth > 100)(document.querySelector('.picture img'))"
    assert browser.run(drawn)
    assert browser.run("document.querySelectorAll('.sortable tbody tr').length") == len(ENTRIES)
    browser.screenshot(SCREENSHOTS / f"report.{width}.{'dark' if dark else 'light'}.png")
    assert browser.errors == []
