"""The stock option that cannot work is refused with the one that does."""

import pytest
from fairseq import utils

from fairseq_outlayers.errors import UserError


@pytest.mark.parametrize("given", ["@@ ", "dictionary.txt", ""])
def test_replace_unk_is_refused_and_the_other_option_named(given):
    with pytest.raises(UserError, match="use --task translation_outlayers --unk-replacement"):
        utils.load_align_dict(given)


def test_without_the_option_nothing_is_loaded():
    assert utils.load_align_dict(None) is None
