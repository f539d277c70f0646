"""A table of arms from a ledger, as Markdown and JSON.

Rows are arms with one setting; differences in BLEU are tested against the first row; arms that were
not run are listed. Tuning runs have a file of their own, tuning.md.
"""

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, stdev

from recipes.lab.arms import Table
from recipes.lab.ledger import ARM, TUNING, kind_of, of_arms
from recipes.lab.markdown import markdown_table
from recipes.lab.pages.comparison import Comparison
from recipes.lab.runs import Runs
from recipes.lab.scores import length_limits, schedules, scoring
from recipes.lab.scores.resampling import IN_WORDS


def mean_and_deviation(values: Sequence[float], digits: int = 2) -> str:
    """``mean ± sample standard deviation``; only the value if all are equal, "-" if none."""
    if not values:
        return "-"
    text = f"{mean(values):,.{digits}f}"
    # For figures that do not depend on the seed, such as the number of parameters.
    return text if len(set(values)) == 1 else f"{text} ± {stdev(values):,.{digits}f}"


Cell = Callable[[Runs, str, Comparison | None], str]


def _figure(name: str, digits: int) -> Cell:
    return lambda runs, row, _: mean_and_deviation(runs.values(row, name), digits)


def _length_limit(runs: Runs, row: str, _: Comparison | None) -> str:
    """The length limit of decoding; none for language models."""
    generate = runs.entry(row).get("setting", {}).get("generate")
    return "-" if generate is None else length_limits.in_words(shlex.split(generate))


def _chrf(runs: Runs, row: str, _: Comparison | None) -> str:
    return mean_and_deviation(runs.values(row, "chrf") or runs.values(row, "chrf_tokenised"))


def _difference(_: Runs, row: str, comparison: Comparison | None) -> str:
    found = comparison.differences.get(row) if comparison else None
    return found.interval() if found else "-"


def _p_values(_: Runs, row: str, comparison: Comparison | None) -> str:
    found = comparison.p_values.get(row, {}) if comparison else {}
    return ", ".join(f"{value:.3f}" for _, value in sorted(found.items())) or "-"


# Cells by heading.
COLUMNS: dict[str, Cell] = {
    "arm": lambda _, row, __: row,
    "BLEU": _figure("bleu", 2),
    "BLEU (tokenized)": _figure("bleu_tokenised", 2),
    "BLEU, dev set (tokenized)": _figure("valid_bleu_tokenised", 2),
    "difference": _difference,
    "p": _p_values,
    "BLEU, lenpen 0": _figure("bleu_lenpen0", 2),
    "loops": _figure("loops", 0),
    "length ratio": _figure("length_ratio", 3),
    "length limit": _length_limit,
    "chrF": _chrf,
    "valid ppl": _figure("best_valid_ppl", 2),
    "test ppl": _figure("test_ppl", 2),
    "parameters": _figure("parameters", 0),
    "share": _figure("sampled_share", 3),
    "train tokens/s": _figure("train_tokens_per_second", 0),
    "peak MB": _figure("train_peak_rss_mb", 0),
    "updates": _figure("updates", 0),
    "seeds": lambda runs, row, _: ", ".join(map(str, runs.seeds([row]))),
    "commit": lambda runs, row, _: ", ".join(sorted({e["commit"] for e in runs.entries(row)})),
}
NOTES = {
    "difference": "difference: in {bleu} from the first row (of several settings, from the newest"
    " one trained and decoded alike that had begun when the row was run), with the interval of"
    f" {IN_WORDS} over 1,000 resamples of the test set and over the seeds that both have.",
    "p": "p: paired bootstrap against the first row (sacreBLEU, 1,000 resamples), a value a seed.",
    "BLEU, lenpen 0": "BLEU, lenpen 0: of the most probable hypothesis in the beam, not divided by"
    " its length.",
    "loops": "loops: translations that reach the length limit, or repeat a phrase of 1 to 4 words"
    " three times in a row.",
    "length ratio": "length ratio: words of the translations over words of the references.",
    "length limit": "length limit: most tokens of a translation, S being the tokens of its source;"
    f" **{length_limits.NONE}**: decoded without a limit of its own, so loops may make up much of"
    " the output, and its BLEU does not compare with the others'.",
    "share": "share: of the classes, scored in training; the mean over updates.",
    "train tokens/s": "train tokens/s: target tokens, median over epochs. peak MB: largest resident"
    " size of fairseq-train. Both compare only between rows run on the same idle machine.",
}


def columns(runs: Runs, comparison: Comparison | None = None) -> dict[str, list[str]]:
    """The cells of each column, without empty columns."""
    cells = {h: [cell(runs, row, comparison) for row in runs.arms] for h, cell in COLUMNS.items()}
    return {heading: column for heading, column in cells.items() if set(column) != {"-"}}


def table(cells: dict[str, list[str]]) -> list[str]:
    """Columns in Markdown."""
    return markdown_table(list(cells), zip(*cells.values(), strict=True))


def footnotes(runs: Runs, headings: Sequence[str]) -> list[str]:
    """Signatures, machines and explanations of the columns."""
    entries = [entry for row in runs.arms for entry in runs.entries(row)]
    notes = []
    for name in ("bleu", "bleu_tokenised", "chrf", "chrf_tokenised"):
        found = {e["figures"].get(f"{name}_signature") for e in entries} - {None}
        title = {"bleu": "BLEU", "bleu_tokenised": "BLEU (tokenized)"}.get(name, name)
        notes += [f"{title}: `{signature}`" for signature in sorted(found)]
    bleu = "BLEU (tokenized)" if runs.form == "tokenised" else "BLEU"
    notes += [note.format(bleu=bleu) for heading, note in NOTES.items() if heading in headings]
    for machine in sorted({json.dumps(e["machine"], sort_keys=True) for e in entries}):
        facts = json.loads(machine)
        notes.append(f"machine: {facts['cpu']}, {facts['cores']} cores, GPU: {facts['gpu']}")
    for versions in sorted({json.dumps(e["versions"], sort_keys=True) for e in entries}):
        notes.append("versions: " + ", ".join(f"{k} {v}" for k, v in json.loads(versions).items()))
    return notes


def commands(runs: Runs) -> list[str]:
    """The description and training command of each row."""
    lines = []
    for row in runs.arms:
        entry = runs.entry(row)
        lines += [f"- **{row}**: {entry.get('words') or entry['arm']}", "", "  ```"]
        scoring_commands = [entry[key] for key in sorted(entry) if key.endswith("_command")]
        lines += [f"  {command}" for command in (entry["command"], *scoring_commands)]
        lines.append("  ```")
    return lines


def tuning(entries: Sequence[dict]) -> list[str]:
    """A table of the tuning runs of a ledger with the options in which they differ.

    They are compared with other runs of the same name, and with the arm itself: its newest run
    with this schedule, or else with another one.
    """
    tuned = [entry for entry in entries if kind_of(entry) == TUNING]
    newest = {(e["arm"], e["key"], e["seed"]): e for e in tuned}
    rows = []
    for entry in newest.values():
        others = [e for e in newest.values() if e["arm"] == entry["arm"]]
        arms = [e for e in entries if e["arm"] == entry["arm"] and kind_of(e) == ARM]
        schedule = schedules.of(entry)[:-2]
        others += sorted(arms, key=lambda e: schedules.of(e)[:-2] == schedule)[-1:]
        of_others = [_options(e["setting"]["train"]) for e in others]
        common = set.intersection(*map(set, of_others))
        options = _options(entry["setting"]["train"])
        own = [o for o in options if o not in common or o.startswith("--lr ")]
        given = {o.split()[0] for o in options}
        lacking = (o for every in of_others for o in every if o.split()[0] not in given)
        own += [f"without {option}" for option in dict.fromkeys(lacking)]
        figures = entry["figures"]
        cells = (entry["arm"], entry.get("words", ""), " ".join(own),
                 figures.get("best_valid_ppl"), figures.get("updates"), entry["seed"],
                 entry["commit"])  # fmt: skip
        rows.append(["-" if cell is None else cell for cell in cells])
    if not rows:
        return []
    headings = ("run", "", "differs in", "valid ppl", "updates", "seed", "commit")
    title = "# Settings chosen on the validation set"
    note = "*differs in*: from other runs with the same name, and from the arm itself."
    return [title, "", note, "", *markdown_table(headings, rows)]


def _options(command: str) -> list[str]:
    """The options of a command, each as ``--name value``."""
    return [f"--{option.strip()}" for option in command.split("--") if option.strip()]


def not_run(entries: Sequence[dict], arms: Sequence[str], seeds: Sequence[int]) -> list[str]:
    """Arms of the recipe, or seeds of their newest setting, that are not in the ledger."""
    runs, missing = Runs(entries), []
    for arm in arms:
        done = runs.seeds([arm])
        lacking = [seed for seed in seeds if seed not in done]
        if not done:
            missing.append(arm)
        elif lacking:
            missing.append(f"{arm} (seed {', '.join(map(str, lacking))})")
    return missing


def write_tuning(entries: Sequence[dict], folder: Path) -> list[Path]:
    """Write tuning.md, if a ledger has tuning runs; returns the file."""
    lines, file = tuning(entries), folder / "tuning.md"
    if not lines:
        return []
    scoring.write_lines(file, lines)
    return [file]


def write(
    entries: Sequence[dict],
    folder: Path,
    wanted: Table,
    seeds: Sequence[int] = (),
    form: str | None = None,
) -> list[Path]:
    """Write a table and print it.

    Args:
        entries: lines of a ledger.
        folder: for its files.
        wanted: the table.
        seeds: expected seeds of each arm.
        form: of the BLEU that is compared: "plain", "tokenised", or None for plain text if
            available.
    Returns:
        The files; empty if there is no row.
    """
    arms = wanted.arms
    if wanted.only:
        entries = [entry for entry in entries if entry["arm"] in arms]
    runs = Runs.by_setting(of_arms(entries), arms, form)
    missing = not_run(entries, arms, seeds)
    if not runs.arms:
        print(f"\narms not run: {', '.join(missing) or 'none'}")
        return []
    comparison = Comparison(runs) if wanted.compare else None
    cells = columns(runs, comparison)
    lines = [f"# {wanted.title}", "", *table(cells), ""]
    lines += [f"- {note}" for note in footnotes(runs, list(cells))]
    lines += [f"- not compared: {p}" for p in (comparison.problems if comparison else ())]
    lines += ["", f"Arms not run: {', '.join(missing) or 'none'}.", ""]
    files = [folder / f"{wanted.name}.json", folder / f"{wanted.name}.md"]
    scoring.write_json(files[0], _as_json(wanted.title, runs, comparison, missing))
    scoring.write_lines(files[1], [*lines, "## Commands", "", *commands(runs)])
    print("\n".join(table(cells)))
    print(f"\narms not run: {', '.join(missing) or 'none'}")
    return files


def _as_json(title: str, runs: Runs, comparison: Comparison | None, missing: Sequence[str]) -> dict:
    """The table as JSON, with the figures of every seed."""
    rows = []
    for row in runs.arms:
        entry = runs.entry(row)
        p_values = comparison.p_values.get(row, {}) if comparison else {}
        rows.append({
            "arm": row,
            "words": entry.get("words", ""),
            "key": entry["key"],
            "setting": entry["setting"],
            "table": {h: cell(runs, row, comparison) for h, cell in COLUMNS.items()},
            "seeds": {str(seed): runs.entry(row, seed)["figures"] for seed in runs.seeds([row])},
            "p_values": {str(seed): p for seed, p in sorted(p_values.items())},
            "difference": comparison.differences.get(row) if comparison else None,
            "difference_unpaired": comparison.unpaired.get(row) if comparison else None,
        })  # fmt: skip
    return {"title": title, "not_run": list(missing), "rows": rows}
