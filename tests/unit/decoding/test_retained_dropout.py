"""``--retain-dropout``: every dropout of a model acts in generation, and only then."""

from types import SimpleNamespace

import pytest
import torch

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.dropout import Dropout, RetainableDropout
from tests.conftest import (
    LANGUAGE_MODEL_ARCHITECTURES,
    TRANSLATION_ARCHITECTURES,
    has_option,
    make_batch,
    make_model,
)

LENGTHS = [(4, 5), (1, 3), (6, 2), (3, 3)]
ALL_DROPOUTS = ("dropout", "embedding_dropout")
WITH_DROPOUT = [
    arch for arch in TRANSLATION_ARCHITECTURES if any(has_option(arch, n) for n in ALL_DROPOUTS)
]


def prepared(arch, task, retained=True, modules=None, **options):
    """A model with dropout, as ``fairseq-generate`` prepares it."""
    shares = {name: 0.4 for name in ALL_DROPOUTS if has_option(arch, name)}
    model = make_model(arch, task, **{**shares, **options})
    generation = SimpleNamespace(retain_dropout=retained, retain_dropout_modules=modules)
    model.prepare_for_inference_(SimpleNamespace(generation=generation))
    return model


def scores_of(task, models, batch):
    generator = task.build_generator(models, SimpleNamespace(beam=3, max_len_a=0, max_len_b=6))
    found = task.inference_step(generator, models, batch)
    return [float(one["score"]) for hypotheses in found for one in hypotheses]


@pytest.mark.parametrize("arch", WITH_DROPOUT)
@pytest.mark.parametrize("retained", [True, False])
def test_translations_are_random_with_it_and_only_with_it(arch, retained, make_task, decode):
    task = make_task()
    models, batch = [prepared(arch, task, retained)], make_batch(task, LENGTHS)
    torch.manual_seed(1)
    first, second = (scores_of(task, models, batch) for _ in range(2))
    assert (first != second) == retained
    torch.manual_seed(1)
    assert scores_of(task, models, batch) == first


@pytest.mark.parametrize("arch", WITH_DROPOUT)
def test_every_step_of_cached_decoding_draws_new_masks(arch, make_task):
    task = make_task()
    model, batch = prepared(arch, task), make_batch(task, LENGTHS)["net_input"]
    encoder_out = model.encoder(batch["src_tokens"], batch["src_lengths"])
    torch.manual_seed(1)
    words = batch["prev_output_tokens"][:, :1]
    one, other = (
        model.decoder(words, encoder_out=encoder_out, incremental_state={})[0] for _ in range(2)
    )
    assert not torch.equal(one, other)


def test_computed_classes_are_not_cached_with_a_mask(make_task):
    task = make_task()
    options = {"output_layer": "deep_residual", "deep_residual_dropout": 0.4}
    layer = prepared("luong_lstm", task, **options).decoder.output_projection
    with torch.no_grad():
        assert not torch.equal(layer.class_embeddings(), layer.class_embeddings())
    kept = prepared("luong_lstm", task, False, **options).decoder.output_projection
    with torch.no_grad():
        assert kept.class_embeddings() is kept.class_embeddings()


def test_the_lstm_of_a_language_model_is_masked(make_task):
    task = make_task()
    languages = SimpleNamespace(
        source_dictionary=task.target_dictionary, target_dictionary=task.target_dictionary
    )
    assert "subword_lm" in LANGUAGE_MODEL_ARCHITECTURES
    model = prepared("subword_lm", languages, output_layer="linear")
    words = torch.tensor([[2, 5, 6, 7]])
    assert not torch.equal(model(words)[0], model(words)[0])


def test_modules_are_chosen_by_their_class(make_task):
    model = prepared("luong_lstm", make_task(), modules=["LSTMEncoder"])
    retained = {
        name
        for name, module in model.named_modules()
        if isinstance(module, RetainableDropout) and module.retained
    }
    assert retained == {"encoder.dropout"}


@pytest.mark.parametrize(
    "names", [["LuongDecoder", "LSTMEncoder"], "LSTMEncoder", "LuongDecoder,LSTMEncoder", None]
)
def test_names_of_modules_with_dropout_are_accepted(names, make_task):
    task = make_task()
    search = SimpleNamespace(beam=2, retain_dropout=True, retain_dropout_modules=names)
    task.build_generator([prepared("luong_lstm", task, modules=names)], search)


@pytest.mark.parametrize(
    ("arch", "known"),
    [
        ("luong_lstm", "InputFeedingDecoder, LSTMEncoder, LeftPaddedLSTM, LuongDecoder"),
        (
            "transformer_outlayers",
            "MultiheadAttention, TransformerDecoder, TransformerDecoderLayerBase, "
            "TransformerEncoder, TransformerEncoderLayerBase",
        ),
    ],
)
@pytest.mark.parametrize("names", ["LuongLSTM", ["LuongLSTM"]])  # of a command line, in Python
def test_a_name_of_no_module_with_dropout_is_refused(arch, known, names, make_task):
    task = make_task()
    search = SimpleNamespace(beam=2, retain_dropout=True, retain_dropout_modules=names)
    with pytest.raises(UserError) as error:
        task.build_generator([prepared(arch, task, modules=names)], search)
    assert str(error.value) == (
        f"--retain-dropout-modules LuongLSTM: not a module with dropout; the model has {known}: "
        "name some of these, or leave it out to retain all"
    )


OF_RNMT = dict.fromkeys(
    ("encoder.dropout", "encoder.lstm.dropout", "decoder.dropout", "decoder.stack.dropout"), 0.25
)
OF_LUONG = {
    "encoder.dropout": 0.5,
    "encoder.lstm.dropout": 0.25,
    "decoder.dropout": 0.5,
    "decoder.recurrence.dropout": 0.25,
}


@pytest.mark.parametrize(
    ("arch", "expected"),
    [("luong_lstm", OF_LUONG), ("rnmt_plus", OF_RNMT), ("esnmt", OF_RNMT), ("esnmt_lstm", OF_RNMT)],
)
def test_every_dropout_has_the_probability_asked_for(arch, expected, make_task):
    given = {"dropout": 0.25, "embedding_dropout": 0.5}
    model = make_model(arch, make_task(), **{n: p for n, p in given.items() if has_option(arch, n)})
    found = {n: m.probability for n, m in model.named_modules() if isinstance(m, Dropout)}
    assert found == expected
