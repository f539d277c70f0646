"""The HTML page of a recipe: claims, figures and ledger in one file."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairseq_outlayers.pages import recipe_page, write_page
from recipes.lab.claims import NOT_RUN, Claim
from recipes.lab.figures import training_curves
from recipes.lab.ledger import kind_of
from recipes.lab.settings import UserError

if TYPE_CHECKING:
    from recipes.lab.arms import Recipe
    from recipes.lab.pages.report import Findings

FILE = "report.html"
FIGURES = {"BLEU": "bleu", "BLEU (tokenized)": "bleu_tokenised", "valid ppl": "best_valid_ppl",
           "test ppl": "test_ppl", "parameters": "parameters", "updates": "updates"}  # fmt: skip


def write(recipe: "Recipe", entries: Sequence[dict], found: "Findings | None") -> Path:
    """Write report.html into the ledger's folder; it is git-ignored.

    Args:
        found: for recipes with claims.
    """
    folder = recipe.ledger.parent
    write_page(folder / FILE, recipe_page(data(recipe, entries, found), folder))
    return folder / FILE


def data(recipe: "Recipe", entries: Sequence[dict], found: "Findings | None") -> dict:
    """The argument of `recipe_page`."""
    folder = recipe.ledger.parent
    claims = found.claims if found else []
    charts = found.charts if found else {}
    beside = folder / "page.html"  # of the demo
    return {
        "title": found.title if found else recipe.title or recipe.name,
        "summary": found.paper if found else (recipe.__doc__ or ""),
        "command": f"recipes/{recipe.name}/run.sh",
        "claims": [claim_of(claim, recipe) for claim in claims],
        "figures": [
            {"title": chart.title, "caption": chart.note, "file": f"{name}.svg"}
            for name, chart in charts.items()
            if (folder / f"{name}.svg").exists()
        ],
        "ledger": table(entries),
        "links": [{"text": "Translations, sentence by sentence", "href": beside.name}]
        if beside.exists()
        else [],
    }


def claim_of(claim: Claim, recipe: "Recipe") -> dict:
    """A claim with its decided inequalities, and the command for missing runs."""
    tried = [part for part in claim.parts if part.verdict != NOT_RUN]
    return {
        "number": claim.number,
        "text": claim.text,
        "verdict": claim.shown,
        "command": command(claim, recipe),
        "parts": [part._asdict() for part in tried],
    }


def command(claim: Claim, recipe: "Recipe") -> str:
    """The command that runs the missing arms of a claim, or the recipe."""
    missing = dict.fromkeys(name for part in claim.parts for name in part.missing)
    known = [name for name in missing if is_arm(recipe, name)]
    arms = f"ARMS={shlex.quote(' '.join(known))} " if known else ""
    return f"{arms}recipes/{recipe.name}/{'10_arms' if arms else 'run'}.sh"


def is_arm(recipe: "Recipe", name: str) -> bool:
    """Whether a name is an arm of the recipe."""
    try:
        return recipe.arm(name).decoding is None
    except UserError:
        return False


def table(entries: Sequence[dict]) -> dict:
    """The ledger, a row per line."""
    shown = {
        heading: name
        for heading, name in FIGURES.items()
        if any(entry["figures"].get(name) is not None for entry in entries)
    }
    rows = []
    for entry in entries:
        figures = [entry["figures"].get(name) for name in shown.values()]
        took = training_curves.minutes(entry) if "epochs" in entry["figures"] else None
        rows.append([
            entry["arm"], entry.get("words", ""), entry["seed"], *figures,
            None if took is None else round(took, 1), kind_of(entry),
            entry.get("date", "")[:10], entry.get("commit", ""),
        ])  # fmt: skip
    columns = ["arm", "what it is", "seed", *shown, "minutes", "kind", "date", "commit"]
    return {"columns": columns, "rows": rows}
