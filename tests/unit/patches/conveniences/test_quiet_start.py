import logging
import warnings

import pytest

from fairseq_outlayers.patches.conveniences import quiet_start

# As seen, first lines only: fairseq-fixed 0.12.3.1, hydra 1.3.2, torch 2.13.
SEEN = [
    "hydra.experimental.initialize() is no longer experimental. Use hydra.initialize()",
    "\nThe version_base parameter is not specified.\nPlease specify a compatability version level",
    "hydra.experimental.compose() is no longer experimental. Use hydra.compose()",
    "In 'config': Usage of deprecated keyword in package header '# @package _group_'.\nSee https:",
    "\n'config' is validated against ConfigStore schema with the same name.\nThis behavior is",
    "\nThe strict flag in the compose API is deprecated.\nSee https://hydra.cc/docs/1.2/upgrades",
    "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory",
    "`torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cuda', arg",
    "Sparse invariant checks are implicitly disabled. Memory errors (e.g. SEGFAULT) will occur",
]


def shown(text, category=UserWarning):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        quiet_start.apply()
        warnings.warn(text, category, stacklevel=1)
    return [str(warning.message) for warning in record]


@pytest.mark.parametrize("text", SEEN)
def test_a_warning_of_every_run_is_not_shown(text):
    assert shown(text) == []
    assert shown(text, FutureWarning) == []


@pytest.mark.parametrize(
    "text",
    [
        "The learning rate is not specified",
        "'config' is not valid",
        "hydra.experimental.other() is no longer experimental",
        "Memory errors: Sparse invariant checks failed",
    ],
)
def test_other_warnings_are_shown(text):
    assert shown(text) == [text]


def test_the_loggers_of_fairseq_itself_stay_as_loud_as_they_were():
    quiet_start.apply()
    assert logging.getLogger("fairseq").level == logging.NOTSET
