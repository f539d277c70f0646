"""Options of fairseq's search that contradict each other or the model, refused before decoding."""

import math
from typing import Any, Callable, List

from fairseq_outlayers.decoding.candidate_options import CandidateConfig
from fairseq_outlayers.decoding.length_limits import limits_cross
from fairseq_outlayers.decoding.search_strategy import check_strategy
from fairseq_outlayers.decoding.unk_replacement import UnkReplacementConfig
from fairseq_outlayers.errors import changes_nothing


def check_search(args: Any, config: Any, num_words: int, spelled: Callable[..., str]) -> None:
    """Refuse search options that contradict each other, or that fairseq would ignore.

    Args:
        args: fairseq's options of generation; those that it lacks are at their defaults.
        config: the task's options.
        num_words: of the target dictionary.
        spelled: an option in messages, of its name or of its name and value.
    Raises:
        UserError: about the first mistake.
    """
    check_strategy(args, num_words, spelled)
    _check_lengths(args, config.min_len_a, spelled)


def refuse_with_references(config: Any, defaults: Any, prefix: Any) -> None:
    """Refuse options of the search with ``--score-reference``, which scores over all words.

    Args:
        config: the task's options.
        defaults: the same, at their defaults.
        prefix: words of ``--prefix-size``, ``(B, P)``, or None.
    Raises:
        UserError: if an option is not at its default.
    """
    where, remedy = "with --score-reference", "it scores given translations; leave one of them out"
    if prefix is not None:
        raise changes_nothing("prefix_size", prefix.size(1), where, remedy)
    for name in search_option_names():
        if str(getattr(config, name)) != str(getattr(defaults, name)):
            raise changes_nothing(name, getattr(config, name), where, remedy)


def search_option_names() -> List[str]:
    """Names of the task's options that only a search uses."""
    fields = [*CandidateConfig.__dataclass_fields__, *UnkReplacementConfig.__dataclass_fields__]
    named = [name for name in fields if not name.startswith("_")]
    return [*named, "ensemble_average", "min_len_a", "int8_projection"]


def _check_lengths(args: Any, min_len_a: float, spelled: Callable[..., str]) -> None:
    max_len_a, max_len_b = getattr(args, "max_len_a", 0), getattr(args, "max_len_b", 200)
    min_len = getattr(args, "min_len", 1)
    if getattr(args, "match_source_len", False):
        limits = (
            ("min_len", min_len, 1),
            ("min_len_a", min_len_a, 0),
            ("max_len_a", max_len_a, 0),
            ("max_len_b", max_len_b, 200),
        )
        for name, value, default in limits:
            if value != default:
                raise changes_nothing(
                    name,
                    value,
                    f"with {spelled('match_source_len')}",
                    "translations are as long as their source with its </s>; leave one of them out",
                    spelled,
                )
    elif max_len_a > 0:
        # Limits that cross for a source of one word do so for all.
        least = math.floor(min_len_a)
        if least > max(math.floor(max_len_a + max_len_b), min_len):
            raise limits_cross(min_len_a, max_len_a, max_len_b, "no length is allowed", spelled)
