"""The options of fairseq's search that act in Python; the others are refused, not ignored."""

from types import SimpleNamespace
from typing import Any, Callable, Collection, Dict, Mapping

from fairseq.dataclass.configs import GenerationConfig

from fairseq_outlayers.decoding.search_strategy import check_strategy
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.hub.arguments import as_keyword, checked
from fairseq_outlayers.stock.ranges import check_stock_ranges
from fairseq_outlayers.suggestions import did_you_mean

BEAM, SAMPLES = 5, 1  # defaults; the best of several samples does not follow the distribution
REMEDIES = {  # for options that this package replaces by others
    "nbest": "the best hypothesis alone is returned; leave it out",
    "print_alignment": "translations have an alignment; leave it out",
    "replace_unk": "use load(..., unk_replacement=...)",
    "score_reference": "use score()",
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
        raise UserError(f"{as_keyword(name, options[name])} has no effect here: {remedy}")


def checked_search(
    options: Dict[str, Any], num_words: int, spelled: Callable[..., str]
) -> Dict[str, Any]:
    """Options of a search, by fairseq's names, in the types that fairseq declares.

    Args:
        options: as given; a ``beam`` of None is the default.
        num_words: that a search can choose from.
        spelled: an option in messages, of its name or of its name and value.
    Raises:
        UserError: for a value of another type or out of its range, or options that exclude each
            other.
    """
    if options["beam"] is None:
        options = {**options, "beam": SAMPLES if options.get("sampling") else BEAM}
    options = checked(options, GenerationConfig)
    given = SimpleNamespace(**{"min_len": 1, **options})
    check_stock_ranges(given, spelled, empty_lines=False)
    check_strategy(given, num_words, spelled)
    return options
