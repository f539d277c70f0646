"""The report of a recipe: tables, verdicts on claims, and figures."""

import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from recipes.lab import claims, ledger
from recipes.lab.arms import Recipe
from recipes.lab.figures import training_curves
from recipes.lab.figures.charts import Charts, draw
from recipes.lab.pages import html_page, paper_page, summary, table
from recipes.lab.repeats import begun_repeats, without_begun_repeats
from recipes.lab.runs import Runs
from recipes.lab.scores import kept_translations, scoring
from recipes.lab.settings import UserError

LONG = 20  # with as many arms that were not run, claims.md only counts them


@dataclass
class Findings:
    """Results of a paper's ``claims.py``.

    Attributes:
        notes: text below the verdicts.
        tables: lines of further tables, which are also printed.
        more: lines of further tables, which are not printed.
        facts: for claims.json.
        charts: figures by file name, without .svg and .png.
        name: of the paper, for the overview.
        paper: its claims in a sentence or two.
        setup: data, models and measure of the experiments, in a sentence.
        terms: meaning of the names that claims use.
        why: main differences from the paper's experiments, for the page.
        costs: lines of a table of what the methods cost, for the page.
        remarks: further remarks on settings and figures, for details.md.
        compared: methods and their baselines, the main one first.
        advice: recommendations, from the figures.
    """

    title: str
    claims: Sequence[claims.Claim]
    notes: Sequence[str] = ()
    tables: Sequence[str] = ()
    more: Sequence[str] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    charts: Charts = field(default_factory=dict)
    name: str = ""
    paper: str = ""
    setup: str = ""
    terms: Mapping[str, str] = field(default_factory=dict)
    why: Sequence[str] = ()
    costs: Sequence[str] = ()
    remarks: Sequence[str] = ()
    compared: Sequence[summary.Compared] = ()
    advice: Sequence[str] = ()


def write(recipe: Recipe) -> list[Path]:
    """Write the report into the ledger's folder and print tables and verdicts.

    Raises:
        UserError: if nothing was run.
    """
    entries = ledger.read(recipe.ledger)
    if not entries:
        raise UserError(f"{recipe.ledger} is missing or empty: run an arm first")
    require_references(recipe, entries)
    folder, files, found = recipe.ledger.parent, [], None
    training_curves.keep(entries, folder, [ledger.ROOT])
    name = f"recipes.{recipe.name}.claims"
    module = importlib.import_module(name) if importlib.util.find_spec(name) else None
    form = getattr(module, "FORM", None)
    for one in recipe.tables():
        print(f"\n== {one.title}")
        files += table.write(entries, folder, one, recipe.seeds, form)
    files += table.write_tuning(entries, folder)
    if module:
        print("\n== claims")
        runs = Runs(without_begun_repeats(entries), form, recipe.schedule)
        found = module.find(recipe, runs)
        files += write_findings(found, recipe, entries)
    files.append(html_page.write(recipe, entries, found))
    print("\n".join(map(str, files)))
    return files


def require_references(recipe: Recipe, entries: Sequence[dict]) -> None:
    """Refuse to overwrite verdicts if translations cannot be scored.

    Raises:
        UserError: if translations are here but their references are not.
    """
    if recipe.settings.flag("FORCE"):
        return
    runs = Runs(entries)
    for entry in (entry for arm in runs.arms for entry in runs.entries(arm)):
        kept = kept_translations.kept_file(recipe.ledger.parent, entry).exists()
        if kept and kept_translations.translations(entry, "tokenised") is None:
            raise UserError(
                f"the references of {entry['arm']} are missing, so nothing can be compared and "
                f"the report is unchanged: {recipe.preparation or 'restore them'} (or FORCE=1)"
            )


def misspelled_arms(recipe: Recipe, found: Sequence[claims.Claim]) -> list[str]:
    """Warnings of claims about arms that the recipe cannot have."""
    warnings = []
    for claim in found:
        missing = dict.fromkeys(name for part in claim.parts for name in part.missing)
        for name in (name for name in missing if " " not in name):
            try:
                recipe.arm(name)
            except UserError as error:
                said = "names an arm that the recipe does not have"
                warnings.append(f"claim {claim.number} {said}: {error}")
    return warnings


def write_findings(found: Findings, recipe: Recipe, entries: Sequence[dict]) -> list[Path]:
    """Write claims.md, claims.json, the figures and the paper's page; print the verdicts."""
    folder = recipe.ledger.parent
    missing = table.not_run(entries, recipe.report_arms(), recipe.seeds)
    named = ", ".join(missing) if len(missing) < LONG else f"{len(missing)}, named in the tables"
    begun = sorted({arm for arm, _ in begun_repeats(entries)})
    repeats = [f"Being repeated, and counted as before: {', '.join(begun)}."] if begun else []
    notes = [*found.notes, *claims.NOTES, *repeats, f"Arms not run: {named or 'none'}."]
    lines = [*claims.markdown(found.title, found.claims, notes), *found.tables, *found.more]
    files = [folder / "claims.md", folder / "claims.json"]
    scoring.write_lines(files[0], "\n".join(lines).rstrip("\n").split("\n"))
    facts = {**found.facts, "claims": claims.as_json(found.claims), "not_run": missing}
    scoring.write_json(files[1], facts)
    for claim in found.claims:
        print(f"  {claim.number}. {claim.shown:13} {claim.text}")
    for warning in misspelled_arms(recipe, found.claims):
        print(f"  {warning}", file=sys.stderr)
    print("\n".join(["", *found.tables]))
    try:
        files += draw(found.charts, folder)
    except ImportError:
        print("  no figures: they need matplotlib (pip install 'fairseq-outlayers[report]')")
    drawn = [name for name in found.charts if (folder / f"{name}.png").exists()]
    name = found.name or found.title
    files += summary.write(folder, name, found.compared, found.advice, recipe.has_own_results)
    return files + paper_page.write(found, recipe, entries, drawn)
