"""All sources of statements."""

from tests.docs.figures import (
    benchmarks,
    large_vocabulary,
    large_vocabulary_benchmark,
    models_benchmark,
)

MODULES = (large_vocabulary, large_vocabulary_benchmark, benchmarks, models_benchmark)
SOURCES = [source for module in MODULES for source in module.SOURCES]
