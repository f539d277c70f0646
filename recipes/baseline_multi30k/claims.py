"""What the baseline should show: our models translate like fairseq's, and tying costs nothing."""

from recipes.lab.arms import Recipe
from recipes.lab.claims import Claim, Part, about_equal, at_least, exact, numbered
from recipes.lab.figures import chart_parts
from recipes.lab.pages.report import Findings
from recipes.lab.pages.summary import Compared
from recipes.lab.runs import Runs

SETUP = (
    "29 thousand captions (Multi30k), English to German, joint BPE of 4,000 merges;"
    " 2+2 layers of 128 units; BLEU of plain text, lower case. Validation perplexities of fairseq"
    " without this package are not compared: it leaves out the six longest of 1,014 sentences."
)
PAIRS = (
    ("luong_linear", "stock_lstm"),
    ("luong_tied", "luong_linear"),
    ("transformer_linear", "stock_transformer"),
    ("transformer_tied", "transformer_linear"),
    ("transformer_joint", "transformer_tied"),
)


def same_size(runs: Runs, one: str, other: str) -> Part:
    """Whether two models have the same number of parameters."""
    inequality = f"parameters({one}) = parameters({other})"
    sizes = [runs.figure(arm, "parameters") for arm in (one, other) if arm in runs]
    if len(sizes) < 2:
        return exact(inequality, None)
    return exact(inequality, sizes[0] == sizes[1], "{:,.0f}, {:,.0f}".format(*sizes))


def claims_of(runs: Runs) -> list[Claim]:
    """The claims with their verdicts."""
    lstm = ("luong_linear", "stock_lstm")
    found = {
        "Our LSTM translates at least as well as fairseq's of the same size":
            [at_least(runs, *lstm), same_size(runs, *lstm)],
        "With `linear`, which adds class biases, fairseq's Transformer translates as without us":
            [about_equal(runs, "transformer_linear", "stock_transformer")],
        "Weight tying translates as well as `linear`":
            [at_least(runs, f"{family}_tied", f"{family}_linear")
             for family in ("luong", "transformer")],
        "`joint` translates at least as well as `tied`":
            [at_least(runs, "transformer_joint", "transformer_tied")],
    }  # fmt: skip
    return numbered(found)


def find(recipe: Recipe, runs: Runs) -> Findings:
    """Verdicts, and BLEU and validation perplexity of every model."""
    labels = {name: recipe.label(name) for name in recipe.all_arms()}
    view = runs.mostly_alike(list(labels))
    rows = sorted(chart_parts.bleu_rows(view, labels), key=lambda row: -row.value)
    below = chart_parts.note(view, list(labels))
    pairs = [(one, other) for one, other in PAIRS if one in view and other in view]
    measures = (Compared.in_bleu, Compared.in_validation_perplexity)
    in_bleu, in_perplexity = (
        [one for pair in pairs if (one := measure(view, *pair, (labels[pair[0]], labels[pair[1]])))]
        for measure in measures
    )
    compared = in_bleu + in_perplexity
    decided = sum(one.verdict in ("better", "worse") for one in in_bleu)
    title = f"BLEU of every model: {decided or 'none'} of {len(in_bleu)} comparisons decided"
    return Findings(
        recipe.title,
        claims_of(view),
        charts={"bleu": chart_parts.rows_chart(title, "BLEU, test set", rows, below)},
        name="Baseline",
        setup=SETUP,
        compared=compared,
    )
