"""CharCNN word vectors: computing each distinct character window once, or every position.

    python benchmarks/character_windows.py work/assylbekov2018_subword_lm/ptb.6000/dict.txt

Both arms compute the features of the small model (Kim et al. 2016) and the gradients of characters
and filters: `windows` like the package, `convolution` by a convolution over all positions. Words
are the whole dictionary, as for classes in training, or --batch-words of them, as at the input.
Prints the difference of the results, and the median, minimum and maximum of the ratios over the
rounds.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import torch
import turns
from fairseq.data import Dictionary
from torch import Tensor

from fairseq_outlayers.compositions.base import Parts
from fairseq_outlayers.compositions.charcnn import CharCNN
from fairseq_outlayers.compositions.units import units_of_dictionary

CONFIG = SimpleNamespace(unit_dim=0, char_widths=6, char_filters=25, mask_char_padding=False)


def by_convolution(parts: Parts, ids: Tensor) -> Tensor:
    """Features of words, ``(N, D)``, from all positions of all words."""
    characters = parts["emb"](ids).transpose(1, 2)
    responses = [convolution(characters).amax(2) for convolution in parts["cnn"].convolutions]
    return torch.tanh(torch.cat(responses, 1))


def with_gradients(features: Callable[[], Tensor], parts: Parts) -> Callable[[], Tensor]:
    """A step that computes the features and a backward pass to the parts."""

    def step() -> Tensor:
        for part in parts.values():
            part.zero_grad()
        found = features()
        found.sum().backward()
        return found

    return step


def main() -> None:
    """Measure, print a table, write the results."""
    options = parse_arguments()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    units = units_of_dictionary(Dictionary.load(str(options.dictionary)), "characters")
    composition = CharCNN.build(CONFIG, units, 0)
    parts = turns.on(options.device, composition.build_parts(composition.parts))
    ids = units.ids.to(options.device)
    some = ids[torch.randperm(len(ids))[: options.batch_words].to(options.device)]
    prepared = composition.prepare_all(ids)
    places = len(units.ids) * (units.longest - CONFIG.char_widths + 1)
    distinct = len(prepared[-1].units)
    print(f"{places:,} windows of {CONFIG.char_widths} characters, {distinct:,} distinct\n")
    comparisons = {
        f"all {len(units.ids):,} words": (
            lambda: by_convolution(parts, ids),
            lambda: composition.combine(parts, prepared),
        ),
        f"{len(some):,} words": (
            lambda: by_convolution(parts, some),
            lambda: composition.combine(parts, composition.prepare(some)),
        ),
    }
    rows = []
    turns.print_headings(
        "words | convolution, s | windows, s | time / convolution | largest difference"
    )
    for words, (theirs, ours) in comparisons.items():
        arms = {
            "convolution": with_gradients(theirs, parts),
            "windows": with_gradients(ours, parts),
        }
        difference = (arms["convolution"]() - arms["windows"]()).abs().max().item()
        times = turns.take_turns(arms, options.rounds)
        ratios = turns.ratios(times["windows"], times["convolution"])
        row = {"words": words, "seconds": times, "ratios": ratios, "difference": difference}
        seconds = [f"{median(taken):.3f}" for taken in times.values()]
        turns.print_row(words, *seconds, turns.spread(ratios), f"{difference:.1e}")
        rows.append(row)
    turns.write(options.output, vars(options), rows)


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = turns.parser(__doc__, "character_windows.json", rounds=7)
    parser.add_argument("dictionary", type=Path, help="dict.txt of fairseq-preprocess")
    parser.add_argument("--batch-words", type=int, default=350, help="distinct words per batch")
    return parser.parse_args()


if __name__ == "__main__":
    main()
