"""Named parts, the options of each, and the refusal of options that would act on nothing."""

from dataclasses import dataclass, field

import pytest
from fairseq.dataclass.utils import merge_with_parent
from omegaconf import OmegaConf

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.options import changed_defaults, selection_config
from fairseq_outlayers.registry import Selection, lookup


class Plain:
    @dataclass
    class Config:
        shared: int = field(default=1, metadata={"help": "an option that both have"})


class Deep(Plain):
    @dataclass
    class Config(Plain.Config):
        depth: int = field(default=3, metadata={"help": "an option of its own"})
        lazy: bool = field(default=False, metadata={"help": "a switch of its own"})


class Flat(Plain):
    """Without options of its own, so with those of its base."""


REGISTRY = {"plain": Plain, "deep": Deep, "flat": Flat}


def selection(registry=REGISTRY, **changes):
    given = {"option": "part", "default": "plain", "help_text": "which part", **changes}
    return Selection(registry, **given)


PartConfig = selection_config("PartConfig", selection())


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UserError, match=r"--part shallow: .*deep, flat, plain"):
        lookup(REGISTRY, "shallow", "--part")
    with pytest.raises(UserError, match=r"--part shallow: .*deep, flat, plain"):
        selection().choose(PartConfig(part="shallow"))


def test_a_default_that_is_no_entry_is_our_own_mistake_and_said_at_once():
    with pytest.raises(UserError, match="shallow"):
        selection(default="shallow")


def test_two_different_options_of_one_name_are_refused():
    class Other(Plain):
        @dataclass
        class Config:
            depth: int = field(default=3, metadata={"help": "an option of its own"})

    with pytest.raises(UserError, match="deep and other have different options --depth"):
        selection_config("PartConfig", selection({**REGISTRY, "other": Other}))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"depth": 7}, r"--depth 7 has no effect with --part plain: it is an option of deep;"),
        ({"part": "flat", "lazy": True}, r"--lazy has no effect with --part flat"),
    ],
)
def test_an_option_of_an_entry_that_is_not_selected_is_refused(given, message):
    with pytest.raises(UserError, match=message):
        selection().choose(PartConfig(**given))


@pytest.mark.parametrize("given", [{}, {"depth": 3}, {"shared": 9}, {"part": "deep", "depth": 7}])
def test_options_that_act_and_options_at_their_default_are_not(given):
    chosen = selection().choose(PartConfig(**given))
    assert chosen is REGISTRY[given.get("part", "plain")]


def test_a_size_with_an_option_that_does_not_exist_is_refused():
    with pytest.raises(UserError, match="Sized: no option --dept; did you mean depth"):
        changed_defaults("Sized", PartConfig, dept=9)


def test_the_default_that_counts_is_that_of_the_architecture():
    sized = changed_defaults("Sized", PartConfig, part="deep", depth=9)
    assert selection().choose(sized(part="plain")) is Plain
    with pytest.raises(UserError, match="--depth 3 has no effect"):
        selection().choose(sized(part="plain", depth=3))


def test_a_configuration_that_omegaconf_has_wrapped_is_told_apart_as_well():
    sized = changed_defaults("Sized", PartConfig, depth=9)
    wrapped = merge_with_parent(sized(), OmegaConf.create({"_name": "sized", "part": "flat"}))
    assert selection().choose(wrapped) is Flat
    wrapped.depth = 4
    with pytest.raises(UserError, match="--depth 4 has no effect with --part flat"):
        selection().choose(wrapped)


def test_options_that_a_model_reads_itself_are_never_idle():
    class Model(PartConfig):
        also_reads = ("depth",)

    assert selection().choose(Model(depth=4)) is Plain
