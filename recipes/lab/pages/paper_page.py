"""Two pages of a paper, each with a part generated from the ledger.

README.md is to be read in a minute: what the paper says, what was measured, what follows.
details.md has all comparisons, figures and settings. Text outside the generated parts is written by
hand and preserved.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recipes.lab.claims import CLOSE, MARGIN, NOT_COUNTED, NOT_RUN, Claim
from recipes.lab.figures.charts import seeds_in_words
from recipes.lab.ledger import TUNING, kind_of, of_arms
from recipes.lab.markdown import markdown_table
from recipes.lab.pages import summary
from recipes.lab.runs import VALIDATION, Runs
from recipes.lab.scores import schedules, scoring
from recipes.lab.scores.resampling import IN_WORDS, SEEDS_NEEDED
from recipes.lab.settings import ROOT

if TYPE_CHECKING:
    from recipes.lab.arms import Recipe
    from recipes.lab.figures.charts import Chart
    from recipes.lab.pages.report import Findings

PAGE, DETAILS = "report", "details"  # names of the generated parts
READING = (
    f"[...]: interval of {IN_WORDS} over test sentences and seeds (of a validation perplexity: over"
    " seeds); with one seed over test sentences alone, and far too narrow."
    " A row uses only the seeds that both models have, so a model's value can differ between rows."
    f" [Verdicts](../../recipes/README.md#verdicts): *undecided* with fewer than {SEEDS_NEEDED}"
    f" seeds; *no difference* is within {MARGIN} BLEU or {CLOSE:.0%}; *better (paired)*, *worse"
    " (paired)*: decided only because seeds are paired; a paired interval of three seeds may be"
    " narrow by chance."
)
MORE_READING = (
    "A change in percent is that of the geometric means over seeds. *unpaired seeds*: the interval"
    " (Welch's) if the seeds of the two models have nothing to do with each other."
)
SCORES = {"bleu": "BLEU", "bleu_tokenised": "BLEU of tokens", "test_ppl": "perplexity"}


def write(
    found: "Findings", recipe: "Recipe", entries: Sequence[dict], drawn: Sequence[str]
) -> list[Path]:
    """Write both pages, or update their generated parts.

    Args:
        entries: lines of the ledger.
        drawn: names of the figures that were drawn.
    """
    folder, title = recipe.ledger.parent, found.title
    pictures = [_picture(name, chart) for name, chart in found.charts.items() if name in drawn]
    page = short(found, recipe, entries, pictures[:1])
    more = details(found, entries, pictures[1:])
    return [
        _renew(folder / "README.md", PAGE, f"# {title}", page),
        _renew(folder / "details.md", DETAILS, f"# {title}: details", more),
    ]


def _renew(file: Path, name: str, heading: str, lines: list[str]) -> Path:
    """Update the generated part of a file, or insert it below the heading."""
    if not file.exists() or summary.begin(name) not in file.read_text(encoding="utf-8"):
        own = file.read_text(encoding="utf-8").rstrip("\n").split("\n") if file.exists() else []
        first = own[0] if own and own[0].startswith("# ") else heading
        page = [first, "", summary.begin(name), summary.end(name), "", *own[1:]]
        scoring.write_lines(file, "\n".join(page).rstrip("\n").split("\n"))
    summary.renew(file, {name: lines})
    return file


def short(
    found: "Findings", recipe: "Recipe", entries: Sequence[dict], pictures: Sequence[str]
) -> list[str]:
    """The generated part of README.md."""
    lines = [f"**The paper**: {found.paper}", ""] if found.paper else []
    measured = [found.setup, ""] if found.setup else []
    if found.compared:
        measured += [*summary.table_of(summary.of_page(found.compared)), "", READING, ""]
    measured += [*found.costs, ""] if found.costs else []
    for picture in pictures:
        measured += [picture, ""]
    lines += ["## What we measured", "", *measured] if measured else []
    if found.paper:
        advice = [f"- {line}" for line in found.advice]
        advice = advice or ["Nothing is decided yet: see the verdicts."]
        lines += ["## What we would use", "", *advice, ""]
    lines += ["## The paper's claims" if found.paper else "## Claims", ""]
    lines += [*verdicts(found.claims), "", *legend(found.terms)]
    if found.why:
        lines += ["## Why it may differ from the paper", "", *(f"- {w}" for w in found.why), ""]
    return lines + again(recipe, entries, found.compared)


def details(found: "Findings", entries: Sequence[dict], pictures: Sequence[str]) -> list[str]:
    """The generated part of details.md."""
    lines = []
    if found.compared:
        table = summary.table_of(found.compared, with_unpaired=True)
        lines += ["## Every comparison", "", *table, ""]
        lines += [f"{READING} {MORE_READING}", ""]
    if pictures:
        lines += ["## Figures", ""]
    for picture in pictures:
        lines += [picture, ""]
    lines += ["## Runs", "", *(f"- {line}" for line in since(entries))]
    if found.remarks:
        lines += ["", "## Settings", "", *(f"- {remark}" for remark in found.remarks)]
    return lines


def _picture(name: str, chart: "Chart") -> str:
    return f"![{chart.title}]({name}.png)"


def legend(terms: Mapping[str, str]) -> list[str]:
    """A line with the meaning of terms, and an empty one."""
    meanings = "; ".join(f"*{term}*: {meaning}" for term, meaning in terms.items())
    return [f"{meanings}.", ""] if terms else []


def again(
    recipe: "Recipe", entries: Sequence[dict], compared: Sequence[summary.Compared]
) -> list[str]:
    """How to run it again, when it was run, and where everything else is.

    Arms in the ledger of results/ are not trained again, so the commands begin another one.
    """
    commands, elsewhere = [], f"OUTLAYERS_RESULTS=work/again/{Path(recipe.own_results).name}"
    arms = compared[0].arms if compared else ()
    view = Runs(entries, schedule=recipe.schedule).alike(arms) if arms else None
    if view and (both := view.seeds(arms)):
        own = f'{elsewhere} SEEDS="{" ".join(map(str, both))}" ARMS="{" ".join(arms)}"'
        hours = sum(map(sum, view.paired(arms, "train_seconds"))) / 3600
        took = f", {hours:.1f} hours of training on a thread" if hours >= 0.05 else ""
        commands.append((f"{own} recipes/{recipe.name}/run.sh", f"first row{took}"))
    runs = of_arms(entries)
    seeds = sorted({entry["seed"] for entry in runs})
    given = "" if seeds == [1] else f'SEEDS="{" ".join(map(str, seeds))}" '
    commands += [
        (
            f"{elsewhere} {given}recipes/{recipe.name}/run.sh",
            "every arm, with the default settings: up to days",
        ),
        (f"python -m recipes.lab arms {recipe.name}", "their names and options"),
        (f"python -m recipes.lab report {recipe.name}", "this part, tables and figures"),
    ]
    steps = f"recipes/{recipe.name}"
    if Path(ROOT, steps, "README.md").exists() and recipe.has_own_results:
        steps = f"[{steps}](../../{steps}/README.md)"
    days = sorted(entry["date"][:10] for entry in runs if "date" in entry)
    when = f" Measured {' to '.join(dict.fromkeys([days[0], days[-1]]))}." if days else ""
    return [
        "## Run it again", "", "```bash",
        *(f"{command}   # {what}" for command, what in commands),
        "```", "",
        "(Without `OUTLAYERS_RESULTS` no arm is trained that is in the ledger here; where `work/`"
        " has these runs, `FORCE=1` sets them aside.)", "",
        f"Every comparison, figure and setting: [details.md](details.md).{when} Arms and steps:"
        f" {steps}.",
    ]  # fmt: skip


def verdicts(claims: Sequence[Claim]) -> list[str]:
    """A row per claim that has results; the others in one line."""
    tried = [c for c in claims if any(part.verdict != NOT_RUN for part in c.parts)]
    others = [c for c in claims if c not in tried]
    rows = [(f"{c.number}. {c.text}", f"**{c.shown}**", counts(c)) for c in tried]
    lines = markdown_table(("claim", "here", "[inequalities](claims.md)"), rows)
    if others:
        numbers = ", ".join(str(claim.number) for claim in others)
        lines += ["", f"Not run: claim{'s' if len(others) > 1 else ''} {numbers}."]
    return lines if tried else lines[-1:]


def counts(claim: Claim) -> str:
    """``holds 3, undecided 1``, and how many are only shown."""
    found = [part.verdict for part in claim.deciding]
    found += [part.verdict for part in claim.parts if part.verdict == NOT_COUNTED]
    return ", ".join(f"{one} {found.count(one)}" for one in dict.fromkeys(found))


def repeated(entries: Sequence[dict]) -> Iterator[str]:
    """Runs of one arm, setting and seed whose scores differ, for example between machines."""
    by_run: dict[tuple, list[dict]] = {}
    for entry in of_arms(entries):
        by_run.setdefault((entry["arm"], entry["seed"], entry["key"]), []).append(entry["figures"])
    for (arm, seed, _), runs in by_run.items():
        score = next((name for name in SCORES if name in runs[-1]), None)
        names = [name for name in (score, VALIDATION) if name and all(name in run for run in runs)]
        shown = {
            SCORES.get(name, "validation perplexity"): [
                f"{run[name]:.{2 if name == VALIDATION else 1}f}" for run in runs
            ]
            for name in names
        }
        if any(len(set(values)) > 1 for values in shown.values()):
            scores = "; ".join(f"{name} {', '.join(values)}" for name, values in shown.items())
            yield f"`{arm}` with seed {seed} was run {len(runs)} times: {scores}. The last counts."


def numbers_of_seeds(entries: Sequence[dict]) -> str:
    """``6 arms with 3 seeds, 31 with 1``."""
    seeds: dict[str, set[int]] = {}
    for entry in entries:
        seeds.setdefault(entry["arm"], set()).add(entry["seed"])
    numbers = [len(found) for found in seeds.values()]
    (most, arms), *others = ((n, numbers.count(n)) for n in sorted(set(numbers), reverse=True))
    first = f"{arms} arm{'s' if arms > 1 else ''} with {seeds_in_words(most)}"
    return ", ".join([first, *(f"{arms} with {n}" for n, arms in others)])


def at_limit(entries: Sequence[dict]) -> str:
    """How many of the trained models ended at ``--max-epoch`` rather than by their patience."""
    trained = [e for e in entries if e["figures"].get("epochs") and schedules.limit_of_epochs(e)]
    ended = sum(e["figures"]["epochs"] >= schedules.limit_of_epochs(e) for e in trained)
    if not ended or not any(schedules.has_patience(e) for e in trained):
        return ""
    who = "all" if ended == len(trained) else f"{ended} of {len(trained)}"
    return f", {who} runs ended by the limit of epochs"


def since(entries: Sequence[dict]) -> list[str]:
    """Dates and schedules of the ledger lines."""
    by_schedule: dict[str, list[dict]] = {}
    tuning = sum(kind_of(entry) == TUNING for entry in entries)
    for entry in of_arms(entries):
        by_schedule.setdefault(schedules.in_words(entry), []).append(entry)
    lines = []
    for words, own in by_schedule.items():
        days = sorted(entry["date"][:10] for entry in own if "date" in entry)
        when = f", {days[0]} to {days[-1]}" if days and days[0] < days[-1] else ""
        when = when or (f", {days[0]}" if days else "")
        commits = sorted({entry["commit"][:7] for entry in own if entry.get("commit")})
        made = f", commits {commits[0]} and others" if len(commits) > 1 else ""
        made = made or (f", commit {commits[0]}" if commits else "")
        lines.append(
            f"{numbers_of_seeds(own)}: {words or 'one schedule'}{at_limit(own)}{when}{made}."
        )
    if len(lines) > 1:
        lines.append("Only arms of one schedule are compared.")
    lines += repeated(entries)
    if tuning:
        runs = f"{tuning} tuning run" + ("s" if tuning > 1 else "")
        lines.append(f"{runs}, by validation perplexity alone: [tuning.md](tuning.md).")
    return lines
