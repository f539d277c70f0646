"""Makes a recipe's table from its ledger: Markdown to read, JSON to work with.

    python recipes/report.py results/baseline_multi30k/ledger.jsonl --arms luong_linear luong_tied

Writes report.md and report.json beside the ledger, or to --output. Rows come in the order of --arms
(with --only, nothing but these); differences in BLEU are tested against the first row; arms of the
list that were not run are named.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import comparison
import ledger
import length_limits
import scoring
import tuning
from comparison import Row, mean_and_deviation


def _p_values(row: Row) -> str:
    return ", ".join(f"{value:.3f}" for _, value in sorted(row.p_values.items())) or "-"


def _intervals(row: Row) -> str:
    return ", ".join(str(interval) for _, interval in sorted(row.intervals.items())) or "-"


def _length_limit(row: Row) -> str:
    """As decoding had it; a ledger line of perplexities has none."""
    generate = row.entries[min(row.entries)].get("setting", {}).get("generate")
    return "-" if generate is None else length_limits.in_words(shlex.split(generate))


def _figure(name: str, digits: int) -> Callable[[Row], str]:
    return lambda row: mean_and_deviation(row.values(name), digits)


# Heading, and what stands under it.
COLUMNS: dict[str, Callable[[Row], str]] = {
    "arm": lambda row: row.label,
    "BLEU": _figure("bleu", 2),
    "BLEU (tokenised)": _figure("bleu_tokenised", 2),
    "BLEU, dev set (tokenised)": _figure("valid_bleu_tokenised", 2),
    "difference": _intervals,
    "p": _p_values,
    "BLEU, lenpen 0": _figure("bleu_lenpen0", 2),
    "loops": _figure("loops", 0),
    "length ratio": _figure("length_ratio", 3),
    "length limit": _length_limit,
    "chrF": lambda row: mean_and_deviation(row.values("chrf") or row.values("chrf_tokenised")),
    "valid ppl": _figure("best_valid_ppl", 2),
    "test ppl": _figure("test_ppl", 2),
    "parameters": _figure("parameters", 0),
    "share": _figure("sampled_share", 3),
    "train tokens/s": _figure("train_tokens_per_second", 0),
    "peak MB": _figure("train_peak_rss_mb", 0),
    "updates": _figure("updates", 0),
    "seeds": lambda row: ", ".join(map(str, sorted(row.entries))),
    "commit": lambda row: ", ".join(sorted({e["commit"] for e in row.entries.values()})),
}
NOTES = {
    "difference": "difference: in BLEU from the first row, with the 95% interval of 1,000 resamples"
    " of the test set, a value a seed.",
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


def columns(rows: Sequence[Row]) -> dict[str, list[str]]:
    """The cells under each heading, without the columns that are empty throughout."""
    cells = {heading: [cell(row) for row in rows] for heading, cell in COLUMNS.items()}
    return {heading: column for heading, column in cells.items() if set(column) != {"-"}}


def table(rows: Sequence[Row]) -> list[str]:
    """The rows in Markdown."""
    cells = columns(rows)
    lines = ["| " + " | ".join(cells) + " |", "|" + "---|" * len(cells)]
    for number in range(len(rows)):
        lines.append("| " + " | ".join(column[number] for column in cells.values()) + " |")
    return lines


def footnotes(rows: Sequence[Row]) -> list[str]:
    """Signatures, machines, what the numbers mean, and what the rows are."""
    entries = [entry for row in rows for entry in row.entries.values()]
    notes = []
    for name in ("bleu", "bleu_tokenised", "chrf", "chrf_tokenised"):
        found = {e["figures"].get(f"{name}_signature") for e in entries} - {None}
        title = {"bleu": "BLEU", "bleu_tokenised": "BLEU (tokenised)"}.get(name, name)
        notes += [f"{title}: `{signature}`" for signature in sorted(found)]
    notes += [note for heading, note in NOTES.items() if heading in columns(rows)]
    for machine in sorted({json.dumps(e["machine"], sort_keys=True) for e in entries}):
        facts = json.loads(machine)
        notes.append(f"machine: {facts['cpu']}, {facts['cores']} cores, GPU: {facts['gpu']}")
    for found in sorted({json.dumps(e["versions"], sort_keys=True) for e in entries}):
        notes.append("versions: " + ", ".join(f"{k} {v}" for k, v in json.loads(found).items()))
    return notes


def commands(rows: Sequence[Row]) -> list[str]:
    """What each row is, and the command that trained it."""
    lines = []
    for row in rows:
        entry = row.entries[min(row.entries)]
        lines += [f"- **{row.label}**: {row.words or entry['arm']}", "", "  ```"]
        scoring_commands = [entry[key] for key in sorted(entry) if key.endswith("_command")]
        lines += [f"  {command}" for command in (entry["command"], *scoring_commands)]
        lines.append("  ```")
    return lines


def markdown(title: str, rows: Sequence[Row], missing: Sequence[str], problems: list[str]) -> str:
    """The whole report."""
    lines = [f"# {title}", "", *table(rows), ""]
    lines += [f"- {note}" for note in footnotes(rows)]
    lines += [f"- not compared: {problem}" for problem in problems]
    lines += ["", f"Arms not run: {', '.join(missing) or 'none'}.", "", "## Commands", ""]
    return "\n".join([*lines, *commands(rows), ""])


def as_json(title: str, rows: Sequence[Row], missing: Sequence[str]) -> dict:
    """The same for programs, with every seed's own figures."""
    return {
        "title": title,
        "not_run": list(missing),
        "rows": [
            {
                "arm": row.label,
                "words": row.words,
                "key": row.key,
                "setting": row.entries[min(row.entries)]["setting"],
                "table": {heading: cell(row) for heading, cell in COLUMNS.items()},
                "seeds": {str(seed): e["figures"] for seed, e in sorted(row.entries.items())},
                "p_values": {str(seed): p for seed, p in sorted(row.p_values.items())},
                "differences": {str(s): found for s, found in sorted(row.intervals.items())},
            }
            for row in rows
        ],
    }


def not_run(rows: Sequence[Row], arms: Sequence[str], seeds: Sequence[int]) -> list[str]:
    """The arms of the recipe, or their seeds, that the ledger lacks."""
    missing = []
    for arm in arms:
        done = {s for row in rows for s, entry in row.entries.items() if entry["arm"] == arm}
        lacking = [seed for seed in seeds if seed not in done] if seeds else []
        if not done:
            missing.append(arm)
        elif lacking:
            missing.append(f"{arm} (seed {', '.join(map(str, lacking))})")
    return missing


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ledger", type=Path)
    parser.add_argument("--title", help="default: the name of the ledger's folder")
    parser.add_argument("--arms", nargs="*", default=[], help="of the recipe, in order")
    parser.add_argument("--seeds", nargs="*", type=int, default=[], help="that each should have")
    parser.add_argument("--only", action="store_true", help="leave out arms that --arms lacks")
    parser.add_argument(
        "--output", type=Path, help="of the files, without .md and .json; default: report"
    )
    parser.add_argument("--no-bootstrap", action="store_true", help="skip the paired tests")
    options = parser.parse_args(arguments)
    options.title = options.title or options.ledger.resolve().parent.name
    options.output = options.output or options.ledger.parent / "report"
    return options


def main(arguments: list[str] | None = None) -> int:
    """Write the report and print its table."""
    options = parse_arguments(arguments)
    try:
        entries = ledger.read(options.ledger)
        if not entries:
            raise ValueError(f"{options.ledger} is missing or empty: run an arm first")
        if options.only:
            entries = [entry for entry in entries if entry["arm"] in options.arms]
        choices, entries = tuning.rows(entries), tuning.without(entries)
        rows = comparison.rows_of(entries, options.arms)
        problems = [] if options.no_bootstrap else comparison.compare_with_first(rows)
    except ValueError as error:
        print(f"report: {error}", file=sys.stderr)
        return 2
    missing = not_run(rows, options.arms, options.seeds)
    if rows or choices:
        facts = json.dumps(as_json(options.title, rows, missing), indent=2, ensure_ascii=False)
        scoring.write_lines(Path(f"{options.output}.json"), facts.split("\n"))
        text = markdown(options.title, rows, missing, problems) + tuning.markdown(choices)
        scoring.write_lines(Path(f"{options.output}.md"), text.rstrip("\n").split("\n"))
        print("\n".join(table(rows)))
    print(f"\narms not run: {', '.join(missing) or 'none'}")
    if rows or choices:
        print(f"{options.output}.json\n{options.output}.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
