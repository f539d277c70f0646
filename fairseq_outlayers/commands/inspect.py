"""Translate a test set and write a page with scores, sentences, attention and candidates."""

import argparse
import re
import shlex
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

from fairseq_outlayers.commands.base import Command, add_checkpoints, add_data_argument
from fairseq_outlayers.commands.tables import model_names
from fairseq_outlayers.errors import UserError, as_flag

FIRST = 100  # sentence pairs that tell the languages
CANDIDATE_SCOPES = ("sentence", "batch", "common")
MOST_MODELS = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_checkpoints(parser, "one model, or two to compare")
    parser.add_argument("--source", required=True, metavar="FILE", help="text to translate")
    parser.add_argument("--reference", required=True, metavar="FILE", help="its translation")
    parser.add_argument(
        "--output", required=True, type=Path, metavar="FILE", help="page to write (.html)"
    )
    parser.add_argument("--title", help="page title (default: names of the text files)")
    parser.add_argument(
        "--names", nargs="+", metavar="NAME", help="model names (default: their run folders)"
    )
    add_data_argument(parser)
    parser.add_argument("--device", default="cpu", help="PyTorch device (default: cpu)")
    parser.add_argument("--beam", type=int, default=5, metavar="N", help="default: 5")
    parser.add_argument(
        "--batch-size", type=int, default=32, metavar="N", help="sentences (default: 32)"
    )
    parser.add_argument("--max-len-a", type=float, default=1.2, metavar="A", help="default: 1.2")
    parser.add_argument(
        "--max-len-b",
        type=int,
        default=10,
        metavar="B",
        help="a translation has at most A times the source's words plus B (default: 10)",
    )
    parser.add_argument("--lenpen", type=float, default=1.0, help="length penalty (default: 1)")
    _add_decoding(parser)
    parser.add_argument(
        "--bleu-tokenizer",
        metavar="NAME",
        help="of sacreBLEU (default: none, or 13a for models that store their tokenizer)",
    )
    parser.add_argument(
        "--neighbour-words",
        type=int,
        default=500,
        metavar="N",
        help="show neighbours of the N most frequent words of the test set (default: 500)",
    )
    parser.add_argument(
        "--number", type=int, default=5, metavar="N", help="neighbours of each word (default: 5)"
    )


def _add_decoding(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--candidates", metavar="FILE", help="candidate lists of data_prep/build_candidates.py"
    )
    parser.add_argument(
        "--candidate-frequent", type=int, metavar="K", help="decode over the K most frequent words"
    )
    parser.add_argument(
        "--candidate-per-word", type=int, metavar="K", help="translations of each source word"
    )
    parser.add_argument(
        "--candidate-scope",
        choices=CANDIDATE_SCOPES,
        help="one list for each sentence or batch, or a common one (default: sentence)",
    )
    parser.add_argument(
        "--candidate-copies",
        action="store_true",
        default=None,
        help="add source words that are also in the target dictionary to the candidates",
    )
    parser.add_argument(
        "--unk-replacement",
        choices=("copy", "dictionary", "lower_case"),
        help="how to replace <unk>",
    )
    parser.add_argument(
        "--unk-dictionary", metavar="FILE", help="lexical table of data_prep/build_lexicon.py"
    )


class Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.stages: Dict[str, float] = {}

    def stage(self, name: str) -> None:
        """Add the time since the previous call to this stage."""
        now = time.perf_counter()
        self.stages[name] = self.stages.get(name, 0) + now - self.start
        self.start = now

    def __str__(self) -> str:
        return ", ".join(f"{name} {seconds:.1f} s" for name, seconds in self.stages.items())


def run(options: argparse.Namespace) -> None:
    """Write the page and print the time of each stage."""
    # Imported here to keep other commands fast.
    from fairseq_outlayers.analysis.inspection import System, inspect_test_set, read_pairs
    from fairseq_outlayers.pages import inspection_page, write_page
    from fairseq_outlayers.pages.writing import check_output

    _check(options)
    check_output(options.output)
    clock = Clock()
    pairs = read_pairs(options.source, options.reference)
    systems = []
    names = options.names or model_names(options.checkpoints)
    for name, path in zip(names, options.checkpoints, strict=True):
        with _named_as_given(options):
            translator = _load(path, options)
        _check_languages(translator, pairs[:FIRST], options)
        clock.stage("loading")
        with _named_as_given(options):
            translations = translator.translate([source for source, _ in pairs], **_search(options))
        systems.append(System(name, path, translator, translations))
        clock.stage("decoding")
    data = inspect_test_set(
        pairs, systems, options.bleu_tokenizer, options.neighbour_words, options.number
    )
    clock.stage("scores and neighbours")
    title = options.title or f"{Path(options.source).name} to {Path(options.reference).name}"
    size = write_page(options.output, inspection_page(data, title, _command_line()))
    clock.stage("page")
    for model in data["models"]:
        bleu = model["bleu"]
        print(f"{model['name']}: BLEU {bleu['value']:.2f} [{bleu['low']:.2f}, {bleu['high']:.2f}]")
    print(f"{len(pairs):,} sentences: {clock}")
    print(f"{options.output} ({size / 1e6:.2f} MB): open it in a browser")


@contextmanager
def _named_as_given(options: argparse.Namespace) -> Iterator[None]:
    """Name options and lines in errors of the Python API as on the command line."""
    try:
        yield
    except UserError as error:
        message = re.sub(
            r"^texts\[(\d+)\]",
            lambda found: f"--source {options.source}:{int(found[1]) + 1}",
            str(error),
        )
        message = re.sub(
            r"^(\w+)=(?:'([^']*)'|(\S+?)): ",
            lambda found: (
                f"{as_flag(found[1], found[3] or found[2] or repr(found[2]))}: "
                if found[1] in options
                else found[0]
            ),
            message,
        )
        raise UserError(message) from error


def _check(options: argparse.Namespace) -> None:
    from sacrebleu.metrics import BLEU

    from fairseq_outlayers.stock.ranges import check_stock_ranges

    if len(options.checkpoints) > MOST_MODELS:
        raise UserError(f"{len(options.checkpoints)} checkpoints; a page compares at most two")
    if options.names is not None and len(options.names) != len(options.checkpoints):
        raise UserError(f"--names: {len(options.names)} for {len(options.checkpoints)} checkpoints")
    if options.names is not None and len(set(options.names)) < len(options.names):
        raise UserError(f"{as_flag('names', options.names)}: give each model another name")
    for name in ("neighbour_words", "number", "beam", "batch_size"):
        least = 0 if name == "neighbour_words" else 1
        if getattr(options, name) < least:
            raise UserError(f"{as_flag(name, getattr(options, name))}: must be at least {least}")
    check_stock_ranges(options)
    known = sorted(BLEU.TOKENIZERS)
    name = options.bleu_tokenizer
    if name not in (None, *known):
        raise UserError(f"--bleu-tokenizer {name}: known are {', '.join(known)}")
    try:
        BLEU(tokenize=name)
    except Exception as error:  # a package or a download is missing
        raise UserError(f"--bleu-tokenizer {name}: {' '.join(str(error).split())}") from error


def _load(path: str, options: argparse.Namespace) -> Any:
    from fairseq_outlayers.hub import Translator, load
    from fairseq_outlayers.hub.loading import DECODING_OPTIONS

    names = {"candidates", *DECODING_OPTIONS}
    given = {
        name: value for name, value in vars(options).items() if name in names and value is not None
    }
    model = load(path, options.data, device=options.device, **given)
    if not isinstance(model, Translator):
        raise UserError(f"{path}: a language model; inspect needs a translation model")
    model.spelled = as_flag  # type: ignore[assignment]  # options of the search in errors
    return model


def _check_languages(translator: Any, pairs: List[Tuple[str, str]], options: Any) -> None:
    """Refuse a source and a reference of which each has more words of the other's dictionary."""
    text, task = translator.text, translator.task
    read = [unit for source, _ in pairs for unit in text.encode(source).split()]
    written = [unit for _, target in pairs for unit in text.encode_target(target).split()]
    dictionaries = task.source_dictionary, task.target_dictionary
    known = [[sum(u in d for u in units) for d in dictionaries] for units in (read, written)]
    if known[0][1] > known[0][0] and known[1][0] > known[1][1]:
        raise UserError(
            f"--source {options.source} --reference {options.reference}: seem to be exchanged: of "
            f"the first {len(read):,} units of the source the source dictionary has "
            f"{known[0][0]:,}, the target dictionary {known[0][1]:,}"
        )


def _search(options: argparse.Namespace) -> Dict[str, Any]:
    return {
        "beam": options.beam,
        "batch_size": options.batch_size,
        "max_len_a": options.max_len_a,
        "max_len_b": options.max_len_b,
        "length_penalty": options.lenpen,
    }


def _command_line() -> str:
    return shlex.join(["python", "-m", "fairseq_outlayers", *sys.argv[1:]])


COMMAND = Command(
    example="tied.pt joint.pt --source test.en --reference test.de --output page.html",
    add_arguments=add_arguments,
    run=run,
)
