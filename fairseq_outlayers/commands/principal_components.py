"""Print the principal components of word vectors."""

from fairseq_outlayers.commands.study import study_command

COMMAND = study_command(
    "principal_components",
    axes=("principal components", "share of the variance"),
    example="run/checkpoint_best.pt --plot pca.svg",
)
