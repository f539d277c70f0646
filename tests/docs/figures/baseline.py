"""fairseq's models and ours: quality and size."""

from collections.abc import Iterator

from tests.docs.figures.pappas2018 import DE, PAPPAS
from tests.docs.figures.results import Results
from tests.docs.figures.statement import CHANGE, PERCENT, Statement

README, PAGE = "README.md", "docs/choosing_a_layer.md"
RESULTS = "results/baseline_multi30k/README.md"

BASELINE = Results("baseline_multi30k", "report")
LINEAR, TIED, JOINT, STOCK = (
    "transformer_linear", "transformer_tied", "transformer_joint", "stock_transformer"
)  # fmt: skip
cell, fewer = BASELINE.cell, BASELINE.fewer_parameters


def statements() -> Iterator[Statement]:
    """All pages."""
    behind = BASELINE.change(TIED, LINEAR, "valid")
    text = f"at one untuned learning rate for both, {PERCENT} more perplexity (by paired seeds) |"
    yield Statement(README, text, behind)
    text = f"Untuned, `tied` has {PERCENT} more perplexity than `linear` in a Transformer"
    yield Statement(PAGE, text, behind)
    text = (
        f"`linear` {{}} BLEU, `tied` {{}} ({CHANGE}), `joint` {{}} ({CHANGE} from `tied`). In "
        f"validation perplexity `tied` is {PERCENT} behind `linear` (by paired seeds), with {{}}% "
        "fewer parameters."
    )
    bleu = {arm: cell(arm, "BLEU") for arm in (LINEAR, TIED, JOINT, STOCK)}
    values = [bleu[LINEAR], bleu[TIED], *BASELINE.change(TIED, LINEAR), bleu[JOINT]]
    values += [*BASELINE.change(JOINT, TIED), *behind, fewer(TIED, LINEAR)]
    yield Statement(PAGE, text, values)
    text = "nor ours with tied vectors ({}% fewer parameters) from ours without."
    yield Statement(RESULTS, text, [fewer("luong_tied", "luong_linear")])
    text = "the same model reaches {} with the batches"
    yield Statement(RESULTS, text, [PAPPAS.cell(f"{DE}nmt", "BLEU")])
    text = (
        "(`linear` {}, `tied` {}, `joint` {}, three seeds) nor, with `linear`, from fairseq's "
        f"Transformer without this package ({{}}); `tied`, with {{}}% fewer parameters than "
        f"`linear`, has {PERCENT} more validation perplexity (by paired seeds); "
        "`joint`, with {}% fewer, is not"
    )
    values = [*bleu.values(), fewer(TIED, LINEAR), *behind, fewer(JOINT, LINEAR)]
    yield Statement(RESULTS, text, values)


SOURCES = (statements,)
