"""Decoding speed over candidate lists, over all words, and of a model with a small vocabulary.

    python benchmarks/candidate_decoding.py --classes 500000 --frequent 15000 --small 30000

Each arm is an untrained ``luong_lstm`` that translates the same random sentences by beam search, up
to the length limit; a turn is one batch. Prints words per second, and the ratio to the model with
the small vocabulary, which uses no lists.
"""

import argparse
import functools
from pathlib import Path
from statistics import median
from typing import Any

import torch
import turns
from fairseq.models import MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY
from training_step import make_batch, make_task, sizes_of

from fairseq_outlayers.decoding.candidates import SCOPES
from fairseq_outlayers.decoding.search import CandidateGenerator
from fairseq_outlayers.decoding.translations import Translations


def make_model(task: Any, output_layer: str, dimensions: int) -> Any:
    """A ``luong_lstm`` for the task's dictionaries."""
    sizes = sizes_of(output_layer, dimensions, dimensions)
    config = MODEL_DATACLASS_REGISTRY["luong_lstm"](output_layer=output_layer, **sizes)
    return MODEL_REGISTRY["luong_lstm"].build_model(config, task).eval()


def random_translations(task: Any, per_word: int) -> Translations:
    """``per_word`` target words for every source word."""
    num_source, num_target = len(task.src_dict), len(task.tgt_dict)
    generator = torch.Generator().manual_seed(0)
    targets = torch.randint(4, num_target, (num_source * per_word,), generator=generator)
    offsets = torch.arange(0, len(targets) + 1, per_word)
    return Translations(offsets, targets, torch.zeros(0, dtype=torch.long), per_word)


def make_arms(options: argparse.Namespace) -> dict[tuple[str, str], Any]:
    """Functions that translate a batch, by output layer and type of list."""
    arms = {}
    small, large = make_task(options.small), make_task(options.classes)
    translations = random_translations(large, options.per_word)
    # Source ids of the small task, so that all arms have the same input.
    batch = turns.on(options.device, make_batch(small, options.sentences, options.length))
    search = {"beam_size": options.beam, "max_len_b": options.length, "min_len": options.length}
    for layer in options.output_layers:
        tasks = {"small vocabulary": small, "all words": large}
        models = {
            name: make_model(task, layer, options.dimensions).to(options.device)
            for name, task in tasks.items()
        }
        generators = {
            name: CandidateGenerator([models[name]], task.tgt_dict, **search)
            for name, task in tasks.items()
        }
        for scope, lists in SCOPES.items():
            arguments = (large.tgt_dict, translations, options.frequent, options.per_word)
            generators[f"candidates by {scope}"] = CandidateGenerator(
                [models["all words"]], large.tgt_dict, lists(*arguments), **search
            )
        for name, generator in generators.items():
            arms[layer, name] = functools.partial(generator, batch)
    return arms


def main() -> None:
    """Measure, print a table, write the results."""
    options = parse_arguments()
    torch.set_num_threads(options.threads)
    times = turns.take_turns(make_arms(options), options.rounds)
    words, rows = options.sentences * options.length, []
    turns.print_headings(
        "output layer | decoded over | words/s | speed / small vocabulary (min to max)"
    )
    for (layer, name), seconds in times.items():
        row = {
            "output_layer": layer,
            "decoded_over": name,
            "words_per_second": words / median(seconds),
            "speed_by_small": turns.ratios(times[layer, "small vocabulary"], seconds),
        }
        rows.append(row)
        speed = f"{row['words_per_second']:,.0f}"
        turns.print_row(layer, name, speed, turns.spread(row["speed_by_small"]))
    turns.write(options.output, vars(options), rows)


def parse_arguments() -> argparse.Namespace:
    """Parse the command line; the output file is named after the number of classes."""
    parser = turns.parser(__doc__, None)
    parser.add_argument("--classes", type=int, default=500_000)
    parser.add_argument("--small", type=int, default=30_000, help="classes of the reference model")
    parser.add_argument("--frequent", type=int, default=15_000, help="K")
    parser.add_argument("--per-word", type=int, default=10, help="K'")
    parser.add_argument("--output-layers", nargs="+", default=["linear"])
    parser.add_argument(
        "--dimensions", type=int, default=256, help="of embeddings and hidden states"
    )
    parser.add_argument("--sentences", type=int, default=32)
    parser.add_argument("--length", type=int, default=25, help="tokens per sentence")
    parser.add_argument("--beam", type=int, default=12)
    options = parser.parse_args()
    if options.output is None:
        name = f"candidate_decoding.V{options.classes}.json"
        options.output = Path("results/benchmarks") / name
    return options


if __name__ == "__main__":
    main()
