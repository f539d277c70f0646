"""The report of a recipe: its tables, the verdicts on its paper's claims, and its figures."""

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from recipes.lab import claims, figures, kept_translations, ledger, scoring, table
from recipes.lab.arms import Recipe
from recipes.lab.runs import Runs
from recipes.lab.settings import UserError

LONG = 20  # arms that were not run, for a page of claims


@dataclass
class Findings:
    """What a paper's ``claims.py`` makes of the runs.

    Attributes:
        notes: said below the verdicts.
        tables: lines of further tables, printed as well.
        more: lines of further tables, which are not.
        facts: for claims.json.
        charts: figures by the name of their file.
    """

    title: str
    claims: Sequence[claims.Claim]
    notes: Sequence[str] = ()
    tables: Sequence[str] = ()
    more: Sequence[str] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    charts: Mapping[str, figures.Chart] = field(default_factory=dict)


def write(recipe: Recipe) -> list[Path]:
    """Write everything beside the ledger and print the tables and verdicts.

    Raises:
        UserError: if nothing was run.
    """
    entries = ledger.read(recipe.ledger)
    if not entries:
        raise UserError(f"{recipe.ledger} is missing or empty: run an arm first")
    require_references(recipe, entries)
    folder, files = recipe.ledger.parent, []
    for one in recipe.tables():
        print(f"\n== {one.title}")
        files += table.write(
            entries, folder / one.name, one.title, one.arms, recipe.seeds, one.only, one.compare
        )
    if importlib.util.find_spec(f"recipes.{recipe.name}.claims"):
        print("\n== claims")
        module = importlib.import_module(f"recipes.{recipe.name}.claims")
        files += write_findings(module.find(recipe, Runs(entries, module.FORM, recipe.schedule)), recipe)
    print("\n".join(map(str, files)))
    return files


def require_references(recipe: Recipe, entries: Sequence[dict]) -> None:
    """Verdicts that translations decided must not be lost where they cannot be scored.

    Raises:
        UserError: if translations are kept here and the references are not.
    """
    if recipe.settings.FORCE == "1":
        return
    runs = Runs(entries)
    for entry in (entry for arm in runs.arms for entry in runs.entries(arm)):
        kept = kept_translations.kept_file(recipe.ledger.parent, entry).exists()
        if kept and kept_translations.translations(entry, "tokenised") is None:
            raise UserError(
                f"the references of {entry['arm']} are not here, so nothing can be compared and "
                "the report is left as it was: run 00_prepare.sh first (or FORCE=1)"
            )


def write_findings(found: Findings, recipe: Recipe) -> list[Path]:
    """Write claims.md, claims.json and the figures; print the verdicts."""
    folder = recipe.ledger.parent
    known = Runs.by_setting(ledger.read(recipe.ledger))
    missing = table.not_run(known, recipe.report_arms(), recipe.seeds)
    named = ", ".join(missing) if len(missing) < LONG else f"{len(missing)}, named in the tables"
    notes = [*found.notes, *claims.NOTES, f"Arms not run: {named or 'none'}."]
    lines = [*claims.markdown(found.title, found.claims, notes), *found.tables, *found.more]
    files = [folder / "claims.md", folder / "claims.json"]
    scoring.write_lines(files[0], "\n".join(lines).rstrip("\n").split("\n"))
    facts = {**found.facts, "claims": claims.as_json(found.claims), "not_run": missing}
    scoring.write_json(files[1], facts)
    for claim in found.claims:
        print(f"  {claim.number}. {claim.verdict:13} {claim.text}")
    print("\n".join(["", *found.tables]))
    try:
        files += figures.draw(dict(found.charts), folder)
    except ImportError:
        print("  no figures: they need matplotlib (pip install 'fairseq-outlayers[report]')")
    return files
