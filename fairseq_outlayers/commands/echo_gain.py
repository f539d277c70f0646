"""Print the gain of frozen layers."""

import argparse

from fairseq_outlayers.commands.base import Command
from fairseq_outlayers.commands.tables import markdown_table

ECHO_STARTS = ("output_variance", "paper")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--arch", default="esnmt", help="esnmt (default), esnmt_lstm, or a model of your own"
    )
    parser.add_argument(
        "--echo-start",
        choices=ECHO_STARTS,
        default="output_variance",
        help="initial scales, as in training (default: output_variance)",
    )
    parser.add_argument("--gamma-init", type=float, help="overrides that of --echo-start")
    parser.add_argument("--radius-init", type=float, help="overrides that of --echo-start")
    parser.add_argument(
        "--hidden-size", type=int, default=512, metavar="N", help="units (default: 512)"
    )


def run(options: argparse.Namespace) -> None:
    """Print gain and saturation of a layer by the standard deviation of its inputs."""
    from fairseq_outlayers.analysis.echo_gains import gains

    found = gains(
        options.arch,
        hidden_size=options.hidden_size,
        echo_start=options.echo_start,
        gamma_init=options.gamma_init,
        radius_init=options.radius_init,
    )
    rows = [(deviation, f"{g.gain:.2f}", f"{g.saturated:.1%}") for deviation, g in found]
    print(markdown_table([("deviation of the inputs", "gain", "saturated"), *rows]))


COMMAND = Command(
    example="--arch esnmt_lstm --gamma-init 3.5",
    add_arguments=add_arguments,
    run=run,
)
