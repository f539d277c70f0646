"""All sources of statements."""

from tests.docs.figures import (
    assylbekov2018,
    assylbekov2018_details,
    baseline,
    benchmarks,
    digangi2017,
    garg2020,
    gpu,
    jean2015,
    large_vocabulary,
    large_vocabulary_benchmark,
    models_benchmark,
    pappas2018,
    pappas2018_results,
    recipes,
    remarks,
    settings,
)

MODULES = (
    assylbekov2018,
    assylbekov2018_details,
    baseline,
    benchmarks,
    digangi2017,
    garg2020,
    gpu,
    jean2015,
    large_vocabulary,
    large_vocabulary_benchmark,
    models_benchmark,
    pappas2018,
    pappas2018_results,
    recipes,
    remarks,
    settings,
)
SOURCES = [source for module in MODULES for source in module.SOURCES]
