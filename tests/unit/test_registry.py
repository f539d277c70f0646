"""Options that follow from a dictionary of named parts."""

import argparse
from dataclasses import dataclass, field

import pytest
from fairseq.dataclass import FairseqDataclass
from fairseq.dataclass.utils import gen_parser_from_dataclass

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.registry import lookup, selection_config


class Plain:
    @dataclass
    class Config(FairseqDataclass):
        shared: int = field(default=1, metadata={"help": "an option that both have"})


class Deep(Plain):
    @dataclass
    class Config(Plain.Config):
        depth: int = field(default=3, metadata={"help": "an option of its own"})


class Flat(Plain):
    """Without options of its own, so with those of its base."""


REGISTRY = {"plain": Plain, "deep": Deep, "flat": Flat}


@pytest.fixture
def parser():
    config = selection_config("PartConfig", REGISTRY, "part", "plain", "which part")
    parser = argparse.ArgumentParser()
    gen_parser_from_dataclass(parser, config())
    return parser


def test_every_entrys_options_are_on_the_command_line_once(parser):
    parsed = parser.parse_args(["--part", "deep", "--depth", "7"])
    assert (parsed.part, parsed.depth, parsed.shared) == ("deep", 7, 1)
    options = [option for action in parser._actions for option in action.option_strings]
    assert len(options) == len(set(options))


def test_the_default_is_selected_when_nothing_is_asked_for(parser):
    assert parser.parse_args([]).part == "plain"


def test_an_unknown_choice_on_the_command_line_lists_the_known_ones(parser, capsys):
    with pytest.raises(SystemExit):
        parser.parse_args(["--part", "shallow"])
    message = capsys.readouterr().err
    assert all(word in message for word in ("shallow", "plain", "deep", "flat"))


def test_an_unknown_name_elsewhere_lists_the_known_ones():
    with pytest.raises(UserError, match=r"--part shallow: .*deep, flat, plain"):
        lookup(REGISTRY, "shallow", "--part")


def test_a_default_that_is_no_entry_is_our_own_mistake_and_said_at_once():
    with pytest.raises(UserError, match="shallow"):
        selection_config("PartConfig", REGISTRY, "part", "shallow", "which part")
