"""Print the results of the demo: a table, some translations, and next steps."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from recipes.lab import ledger
from recipes.lab.scores import scoring

EXPLANATION = """\
parameters    number of trained parameters
words/s       training speed in target words per second
BLEU          similarity of the translations to the references, 0 to 100"""

NEXT = """\
What to try next
  make demo DATA=multi30k                real captions, English to German
  make demo EPOCHS=20                    train longer (DIM, LR and MAX_TOKENS can be changed too)
  recipes/baseline_multi30k/run.sh       the full comparison, with a report
  your own fairseq-train command         --arch NAME becomes --arch NAME_outlayers (Transformers);
                                         add --user-dir fairseq_outlayers --output-layer tied"""


def table(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    """Plain text in aligned columns; the first row is the heading."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = zip(row, widths, right, strict=True)
        lines.append(
            "  ".join(cell.rjust(w) if is_right else cell.ljust(w) for cell, w, is_right in cells)
        )
    return [lines[0], "-" * len(lines[0]), *lines[1:]]


def results(entries: Sequence[dict]) -> list[str]:
    """The table of the arms."""
    rows = [("output layer", "what it is", "parameters", "words/s", "BLEU")]
    for entry in entries:
        figures = entry["figures"]
        rows.append(
            (
                entry["arm"],
                entry["words"],
                f"{figures['parameters']:,}",
                f"{figures['train_tokens_per_second']:,.0f}",
                f"{figures['bleu_tokenised']:.1f}",
            )
        )
    return table(rows, (False, False, True, True, True))


def samples(entries: Sequence[dict], sources: Sequence[str], number: int) -> list[str]:
    """Some test sentences with the translation of every arm."""
    references = scoring.read_lines(folder(entries[0]) / "test.tokenised.ref")
    hypotheses = {
        entry["arm"]: scoring.read_lines(folder(entry) / "test.tokenised.hyp") for entry in entries
    }
    # Of medium length, and spread over the test set.
    readable = [n for n, source in enumerate(sources) if 6 <= len(source.split()) <= 12]
    readable = readable or list(range(len(sources)))
    lines = []
    for index in readable[:: max(1, len(readable) // number)][:number]:
        shown = {"source": sources[index], "reference": references[index]}
        shown |= {name: lines_of[index] for name, lines_of in hypotheses.items()}
        lines += [f"  {name:14} {text}" for name, text in shown.items()] + [""]
    return lines


def folder(entry: dict) -> Path:
    """The run folder of a ledger line."""
    return ledger.ROOT / entry["run"]


def main() -> int:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ledger", type=Path)
    parser.add_argument("--source", type=Path, required=True, help="the test set's source side")
    parser.add_argument("--samples", type=int, default=3)
    options = parser.parse_args()
    entries = ledger.read(options.ledger)
    print("\n" + "\n".join(results(entries)) + "\n\n" + EXPLANATION)
    print("\nSome test sentences (<unk>: a word not seen in training)\n")
    print("\n".join(samples(entries, scoring.read_lines(options.source), options.samples)))
    print(NEXT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
