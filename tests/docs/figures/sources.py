"""All sources of statements."""

from tests.docs.figures import (
    benchmarks,
    garg2020,
    gpu,
    jean2015,
    large_vocabulary,
    large_vocabulary_benchmark,
    models_benchmark,
    settings,
)

MODULES = (
    large_vocabulary,
    large_vocabulary_benchmark,
    benchmarks,
    models_benchmark,
    gpu,
    jean2015,
    garg2020,
    settings,
)
SOURCES = [source for module in MODULES for source in module.SOURCES]
