"""Training by partitions: parts of the corpus with few distinct words, and only these words.

Jean et al. (2015), Sec. 3.1. ``plan`` divides a corpus; ``corpus`` and ``batches`` make of that
what fairseq trains on; ``working_set`` puts the rows of a partition's words into the model;
``training`` is what a task inherits.
"""
