"""A trained Transformer in CTranslate2."""

import pytest

from fairseq_outlayers import load
from fairseq_outlayers.export.ctranslate2_model import export_ctranslate2
from tests.system.backwards import TRAINING, TRANSFORMER
from tests.system.commands import succeed

ctranslate2 = pytest.importorskip("ctranslate2", reason="pip install ctranslate2")
pytestmark = pytest.mark.system
LIMIT = 20


@pytest.fixture(scope="module")
def data(backwards_data):
    return backwards_data


@pytest.fixture(scope="module")
def trained_transformer(data, tmp_path_factory):
    save_dir = tmp_path_factory.mktemp("transformer")
    succeed("train", data / "bin", *TRAINING, *TRANSFORMER, "--output-layer", "deep_residual",
            "--criterion", "full_softmax", "--max-epoch", 6, "--max-tokens", 300, "--lr", 0.002,
            "--lr-scheduler", "inverse_sqrt", "--warmup-updates", 100,
            "--save-dir", save_dir)  # fmt: skip
    return str(save_dir / "checkpoint_last.pt")


@pytest.mark.parametrize("beam", [1, 5])
def test_ctranslate2_translates_token_for_token_as_fairseq(
    data,
    trained_transformer,
    tmp_path,
    beam,
):
    export_ctranslate2(trained_transformer, tmp_path / "exported")
    texts = (data / "train.xx").read_text(encoding="utf-8").splitlines()[:300]
    found = ctranslate2.Translator(str(tmp_path / "exported")).translate_batch(
        [text.split() for text in texts], beam_size=beam, max_decoding_length=LIMIT
    )
    expected = load(trained_transformer).translate(texts, beam=beam, max_len_a=0, max_len_b=LIMIT)
    assert max(len(translation.target) for translation in expected) < LIMIT
    assert [result.hypotheses[0] for result in found] == [t.target for t in expected]
