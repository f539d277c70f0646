"""docs/finetuning.md followed to the letter, and what it says that the commands print."""

import re

import pytest
import torch

from tests.system.commands import ROOT
from tests.warm_shell import Shell

pytestmark = pytest.mark.system
PAGE = ROOT / "docs" / "finetuning.md"


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """A reader's folder after all blocks of the page, and what the last one printed."""
    folder = tmp_path_factory.mktemp("reader")
    shell = Shell(tmp_path_factory.mktemp("shell"), CUDA_VISIBLE_DEVICES="")
    sizes = "--train 400 --valid 20 --test 20 --vocabulary 300"
    shell.run(f"python {ROOT}/data_prep/toy_corpus.py --output tokenized {sizes}", folder)
    for path in (folder / "tokenized").iterdir():
        path.rename(path.with_suffix({".src": ".de", ".tgt": ".en"}[path.suffix]))
    (folder / "fairseq_outlayers").symlink_to(ROOT / "fairseq_outlayers")
    blocks = re.findall(r"(?ms)^```\n(.*?)^```$", PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 2
    printed = [shell.run(block, folder) for block in blocks]
    return folder, printed[-1]


def said(text, pattern):
    return re.findall(pattern, text)


def test_the_second_training_says_what_it_begins_with(followed):
    folder, printed = followed
    shown = re.search(r"(?ms)^```text\n(.*?)^```$", PAGE.read_text(encoding="utf-8"))[1]
    # Numbers are those of the reader's text; what stands between them is the page's.
    for line in shown.replace(", ...", "").splitlines():
        pattern = re.sub(r"[\d,]*\d", r"[\\d,]+", re.escape(line).replace(r"\ ", " "))
        assert re.search(pattern, printed), line
    sizes = {
        side: len((folder / "words-bin" / f"dict.{language}.txt").read_text().splitlines()) + 4
        for side, language in (("encoder", "de"), ("decoder", "en"))
    }
    for side, size in sizes.items():
        (found,) = said(printed, rf"{side}.embed_tokens.weight: (\d+) of {size:,} rows")
        assert int(found) == 60  # specials included


def test_the_second_model_has_the_rows_of_all_words_and_a_joint_layer(followed):
    folder, _ = followed
    model = torch.load(folder / "joint" / "checkpoint_last.pt", weights_only=False)["model"]
    words = len((folder / "words-bin" / "dict.en.txt").read_text().splitlines()) + 4
    assert len(model["decoder.embed_tokens.weight"]) == words > 200
    assert len(model["decoder.output_projection.class_encoder.projections.0.weight"]) == 64
    assert "decoder.output_projection.weight" not in model
