"""Subword-aware language models: rates, seeds and epochs, from the ledger."""

from collections.abc import Iterator

from tests.docs.figures.assylbekov2018 import GERMAN, TAKHANOV, TREEBANK
from tests.docs.figures.statement import Statement

DETAILS, PAGE = "results/assylbekov2018/details.md", "docs/language_models.md"
RESULTS = "results/assylbekov2018/README.md"


def tuned(arm: str, *rates: str) -> list[float]:
    """Validation perplexities of tuning runs."""
    return [TAKHANOV.tuned(f"tune-{arm}-{rate}") for rate in rates]


def rates() -> Iterator[Statement]:
    """Learning rates."""
    for name, arm, text in (
        ("Word+RE", "word_re", "{} | **{}** | {}"),
        ("Word, a softmax of its own", "word_original", "{} | **{}** | {}"),
        ("MorphSum+RE+RW", "morphsum_re_rw", "{} | **{}** | {}"),
        ("MorphSum, a softmax of its own", "morphsum_original", "{} | **{}** | {}"),
        ("SylConcat, a softmax of its own", "sylconcat_original", "{} | **{}** | {}"),
        ("SylConcat+RE+RW", "sylconcat_re_rw", "**{}** | {} | {}"),
        ("CharCNN, a softmax of its own", "charcnn_original", "**{}** | {} | {}"),
    ):
        values = tuned(f"{GERMAN}.{arm}", "0.7", "1.0", "1.5")
        yield Statement(DETAILS, f"| {name} | {text} |", values)
    for name, arm in (
        ("CharCNN, nothing reused", "none"),
        ("CharCNN+RE", "re"),
        ("CharCNN+RW", "rw"),
        ("CharCNN+RE+RW", "re_rw"),
    ):
        values = tuned(f"{GERMAN}.charcnn_{arm}", "0.1", "0.2", "0.4", "0.7")
        yield Statement(DETAILS, f"| {name} | {{}} | {{}} | **{{}}** | {{}} |", values)
    text = "SylConcat+RE+RW ends at {} with 0.4"
    yield Statement(DETAILS, text, tuned(f"{GERMAN}.sylconcat_re_rw", "0.4"))
    text = (
        "English Word+RE {}, **{}**, {}, MorphSum+RE+RW {}, **{}**, {}; French {}, **{}**, {} and "
        "{}, **{}**, {})"
    )
    arms = [f"{text}.{arm}" for text in ("en5k", "fr5k") for arm in ("word_re", "morphsum_re_rw")]
    yield Statement(DETAILS, text, [x for arm in arms for x in tuned(arm, "0.7", "1.0", "1.5")])
    bad = [tuned(f"{GERMAN}.charcnn_{tie}", "0.1")[0] for tie in ("none", "re", "rw", "re_rw")]
    bad += tuned(f"{GERMAN}.charcnn_re_rw", "0.7")
    text = "Validation perplexity was just as bad ({} to {}), with one seed"
    yield Statement(PAGE, text, [min(bad), max(bad)])


def seeds() -> Iterator[Statement]:
    """Test perplexities by seed."""
    for name, text, number in (
        ("German", GERMAN, 3),
        ("French", "fr5k", 3),
        ("English", "en5k", 6),
    ):
        values = [
            TAKHANOV.seed(f"{text}.{arm}", n + 1, "test_ppl")
            for arm in ("word_re", "morphsum_re_rw")
            for n in range(number)
        ]
        cell = ", ".join(["{}"] * number)
        yield Statement(DETAILS, f"| {name} | {cell} | {cell} |", values)
    values = [
        TAKHANOV.seed(f"{TREEBANK}.{arm}", n, "test_ppl")
        for arm in ("word_re", "morphsum_re_rw")
        for n in (1, 2, 3)
    ]
    yield Statement(DETAILS, "| seeds 1, 2, 3 | {}, {}, {} | {}, {}, {} |", values)


def history(arm: str, key: str) -> list[float]:
    """Validation perplexity after each epoch of seed 1."""
    run = TAKHANOV.runs(f"{TREEBANK}.{arm}", 1, key)[-1]
    return [epoch["valid_ppl"] for epoch in run["history"]]


def epochs() -> Iterator[Statement]:
    """The whole Treebank by epochs."""
    for name, arm in (
        ("Word+RE | 1.0", "word_re"),
        ("Word, a softmax of its own | 1.0", "word_original"),
        ("MorphSum+RE+RW | 0.7", "morphsum_re_rw"),
        ("MorphSum, a softmax of its own | 0.7", "morphsum_original"),
        ("CharCNN, a softmax of its own | 0.5", "charcnn_original"),
        ("SylConcat+RE+RW | 0.7", "sylconcat_re_rw"),
    ):
        row = TAKHANOV.table[f"{TREEBANK}.{arm}"]
        figures = row["seeds"]["1"]
        curve = history(arm, row["key"])
        values = [figures["parameters"] / 1e6, round(figures["test_ppl"], 2)]
        values += [curve[epoch - 1] for epoch in (1, 2, 5, 9, 12, 15)]
        text = f"| {name} | {{}}M | {{}} | {{}}, {{}}, {{}}, {{}}, {{}}, {{}} |"
        yield Statement(DETAILS, text, values)
    text = "Word+RE has {} and MorphSum+RE+RW {} (seed 1)"
    older = {"word_re": "6f5771", "morphsum_re_rw": "e0c559"}
    ten = [TAKHANOV.table[f"{TREEBANK}.{arm} [{key}]"] for arm, key in older.items()]
    yield Statement(DETAILS, text, [row["seeds"]["1"]["test_ppl"] for row in ten])
    text = "(after five epochs {} with 1.0, {} with 0.7, {} with 0.5)"
    key = TAKHANOV.table[f"{TREEBANK}.morphsum_re_rw"]["key"]
    both = [history("morphsum_re_rw", each)[4] for each in (key, ten[1]["key"])]
    smaller = [TAKHANOV.tuned(f"{TREEBANK}.{arm}") for arm in older]
    yield Statement(PAGE, text, [*reversed(both), smaller[1]])
    text = (
        "(0.7 for words: validation perplexity {} instead of {}; 0.5 for morphs: {} instead of {})"
    )
    word = history("word_re", TAKHANOV.table[f"{TREEBANK}.word_re"]["key"])[4]
    yield Statement(RESULTS, text, [smaller[0], word, smaller[1], both[0]])
    text = (
        "Word+RE reaches {} in validation and {} on the test text, MorphSum+RE+RW {} and {} (seed "
        "1): {} and {} less on the test text than after the 15 epochs above"
    )
    values, less = [], []
    for arm in older:
        long = TAKHANOV.table[f"{TREEBANK}.{arm}.long"]["seeds"]["1"]
        values += [long["best_valid_ppl"], round(long["test_ppl"], 2)]
        less.append(TAKHANOV.seed(f"{TREEBANK}.{arm}", 1, "test_ppl") - long["test_ppl"])
    yield Statement(DETAILS, text, values + less)


SOURCES = (rates, seeds, epochs)
