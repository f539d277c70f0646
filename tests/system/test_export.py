"""A trained Transformer in CTranslate2."""

import shutil

import pytest

from fairseq_outlayers import load
from fairseq_outlayers.export.ctranslate2_model import export_ctranslate2
from tests.system.backwards import TRAINING, TRANSFORMER
from tests.system.commands import prepare, succeed

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


def test_a_vmap_restricts_a_single_sentence_to_our_candidates(data, trained_transformer, tmp_path):
    # Without the translation of h.
    (tmp_path / "lexicon").write_text("".join(f"{c}\t{c.upper()}\t0\n" for c in "abcdefg"))
    prepare("build_candidates", "--lexicon", tmp_path / "lexicon", "--output", tmp_path / "c.npz",
            "--source-dictionary", data / "bin" / "dict.xx.txt",
            "--target-dictionary", data / "bin" / "dict.yy.txt",
            "--ctranslate2", tmp_path / "vmap.txt", "--frequent", 2, "--per-word", 1)  # fmt: skip
    export_ctranslate2(trained_transformer, tmp_path / "exported")
    shutil.copy(tmp_path / "vmap.txt", tmp_path / "exported")
    texts = (data / "train.xx").read_text(encoding="utf-8").splitlines()[:60]
    limits = {"max_len_a": 0, "max_len_b": LIMIT}
    found = ctranslate2.Translator(str(tmp_path / "exported")).translate_batch(
        [text.split() for text in texts],
        beam_size=1, max_decoding_length=LIMIT, use_vmap=True, max_batch_size=1,
    )  # fmt: skip
    # K counts </s> and <unk>; the vmap has neither.
    ours = load(trained_transformer, candidates=tmp_path / "c.npz", candidate_frequent=4,
                candidate_per_word=1)  # fmt: skip
    expected = [translation.target for translation in ours.translate(texts, beam=1, **limits)]
    assert [result.hypotheses[0] for result in found] == expected
    over_all_words = load(trained_transformer).translate(texts, beam=1, **limits)
    assert expected != [translation.target for translation in over_all_words]
