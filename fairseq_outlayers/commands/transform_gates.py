"""Print statistics of the transform gates of composed word vectors."""

from fairseq_outlayers.commands.study import study_command

COMMAND = study_command(
    "transform_gates",
    axes=("transform gate", "density"),
    example="run/checkpoint_best.pt --plot gates.svg",
)
