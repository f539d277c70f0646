"""Subword-aware language models: quality, size and speed."""

from collections.abc import Iterator

from tests.docs.figures.results import Change, Results
from tests.docs.figures.statement import PERCENT, Statement

README, PAGE = "README.md", "docs/language_models.md"
CHOOSING = "docs/choosing_a_layer.md"
RESULTS, DETAILS = "results/assylbekov2018/README.md", "results/assylbekov2018/details.md"

TAKHANOV = Results("assylbekov2018", "report")
TREEBANK, GERMAN = "ptb42k", "de5k"
CHARACTERS = ("re", "rw", "none", "re_rw", "EC1", "EC2", "1", "12", "E1", "E12", "C1")
seed = TAKHANOV.seed


def ppl(arm: str, text: str = GERMAN) -> float:
    """Test perplexity."""
    return TAKHANOV.cell(f"{text}.{arm}", "test ppl")


def change(arm: str, text: str = GERMAN, of: str = "word_re") -> Change:
    """Percent of test perplexity from words with shared vectors."""
    return TAKHANOV.change(f"{text}.{arm}", f"{text}.{of}", "test")


def less(arm: str, text: str = GERMAN) -> float:
    """Percent of test perplexity below words with shared vectors."""
    return -change(arm, text)[0]


def millions(arm: str, text: str = TREEBANK) -> float:
    """Parameters."""
    return TAKHANOV.cell(f"{text}.{arm}", "parameters") / 1e6


def fewer(arm: str, other: str = "word_re", text: str = GERMAN) -> float:
    """Percent of the parameters of another arm that this one does without."""
    return TAKHANOV.fewer_parameters(f"{text}.{arm}", f"{text}.{other}")


def seconds(arm: str) -> float:
    """How many times the training time of words with shared vectors; the median of rounds."""
    return 1 / TAKHANOV.times(f"{TREEBANK}.{arm}", f"{TREEBANK}.word_re")[0]


def composed() -> tuple[list[float], list[float]]:
    """Test perplexities of models that compose outputs from characters: usual ones, others."""
    found = [
        run["test_ppl"]
        for name in CHARACTERS
        for run in TAKHANOV.table[f"{GERMAN}.charcnn_{name}"]["seeds"].values()
    ]
    return sorted(x for x in found if x < 100), [x for x in found if x > 100]


def readme() -> Iterator[Statement]:
    """README.md."""
    text = (
        f"test perplexity with `--tie re` {PERCENT} German ({{}}% more parameters), with "
        f"`--tie re_rw` {PERCENT} German and {PERCENT} French, at twice the training time; on the "
        f"whole Penn Treebank {PERCENT}, with {{}}% fewer parameters"
    )
    assert round(seconds("morphsum_re_rw")) == round(seconds("morphsum_re")) == 2
    values = [*change("morphsum_re"), -fewer("morphsum_re")]
    values += [*change("morphsum_re_rw"), *change("morphsum_re_rw", "fr5k")]
    values += [*change("morphsum_re_rw", TREEBANK), fewer("morphsum_re_rw", text=TREEBANK)]
    yield Statement(README, text, values)


def pages() -> Iterator[Statement]:
    """docs/language_models.md and docs/choosing_a_layer.md."""
    text = "morphs take {} to {} times as long as words, syllables {})"
    times = sorted(seconds(f"morphsum_{tie}") for tie in ("re", "re_rw"))
    yield Statement(PAGE, text, [*times, seconds("sylconcat_re_rw")])
    ties = ("re", "re_rw", "rw", "none", "original")
    yield Statement(PAGE, "| words | {} | | | | {} |", [three("word_re"), three("word_original")])
    for name, kind in (("morphs", "morphsum"), ("syllables", "sylconcat")):
        values = [ppl(f"{kind}_{tie}") for tie in ties]
        yield Statement(PAGE, f"| {name} |" + " {} |" * 5, values)
    both = sorted(seed(f"{GERMAN}.charcnn_re_rw", n, "test_ppl") for n in (1, 2, 3))
    values = [ppl("charcnn_re"), *both, *(ppl(f"charcnn_{tie}") for tie in ties[2:])]
    yield Statement(PAGE, "| characters | {} | {}, {}, {} | {} | {} | {} |", values)
    text = "With six seeds words have {} (`re`) and {} (`original`)."
    yield Statement(PAGE, text, [ppl("word_re"), ppl("word_original")])
    text = "The best of eleven choices of what to share, `emb,hw1,hw2`, has {}."
    best = min(ppl(f"charcnn_{name}") for name in CHARACTERS)
    assert best == ppl("charcnn_E12")
    assert len(CHARACTERS) == 11
    yield Statement(PAGE, text, [best])
    text = "(validation perplexity {}; {} with 0.7)"
    rates = [TAKHANOV.tuned(f"tune-{GERMAN}.morphsum_re_rw-{rate}") for rate in ("1.0", "0.7")]
    yield Statement(PAGE, "1.0 is better " + text, rates)
    text = (
        "`morphsum_lm --tie re_rw` has a test perplexity of {} against {} in German and {} against "
        "{} in French ({} against {} in English, six seeds, is not proven)"
    )
    values = [
        x
        for language in (GERMAN, "fr5k", "en5k")
        for x in TAKHANOV.values(f"{language}.morphsum_re_rw", f"{language}.word_re", "test")
    ]
    yield Statement(CHOOSING, text, values)
    text = (
        "`morphsum_lm --tie re_rw` has {} with {}M parameters, `word_lm --tie re` {} with {}M "
        "(three seeds). With a softmax of their own (one seed) words have {} ({}M), morphs {} "
        "({}M) and characters {} ({}M)"
    )
    arms = ("morphsum_re_rw", "word_re", "word_original", "morphsum_original", "charcnn_original")
    values = [x for arm in arms for x in (ppl(arm, TREEBANK), millions(arm))]
    yield Statement(CHOOSING, text, values)


def three(arm: str) -> float:
    """Mean test perplexity of seeds 1 to 3."""
    return sum(seed(f"{GERMAN}.{arm}", n, "test_ppl") for n in (1, 2, 3)) / 3


def results() -> Iterator[Statement]:
    """The page of the results, as far as it is written by hand."""
    text = (
        "tied words are ahead ({} against {}, with {}% more parameters; after 25 epochs, one seed, "
        "{} against {})"
    )
    arms = ("word_re", "morphsum_re_rw")
    values = [ppl(arm, TREEBANK) for arm in arms]
    values.append(-fewer("word_re", "morphsum_re_rw", TREEBANK))
    yield Statement(RESULTS, text, values + [ppl(f"{arm}.long", TREEBANK) for arm in arms])
    text = (
        f"are {PERCENT} and {PERCENT} worse than tied words, and a model that composes its output "
        f"from characters is another {PERCENT} worse with the best of eleven choices of what to "
        "share (perplexity {} to {}, two runs {})"
    )
    values = [*change("sylconcat_rw"), *change("charcnn_original")]
    names = (f"{GERMAN}.charcnn_E12", f"{GERMAN}.charcnn_original")
    values += TAKHANOV.above(*names, figure="test_ppl")
    usual, others = composed()
    assert len(others) == 2
    yield Statement(RESULTS, text, [*values, usual[0], usual[-1], others[0]])


def captions() -> Iterator[Statement]:
    """The details: captions."""
    text = (
        f"(Word+RE) have {{}}; with a softmax of their own they are {PERCENT} worse (six seeds; "
        "undecided with the first three). Morphs are better than tied words: by {}% with the "
        "vectors alone shared (MorphSum+RE, {}, {}% more parameters), by {}% with all weights "
        "(RE+RW, {}, {}% fewer); in French by {}% (RE+RW)."
    )
    values = [three("word_re"), *change("word_original"), less("morphsum_re"), ppl("morphsum_re")]
    values += [-fewer("morphsum_re"), less("morphsum_re_rw"), ppl("morphsum_re_rw")]
    values += [fewer("morphsum_re_rw"), less("morphsum_re_rw", "fr5k")]
    yield Statement(DETAILS, text, values)
    text = "all that share the vectors ({} to {}) are below all that do not ({} to {}); each of RE,"
    sharing = sorted(ppl(f"morphsum_{name}") for name in ("re", "re_rw", "E1", "E2"))
    others = sorted(ppl(f"morphsum_{name}") for name in ("original", "none", "rw", "1"))
    yield Statement(DETAILS, text, [sharing[0], sharing[-1], others[0], others[-1]])
    text = (
        "SylConcat has {} at best (RW; not proven to differ from untied words, {}, with {}% fewer "
        "parameters than those), and {} when it shares the syllables' vectors as well (RE+RW). Its "
        "twelve choices of shared layers are between {} and {};"
    )
    prefix = f"{GERMAN}.sylconcat_"
    every = sorted(ppl(name.removeprefix(f"{GERMAN}.")) for name in TAKHANOV.table
                   if name.startswith(prefix) and not name.endswith("original"))  # fmt: skip
    values = [ppl("sylconcat_rw"), three("word_original"), fewer("sylconcat_rw", "word_original")]
    yield Statement(DETAILS, text, [*values, ppl("sylconcat_re_rw"), every[0], every[-1]])
    text = (
        "CharCNN has {} with a softmax of its own. Composing its output costs, as the paper says: "
        "{} with nothing reused, {} (RW), {} (RE). RE+RW has {} and {}, and with a third seed {},"
    )
    values = [ppl(f"charcnn_{tie}") for tie in ("original", "none", "rw", "re")]
    both = sorted(seed(f"{GERMAN}.charcnn_re_rw", n, "test_ppl") for n in (1, 2, 3))
    yield Statement(DETAILS, text, [*values, *both])


def treebank() -> Iterator[Statement]:
    """The details: the whole Penn Treebank."""
    text = (
        f"MorphSum+RE+RW is {PERCENT} behind tied words ({{}} and {{}}, three seeds) with {{}}% "
        "fewer parameters. With one seed, words with a softmax of their own have {}, MorphSum with "
        "one {}, CharCNN with one {}, and syllables with all weights shared (SylConcat+RE+RW, {}% "
        "fewer parameters than tied words) {}, {}%. So reusing saves {}% of the parameters of "
        "MorphSum"
    )
    values = [*change("morphsum_re_rw", TREEBANK), ppl("morphsum_re_rw", TREEBANK)]
    values += [ppl("word_re", TREEBANK), fewer("morphsum_re_rw", text=TREEBANK)]
    values += [ppl(f"{kind}_original", TREEBANK) for kind in ("word", "morphsum", "charcnn")]
    values += [fewer("sylconcat_re_rw", text=TREEBANK), ppl("sylconcat_re_rw", TREEBANK)]
    values += [change("sylconcat_re_rw", TREEBANK)[0]]
    saved = fewer("morphsum_re_rw", "morphsum_original", TREEBANK)
    yield Statement(DETAILS, text, [*values, saved])


SOURCES = (readme, pages, results, captions, treebank)
