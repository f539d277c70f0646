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
    less,
    more,
    scores,
)
from tests.docs.figures.results import opposite
from tests.docs.figures.statement import CHANGE, PERCENT, Statement

PAGE, DETAILS = "results/pappas2018/README.md", "results/pappas2018/details.md"
TIED, LINEAR, JOINT, SMALL = (f"{EN}{name}" for name in ("tied", "nmt", "joint256", "joint128"))
CONTEXT, BILINEAR = f"{EN}context_structure", f"{EN}bilinear"


def in_short() -> Iterator[Statement]:
    """The first paragraph of the page."""
    text = (
        f"it has {{}} BLEU with {{}}% fewer parameters than the untied softmax ({{}}; {CHANGE}, "
        f"not proven), and {PERCENT} less validation perplexity than the joint space ({{}} BLEU; "
        f"{CHANGE})."
    )
    values = [cell(TIED, "BLEU"), fewer(TIED, LINEAR), cell(LINEAR, "BLEU"), *bleu(TIED, LINEAR)]
    values += [*more(JOINT, TIED), cell(JOINT, "BLEU"), *bleu(JOINT, TIED)]
    yield Statement(PAGE, text, values)
    text = f"the joint space ({{}}) has {PERCENT} more perplexity than the untied softmax."
    yield Statement(PAGE, text, [cell(SMALL, "BLEU"), *PAPPAS.above(SMALL, LINEAR)])
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
    counts = []
    for number in (2, 6):
        parts = PAPPAS.json("claims")["claims"][number - 1]["parts"]
        assert [part["verdict"] for part in parts].count("fails") == 1
        counts.append(len(parts))
    text = "Claims 2 and 6 fail by one of {} and one of {} inequalities"
    yield Statement(PAGE, text, counts)


def english() -> Iterator[Statement]:
    """The details: into English."""
    text = (
        "weight tying {} BLEU, validation perplexity {}; joint space (d = 256) {}, {}; `bilinear` "
        "{}, {}; `output_structure` {}, {}; joint space (d_j = 128) {}, {}; untied softmax {}, {}; "
        "`context_structure` {}, {}."
    )
    order = ("tied", "joint256", "bilinear", "output_structure", "joint128", "nmt",
             "context_structure")  # fmt: skip
    assert sorted(order) == sorted(LAYERS)
    found = scores([f"{EN}{layer}" for layer in order], "BLEU", "valid ppl")
    yield Statement(DETAILS, text, found)
    text = (
        f"the small joint space (d_j = 128) has {PERCENT} more perplexity than the untied softmax; "
        f"tying has {PERCENT} less perplexity than the joint space, which has {CHANGE} less METEOR "
        "on frequent words (one of forty comparisons); `context_structure` is behind tying by "
        f"{CHANGE} BLEU and {PERCENT} perplexity. Not proven: tying against the untied softmax, "
        f"{CHANGE} BLEU and {PERCENT} perplexity; the joint space against it, {CHANGE} and "
        f"{PERCENT}; `bilinear` against tying, {CHANGE} and {PERCENT}; `output_structure` against "
        f"tying, {CHANGE} and {PERCENT}."
    )
    meteor = PAPPAS.claimed(f"METEOR({JOINT}) ≥ METEOR({TIED}), words seen >=100 times")
    values = [*PAPPAS.above(SMALL, LINEAR), *more(JOINT, TIED), *opposite(meteor)]
    values += [*opposite(bleu(CONTEXT, TIED)), *more(CONTEXT, TIED)]
    for one, other in (
        (TIED, LINEAR),
        (JOINT, LINEAR),
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
        f"tying has a validation perplexity {PERCENT} below the untied softmax's ({{}}, {{}}; {{}} "
        f"BLEU, {CHANGE}), with {{}}% fewer parameters."
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
        "d = 64 has {} BLEU and a perplexity of {}, 128 {} and {}, 256 {} and {}, 512 {} and {}, "
        "for {}, {}, {} and {} million parameters."
    )
    names = ("joint64", "joint128 [1fc0d4]", "joint256 [12f4d1]", "joint512")
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
        "space {}%, into German {}%, with words {}%."
    )
    pairs = [(TIED, LINEAR), (JOINT, LINEAR), (f"{DE}joint256", f"{DE}nmt"), (joint, linear)]
    yield Statement(DETAILS, text, [fewer(*pair) for pair in pairs])


SOURCES = (in_short, english, german, older)
