"""All sources of statements."""

from tests.docs.figures import (
    benchmarks,
    gpu,
    jean2015,
    large_vocabulary,
    large_vocabulary_benchmark,
    models_benchmark,
)

MODULES = (
    large_vocabulary,
    large_vocabulary_benchmark,
    benchmarks,
    gpu,
    models_benchmark,
    jean2015,
)
SOURCES = [source for module in MODULES for source in module.SOURCES]
