"""Print the gain of frozen layers."""

import argparse
from typing import Any, Dict, Tuple

from fairseq_outlayers.commands.base import Command
from fairseq_outlayers.models.esnmt import ESNMT, ESNMTLSTM, ESNMTConfig, ESNMTLSTMConfig
from fairseq_outlayers.reservoirs.gain import output_gain
from fairseq_outlayers.reservoirs.options import ECHO_STARTS, check_echo_options, make_reservoir

ARCHITECTURES: Dict[str, Tuple[Any, Any]] = {
    "esnmt": (ESNMT, ESNMTConfig),
    "esnmt_lstm": (ESNMTLSTM, ESNMTLSTMConfig),
}
DEVIATIONS = (0.01, 0.05, 0.1, 0.2, 0.5, 0.84, 1.0)


def gains_table(options: argparse.Namespace) -> str:
    """Gain and saturation of a layer by the standard deviation of its inputs, in Markdown.

    Args:
        options: arch, echo_start, gamma_init, radius_init and hidden_size.
    """
    model, config = ARCHITECTURES[options.arch]
    cfg = config(
        hidden_size=options.hidden_size,
        echo_start=options.echo_start,
        gamma_init=options.gamma_init,
        radius_init=options.radius_init,
    )
    check_echo_options(cfg)
    reservoir = make_reservoir(cfg, model.cell, "encoder.layers.1.forward", 2 * cfg.hidden_size)
    layer = model.frozen_layer(cfg, reservoir)
    lines = ["| deviation of the inputs | gain | saturated |", "|---|---|---|"]
    for deviation in DEVIATIONS:
        found = output_gain(layer, deviation)
        lines.append(f"| {deviation} | {found.gain:.2f} | {found.saturated:.1%} |")
    return "\n".join(lines)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--arch", choices=ARCHITECTURES, default="esnmt")
    parser.add_argument("--echo-start", choices=ECHO_STARTS, default="output_variance")
    parser.add_argument("--gamma-init", type=float, help="overrides that of --echo-start")
    parser.add_argument("--radius-init", type=float, help="overrides that of --echo-start")
    parser.add_argument("--hidden-size", type=int, default=512)


COMMAND = Command(
    summary="Print by how much a frozen layer of esnmt scales its inputs at initialization",
    example="--arch esnmt_lstm --gamma-init 3.5",
    add_arguments=add_arguments,
    run=lambda options: print(gains_table(options)),
)
