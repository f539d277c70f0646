"""Training by partitions: parts of the corpus with few distinct words (Jean et al. 2015, Sec. 3.1).

``plan`` divides a corpus; ``corpus`` and ``batches`` prepare fairseq's batches; ``working_set``
loads the rows of a partition's words into the model; ``training`` is the base class of tasks.
"""
