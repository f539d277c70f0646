"""Train word vectors with gensim on monolingual text, tokenized like the parallel text.

The result is reproducible only with --workers 1.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from lib.common import (
    CommandParser,
    positive_int,
    progress,
    refuse_unless,
    run,
    worker_count,
)

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.formats.output_file import write_together
from fairseq_outlayers.formats.text import count_lines, read_lines
from fairseq_outlayers.suggestions import between

EXAMPLE = """example:
  python data_prep/train_embeddings.py --input captions.en --output vectors.en.vec --dimensions 300
  python data_prep/train_embeddings.py --method fasttext --input news.en --output news.en.bin

FILE.vec is text; FILE.bin (only with fasttext) can compose vectors of unknown words from subwords
"""
METHODS = ("skipgram", "cbow", "fasttext")
BUCKETS = 2_000_000
LONGEST = 10_000  # words of a sentence; gensim trains on no more (MAX_WORDS_IN_BATCH)


class Sentences:
    """The words of each line, for any number of passes; a long line gives several sentences.

    Args:
        paths: text files.
        passes: expected number of passes, for progress.
    """

    def __init__(self, paths: Sequence[Path], passes: int):
        self.paths = paths
        self.total = sum(map(count_lines, paths))
        self.passes = passes
        self.done = 0

    def __iter__(self) -> Iterator[list[str]]:
        self.done += 1
        lines = (line for path in self.paths for line in read_lines(path))
        for line in progress(lines, self.total, f"pass {self.done} of {self.passes}"):
            words = line.split()
            for begin in range(0, len(words), LONGEST):
                yield words[begin : begin + LONGEST]


def train(options: argparse.Namespace, output: Path) -> None:
    """Train and write the vectors to ``output``."""
    try:
        from gensim.models import FastText, Word2Vec  # slow to import
        from gensim.models.fasttext import save_facebook_model
    except ImportError:
        raise UserError("gensim is missing: pip install gensim") from None
    subwords = {"bucket": options.buckets or BUCKETS} if options.method == "fasttext" else {}
    model_class = FastText if subwords else Word2Vec
    try:
        model = model_class(
            Sentences(options.input, options.epochs + 1),
            vector_size=options.dimensions,
            window=options.window,
            min_count=options.min_count,
            epochs=options.epochs,
            seed=options.seed,
            workers=options.workers,
            sg=int(options.method != "cbow"),
            **subwords,
        )
    except RuntimeError as error:  # "you must first build vocabulary"
        raise UserError(
            f"{options.input[0]}: no word occurs --min-count {options.min_count} times ({error})"
        ) from None
    if options.output.suffix == ".bin":
        save_facebook_model(model, str(output))
    else:
        model.wv.save_word2vec_format(str(output))
    print(f"{len(model.wv):,} words, {options.dimensions} dimensions, {options.method}")


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = CommandParser(description=__doc__, epilog=EXAMPLE)
    parser.add_argument("--input", required=True, nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--output", required=True, type=Path, metavar="FILE.vec|FILE.bin")
    parser.add_argument(
        "--method", choices=METHODS, default="skipgram", help="default: %(default)s"
    )
    for name, default, kind, text in (
        ("dimensions", 300, between(1, 100_000), "of a vector"),
        ("min-count", 5, positive_int, "rarer words get no vector"),
        ("window", 5, between(1, 10_000), "context words on either side"),
        ("epochs", 5, between(1, 10_000), "passes over the text"),
        ("seed", 1, between(1, 2**31 - 1), "random seed"),
        ("workers", 1, worker_count, "threads; reproducible only with one"),
    ):
        parser.add_argument(
            f"--{name}", type=kind, default=default, metavar="N",
            help=f"{text} (default: {default})",
        )  # fmt: skip
    parser.add_argument(
        "--buckets",
        type=positive_int,
        metavar="N",
        help=f"fasttext: number of hash buckets for subwords (default: {BUCKETS})",
    )
    options = parser.parse_args(arguments)
    refuse_unless(options, options.method == "fasttext", "without --method fasttext", "buckets")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Train and write the vectors."""
    options = parse_arguments(arguments)
    if options.output.suffix not in (".vec", ".bin"):
        raise UserError(f"--output {options.output}: must end in .vec or .bin")
    if options.output.suffix == ".bin" and options.method != "fasttext":
        raise UserError(
            f"--output {options.output} --method {options.method}: only fasttext makes vectors "
            "from subwords; write FILE.vec instead"
        )
    with write_together([options.output], options.input) as outputs:
        train(options, outputs[0].temporary)
    print(f"wrote {options.output}")


if __name__ == "__main__":
    run(main)
