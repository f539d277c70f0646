"""Options that select fairseq's search strategy, on the command line and in Python."""

from typing import Any, Callable, Dict

from fairseq.dataclass.configs import GenerationConfig

from fairseq_outlayers.errors import UserError

NEEDS = {  # options without effect, unless the other is given
    "sampling_topk": "sampling",
    "sampling_topp": "sampling",
    "diverse_beam_strength": "diverse_beam_groups",
}
IDLE_BESIDE = {"lenpen": "unnormalized"}  # options without effect, if the other is given
# The options that select a strategy; fairseq takes the first and ignores some of the others.
STRATEGIES = (
    "sampling",
    "diverse_beam_groups",
    "match_source_len",
    "diversity_rate",
    "constraints",
)
DEFAULTS: Dict[str, Any] = {
    name: GenerationConfig.__dataclass_fields__[name].default
    for name in ("beam", *NEEDS, *IDLE_BESIDE, *IDLE_BESIDE.values(), *STRATEGIES)
}


def check_strategy(args: Any, num_words: int, spelled: Callable[..., str]) -> None:
    """Refuse options that contradict each other, or that fairseq would ignore.

    Args:
        args: fairseq's options of generation; those that it lacks are at their defaults.
        num_words: that the search can choose from.
        spelled: an option in messages, of its name or of its name and value.
    Raises:
        UserError: about the first mistake.
    """
    options = {name: getattr(args, name, default) for name, default in DEFAULTS.items()}
    given = {name for name, value in options.items() if value != DEFAULTS[name]}
    if options["diverse_beam_groups"] <= 0:
        given.discard("diverse_beam_groups")
    for name, needed in NEEDS.items():
        if name in given and needed not in given:
            raise UserError(
                f"{spelled(name, options[name])} has no effect without {spelled(needed)}: add "
                "that, or leave it out"
            )
    for name, other in IDLE_BESIDE.items():
        if {name, other} <= given:
            raise idle_beside(name, options[name], other, spelled)
    chosen = [spelled(name) for name in STRATEGIES if name in given]
    if len(chosen) > 1:
        raise UserError(f"{' and '.join(chosen)} exclude each other: give one")
    topk = spelled("sampling_topk", options["sampling_topk"])
    if options["sampling_topk"] > num_words:
        raise UserError(
            f"{topk}: there are only {num_words} words to sample from: lower it, or leave it out "
            "to sample from all"
        )
    if options["sampling_topk"] > 0 and options["sampling_topp"] > 0:
        raise idle_beside("sampling_topk", options["sampling_topk"], "sampling_topp", spelled)
    _check_groups(options["diverse_beam_groups"], options["beam"], spelled)


def idle_beside(name: str, value: Any, other: str, spelled: Callable[..., str]) -> UserError:
    """The error for an option without effect, because another one is given."""
    return UserError(
        f"{spelled(name, value)} has no effect with {spelled(other)}: leave one of them out"
    )


def _check_groups(groups: int, beam: int, spelled: Callable[..., str]) -> None:
    if groups > 0 and beam % groups:
        multiple = -(-beam // groups) * groups
        raise UserError(
            f"{spelled('diverse_beam_groups', groups)}: {spelled('beam', beam)} is not a multiple "
            f"of it: give {spelled('beam', multiple)}, or another number of groups"
        )
