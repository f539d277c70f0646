"""Settings on the pages of the recipes: from their ``arms.py`` and from the ledgers."""

import re
from collections.abc import Iterator

from recipes.jean2015_large_vocabulary.arms import GRIDS, LONGEST, RNNS, Jean2015
from recipes.jean2015_large_vocabulary.models import WARMING_UP
from recipes.lab.arms import LIMIT
from recipes.pappas2018_joint.arms import CHOSEN, ECONOMY, FASTER, GRID, RATE, Pappas2018
from tests.docs.figures.jean2015 import FEW, FIXED, FULL, JEAN, MANY
from tests.docs.figures.pappas2018 import EN, PAPPAS
from tests.docs.figures.statement import NUMBER, Statement

PAPPAS_PAGE = "recipes/pappas2018_joint/README.md"
JEAN_PAGE = "recipes/jean2015_large_vocabulary/README.md"

PAPPAS_SMALL = Pappas2018({}).settings
PAPPAS_PAPER = Pappas2018({"SETTING": "paper", "WMT_DATA": "wmt"}).settings
JEAN_SMALL = Jean2015({}).settings
JEAN_FRENCH, JEAN_GERMAN = (
    Jean2015({"SETTING": "paper", "PARALLEL": "text", "TARGET": target}).settings
    for target in ("fr", "de")
)


def numbers(*settings: str) -> list[float]:
    """All numbers in these settings."""
    return [float(found) for text in settings for found in re.findall(NUMBER, text)]


def ends(setting: str) -> list[float]:
    """The smallest and the largest number in a setting."""
    return [min(numbers(setting)), max(numbers(setting))]


def updates_per_epoch(runs: list[dict]) -> float:
    """Updates of an epoch, which are equal in all runs."""
    (found,) = {run["updates"] / run["epochs"] for run in runs if run.get("epochs")}
    return found


def captions() -> float:
    """Training sentences: full batches of a full softmax."""
    runs = JEAN.runs(FULL, 1, JEAN.table[FULL]["key"])
    return updates_per_epoch(runs) * JEAN_SMALL.whole("BATCH_SENTENCES")


def pappas_sizes() -> Iterator[Statement]:
    """The table of both settings."""
    columns = PAPPAS_SMALL, PAPPAS_PAPER

    def row(text: str, *names: str) -> Statement:
        return Statement(
            PAPPAS_PAGE, text, numbers(*(of[name] for of in columns for name in names))
        )

    yield Statement(PAPPAS_PAGE, "| text | {} captions |", [captions()])
    text = "| BPE merges | {}; in the set `vocabulary` {} to {} | {}; there {} to {} |"
    values = [(*numbers(of.VOCABULARY), *ends(of.VOCABULARIES)) for of in columns]
    yield Statement(PAPPAS_PAGE, text, [*values[0], *values[1]])
    text = "| d_j | {} and {}; in the set `joint_dim` {} to {} | {} and {}; there {} to {} |"
    values = [(*numbers(of.JOINT_DIMS), *ends(of.SWEEP_DIMS)) for of in columns]
    yield Statement(PAPPAS_PAGE, text, [*values[0], *values[1]])
    yield row("| dimensions | {} | {} |", "DIM")
    yield row("| sentences per batch | {} | {} |", "BATCH_SENTENCES")
    rates = numbers(RATE, *set(CHOSEN.values()), PAPPAS_PAPER.LR)
    yield Statement(PAPPAS_PAGE, "| learning rate | {} or {} | {} |", rates)
    updates = updates_per_epoch([line["figures"] for line in PAPPAS.ledger])
    most, paper = numbers(PAPPAS_SMALL.EPOCHS, PAPPAS_PAPER.EPOCHS)
    text = "| epochs | at most {} ({} updates each) | at most {} |"
    yield Statement(PAPPAS_PAGE, text, [most, updates, paper])


def pappas_training() -> Iterator[Statement]:
    """Learning rates, length limits, shares of the classes."""
    s, text = PAPPAS_SMALL, "with three learning rates in runs of {} epochs"
    assert len(GRID) == 3
    yield Statement(PAPPAS_PAGE, text, numbers(s.TUNE_EPOCHS))
    english, german = FASTER["de-en"], FASTER["en-de"]
    both, *single = (
        ", ".join(f"`{model}`" for model in models if (model in other) == shared)
        for models, other, shared in (
            (english, german, True),
            (english, german, False),
            (german, english, False),
        )
    )
    text = (
        f"The learning rate is {{}} where it was better in the runs of `05_tune.sh`: {both} in "
        f"both directions, {single[0]} into English, {single[1]} into German. Words have {{}}, "
        "untuned."
    )
    yield Statement(PAPPAS_PAGE, text, numbers(*set(CHOSEN.values()), RATE))
    text = "at most {} x source length + {} tokens"
    yield Statement(PAPPAS_PAGE, text, numbers(LIMIT))
    yield Statement(PAPPAS_PAGE, "are from a beam of {}, with scores", numbers(s.BEAM))
    # What tying saves is a vector for every class.
    untied, tied = (PAPPAS.cell(f"{EN}{arm}", "parameters") for arm in ("nmt", "tied"))
    classes, shares = (untied - tied) / s.whole("DIM"), numbers(s.SHARES)
    text = "a batch of {} sentences has more types than {}% of the {} English classes of BPE ({})."
    values = [*numbers(s.BATCH_SENTENCES), shares[-1], classes, shares[-1] / 100 * classes]
    yield Statement(PAPPAS_PAGE, text, values)
    text = "trained on 100, {}, {} and {}% of the classes"
    yield Statement(PAPPAS_PAGE, text, shares)
    text = "| `depth` | NMT, tied and joint with {} to {} layers per side |"
    yield Statement(PAPPAS_PAGE, text, ends(s.DEPTHS))
    text = "trains on {}% of the classes where the authors sampled"
    yield Statement(PAPPAS_PAGE, text, numbers(ECONOMY))
    bins = PAPPAS.json("frequency_bins.de-en")["types"]
    found = [float(count) for name in list(bins)[:3] for count in re.findall(r"\d+", name)]
    text = "words are binned by training count (at least {}, {} to {}, {} to {})"
    yield Statement(PAPPAS_PAGE, text, found)


def jean_sizes() -> Iterator[Statement]:
    """The table of both settings."""
    s, french, german = JEAN_SMALL, JEAN_FRENCH, JEAN_GERMAN
    yield Statement(JEAN_PAGE, "| text | {} captions |", [captions()])
    # Each word has two vectors and a bias.
    more = JEAN.cell(FULL, "parameters") - JEAN.cell("shortlist", "parameters")
    words = s.whole("SHORTLIST") + more / (2 * s.whole("EMBED") + 1)
    text = "| target words | all {} | {}, also source words |"
    yield Statement(JEAN_PAGE, text, [words, *numbers(french.LARGE)])
    text = "| short list | {} | {} ({}) |"
    values = numbers(s.SHORTLIST, french.SHORTLIST, german.SHORTLIST)
    yield Statement(JEAN_PAGE, text, values)
    text = "| \N{GREEK SMALL LETTER TAU} | {}; {} and {} | {} ({}); {} |"
    values = numbers(s.TAU, s.TAUS, french.TAU, german.TAU, french.TAUS)
    yield Statement(JEAN_PAGE, text, values)
    for text, *names in (
        ("| embeddings, states | {}, {} dimensions | {}, {} dimensions |", "EMBED", "HIDDEN"),
        ("| optimizer, whose rate is halved | Adam at {} | Adadelta at {} |", "LR"),
        ("| dropout | {} | {} |", "DROPOUT"),
        ("| sentences per batch | {} | {} |", "BATCH_SENTENCES"),
    ):
        yield Statement(JEAN_PAGE, text, numbers(*(of[x] for of in (s, french) for x in names)))
    text = "| epochs | at most {}, stopped after two without a lower validation loss; {} more with"
    yield Statement(JEAN_PAGE, text, numbers(s.EPOCHS, s.FROZEN_EPOCHS))
    text = "fixed embeddings | at most {}; {} more |"
    yield Statement(JEAN_PAGE, text, numbers(french.EPOCHS, french.FROZEN_EPOCHS))
    text = "| longest translation | {} times the source plus {} words"
    yield Statement(JEAN_PAGE, text, numbers(LONGEST["multi30k"]))
    text = "| {} times the source, the authors' limit |"
    yield Statement(JEAN_PAGE, text, numbers(LONGEST["paper"])[:1])


def jean_training() -> Iterator[Statement]:
    """Learning rates and sizes of the models."""
    s = JEAN_SMALL
    yield Statement(JEAN_PAGE, "in runs of {} epochs", numbers(s.TUNE_EPOCHS))
    rates = GRIDS[RNNS]
    (best,) = {
        min(rates, key=lambda rate: JEAN.tuned(f"tune-{model}-{rate}"))
        for model in RNNS
        if model != FULL
    }
    text = "`rnnsearch` have {}, although in these short runs {} was better for all but `full`"
    yield Statement(JEAN_PAGE, text, numbers(s.LR, best))
    yield Statement(JEAN_PAGE, "the {} most frequent words; all others", numbers(s.SHORTLIST))
    text = "all words, partitions of \N{GREEK SMALL LETTER TAU} = {} ("
    yield Statement(JEAN_PAGE, text, numbers(s.TAU))
    many, few, partition = (
        100 * JEAN.seeds_mean(arm, "sampled_share") for arm in (MANY, FEW, FIXED)
    )
    assert abs(partition - many) < 0.1
    text = (
        "{} such samples. Samples repeat frequent words, so a step scores about as many words as "
        "one with a partition of {} ({}% of all; {} samples: {}%)"
    )
    values = [*numbers(s.SAMPLES, s.TAU), many, *numbers(s.TAU), few]
    yield Statement(JEAN_PAGE, text, values)
    first, second = numbers(s.CUTOFFS)
    text = "layers of {} units) with fairseq's adaptive softmax: clusters of {}, {} and all other"
    yield Statement(JEAN_PAGE, text, [*numbers(s.HIDDEN), first, second - first])
    text = "have a rate of {} (`TRANSFORMER_LR`"
    yield Statement(JEAN_PAGE, text, numbers(s.TRANSFORMER_LR))
    text = "(samples) {} (`TRANSFORMER_LAZY_LR`), {} updates of warm-up"
    values = numbers(s.TRANSFORMER_LAZY_LR, WARMING_UP)
    yield Statement(JEAN_PAGE, text, values)
    yield Statement(JEAN_PAGE, "a beam of {}, scores divided", numbers(s.BEAM))
    (about,) = {
        found[1] for part in JEAN.parts if (found := re.search(r"at most (.+) times", part))
    }
    yield Statement(JEAN_PAGE, "means within a factor of {}, that of", numbers(about))


SOURCES = (pappas_sizes, pappas_training, jean_sizes, jean_training)
