"""What every model with every output layer must do."""

import copy
from types import SimpleNamespace

import pytest
import torch
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.data import Dictionary
from fairseq.models import MODEL_REGISTRY
from fairseq.models.transformer import TransformerModel
from fairseq.sequence_generator import SequenceGenerator

from fairseq_outlayers.decoders.base import StatefulDecoder
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from tests.conftest import (
    LANGUAGE_MODEL_ARCHITECTURES,
    TRANSLATION_ARCHITECTURES,
    make_batch,
    make_language_batch,
    make_model,
)

LENGTHS = [(4, 5), (1, 3), (6, 2)]
# fairseq's Transformer computes its attention in float32, whatever the model is in.
TOLERANCE = {"transformer_outlayers": 1e-5, "transformer_lm_outlayers": 1e-5}
each_layer = pytest.mark.parametrize("output_layer", OUTPUT_LAYERS)
each_translator = pytest.mark.parametrize("arch", TRANSLATION_ARCHITECTURES)


@each_layer
@each_translator
def test_incremental_decoding_equals_full_decoding(task, arch, output_layer):
    model = make_model(arch, task, output_layer=output_layer).eval()
    batch = make_batch(task, LENGTHS)["net_input"]
    previous = batch["prev_output_tokens"]
    encoder_out = model.encoder(batch["src_tokens"], batch["src_lengths"])
    full, _ = model.decoder(previous, encoder_out=encoder_out)
    state: dict = {}
    tolerance = TOLERANCE.get(arch, 1e-10)
    for step in range(previous.size(1)):
        prefix = previous[:, : step + 1]
        logits, _ = model.decoder(prefix, encoder_out=encoder_out, incremental_state=state)
        real = previous[:, step].ne(task.target_dictionary.pad())
        torch.testing.assert_close(
            logits[real, -1], full[real, step], rtol=tolerance, atol=tolerance
        )


def within(errors):
    """Whether the relative errors of a loss and its gradient are bfloat16's, which keeps 8 bits."""
    return errors[0] <= 2**-7 and errors[1] <= 0.1  # some ten roundings follow each other


@each_layer
@each_translator
@pytest.mark.parametrize("precision", ["autocast", "half"])
def test_low_precision_gives_the_loss_and_gradient_up_to_rounding(
    task, arch, output_layer, precision
):
    batch = make_batch(task, LENGTHS)
    criterion = CRITERION_REGISTRY["full_softmax"](task, 0.1, False, 0, False)

    def loss_and_gradient(model, autocast):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
            loss, _, _ = criterion(model, batch)
        loss.backward()
        return loss, torch.cat([p.grad.float().flatten() for p in model.parameters()])

    def relative_errors(seed):
        model = make_model(arch, task, seed, output_layer=output_layer).float()
        low = copy.deepcopy(model).bfloat16() if precision == "half" else copy.deepcopy(model)
        expected, expected_gradient = loss_and_gradient(model, autocast=False)
        loss, gradient = loss_and_gradient(low, autocast=precision == "autocast")
        distance = (gradient - expected_gradient).norm()
        return abs(loss - expected) / expected, distance / expected_gradient.norm()

    errors = [relative_errors(1)]
    if not within(errors[0]):  # a start may amplify roundings
        errors += [relative_errors(2), relative_errors(3)]
    assert sum(map(within, errors)) > len(errors) / 2, errors


@each_layer
@each_translator
def test_reordered_states_continue_the_reordered_sentences(task, arch, output_layer):
    model = make_model(arch, task, output_layer=output_layer).eval()
    batch = make_batch(task, LENGTHS)["net_input"]
    order = torch.tensor([2, 0, 0, 1])
    previous = batch["prev_output_tokens"]
    encoder_out = model.encoder(batch["src_tokens"], batch["src_lengths"])
    state: dict = {}
    tolerance = TOLERANCE.get(arch, 1e-10)
    model.decoder(previous[:, :1], encoder_out=encoder_out, incremental_state=state)
    model.decoder.reorder_incremental_state_scripting(state, order)
    reordered = model.encoder.reorder_encoder_out(encoder_out, order)
    logits, _ = model.decoder(previous[order, :2], encoder_out=reordered, incremental_state=state)
    full, _ = model.decoder(previous, encoder_out=encoder_out)
    torch.testing.assert_close(logits[:, -1], full[order, 1], rtol=tolerance, atol=tolerance)


@each_translator
def test_what_hypotheses_share_with_their_sentence_is_equal_for_all(task, arch):
    """So beam search does not copy it while they move within their sentence."""
    model = make_model(arch, task, output_layer="linear").eval()
    batch = make_batch(task, LENGTHS)["net_input"]
    beam, rows = 2, torch.arange(len(LENGTHS)).repeat_interleave(2)
    encoder_out = model.encoder(batch["src_tokens"], batch["src_lengths"])
    encoder_out = model.encoder.reorder_encoder_out(encoder_out, rows)
    words = batch["prev_output_tokens"][rows, :2]
    words[::beam, 1] = 5  # hypotheses that differ
    moved: dict = {}
    reordered: dict = {}
    for state in (moved, reordered):
        for length in (1, 2):
            model.decoder(words[:, :length], encoder_out=encoder_out, incremental_state=state)
    order = torch.tensor([1, 0, 2, 2, 5, 4])
    if isinstance(model.decoder, StatefulDecoder):
        model.decoder.reorder_within_sentences(moved, order)
    else:
        model.decoder.reorder_incremental_state_scripting(moved, order)
    model.decoder.reorder_incremental_state_scripting(reordered, order)
    words = torch.cat([words[order], torch.full((len(rows), 1), 6)], dim=1)
    logits = [
        model.decoder(words, encoder_out=encoder_out, incremental_state=state)[0]
        for state in (moved, reordered)
    ]
    # Not bit for bit: the rows of a matrix product may be rounded differently.
    tolerance = TOLERANCE.get(arch, 1e-10)
    torch.testing.assert_close(*logits, rtol=tolerance, atol=tolerance)
    assert not torch.allclose(logits[0][0], logits[0][1], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("arch", LANGUAGE_MODEL_ARCHITECTURES)
def test_a_language_model_goes_on_with_reordered_beginnings(task, arch):
    task.source_dictionary = task.target_dictionary
    model = make_model(arch, task, output_layer="linear").eval()
    words = make_language_batch(task, [5, 5, 5])["net_input"]["src_tokens"]
    full, _ = model(words)
    order = torch.tensor([2, 0, 0, 1])
    state: dict = {}
    model.decoder(words[:, :1], incremental_state=state)
    model.decoder.reorder_incremental_state_scripting(state, order)
    tolerance = TOLERANCE.get(arch, 1e-10)
    for step in (1, 2, 3):
        logits, _ = model.decoder(words[order, : step + 1], incremental_state=state)
        torch.testing.assert_close(logits[:, -1], full[order, step], rtol=tolerance, atol=tolerance)


@each_translator
def test_a_training_pass_does_not_depend_on_earlier_ones(task, arch):
    """A state that stays in the model would reach the next batch, of other sentences."""
    model, fresh = (make_model(arch, task, seed=1).train() for _ in range(2))
    batches = [make_batch(task, lengths)["net_input"] for lengths in (LENGTHS, LENGTHS[::-1])]
    model(**batches[0])[0].sum().backward()
    model.zero_grad()
    logits = [each(**batches[1])[0] for each in (model, fresh)]
    assert torch.equal(*logits)
    for scores in logits:
        scores.log_softmax(-1)[..., 5].sum().backward()
    for (name, one), other in zip(model.named_parameters(), fresh.parameters(), strict=True):
        assert (one.grad is None) == (other.grad is None), name
        assert one.grad is None or torch.equal(one.grad, other.grad), name


@each_translator
@pytest.mark.parametrize("left_pad", [True, False], ids=["left", "right"])
def test_attention_is_a_distribution_over_the_words_of_the_source(task, arch, left_pad):
    """Unknown words are replaced by it, and pages show it."""
    model = make_model(arch, task).eval()
    batch = make_batch(task, LENGTHS, left_pad=left_pad)["net_input"]
    previous, padding = batch["prev_output_tokens"], batch["src_tokens"].eq(1)
    assert padding.any()
    encoder_out = model.encoder(batch["src_tokens"], batch["src_lengths"])
    _, extra = model.decoder(previous, encoder_out=encoder_out)
    attention = extra["attn"][0]
    if attention is None:
        pytest.skip("it returns no attention")
    assert attention.shape == (*previous.shape, padding.size(1))
    assert attention.min() >= 0
    assert attention.masked_select(padding.unsqueeze(1)).abs().max() == 0
    total = attention.sum(-1)[previous.ne(1)]
    torch.testing.assert_close(total, torch.ones_like(total))
    state: dict = {}
    for step in range(previous.size(1)):
        prefix = previous[:, : step + 1]
        _, extra = model.decoder(prefix, encoder_out=encoder_out, incremental_state=state)
        real = previous[:, step].ne(1)
        torch.testing.assert_close(
            extra["attn"][0][real, -1], attention[real, step], rtol=1e-5, atol=1e-5
        )


@each_layer
@each_translator
def test_beam_search_scores_are_the_models_log_probabilities(task, arch, output_layer):
    model = make_model(arch, task, output_layer=output_layer).eval()
    batch = make_batch(task, LENGTHS)
    generator = SequenceGenerator(
        [model], task.target_dictionary, beam_size=3, max_len_b=6, normalize_scores=False
    )
    source = batch["net_input"]["src_tokens"]
    for row, hypotheses in enumerate(generator.generate([model], batch)):
        for hypothesis in hypotheses:
            tokens = hypothesis["tokens"].unsqueeze(0)
            previous = torch.cat([tokens[:, -1:], tokens[:, :-1]], 1)
            logits, _ = model(source[row : row + 1], None, previous)
            score = logits.log_softmax(-1).gather(-1, tokens.unsqueeze(-1)).sum()
            # fairseq keeps its scores in float32.
            assert score.item() == pytest.approx(hypothesis["score"].item(), rel=1e-6)


@each_layer
@pytest.mark.parametrize("arch", [*TRANSLATION_ARCHITECTURES, *LANGUAGE_MODEL_ARCHITECTURES])
def test_features_only_stops_before_the_output_layer(task, arch, output_layer):
    if arch in LANGUAGE_MODEL_ARCHITECTURES:
        task.source_dictionary = task.target_dictionary
        batch = make_language_batch(task, [4, 2, 6])
    else:
        batch = make_batch(task, LENGTHS)
    model = make_model(arch, task, output_layer=output_layer).eval()
    logits, _ = model(**batch["net_input"])
    features, _ = model(**batch["net_input"], features_only=True)
    torch.testing.assert_close(model.decoder.output_projection(features), logits)
    assert logits.size(-1) == len(task.target_dictionary)


@each_layer
@pytest.mark.parametrize("arch", [*TRANSLATION_ARCHITECTURES, *LANGUAGE_MODEL_ARCHITECTURES])
def test_a_saved_model_loads_strictly_and_holds_every_table_once(task, arch, output_layer):
    of_words = arch in LANGUAGE_MODEL_ARCHITECTURES
    if of_words:
        task.source_dictionary = task.target_dictionary
    model = make_model(arch, task, output_layer=output_layer, seed=1)
    state = model.state_dict()
    tables = [tensor.data_ptr() for tensor in state.values() if tensor.dim() == 2]
    assert len(tables) == len(set(tables))
    other = make_model(arch, task, output_layer=output_layer, seed=2)
    other.load_state_dict(state, strict=True)
    for name, tensor in other.state_dict().items():
        assert torch.equal(tensor, state[name]), name
    batch = make_language_batch(task, [4, 2]) if of_words else make_batch(task, LENGTHS)
    before, after = (each.eval()(**batch["net_input"])[0] for each in (model, other))
    assert torch.equal(before, after)


@pytest.mark.parametrize("arch", [*TRANSLATION_ARCHITECTURES, *LANGUAGE_MODEL_ARCHITECTURES])
def test_dropout_is_of_a_kind_that_retain_dropout_reaches(task, arch):
    if arch in LANGUAGE_MODEL_ARCHITECTURES:
        task.source_dictionary = task.target_dictionary
    modules = make_model(arch, task).named_modules()
    plain = [name for name, module in modules if type(module) is torch.nn.Dropout]
    assert not plain, "use layers.dropout.Dropout"


@pytest.mark.parametrize("arch", [*TRANSLATION_ARCHITECTURES, *LANGUAGE_MODEL_ARCHITECTURES])
def test_weights_trained_with_other_words_are_refused(arch):
    def build(words):
        dictionary = Dictionary()
        for word in words.split():
            dictionary.add_symbol(word, n=1)
        sides = {"src_dict": dictionary, "tgt_dict": dictionary}
        sides |= {"source_dictionary": dictionary, "target_dictionary": dictionary}
        return make_model(arch, SimpleNamespace(**sides))

    state = build("a b c d").state_dict()
    build("a b c d").load_state_dict(state)
    with pytest.raises(UserError, match=r"another \w* ?dictionary"):
        build("a b d c").load_state_dict(state)


@each_translator
def test_targets_padded_on_the_left_reach_no_recurrence(task, arch):
    """It would begin with the padding of the shorter sentences of a batch."""
    task.cfg = SimpleNamespace(left_pad_target=True)
    if issubclass(MODEL_REGISTRY[arch], TransformerModel):
        make_model(arch, task)
    else:
        with pytest.raises(UserError, match=r"^--left-pad-target: .* read padding .*leave it out"):
            make_model(arch, task)


@each_translator
def test_a_batch_of_empty_targets_reaches_every_parameter(task, arch):
    """Processes of a data-parallel training wait for each other's gradients."""
    model, batch = make_model(arch, task), make_batch(task, [(4, 0), (2, 0)])["net_input"]
    logits, _ = model.train()(**batch)
    logits.square().sum().backward()
    without = {name for name, p in model.named_parameters() if p.requires_grad and p.grad is None}
    assert without == set()
    torch.testing.assert_close(logits, model.eval()(**batch)[0], rtol=0, atol=0)
