"""The models of Pappas et al. (2018) and their changes: descriptions and options."""

import re

from recipes.lab.settings import UserError

# Output layer and description of each model. Joint models are named jointDIMENSIONS.
MODELS = {
    "nmt": ("linear", "a free vector for every output word"),
    "tied": ("tied", "output words share the vectors of the decoder's input words"),
    "bilinear": ("bilinear", "tied, with a linear map of the contexts (eq. 6)"),
    "output_structure": ("output_structure", "tied, with a nonlinear map of the words (eq. 7a)"),
    "context_structure": (
        "context_structure",
        "tied, with a nonlinear map of the contexts (eq. 7b)",
    ),
    "deep_residual": ("deep_residual", "tied, with residual maps of the words (DRILL)"),
}
# Changes of a model: pattern, description and options; depthN and shareN are handled in arms.py.
CHANGES = (
    (r"relu|sigmoid", ", {0}", "--joint-activation {0}"),
    (r"linear", ", without nonlinearity", "--joint-activation none"),
    (r"nobias", ", no inner biases", "--joint-inner-bias none"),
    (r"allbias", ", with inner biases", "--joint-inner-bias all"),
    (r"stacked(\d+)", ", {1} additive transformations", "--joint-layers {1}"),
)


def layer_of(model: str) -> tuple[str, str]:
    """Description and options of a model.

    Raises:
        UserError: if there is none with the name.
    """
    if found := re.fullmatch(r"joint(\d+)", model):
        words = f"words and contexts meet in a joint space of {found[1]} dimensions (eq. 14)"
        return words, f"--output-layer joint --joint-dim {found[1]}"
    if model in MODELS:
        layer, words = MODELS[model]
        return words, f"--output-layer {layer}"
    raise UserError(
        f"no model '{model}'; known are jointDIMENSIONS, as in joint512, and {' '.join(MODELS)}"
    )


def options_of(change: str) -> tuple[str, str]:
    """Description and options of a change.

    Raises:
        UserError: if there is none with the name.
    """
    for pattern, words, more in CHANGES:
        if found := re.fullmatch(pattern, change):
            parts = (found[0], *found.groups())
            return words.format(*parts), more.format(*parts)
    raise UserError(
        f"no change '{change}' of an arm; known are shareN depthN stackedN relu sigmoid linear "
        "nobias allbias"
    )
