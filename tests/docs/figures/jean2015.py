"""Large vocabularies: quality of models of all words."""

from collections.abc import Iterator

from tests.docs.figures.results import Results
from tests.docs.figures.statement import CHANGE, PERCENT, Statement

README, PAGE = "README.md", "docs/large_vocabularies.md"
RESULTS, DETAILS = "results/jean2015/README.md", "results/jean2015/details.md"
WITHOUT = "docs/without_fairseq.md"

JEAN = Results("jean2015", "training", "decoding")
SHORT, FULL, FEW = "shortlist.unk2", "full", "sampled_log_uniform"
MANY, FIXED, NEW = "sampled_log_uniform_tau4500", "lv_corrected", "lv_corrected_reshuffle"
LISTS = "lv_corrected.k500.kp10.unk2"
T_NEW, T_MANY, T_ADAPTIVE = f"transformer_{NEW}", f"transformer_{MANY}", "transformer_adaptive"
change, less, cell = JEAN.change, JEAN.less, JEAN.cell


def against_full(arm: str) -> tuple[float, ...]:
    """Changes of validation perplexity and of BLEU."""
    return *change(arm, FULL, "valid"), *change(arm, FULL)


def readme() -> Iterator[Statement]:
    """README.md."""
    text = f"In a Transformer reshuffled partitions have {PERCENT} less perplexity than 4,500 draws"
    yield Statement(README, text, less(T_NEW, T_MANY, "valid"))
    for name, arm in (
        ("partitions, `--reshuffle-partitions`", NEW),
        ("partitions", FIXED),
        ("sampled softmax, 4,500 draws", MANY),
        ("sampled softmax, 2,000 draws", FEW),
    ):
        values = [100 * cell(arm, "share"), *against_full(arm)]
        yield Statement(README, f"| {name} | {{}}% | {PERCENT} | {CHANGE} |", values)
    text = f"with unknown words replaced, is {CHANGE} BLEU better than 19,219 words trained by"
    yield Statement(README, text, less(LISTS, SHORT))


def results() -> Iterator[Statement]:
    """The page of the results and its details, as far as they are written by hand."""
    text = (
        f"has {PERCENT} less validation perplexity than one by a softmax over 4,500 samples; that "
        f"either differs from fairseq's adaptive softmax ({PERCENT} less, {PERCENT} more) is not "
        "proven."
    )
    adaptive = [*less(T_NEW, T_ADAPTIVE, "valid"), *change(T_MANY, T_ADAPTIVE, "valid")]
    yield Statement(RESULTS, text, [*less(T_NEW, T_MANY, "valid"), *adaptive])
    text = f"with replaced unknown words is {CHANGE} BLEU better than the full softmax"
    yield Statement(RESULTS, text, less(FULL, SHORT))
    text = (
        "corrected partitions {}, sampled softmax {} (2,000 samples) and {} (4,500), full softmax "
        "{}; no difference is proven."
    )
    bleu = [cell(arm, "BLEU (tokenized)") for arm in (FIXED, FEW, MANY, FULL)]
    yield Statement(DETAILS, text, bleu)
    text = (
        "corrected, reshuffled partitions {}, full softmax {} ({}% [{}, {}], not proven). Sampled "
        "softmax is {}% behind with 2,000 samples, which have half as many distinct words as a "
        f"partition, and {PERCENT} with as many (4,500 samples; by paired seeds; not "
        f"proven to differ from the partitions, {PERCENT})."
    )
    values = [cell(NEW, "valid ppl"), cell(FULL, "valid ppl"), *change(NEW, FULL, "valid")]
    values += [change(FEW, FULL, "valid")[0], *change(MANY, FULL, "valid")]
    yield Statement(DETAILS, text, [*values, *change(MANY, NEW, "valid")])
    text = (
        "has a validation perplexity of {} and {} BLEU, by a softmax over 4,500 samples {} and {}, "
        f"with fairseq's adaptive softmax {{}} and {{}}. Proven: partitions have {PERCENT} less "
        f"perplexity than samples. Not proven: partitions against the adaptive softmax ({PERCENT}, "
        f"{CHANGE} BLEU), samples against it ({PERCENT}, {CHANGE}). Each has a rate of its own. "
        f"With `rnnsearch` samples are {PERCENT} behind partitions, not proven."
    )
    values = [*transformers(), *less(T_NEW, T_MANY, "valid")]
    for arm in (T_NEW, T_MANY):
        values += [*change(arm, T_ADAPTIVE, "valid"), *change(arm, T_ADAPTIVE)]
    yield Statement(DETAILS, text, [*values, *change(MANY, NEW, "valid")])
    text = (
        f"`<unk>`s are replaced has {{}} BLEU. It is proven to be better than the full softmax "
        f"({CHANGE} BLEU) and 2,000 samples ({CHANGE}) over all words, and than corrected "
        f"partitions over candidates ({CHANGE}; reshuffled {CHANGE}), but not than 4,500 samples "
        f"over all words ({CHANGE}) or uncorrected partitions over candidates ({CHANGE})."
    )
    arms = (FULL, FEW, LISTS, f"{NEW}.k500.kp10.unk2", MANY, "lv.k500.kp10.unk2")
    values = [x for arm in arms for x in less(arm, SHORT)]
    yield Statement(DETAILS, text, [JEAN.values(FULL, SHORT)[1], *values])


def transformers() -> list[float]:
    """Perplexity and BLEU of Transformers by partitions, samples and an adaptive softmax."""
    arms, headings = (T_NEW, T_MANY, T_ADAPTIVE), ("valid ppl", "BLEU (tokenized)")
    return [cell(arm, heading) for arm in arms for heading in headings]


def page() -> Iterator[Statement]:
    """docs/large_vocabularies.md."""
    both = [*change(MANY, FULL, "valid"), change(FEW, FULL, "valid")[0]]
    text = (
        f"the validation perplexity was {PERCENT} above the full softmax's where an update scored "
        f"10% of the words (by paired seeds), {PERCENT} where it scored 6% (`sampled_share`"
    )
    yield Statement(PAGE, text, [*both[:3], *change(FEW, FULL, "valid")])
    assert cell(NEW, "valid ppl") < min(cell(arm, "valid ppl") for arm in (FULL, MANY, FEW, FIXED))
    text = f"In a Transformer they had {PERCENT} less than samples"
    yield Statement(PAGE, text, less(T_NEW, T_MANY, "valid"))
    text = "(one seed a size, partitions of {} to {}% of the words)"
    shares = [100 * cell(f"lv_corrected_tau{size}", "share") for size in (500, 8000)]
    yield Statement(PAGE, text, shares)

    def scores(arm: str) -> tuple[float, ...]:
        return cell(arm, "BLEU (tokenized)"), *change(arm, FULL), cell(arm, "valid ppl")

    row = "{} | {} [{}, {}] | {} |"
    exact = [cell(FULL, "BLEU (tokenized)"), cell(FULL, "valid ppl")]
    yield Statement(PAGE, "| full softmax | {} | | {} |", exact)
    for name, arm in (
        ("| partitions of 2,000 words, `--reshuffle-partitions` | ", NEW),
        ("| partitions of 2,000 words | ", FIXED),
    ):
        yield Statement(PAGE, name + row, scores(arm))
    uncorrected = [cell("lv", "BLEU (tokenized)"), cell("lv", "valid ppl")]
    text = "| the same, `--partition-correction none` | {} | | {} |"
    yield Statement(PAGE, text, uncorrected)
    text = "`log_uniform`, some {} distinct words with the targets), `lazy_adam` | "
    few, many = (19_219 * JEAN.seeds_mean(arm, "sampled_share") for arm in (FEW, MANY))
    yield Statement(PAGE, text + row, [10 * round(few / 10), *scores(FEW)])
    text = "| the same with 4,500 samples (some {} distinct words, as in a partition) | "
    yield Statement(PAGE, text + row, [10 * round(many / 10), *scores(MANY)])
    text = (
        f"The correction saves {PERCENT}, reshuffling a further {PERCENT}. After both no "
        f"difference from the full softmax is proven. - Sampled softmax is {PERCENT} above the "
        f"full softmax with 2,000 samples, and {PERCENT} (by paired seeds) with 4,500"
    )
    values = [*less(FIXED, "lv", "valid"), *less(NEW, FIXED, "valid")]
    values += [*change(FEW, FULL, "valid"), *change(MANY, FULL, "valid")]
    yield Statement(PAGE, text, values)
    found = transformers()
    smaller = JEAN.fewer_parameters(T_ADAPTIVE, T_NEW)
    yield Statement(PAGE, "| reshuffled partitions | {} | {} |", found[:2])
    yield Statement(PAGE, "| 4,500 samples | {} | {} |", found[2:4])
    text = "| fairseq's adaptive softmax, which has {}% fewer parameters | {} | {} |"
    yield Statement(PAGE, text, [smaller, *found[4:]])
    text = (
        f"Partitions have {PERCENT} less perplexity than samples. That partitions have less than "
        f"the adaptive softmax ({PERCENT}), or samples more ({PERCENT}), is not proven"
    )
    values = [*less(T_NEW, T_MANY, "valid"), *less(T_NEW, T_ADAPTIVE, "valid")]
    yield Statement(PAGE, text, [*values, *change(T_MANY, T_ADAPTIVE, "valid")])
    text = "{} with 500, 2,000 and 8,000 words (one seed each; without it {} with 500)"
    sizes = {
        round(value, 1)
        for value in (
            JEAN.seed(FIXED, 1, "best_valid_ppl"),
            *(cell(f"lv_corrected_tau{size}", "valid ppl") for size in (500, 8000)),
        )
    }
    assert len(sizes) == 1, sizes
    yield Statement(PAGE, text, [sizes.pop(), cell("lv_tau500", "valid ppl")])
    text = (
        f"a short list of 4,000 words with replacement of unknown words has {{}} BLEU. The full "
        f"softmax has {CHANGE} less, and corrected partitions over candidate lists {CHANGE} less"
    )
    values = [JEAN.values(FULL, SHORT)[1], *less(FULL, SHORT), *less(LISTS, SHORT)]
    yield Statement(PAGE, text, values)
    text = "perplexity was {}% above the exact loss's (by paired seeds), with 6% {}% ("
    yield Statement(WITHOUT, text, [change(MANY, FULL, "valid")[0], change(FEW, FULL, "valid")[0]])


SOURCES = (readme, results, page)
