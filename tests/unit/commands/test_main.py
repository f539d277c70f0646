"""What holds for every command of ``python -m fairseq_outlayers``."""

import argparse
import shlex

import pytest

from fairseq_outlayers.__main__ import COMMANDS, main

each_command = pytest.mark.parametrize("name", COMMANDS)


@each_command
def test_the_help_has_an_example_on_one_line(name, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([name, "--help"])
    assert stopped.value.code == 0
    line = f"\nexample:\n  python -m fairseq_outlayers {name} {COMMANDS[name].example}\n"
    assert line in capsys.readouterr().out


@each_command
def test_the_example_has_options_that_the_command_takes(name):
    parser = argparse.ArgumentParser(exit_on_error=False)
    COMMANDS[name].prepare(parser)
    parser.parse_args(shlex.split(COMMANDS[name].example.partition(">")[0]))


def test_the_commands_are_listed_with_what_they_do(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    help_text = " ".join(capsys.readouterr().out.split())
    for name, command in COMMANDS.items():
        assert f"{name} {command.summary}" in help_text


def test_an_unknown_command_is_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit):
        main(["neighbors"])
    assert "neighbours" in capsys.readouterr().err
