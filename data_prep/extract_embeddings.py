"""Make a table of external word vectors for source words, and its dictionary.

The dictionary lists the words of the training text by frequency, then every other word of the
vector file, so that words unseen in training have their own vectors too. Writes

    PREFIX.npy        the table, a row per symbol of the dictionary; memory-mapped
    PREFIX.npy.json   its checksums
    PREFIX.dict.txt   for fairseq-preprocess --srcdict

A word that is not in the vector file gets the vector of a case variant, else that of the form with
'#' for digits, else one from subwords (fastText's .bin, model2vec), else the mean of all vectors.
</s> has the mean plus one standard deviation (the code of Di Gangi & Federico 2017).
"""

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lib.common import CommandParser, positive_int, progress, run
from lib.coverage import NONE, Coverage, failures
from lib.extraction import Extraction
from lib.vector_formats import FORMATS, detect_format

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.dictionary import SPECIALS, write_dictionary
from fairseq_outlayers.formats.external_table_writer import (
    PRECISIONS,
    TableWriter,
    checksums,
    dictionary_facts,
    write_json,
)
from fairseq_outlayers.formats.output_file import write_together
from fairseq_outlayers.formats.text import count_lines, read_lines

EXAMPLE = """example:
  python data_prep/extract_embeddings.py --vectors glove.840B.300d.txt \\
      --train tokenized/train.en --text tokenized/valid.en tokenized/test.en --output external.en
  fairseq-preprocess --srcdict external.en.dict.txt --padding-factor 1 ...
  fairseq-train ... --arch nematus_mix_sum --external-embeddings external.en.npy
"""


def count_words(paths: Sequence[Path]) -> dict[Path, Counter[str]]:
    """Word counts of each text, split as by fairseq."""
    found = {}
    for path in paths:
        lines = progress(read_lines(path), count_lines(path), f"reading {path.name}")
        found[path] = Counter(word for line in lines for word in line.split())
    return found


def by_frequency(counts: Counter[str]) -> list[str]:
    """Words in the order of fairseq's dictionaries, without its special symbols."""
    words = (word for word in counts if word not in SPECIALS)
    return sorted(words, key=lambda word: (-counts[word], word))


def describe(
    options: argparse.Namespace,
    extraction: Extraction,
    norms: dict[str, float],
    texts: dict[Path, Counter[str]],
) -> None:
    """Print what was read and the coverage of each text."""
    print(
        f"{options.vectors}: {extraction.count:,} words, {extraction.vectors.dimensions} dimensions"
    )
    for reason, number in sorted(extraction.skipped.items()):
        print(f"  skipped, {reason}: {number:,}")
    print("  norm: " + ", ".join(f"{name} {value:g}" for name, value in norms.items()))
    size = min(options.internal_vocabulary or extraction.trained, extraction.trained)
    internal: Callable[[str], bool] = lambda word: extraction.rows.get(word, size) < size  # noqa: E731
    for path, counts in texts.items():
        print("\n".join(Coverage(str(path), counts, extraction.source, internal).lines()))
        print("\n".join(failures(counts, extraction.source, extraction.has_vector)) or "  complete")
    needed = "the default of" if size == extraction.trained else "pass"
    print(f"training vocabulary: {size} symbols ({needed} --internal-vocabulary of the model)")


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = CommandParser(description=__doc__, epilog=EXAMPLE)
    parser.add_argument(
        "--vectors",
        required=True,
        type=Path,
        metavar="FILE",
        help=".vec, GloVe, word2vec's or fastText's .bin, or a folder of model2vec",
    )
    parser.add_argument(
        "--format", choices=("auto", *FORMATS), default="auto", help="default: %(default)s"
    )
    parser.add_argument(
        "--train", required=True, type=Path, metavar="FILE", help="training text, source side"
    )
    parser.add_argument(
        "--text",
        nargs="*",
        default=[],
        type=Path,
        metavar="FILE",
        help="other texts: report their coverage, and give their words a vector by back-off",
    )
    parser.add_argument("--output", required=True, metavar="PREFIX")
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default="fp16",
        help="precision of the table (default: fp16)",
    )
    parser.add_argument(
        "--limit", type=positive_int, metavar="N", help="read only the first N words of the vectors"
    )
    parser.add_argument(
        "--internal-vocabulary",
        type=positive_int,
        metavar="N",
        help="number of symbols (with specials) that have embeddings in the model; affects only "
        "the report (default: all words of the training text)",
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write table, checksums and dictionary, and print their coverage."""
    options = parse_arguments(arguments)
    training, texts = count_words([options.train])[options.train], count_words(options.text)
    form = detect_format(options.vectors) if options.format == "auto" else options.format
    vectors = FORMATS[form](options.vectors)
    paths = [Path(f"{options.output}{ending}") for ending in (".npy", ".npy.json", ".dict.txt")]
    with write_together(paths, [options.vectors, options.train, *options.text]) as outputs:
        table = TableWriter(outputs[0], vectors.dimensions, PRECISIONS[options.precision])
        extraction = Extraction(vectors, table, by_frequency(training))
        extraction.read(options.limit)
        for counts in (training, *texts.values()):
            extraction.add_other_forms(counts)
        if all(extraction.source(word) == NONE for word in training):
            raise UserError(
                f"{options.vectors}: has no word of {options.train}; check the language of the "
                "vectors, and how the text is tokenized"
            )
        norms = extraction.add_shared_rows()
        rows = len(extraction.rows)
        table.finish(rows)
        facts: dict[str, Any] = {
            "rows": rows,
            "dimensions": vectors.dimensions,
            "training_rows": extraction.trained,
            "vectors": {"file": options.vectors.name, "format": form, "words": extraction.count},
            "norms": norms,
            "dictionary": dictionary_facts(extraction.rows),
        }
        write_json(outputs[1], facts | checksums(outputs[0].temporary))
        words = list(extraction.rows)[len(SPECIALS) :]
        write_dictionary(outputs[2], words, [training[word] for word in words])
    describe(options, extraction, norms, {options.train: training, **texts})
    for path in paths:
        print(f"wrote {path}")


if __name__ == "__main__":
    run(main)
