"""Print ``docs/options.md``."""

import argparse

from fairseq_outlayers.commands.base import Command


def run(options: argparse.Namespace) -> None:
    """Print the page."""
    from fairseq_outlayers.commands.options_page import options_page

    print(options_page(), end="")


COMMAND = Command(
    example="> options.md",
    add_arguments=lambda parser: None,
    run=run,
)
