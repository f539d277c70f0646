"""The options of fairseq's search that act in Python; the others are refused, not ignored."""

from types import SimpleNamespace
from typing import Any, Collection, Dict, Mapping

from fairseq.dataclass.configs import GenerationConfig

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.hub.arguments import checked
from fairseq_outlayers.stock_ranges import check_stock_ranges
from fairseq_outlayers.suggestions import did_you_mean

REMEDIES = {  # for options that this package replaces by others
    "nbest": "the best hypothesis alone is returned; leave it out",
    "print_alignment": "translations have an alignment; leave it out",
    "replace_unk": "use load(..., unk_replacement=...)",
    "score_reference": "use score()",
}
NEEDS = {  # options without effect, unless the other is given
    "sampling_topk": "sampling",
    "sampling_topp": "sampling",
    "diverse_beam_strength": "diverse_beam_groups",
}


def check_names(options: Mapping[str, Any], known: Collection[str], every: Collection[str]) -> None:
    """Refuse search options that do nothing in Python.

    Args:
        options: as given.
        known: names that act.
        every: names of fairseq.
    Raises:
        UserError: for the first that does nothing, or that fairseq does not have.
    """
    for name in options:
        if name in known:
            continue
        if name not in every:
            raise UserError(f"{name}: unknown search option{did_you_mean(name, known)}")
        remedy = REMEDIES.get(name, "leave it out, or use fairseq-generate")
        raise UserError(f"{name}={options[name]!r} has no effect here: {remedy}")


def check_search(options: Dict[str, Any], num_words: int) -> Dict[str, Any]:
    """Options of a search, by fairseq's names, in the types that fairseq declares.

    Args:
        options: as given.
        num_words: that a search can choose from.
    Raises:
        UserError: for a value of another type or out of its range, or options that exclude each
            other.
    """
    options = checked(options, GenerationConfig)
    check_stock_ranges(SimpleNamespace(**{"min_len": 1, **options}))
    for name, needed in NEEDS.items():
        default = getattr(GenerationConfig, name)
        if options.get(name, default) != default and not options.get(needed):
            raise UserError(f"{name}={options[name]} has no effect without {needed}: add it")
    topk = options.get("sampling_topk", -1)
    if topk > num_words:
        raise UserError(f"sampling_topk={topk}: must be at most {num_words}, the number of words")
    if topk > 0 and options.get("sampling_topp", -1) > 0:
        raise UserError(f"sampling_topk={topk} has no effect with sampling_topp: leave one out")
    beam, groups = options.get("beam", GenerationConfig.beam), options.get("diverse_beam_groups", 0)
    if groups > 0 and beam % groups:
        raise UserError(f"diverse_beam_groups={groups}: must divide beam={beam}")
    _check_one_strategy(options)
    return options


def _check_one_strategy(options: Dict[str, Any]) -> None:
    given = {
        "sampling": options.get("sampling", False),
        "match_source_len": options.get("match_source_len", False),
        "diverse_beam_groups": options.get("diverse_beam_groups", -1) > 0,
        "diversity_rate": options.get("diversity_rate", -1) > -1,
    }
    chosen = [name for name, is_given in given.items() if is_given]
    if len(chosen) > 1:
        raise UserError(f"{' and '.join(chosen)} exclude each other: give one")
