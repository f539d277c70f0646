"""Draw a translation as SVG: attention, candidates by source word, replaced unknown words.

    python recipes/demo/picture.py --path checkpoints/checkpoint_best.pt \\
        --candidates candidates.npz --sentence "a dog runs ." --output translation.svg

The sentence must be tokenized and segmented like the training text.
"""

import argparse
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

CELL, LEFT, TOP, WIDTH = 34, 130, 116, 980  # pixels
INK, BLUE, RED, GREY = "#24292f", "31, 98, 171", "#b2182b", "#6e7781"


class Picture(NamedTuple):
    """The data of the picture.

    Attributes:
        attention: a row per target unit, a column per source unit, both with ``</s>``.
        sources: from a target unit that replaces ``<unk>`` to its source unit.
        added: from a source unit to its candidates, most probable first.
        candidates: their number, and the size of the vocabulary.
    """

    source: list[str]
    target: list[str]
    attention: list[list[float]]
    sources: dict[int, int]
    added: dict[str, list[str]]
    candidates: tuple[int, int]


def svg(picture: Picture) -> str:
    """The whole image, with a white background for dark pages."""
    height = max(TOP + CELL * len(picture.target) + 20, 80 + 24 * (len(picture.added) + 2))
    parts = [*_attention(picture), *_candidates(picture, LEFT + CELL * len(picture.source) + 60)]
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="14" fill="{INK}">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>\n{body}\n</svg>\n'
    )


def _text(x: float, y: float, text: str, **attributes: Any) -> str:
    more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:g}" y="{y:g}"{more}>{escape(text)}</text>'


def _attention(picture: Picture) -> list[str]:
    """The attention matrix; darker is higher."""
    parts = []
    for column, word in enumerate(picture.source):
        x = LEFT + CELL * (column + 0.6)
        parts.append(_text(x, TOP - 10, word, transform=f"rotate(-55 {x:g} {TOP - 10})"))
    for row, word in enumerate(picture.target):
        y = TOP + CELL * row
        colour = RED if row in picture.sources else INK
        parts.append(_text(LEFT - 10, y + 22, word, text_anchor="end", fill=colour))
        for column, weight in enumerate(picture.attention[row]):
            edge = RED if picture.sources.get(row) == column else "#d0d7de"
            parts.append(
                f'<rect x="{LEFT + CELL * column + 1}" y="{y + 1}" width="{CELL - 2}" '
                f'height="{CELL - 2}" fill="rgba({BLUE}, {weight:.2f})" stroke="{edge}"/>'
            )
    return parts


def _candidates(picture: Picture, x: float) -> list[str]:
    """A line per source word, with the candidates used in the translation underlined."""
    number, words = picture.candidates
    parts = [
        _text(x, 30, f"{number:,} candidates of {words:,} words:", font_weight="bold"),
        _text(x, 50, "the most frequent, and of each source word (underlined: used)"),
    ]
    y = 80
    for word, candidates in picture.added.items():
        parts.append(_text(x + 90, y, word, text_anchor="end", fill=GREY))
        spans = "".join(
            f'<tspan text-decoration="{"underline" if each in picture.target else "none"}">'
            f"{escape(each)}</tspan> "
            for each in candidates
        )
        parts.append(f'<text x="{x + 104:g}" y="{y}">{spans}</text>')
        y += 24
    for row, column in picture.sources.items():
        said = f"<unk> replaced: {picture.target[row]}, from {picture.source[column]}"
        parts.append(_text(x, y + 10, said, fill=RED))
        y += 24
    return parts


def translate(options: argparse.Namespace) -> Picture:
    """Translate the sentence."""
    # Slow to import, and not needed for --help.
    from fairseq_outlayers import load
    from fairseq_outlayers.decoding.translations import Translations

    model = load(
        options.path, options.data, options.candidates, unk_replacement=options.unk_replacement,
        candidate_per_word=options.candidate_per_word, unk_dictionary=options.unk_dictionary,
        candidate_frequent=options.candidate_frequent,
    )  # fmt: skip
    source, target = model.task.source_dictionary, model.task.target_dictionary
    # Before replacements of <unk> are added to the dictionaries.
    words, lists = len(target), Translations.load(options.candidates, source, target)
    found = model.translate(options.sentence)
    added = {}
    for word in dict.fromkeys(found.source):
        row = lists.of(source.encode_line(word, append_eos=False, add_if_not_exist=False)[None],
                       options.show, target.pad())  # fmt: skip
        added[word] = [target[n] for n in row.flatten().tolist() if n != target.pad()]
    rows = found.attention.t().tolist()
    sources = {place: found.alignment[place] for place in found.replaced}
    return Picture([*found.source, "</s>"], [*found.target, "</s>"], rows, sources, added,
                   (len(found.candidates), words))  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Translate, draw, and print the path."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--path", required=True, help="checkpoint")
    parser.add_argument("--data", help="folder of the dictionaries (default: the training data)")
    parser.add_argument("--sentence", required=True, help="source sentence, in units")
    parser.add_argument("--candidates", required=True, help="file of build_candidates.py")
    parser.add_argument("--candidate-frequent", type=int, default=500, metavar="K")
    parser.add_argument("--candidate-per-word", type=int, default=10, metavar="K'")
    parser.add_argument(
        "--show", type=int, default=5, help="number of candidates shown per source word"
    )
    parser.add_argument("--unk-replacement", default="copy")
    parser.add_argument("--unk-dictionary", help="lexical table")
    parser.add_argument("--output", type=Path, default=Path("translation.svg"))
    options = parser.parse_args(arguments)
    options.output.write_text(svg(translate(options)), encoding="utf-8")
    print(options.output)


if __name__ == "__main__":
    main()
