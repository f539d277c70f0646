"""Output layers: what the pages of the results say by hand."""

from collections.abc import Iterator

from tests.docs.figures.pappas2018 import (
    DE,
    EN,
    LAYERS,
    PAPPAS,
    WORDS,
    against_linear,
    bleu,
    cell,
    fewer,
    last_two_epochs,
    less,
    more,
    scores,
)
from tests.docs.figures.results import opposite
from tests.docs.figures.statement import CHANGE, PERCENT, Statement

PAGE, DETAILS = "results/pappas2018/README.md", "results/pappas2018/details.md"
TIED, LINEAR = f"{EN}tied", f"{EN}nmt"
JOINT, MIDDLE, SMALL, SMALLEST = (f"{EN}joint{size}" for size in (512, 256, 128, 64))
CONTEXT, BILINEAR = f"{EN}context_structure", f"{EN}bilinear"


def in_short() -> Iterator[Statement]:
    """The first paragraph of the page."""
    text = (
        f"it has {{}} BLEU with {{}}% fewer parameters than the untied softmax ({{}}; {CHANGE}, "
        "not proven)."
    )
    values = [cell(TIED, "BLEU"), fewer(TIED, LINEAR), cell(LINEAR, "BLEU"), *bleu(TIED, LINEAR)]
    yield Statement(PAGE, text, values)
    text = (
        f"it has {{}} BLEU, and is not proven to differ from tying ({CHANGE} BLEU, {PERCENT} "
        f"perplexity). Smaller ones are worse in perplexity: {PERCENT} above tying with 256 (by "
        f"paired seeds), {PERCENT} above the untied softmax with 128, {PERCENT} with 64."
    )
    values = [cell(JOINT, "BLEU"), *bleu(JOINT, TIED), *more(JOINT, TIED)]
    values += [*PAPPAS.above(MIDDLE, TIED)]
    values += [x for arm in (SMALL, SMALLEST) for x in PAPPAS.above(arm, LINEAR)]
    yield Statement(PAGE, text, values)
    yield Statement(PAGE, "(`bilinear`, {}), for states", [cell(BILINEAR, "BLEU")])
    text = (
        f"(`context_structure`, {{}}) is proven to be behind tying, by {CHANGE} BLEU and {PERCENT} "
        "perplexity."
    )
    behind = [*opposite(bleu(CONTEXT, TIED)), *more(CONTEXT, TIED)]
    yield Statement(PAGE, text, [cell(CONTEXT, "BLEU"), *behind])
    text = (
        "tying {} BLEU with {}% fewer parameters, the joint space {} with {}% fewer, the untied "
        "softmax {}, `bilinear` {}, `output_structure` and the joint space with d_j = 128 {}, "
        "`context_structure` {}."
    )
    values = []
    for layer in ("tied", "joint256"):
        values += [cell(f"{DE}{layer}", "BLEU"), fewer(f"{DE}{layer}", f"{DE}nmt")]
    values += [cell(f"{DE}{layer}", "BLEU") for layer in ("nmt", "bilinear", "output_structure")]
    assert round(values[-1], 1) == round(cell(f"{DE}joint128", "BLEU"), 1)
    yield Statement(PAGE, text, [*values, cell(f"{DE}context_structure", "BLEU")])
    text = f"With whole words tying has {{}}% fewer parameters and {PERCENT} less perplexity"
    words = f"{WORDS}tied", f"{WORDS}nmt"
    yield Statement(PAGE, text, [fewer(*words), *less(*words)])
    text = "perplexity of a run by up to {}% (German to English) and {}% (English to German)."
    english = [f"{EN}{layer}" for layer in (*LAYERS, "joint64")]
    german = [f"{DE}{layer}" for layer in LAYERS if layer != "joint512"]
    yield Statement(PAGE, text, [last_two_epochs(english), last_two_epochs(german)])
    counts = []
    for number, failed in ((2, 1), (6, 3)):
        parts = PAPPAS.json("claims")["claims"][number - 1]["parts"]
        assert [part["verdict"] for part in parts].count("fails") == failed
        counts.append(len(parts))
    text = "Claims 2 and 6 fail by one of {} and three of {} inequalities"
    yield Statement(PAGE, text, counts)


def english() -> Iterator[Statement]:
    """The details: into English."""
    text = (
        "weight tying {} BLEU, validation perplexity {}; joint space (d_j = 512) {}, {}, (256) {}, "
        "{}; `bilinear` {}, {}; `output_structure` {}, {}; joint space (128) {}, {}, (64) {}, {}; "
        "untied softmax {}, {}; `context_structure` {}, {}."
    )
    order = ("tied", "joint512", "joint256", "bilinear", "output_structure", "joint128", "joint64",
             "nmt", "context_structure")  # fmt: skip
    assert set(order) == {*LAYERS, "joint64"}
    found = scores([f"{EN}{layer}" for layer in order], "BLEU", "valid ppl")
    yield Statement(DETAILS, text, found)
    text = (
        f"joint spaces of 128 and 64 dimensions have {PERCENT} and {PERCENT} more perplexity than "
        f"the untied softmax; that of 256 has {PERCENT} more than tying (by paired seeds); that of "
        f"512 has {CHANGE} less METEOR than tying on frequent words, and {CHANGE} and {CHANGE} "
        "more than `output_structure` and `context_structure` on rare ones (three of forty "
        f"comparisons); `context_structure` is behind tying by {CHANGE} BLEU and {PERCENT} "
        f"perplexity. Not proven: tying against the untied softmax, {CHANGE} BLEU and {PERCENT} "
        f"perplexity; the joint space of 512 against it, {CHANGE} and {PERCENT}, against tying, "
        f"{CHANGE} and {PERCENT}; `bilinear` against tying, {CHANGE} and {PERCENT}; "
        f"`output_structure` against tying, {CHANGE} and {PERCENT}."
    )
    form = f"METEOR({JOINT}) ≥ METEOR({EN}{{}}), words seen {{}} times"
    values = [x for arm in (SMALL, SMALLEST) for x in PAPPAS.above(arm, LINEAR)]
    values += [*PAPPAS.above(MIDDLE, TIED), *opposite(PAPPAS.claimed(form.format("tied", ">=100")))]
    for layer in ("output_structure", "context_structure"):
        values += PAPPAS.claimed(form.format(layer, "1-9"))
    values += [*opposite(bleu(CONTEXT, TIED)), *more(CONTEXT, TIED)]
    for one, other in (
        (TIED, LINEAR),
        (JOINT, LINEAR),
        (JOINT, TIED),
        (BILINEAR, TIED),
        (f"{EN}output_structure", TIED),
    ):
        values += [*bleu(one, other), *more(one, other)]
    yield Statement(DETAILS, text, values)


def german() -> Iterator[Statement]:
    """The details: into German."""
    text = (
        "weight tying {} BLEU, validation perplexity {}; joint space (d = 256) {}, {}; untied "
        "softmax {}, {}; `bilinear` {}, {}; `output_structure` {}, {}; joint space (d_j = 128) {}, "
        "{}; `context_structure` {}, {}."
    )
    order = ("tied", "joint256", "nmt", "bilinear", "output_structure", "joint128",
             "context_structure")  # fmt: skip
    tied, joint, linear, bilinear, output, small, context = (f"{DE}{layer}" for layer in order)
    found = scores([f"{DE}{layer}" for layer in order], "BLEU", "valid ppl")
    yield Statement(DETAILS, text, found)
    text = (
        f"tying against the untied softmax {CHANGE} BLEU and {PERCENT} perplexity; the joint space "
        f"against it {CHANGE} and {PERCENT}, against tying {CHANGE} and {PERCENT}; `bilinear` "
        f"against the untied softmax {CHANGE} BLEU, against tying {PERCENT} perplexity; "
        f"`output_structure` {CHANGE} and {PERCENT}; d_j = 128 {CHANGE} BLEU and {PERCENT} "
        f"perplexity against the untied softmax; `context_structure` {CHANGE} BLEU against it, "
        f"{PERCENT} perplexity against tying."
    )
    values = [
        *PAPPAS.change(tied, linear),
        *more(tied, linear),
        *PAPPAS.change(joint, linear),
        *more(joint, linear),
    ]
    values += [*bleu(joint, tied), *more(joint, tied)]
    for arm in (bilinear, output):
        values += [*against_linear(arm), *more(arm, tied)]
    values += [*against_linear(small), *PAPPAS.above(small, linear)]
    yield Statement(DETAILS, text, [*values, *against_linear(context), *more(context, tied)])


def older() -> Iterator[Statement]:
    """The details: runs whose rate was halved by a rise of the validation loss, and sizes."""

    def of(name: str, *headings: str) -> list[float]:
        return scores([f"{EN}{name}"], *(headings or ("BLEU", "valid ppl")))

    text = "tying {} BLEU and {}, the joint space {} and {}, the untied softmax {} and {}."
    names = ("tied [092bd9]", "joint256 [12f4d1]", "nmt [a3fcfc]")
    yield Statement(DETAILS, text, [x for name in names for x in of(name)])
    tied, joint, linear = (f"{WORDS}{layer}" for layer in ("tied", "joint128", "nmt"))
    text = f"With whole words (d = 128; {PERCENT} perplexity) the joint space is not proven"
    yield Statement(DETAILS, text, more(joint, linear))
    text = (
        f"tying has a validation perplexity {PERCENT} below the untied softmax's (by paired seeds; "
        f"{{}}, {{}}; {{}} BLEU, {CHANGE}), with {{}}% fewer parameters."
    )
    values = [*less(tied, linear), *scores([tied, linear], "valid ppl"), cell(tied, "BLEU")]
    yield Statement(DETAILS, text, [*values, *PAPPAS.change(tied, linear), fewer(tied, linear)])
    text = (
        f"had been ahead by {PERCENT} into English: the untied softmax and tying have a lower "
        "perplexity with 0.006 ({} instead of {}, {} instead of {})."
    )
    one_rate = PAPPAS.above(f"{EN}joint256 [12f4d1]", f"{EN}nmt [c98a63]")
    names = ("nmt [a3fcfc]", "nmt [c98a63]", "tied [092bd9]", "tied [d98b87]")
    values = [x for name in names for x in of(name, "valid ppl")]
    yield Statement(DETAILS, text, [*opposite(one_rate), *values])
    text = (
        "d_j = 64 had {} BLEU and a perplexity of {}, 128 {} and {}, 256 {} and {}, 512 {} and {}, "
        "for {}, {}, {} and {} million parameters."
    )
    names = ("joint64 [1e8e97]", "joint128 [1fc0d4]", "joint256 [12f4d1]", "joint512 [ad1275]")
    seeds = [PAPPAS.table[f"{EN}{name}"]["seeds"]["1"] for name in names]
    values = [x for seed in seeds for x in (seed["bleu"], seed["best_valid_ppl"])]
    yield Statement(DETAILS, text, values + [seed["parameters"] / 1e6 for seed in seeds])
    text = (
        "`context_structure` into English: {} BLEU and a perplexity of {} without halving, {} BLEU "
        "and {}% worse than with it"
    )
    before, after = of("context_structure [74f3b0]"), of("context_structure")
    worse = [after[0] - before[0], 100 * (before[1] / after[1] - 1)]
    yield Statement(DETAILS, text, [*before, *worse])
    text = "at their tuned rate in older runs: {} and {} BLEU, perplexities of {} and {}, no"
    both = of("bilinear [afac73]"), of("output_structure [6b6b28]")
    yield Statement(DETAILS, text, [x for pair in zip(*both, strict=True) for x in pair])
    text = "at 0.003, one seed: {} BLEU and a perplexity of {}, with the new schedule {} and {}."
    names = [f"{DE}context_structure [{key}]" for key in ("3d233d", "5e461c")]
    yield Statement(DETAILS, text, scores(names, "BLEU", "valid ppl"))
    text = (
        "weight tying has {}% fewer parameters than the untied softmax into English; the joint "
        "space {}% (d_j = 512) and {}% (256), into German {}%, with words {}%."
    )
    pairs = [
        (TIED, LINEAR),
        (JOINT, LINEAR),
        (MIDDLE, LINEAR),
        (f"{DE}joint256", f"{DE}nmt"),
        (joint, linear),
    ]
    yield Statement(DETAILS, text, [fewer(*pair) for pair in pairs])


SOURCES = (in_short, english, german, older)
