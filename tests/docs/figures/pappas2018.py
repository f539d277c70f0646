"""Output layers: quality, size and speed."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import geometric_mean

from recipes.lab.figures import training_curves
from tests.docs.figures.results import Change, Results, opposite
from tests.docs.figures.statement import CHANGE, NUMBER, PERCENT, Statement

README, PAGE = "README.md", "docs/choosing_a_layer.md"

PAPPAS = Results(
    "pappas2018", "depth.de-en", "ablation.de-en", "joint_dim.de-en", "sampling.de-en",
    "translation.de-en", "translation.en-de",
)  # fmt: skip
EN, DE, WORDS = "de-en.bpe4000.", "en-de.bpe4000.", "de-en.words."
LAYERS = (
    "nmt", "tied", "bilinear", "output_structure", "joint512", "joint256", "joint128",
    "context_structure",
)  # fmt: skip
# Of the runs whose rate was halved by a rise of the validation loss.
OLDER = ((f"{EN}joint256", "12f4d17071d5"), (f"{EN}nmt", "c98a63d7b36f"))
cell, fewer = PAPPAS.cell, PAPPAS.fewer_parameters


def scores(arms: Sequence[str], *headings: str) -> list[float]:
    """Figures of arms from the report's table."""
    return [cell(arm, heading) for arm in arms for heading in headings]


def more(arm: str, other: str) -> Change:
    """Percent of validation perplexity above another arm."""
    return PAPPAS.change(arm, other, "valid")


def less(arm: str, other: str) -> Change:
    """Percent of validation perplexity below another arm."""
    return PAPPAS.less(arm, other, "valid")


def bleu(arm: str, other: str) -> Change:
    """Difference in BLEU, from the claims, where it may be the other way round."""
    for sign in "≥≈":
        if f"BLEU({arm}) {sign} BLEU({other})" in PAPPAS.parts:
            return PAPPAS.claimed(f"BLEU({arm}) {sign} BLEU({other})")
    return opposite(PAPPAS.claimed(f"BLEU({other}) ≥ BLEU({arm})"))


def readme() -> Iterator[Statement]:
    """README.md."""
    pairs = [(f"{EN}tied", f"{EN}nmt"), (f"{DE}tied", f"{DE}nmt"), (f"{WORDS}tied", f"{WORDS}nmt")]
    saved = [fewer(*pair) for pair in pairs]
    # What tying saves is a vector of 128 numbers for every word.
    words = [(cell(b, "parameters") - cell(a, "parameters")) / 128 for a, b in pairs]
    text = "{} to {}% fewer parameters with {} to {} words; no difference in BLEU is proven"
    ends = [round(min(words), -2), round(max(words), -2)]
    yield Statement(README, text, [min(saved), max(saved), *ends])
    text = (
        f"d_j = 512, subwords: {{}}% fewer parameters than the untied softmax, BLEU {CHANGE}, not "
        "proven; d_j = 256, 10,000 words: {} ({} to {}) times as fast."
    )
    joint = f"{EN}joint512", f"{EN}nmt"
    speed = PAPPAS.times(f"{WORDS}joint256", f"{WORDS}nmt")
    yield Statement(README, text, [fewer(*joint), *PAPPAS.change(*joint), *speed])
    text = "25% of them train {} to {} times as fast as the same layer without sampling."
    yield Statement(README, text, by_share("share25"))


def by_share(share: str) -> list[float]:
    """Least and most that a layer gains in speed by a share of the classes; medians of rounds."""
    layers = ("nmt", "tied", "joint128", "joint256")
    found = [PAPPAS.times(f"{WORDS}{name}.{share}", f"{WORDS}{name}")[0] for name in layers]
    return [min(found), max(found)]


def page() -> Iterator[Statement]:
    """docs/choosing_a_layer.md: subwords, into English."""
    tied, linear, joint, smallest = (
        f"{EN}{name}" for name in ("tied", "nmt", "joint512", "joint64")
    )
    bilinear, context = f"{EN}bilinear", f"{EN}context_structure"
    text = f"it is not proven to be worse here ({CHANGE} BLEU)."
    yield Statement(PAGE, text, bleu(bilinear, tied))
    text = "of which the last two still lower the perplexity of a run by up to {}% (three seeds"
    yield Statement(PAGE, text, [last_two_epochs(f"{EN}{name}" for name in (*LAYERS, "joint64"))])
    *others, last = LAYERS
    yield table_of_layers(EN, (*others, "joint64", last), bleu)
    text = (
        "and {}% fewer parameters than `linear` (`tied` {}%), it is not proven to differ from "
        f"`tied`: {CHANGE} BLEU, {PERCENT} perplexity. With 256 it has {PERCENT} more perplexity "
        f"than `tied`, which rests on paired seeds; into German {PERCENT}, undecided."
    )
    values = [fewer(joint, linear), fewer(tied, linear), *bleu(joint, tied), *more(joint, tied)]
    values += [*PAPPAS.above(f"{EN}joint256", tied), *more(f"{DE}joint256", f"{DE}tied")]
    yield Statement(PAGE, text, values)
    text = f"is not proven to differ from it: {CHANGE} BLEU, {PERCENT} perplexity."
    yield Statement(PAGE, text, [*bleu(bilinear, tied), *more(bilinear, tied)])
    text = (
        f"it is {CHANGE} BLEU and {PERCENT} perplexity behind `tied` (into German {PERCENT}, not "
        "proven)"
    )
    values = [*opposite(bleu(context, tied)), *more(context, tied)]
    yield Statement(PAGE, text, [*values, *more(f"{DE}context_structure", f"{DE}tied")])
    text = (
        "its perplexity after two epochs was {}% below that of `linear` (d_j = 256, older runs). "
        f"At tuned rates it was {PERCENT} lower after four epochs (d_j = 512), but not at the end."
    )
    yield Statement(PAGE, text, [after_two(), *opposite(after_four())])
    text = f"`joint` has {PERCENT} more perplexity than `linear`, with 64 {PERCENT} more."
    yield Statement(
        PAGE, text, [x for arm in (f"{EN}joint128", smallest) for x in PAPPAS.above(arm, linear)]
    )
    text = (
        f"on words seen 1 to 9 times {CHANGE} against `linear` and {CHANGE} against `tied`, not "
        f"proven, {CHANGE} against `output_structure`; on words seen 100 times or more it is "
        f"{CHANGE} behind `tied`."
    )
    form = f"METEOR({joint}) ≥ METEOR({EN}{{}}), words seen {{}} times"
    layers = ("nmt", "tied", "output_structure")
    rare = [x for layer in layers for x in PAPPAS.claimed(form.format(layer, "1-9"))]
    frequent = opposite(PAPPAS.claimed(form.format("tied", ">=100")))
    yield Statement(PAGE, text, [*rare, *frequent])


def table_of_layers(
    direction: str, layers: Sequence[str], difference: Callable[[str, str], Change]
) -> Statement:
    """A table of BLEU, its difference from the untied softmax, and perplexity.

    The smallest joint space has no difference: it is not compared.
    """
    names = {"nmt": "`linear`"} | {f"joint{n}": f"`joint`, d_j = {n}" for n in (512, 256, 128, 64)}
    texts, values = [], []
    for layer in layers:
        arm, compared = f"{direction}{layer}", layer not in ("nmt", "joint64")
        change = difference(arm, f"{direction}nmt") if compared else ()
        texts.append(
            f"| {names.get(layer, f'`{layer}`')} | {{}} |{f' {CHANGE}' * compared} | {{}} |"
        )
        values += [cell(arm, "BLEU"), *change, cell(arm, "valid ppl")]
    return Statement(PAGE, " ".join(texts), values)


def last_two_epochs(arms: Iterable[str]) -> float:
    """Percent, at most, by which the last two epochs lower the perplexity of a run."""
    saved = []
    for arm in arms:
        for line in runs_of(arm, PAPPAS.table[arm]["key"]):
            *before, last, end = perplexities(line)
            saved.append(100 * max(0, 1 - min(last, end) / min(before)))
    return max(saved)


def perplexities(line: dict) -> list[float]:
    """Validation perplexity of a run, by epoch."""
    epochs = training_curves.of(line | {"results": PAPPAS.folder})
    return [epoch["valid_ppl"] for epoch in epochs]


def after_two() -> float:
    """Percent by which the joint space was below the untied softmax in older runs of three seeds.

    Of the geometric means, as the other changes of perplexity.
    """
    ratios = []
    for joint, linear in zip(*(runs_of(*each) for each in OLDER), strict=True):
        assert joint["seed"] == linear["seed"]
        ratios.append(perplexities(joint)[1] / perplexities(linear)[1])
    assert len(ratios) == 3
    return 100 * (1 - geometric_mean(ratios))


def runs_of(arm: str, key: str) -> list[dict]:
    """Lines of an arm with a setting, by seed."""
    found = [line for line in PAPPAS.ledger if (line["arm"], line["key"]) == (arm, key)]
    return sorted(found, key=lambda line: line["seed"])


def after_four() -> Change:
    """The change of perplexity after four epochs from the untied softmax to the joint space."""
    text = (PAPPAS.folder / "claims.md").read_text(encoding="utf-8")
    section = text.partition("## After equal epochs")[2]
    (line,) = [line for line in section.splitlines() if line.startswith("| 4 | ")]
    value, low, high = map(float, re.findall(NUMBER, line.split("|")[2]))
    return value, low, high


def german() -> Iterator[Statement]:
    """docs/choosing_a_layer.md: into German, and whole words."""
    layers = [layer for layer in LAYERS if layer != "joint512"]
    yield table_of_layers(DE, layers, lambda arm, _: against_linear(arm))
    tied, joint, linear = (f"{WORDS}{layer}" for layer in ("tied", "joint128", "nmt"))
    text = (
        f"`tied` {{}} BLEU, {CHANGE} against `linear`, with {{}}% fewer parameters and a "
        f"validation perplexity {PERCENT} lower (by paired seeds); `joint` with d_j = 128 {{}} "
        f"BLEU ({CHANGE}), with {{}}% fewer parameters and a perplexity {PERCENT} higher."
    )
    values = [cell(tied, "BLEU"), *PAPPAS.change(tied, linear), fewer(tied, linear)]
    values += [*less(tied, linear), cell(joint, "BLEU"), *PAPPAS.change(joint, linear)]
    yield Statement(PAGE, text, [*values, fewer(joint, linear), *more(joint, linear)])
    text = f"in a Transformer (by paired seeds), and {PERCENT} less with whole words (also"
    yield Statement(PAGE, text, less(tied, linear))


def against_linear(arm: str) -> Change:
    """Difference in BLEU from the untied softmax, of the table of translations into German."""
    found = re.findall(NUMBER, PAPPAS.table[arm]["table"]["difference"])
    value, low, high = map(float, found)
    return value, low, high


def shares() -> Iterator[Statement]:
    """docs/choosing_a_layer.md: training on a share of the classes, and speed."""
    lost = []
    layers = {"nmt": "`linear`", "tied": "`tied`", "joint128": "`joint`, 128"}
    for layer, name in layers.items():
        arms = [f"{WORDS}{layer}{share}" for share in ("", ".share50", ".share25", ".share5")]
        rows = [next(r for r in PAPPAS.rows if r["arm"].split(" [")[0] == arm) for arm in arms]
        values = [float(row["table"]["BLEU"]) for row in rows]  # of five epochs
        yield Statement(PAGE, f"| {name} | {{}} | {{}} | {{}} | {{}} |", values)
        lost.append(values[0] - values[-1])
    yield Statement(PAGE, "5% costs {} to {} BLEU, by layer.", [min(lost), max(lost)])
    full = [f"{WORDS}{layer}" for layer in layers]
    sampled = [f"{arm}.share25" for arm in full]
    text = "have {}, {} and {} BLEU with 25% of the classes and {}, {} and {} with all; that one"
    yield Statement(PAGE, text, scores([*sampled, *full], "BLEU"))
    text = "Their validation perplexities are {}, {} and {}, and {}, {} and {} with all."
    yield Statement(PAGE, text, scores([*sampled, *full], "valid ppl"))
    text = "{} to {} times as fast as the same layer without sampling, 5% {} to {} times"
    yield Statement(PAGE, text, by_share("share25") + by_share("share5"))
    text = (
        "`joint` with d_j = 128 is {} ({} to {}) times as fast as `linear`, with 256 {} ({} to {}) "
        "times, `tied` {} ({} to {}) times."
    )
    layers = ("joint128", "joint256", "tied")
    speeds = [PAPPAS.times(f"{WORDS}{layer}", f"{WORDS}nmt") for layer in layers]
    yield Statement(PAGE, text, [x for each in speeds for x in each])


SOURCES = (readme, page, german, shares)
