"""fairseq glue around the losses; importing a module here registers its criterion."""

from fairseq_outlayers.criterions import full_softmax, partition_softmax, sampled_softmax

__all__ = ["full_softmax", "partition_softmax", "sampled_softmax"]
