"""Frozen random recurrent weights, regenerated from a seed, and their spectral radius."""

from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np
import torch
import torch.nn as nn
from torch import Tensor

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.reservoirs.random_stream import uniform
from fairseq_outlayers.reservoirs.regenerated import VERSION, Version, check, version_of

# Factor of the U(-1, 1) input weights by number of inputs and density.
# fan_in: input products have the variance of the inputs, if weights have that of U(-1, 1), 1/3.
INPUT_NORMS: Dict[str, Callable[[int, float], float]] = {
    "none": lambda inputs, density: 1.0,
    "fan_in": lambda inputs, density: (inputs * density / 3) ** -0.5,
}
Draw = Callable[[int, str, Tuple[int, ...], float], np.ndarray]
RADIUS_UNIT = 2.0**-32
KRYLOV_VECTORS = 64  # fewer miss close or complex leading eigenvalues
TOLERANCE = 1e-8
RESTARTS = 100  # random matrices need 4 to 15; orthogonal ones never converge
FEW_A_ROW = 8


def spectral_radius(matrix: np.ndarray) -> float:
    """The largest absolute eigenvalue of a square matrix."""
    size = len(matrix)
    from scipy.sparse.linalg import ArpackNoConvergence, eigs  # importing takes a second

    # For matrices without a cycle, whose radius is 0, LAPACK's balancing is exact, but the
    # iteration returns rounding errors. Random ones are very sparse.
    if size > 2 * KRYLOV_VECTORS and np.count_nonzero(matrix) > FEW_A_ROW * size:
        settings = {"ncv": KRYLOV_VECTORS, "maxiter": RESTARTS, "tol": TOLERANCE}
        start = np.ones(size)
        try:
            largest = eigs(matrix, k=1, v0=start, return_eigenvectors=False, **settings)
            return float(np.abs(largest).max())
        except ArpackNoConvergence:
            pass  # computing all eigenvalues takes longer but always succeeds
    return float(np.abs(np.linalg.eigvals(matrix)).max())


class Reservoir(nn.Module):
    """Recurrent and input matrices of one layer in one direction (Garg et al. 2020, Sec. 4.1).

    Drawn from U(-1, 1), or by another ``draw``, and pruned; each gate's recurrent matrix is then
    divided by its spectral radius. Checkpoints contain no weights but the seed, a checksum and the
    radii: the last digits of a radius depend on libraries and threads, so on loading the
    checkpoint's radii are used. They are stored in units of 2^-32, because half precision does not
    convert integers.

    Args:
        name: of the layer within the model; determines the weights together with the seed.
        seed: of the frozen stream.
        input_size: ``D``.
        hidden_size: ``H``.
        gates: number of stacked matrices of each kind; 1, or 4 for an LSTM.
        sparsity: share of pruned weights.
        input_norm: name of a factor in ``INPUT_NORMS`` for the input weights.
        draw: random weights by seed, name, shape and sparsity, like
            :func:`~fairseq_outlayers.reservoirs.random_stream.uniform`.
    Raises:
        UserError: if pruning leaves a recurrent matrix with radius 0.
    """

    recurrent: Tensor  # (gates H, H)
    input: Tensor  # (gates H, D)

    def __init__(
        self,
        name: str,
        seed: int,
        input_size: int,
        hidden_size: int,
        gates: int = 1,
        sparsity: float = 0.25,
        input_norm: str = "none",
        draw: Draw = uniform,
    ):
        super().__init__()
        self.draw = draw
        self.name, self.seed, self.gates = name, seed, gates
        self.input_size, self.hidden_size = input_size, hidden_size
        self.sparsity = sparsity
        self.input_factor = INPUT_NORMS[input_norm](input_size, 1 - sparsity)
        weights, version = self._generate()
        for kind, tensor in weights.items():
            self.register_buffer(kind, tensor.to(torch.get_default_dtype()), persistent=False)
        self.register_buffer(VERSION, version.as_tensor())

    def _generate(
        self, radii: Optional[Tuple[int, ...]] = None
    ) -> Tuple[Dict[str, Tensor], Version]:
        """Draw the weights, and divide by the given or else by the computed radii."""
        drawn = self._draw("recurrent", self.hidden_size)
        radii = radii or tuple(round(spectral_radius(matrix) / RADIUS_UNIT) for matrix in drawn)
        if 0 in radii:
            raise UserError(
                f"{self.name}: with --reservoir-sparsity {self.sparsity}, {self.hidden_size} units "
                f"and --reservoir-seed {self.seed} a recurrent matrix has spectral radius 0 (its "
                "weights form no cycle) and cannot be scaled to 1: prune less, or use more units"
            )
        scaled = [matrix / (r * RADIUS_UNIT) for matrix, r in zip(drawn, radii, strict=True)]
        inputs = [self.input_factor * matrix for matrix in self._draw("input", self.input_size)]
        weights = {"recurrent": _stacked(scaled), "input": _stacked(inputs)}
        return weights, version_of(self.seed, weights.values(), radii)

    def _draw(self, kind: str, columns: int) -> List[np.ndarray]:
        shape = (self.hidden_size, columns)
        names = [f"{self.name}.{kind}.{gate}" for gate in range(self.gates)]
        return [self.draw(self.seed, name, shape, self.sparsity) for name in names]

    def _load_from_state_dict(self, state_dict: Dict[str, Any], prefix: str, *rest: Any) -> None:
        # If missing, strict loading fails by itself; the moving average has none.
        if prefix + VERSION in state_dict:
            found = Version.from_tensor(state_dict[prefix + VERSION])
            own = Version.from_tensor(self.get_buffer(VERSION))
            if found != own and found.seed == own.seed and len(found.radii) == len(own.radii):
                weights, own = self._generate(found.radii)
                self.recurrent.copy_(weights["recurrent"])
            check(self.name, found, own)
        super()._load_from_state_dict(state_dict, prefix, *rest)


def _stacked(matrices: List[np.ndarray]) -> Tensor:
    return torch.from_numpy(np.concatenate(matrices).astype(np.float32))
