"""The gain of a frozen layer by the standard deviation of its inputs."""

from typing import Any, Dict, Iterator, Tuple

from fairseq_outlayers.models.esnmt import ESNMT, ESNMTLSTM, ESNMTConfig, ESNMTLSTMConfig
from fairseq_outlayers.reservoirs.gain import EchoGain, output_gain
from fairseq_outlayers.reservoirs.options import check_echo_options, make_reservoir

ARCHITECTURES: Dict[str, Tuple[Any, Any]] = {
    "esnmt": (ESNMT, ESNMTConfig),
    "esnmt_lstm": (ESNMTLSTM, ESNMTLSTMConfig),
}
DEVIATIONS = (0.01, 0.05, 0.1, 0.2, 0.5, 0.84, 1.0)


def gains(architecture: str, **options: Any) -> Iterator[Tuple[float, EchoGain]]:
    """Standard deviations of the inputs, and the gain of a layer of the encoder for each.

    Args:
        architecture: in ``ARCHITECTURES``.
        options: hidden_size, echo_start, gamma_init and radius_init of the model.
    Raises:
        UserError: if a scale is out of its range.
    """
    model, config = ARCHITECTURES[architecture]
    cfg = config(**options)
    check_echo_options(cfg)
    reservoir = make_reservoir(cfg, model.cell, "encoder.layers.1.forward", 2 * cfg.hidden_size)
    layer = model.frozen_layer(cfg, reservoir)
    for deviation in DEVIATIONS:
        yield deviation, output_gain(layer, deviation)
