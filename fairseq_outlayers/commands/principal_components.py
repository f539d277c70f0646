"""Print the principal components of word vectors."""

from fairseq_outlayers.commands.study import study_command

COMMAND = study_command(
    "principal_components",
    axes=("principal components", "share of the variance"),
    summary="Count the principal components that the input and the output vectors of words use",
    example="run/checkpoint_best.pt --plot pca.svg",
)
