"""Words added to a model: what they score, what stays as it was, and what cannot be added."""

import os
from types import SimpleNamespace

import pytest
import torch
import torch.nn as nn
from fairseq.sequence_generator import SequenceGenerator

from fairseq_outlayers.__main__ import main
from fairseq_outlayers.checkpoints import loading
from fairseq_outlayers.checkpoints.loading import Trained
from fairseq_outlayers.checkpoints.unseen_words import (
    add_words,
    described_vector,
    read_descriptions,
    save,
)
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers import OUTPUT_LAYERS, EmbeddingOutputLayer
from fairseq_outlayers.output_layers.tied import TiedOutputLayer
from tests.conftest import (
    LANGUAGE_MODEL_ARCHITECTURES,
    TRANSLATION_ARCHITECTURES,
    make_batch,
    make_language_batch,
    make_model,
    make_task,
)
from tests.unit.hub.conftest import save_checkpoint


def has_own_rows(output_layer):
    """Whether the layer has a table of its own beside the biases, or depends on the words."""
    if OUTPUT_LAYERS[output_layer].depends_on_words:
        return True
    layer = make_model("luong_lstm", make_task(), output_layer=output_layer).decoder
    return any(
        len(parameter) == layer.output_projection.num_classes
        for name, parameter in layer.output_projection.named_parameters(recurse=False)
        if parameter.dim() and name != "bias"
    )


STRUCTURED = [
    name
    for name, layer in OUTPUT_LAYERS.items()
    if issubclass(layer, EmbeddingOutputLayer) and not has_own_rows(name)
]
each_structured_layer = pytest.mark.parametrize("output_layer", STRUCTURED)


def make_trained(task, output_layer="joint", arch="luong_lstm", **options):
    model = make_model(arch, task, output_layer=output_layer, **options)
    for parameter in model.decoder.output_projection.parameters():
        nn.init.normal_(parameter)  # a bias of zeros would hide its absence
    return Trained(model.eval(), task)


def vector_of(trained, word):
    return trained.model.decoder.embed_tokens.weight[trained.task.target_dictionary.index(word)]


def scores(trained, batch):
    with torch.no_grad():
        return trained.model(**batch["net_input"])[0]


def test_the_layers_that_can_be_extended_include_those_of_the_paper():
    assert {"tied", "bilinear", "output_structure", "context_structure", "joint"} <= {*STRUCTURED}


@each_structured_layer
@pytest.mark.parametrize("arch", [*TRANSLATION_ARCHITECTURES, *LANGUAGE_MODEL_ARCHITECTURES])
def test_a_word_with_the_vector_of_another_scores_like_it_but_for_the_bias(arch, output_layer):
    task = make_task(num_source=17, num_target=17)  # a language model has one dictionary
    trained = make_trained(task, output_layer, arch)
    lengths = [(4, 3), (2, 5)]
    batch = (
        make_language_batch(task, [3, 5])
        if arch in LANGUAGE_MODEL_ARCHITECTURES
        else make_batch(task, lengths)
    )
    before = scores(trained, batch)
    known = [task.target_dictionary.index(word) for word in ("w5", "w2")]
    vectors = torch.stack([vector_of(trained, word) for word in ("w5", "w2")])
    add_words(trained, ["yak", "emu"], vectors, bias=0.25)
    after = scores(trained, batch)
    assert after.shape[-1] == before.shape[-1] + 2
    # A matrix product of another width may round differently.
    torch.testing.assert_close(after[..., :-2], before, rtol=1e-12, atol=1e-12)
    biases = trained.output_layer.class_bias()[known]
    expected = before[..., known] - biases + 0.25
    torch.testing.assert_close(after[..., -2:], expected, rtol=1e-12, atol=1e-12)


def test_by_default_the_bias_is_the_mean_of_the_words_without_the_special_symbols(task):
    trained = make_trained(task)
    special = task.target_dictionary.nspecial
    mean = sum(trained.output_layer.class_bias()[special:].tolist()) / 17
    add_words(trained, ["yak"], vector_of(trained, "w1").unsqueeze(0))
    assert trained.output_layer.class_bias()[-1].item() == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("bias", [float("nan"), float("inf")])
def test_a_bias_that_is_no_finite_number_is_refused(bias, task):
    trained = make_trained(task)
    with pytest.raises(UserError, match=rf"--bias {bias}: give a number that is finite in"):
        add_words(trained, ["yak"], vector_of(trained, "w1").unsqueeze(0), bias=bias)
    assert trained.output_layer.class_bias().isfinite().all()


@pytest.mark.parametrize("name", ["checkpoint.pt", "dict.xx.txt", "dict.yy.txt"])
def test_no_file_is_overwritten(name, task, tmp_path):
    trained = make_trained(task)
    trained.task.cfg = SimpleNamespace(source_lang="xx", target_lang="yy", data="elsewhere")
    (tmp_path / name).write_text("precious")
    with pytest.raises(UserError, match=rf"{name} already exists there; name a new folder"):
        save(trained, "nowhere.pt", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "precious"


def test_the_optimizers_state_and_the_moving_average_of_the_old_sizes_are_left_out(tmp_path):
    path = save_checkpoint(tmp_path, "luong_lstm", output_layer="tied")
    extra = {"ema": {"weight": torch.zeros(3)}, "ema_fp32_params": {}, "best": 2.0}
    moments = {"last_optimizer_state": {"state": {0: torch.zeros(3)}}, "extra_state": extra}
    torch.save({**torch.load(path, weights_only=False), **moments}, path)
    trained = loading.load(path)
    add_words(trained, ["yak"], vector_of(trained, "w1").unsqueeze(0))
    save(trained, path, tmp_path / "new")
    saved = torch.load(tmp_path / "new" / "checkpoint.pt", weights_only=False)
    assert "last_optimizer_state" not in saved
    assert saved["extra_state"] == {"best": 2.0}


@pytest.mark.parametrize("folder", ["new", "old"])
def test_a_save_that_is_killed_leaves_nothing_and_the_next_one_succeeds(
    folder, tmp_path, monkeypatch
):
    path, output = save_checkpoint(tmp_path, "luong_lstm", output_layer="tied"), tmp_path / folder
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "codes").write_text("of a segmentation")
    trained = loading.load(path)
    add_words(trained, ["yak"], vector_of(trained, "w1").unsqueeze(0))
    before = sorted(tmp_path.rglob("*"))

    def killed(state, file):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", killed)
        with pytest.raises(KeyboardInterrupt):
            save(trained, path, output)
    assert sorted(tmp_path.rglob("*")) == before
    save(trained, path, output)
    files = {"checkpoint.pt", "dict.src.txt", "dict.tgt.txt"}
    assert {each.name for each in output.iterdir()} - {"codes"} == files
    extended = loading.load(str(output / "checkpoint.pt")).task
    assert extended.target_dictionary.symbols == trained.task.target_dictionary.symbols
    assert extended.target_dictionary.count == trained.task.target_dictionary.count


def test_a_missing_checkpoint_is_named_and_nothing_is_written(task, tmp_path):
    trained = make_trained(task)
    trained.task.cfg = SimpleNamespace(source_lang="xx", target_lang="yy", data="elsewhere")
    with pytest.raises(UserError, match=r"nowhere\.pt: no such checkpoint"):
        save(trained, "nowhere.pt", tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("output", ["u{}9", "u{}9/inner", "link"])
def test_a_folder_that_fairseq_would_split_is_refused_and_nothing_is_written(output, tmp_path):
    path = save_checkpoint(tmp_path, "luong_lstm", output_layer="tied")
    (tmp_path / "link").symlink_to(tmp_path / f"u{os.pathsep}9")
    trained, before = loading.load(path), sorted(tmp_path.rglob("*"))
    folder = tmp_path / output.format(os.pathsep)
    with pytest.raises(UserError) as raised:
        save(trained, path, folder)
    message = str(raised.value)
    assert message.startswith(f"--output {folder}: the checkpoint stores the folder {tmp_path}/u")
    assert message.endswith(f"name a folder without {os.pathsep!r} in its full path")
    assert "\n" not in message
    assert sorted(tmp_path.rglob("*")) == before


def test_classes_without_biases_get_none(task):
    trained = make_trained(task, no_class_bias=True)
    batch = make_batch(task, [(3, 3)])
    before = scores(trained, batch)
    add_words(trained, ["yak"], vector_of(trained, "w1").unsqueeze(0))
    after = scores(trained, batch)
    known = task.target_dictionary.index("w1")
    torch.testing.assert_close(after[..., -1], before[..., known])


def translation(trained, batch):
    """Each sentence, greedily: in a beam the new word would take the place of another one."""
    dictionary = trained.task.target_dictionary
    generator = SequenceGenerator([trained.model], dictionary, beam_size=1, max_len_b=6)
    hypotheses = generator.generate([trained.model], batch)
    return [dictionary.string(best["tokens"]).split() for best, *_ in hypotheses]


@each_structured_layer
@pytest.mark.parametrize("arch", TRANSLATION_ARCHITECTURES)
def test_generation_writes_the_new_word_where_it_scores_best(arch, output_layer):
    task = make_task()
    trained = make_trained(task, output_layer, arch)
    batch = make_batch(task, [(4, 3), (2, 5), (6, 6)])
    with torch.no_grad():  # no special symbols: there must be words to write
        trained.output_layer.class_bias()[: task.target_dictionary.nspecial] = -100.0
    before = translation(trained, batch)
    word = next(word for words in before for word in words)
    bias = trained.output_layer.class_bias()[task.target_dictionary.index(word)].item()
    add_words(trained, ["yak"], vector_of(trained, word).unsqueeze(0), bias + 1e-5)
    expected = [["yak" if found == word else found for found in words] for words in before]
    assert translation(trained, batch) == expected


def test_the_dictionary_gets_the_words_at_its_end_with_a_count_of_zero(task):
    trained = make_trained(task)
    before = list(task.target_dictionary.symbols)
    add_words(trained, ["yak", "emu"], torch.randn(2, 8))
    assert task.target_dictionary.symbols == [*before, "yak", "emu"]
    assert task.target_dictionary.count[-2:] == [0, 0]
    assert "yak" not in task.source_dictionary


def test_the_weights_fit_a_model_with_the_longer_dictionary_and_no_other(task):
    trained = make_trained(task)
    former = make_model("luong_lstm", make_task(), output_layer="joint")
    add_words(trained, ["yak"], torch.randn(1, 8))
    weights = trained.model.state_dict()
    make_model("luong_lstm", task, output_layer="joint").load_state_dict(weights)
    with pytest.raises(UserError, match="22 symbols in training, 21 given"):
        former.load_state_dict(weights)


def test_one_table_for_both_sides_gets_the_words_in_both_dictionaries():
    task = make_task(num_source=17, num_target=17)
    trained = make_trained(task, share_all_embeddings=True)
    add_words(trained, ["yak"], vector_of(trained, "w3").unsqueeze(0))
    assert task.source_dictionary == task.target_dictionary
    make_model("luong_lstm", task, output_layer="joint", share_all_embeddings=True).load_state_dict(
        trained.model.state_dict()
    )
    word, new = task.source_dictionary.index("w3"), task.source_dictionary.index("yak")
    states = [
        trained.model.encoder(torch.tensor([[k, 2]]), torch.tensor([2])).states for k in (word, new)
    ]
    torch.testing.assert_close(*states)


def test_words_of_composed_units_cannot_be_described(task):
    trained = make_trained(task, "subword", "subword_lm", composition="charcnn", tie="emb")
    with pytest.raises(UserError, match="composes its words from subword units"):
        add_words(trained, ["w99"], torch.zeros(1, 8))


def test_a_layer_with_parameters_for_every_class_is_refused(task):
    trained = make_trained(task, "linear")
    with pytest.raises(UserError, match="LinearOutputLayer has trained parameters for every class"):
        add_words(trained, ["yak"], torch.randn(1, 8))
    assert "yak" not in task.target_dictionary


def test_a_layer_with_a_table_beside_the_embeddings_is_refused(task):
    class Gained(TiedOutputLayer):
        def __init__(self, embedding):
            super().__init__(embedding, embedding.embedding_dim)
            self.register_table("gain", nn.Parameter(torch.ones(self.num_classes)))

    trained = make_trained(task, "tied")
    trained.model.decoder.output_projection = Gained(trained.model.decoder.embed_tokens)
    with pytest.raises(UserError, match="Gained has trained parameters for every class"):
        add_words(trained, ["yak"], torch.randn(1, 8))
    assert "yak" not in task.target_dictionary


@pytest.mark.parametrize("words", [["yak", "w1"], ["yak", "yak"]])
def test_a_known_word_is_refused_and_nothing_is_changed(words, task):
    trained = make_trained(task)
    with pytest.raises(UserError, match=f"'{words[1]}' is in the target dictionary already"):
        add_words(trained, words, torch.randn(2, 8))
    assert "yak" not in task.target_dictionary
    assert trained.output_layer.num_classes == trained.input_embeddings.num_embeddings == 21


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("Impf", "words='Impf': must be a list of words"),
        (["x y"], "'x y' is not one word"),
        ([""], "'' is not one word"),
        (["x"], "vectors of the new words must be finite"),
    ],
)
def test_what_is_no_word_or_has_no_vector_is_refused(words, message, task):
    trained = make_trained(task)
    with pytest.raises(UserError, match=message):
        add_words(trained, words, torch.full((len(words), 8), torch.nan))


def test_vectors_of_another_size_are_refused(task):
    with pytest.raises(ValueError, match=r"\(1, 7\); expected \(1, 8\)"):
        add_words(make_trained(task), ["yak"], torch.randn(1, 7))


def test_a_description_has_the_direction_of_the_mean_and_the_mean_length(task):
    trained = make_trained(task)
    found = described_vector(trained, ["w1", "w2", "w2"])
    parts = [vector_of(trained, word).detach() for word in ("w1", "w2", "w2")]
    mean = sum(parts) / 3
    length = sum(part.square().sum().sqrt() for part in parts) / 3
    torch.testing.assert_close(found, mean * length / mean.square().sum().sqrt())


def test_a_description_of_one_word_is_its_vector(task):
    trained = make_trained(task)
    torch.testing.assert_close(described_vector(trained, ["w4"]), vector_of(trained, "w4").detach())


@pytest.mark.parametrize(
    ("description", "message"),
    [(["w1", "yak", "emu"], "by yak emu:"), ([], "by nothing:"), (["<unk>"], "by <unk>:")],
)
def test_a_description_must_be_in_words_of_the_dictionary(description, message, task):
    with pytest.raises(UserError, match=message):
        described_vector(make_trained(task), description)


def test_descriptions_are_read_line_by_line(tmp_path):
    path = tmp_path / "new.tsv"
    path.write_text("yak\tw1  w2\n emu \tw3\n", encoding="utf-8")
    assert read_descriptions(str(path)) == {"yak": ["w1", "w2"], "emu": ["w3"]}


@pytest.mark.parametrize(
    "line",
    ["emu", "emu w1", "emu\tw1\tw2", "\tw1", " \tw1", "two words\tw1", "yak\tw1", "yak \tw2", ""],
)
def test_a_line_that_is_no_description_is_named(line, tmp_path):
    path = tmp_path / "new.tsv"
    path.write_text(f"yak\tw1\n{line}\n")
    with pytest.raises(UserError, match=r"new\.tsv:2: expected a new word .* found"):
        read_descriptions(str(path))


def test_a_language_model_is_saved_with_its_one_dictionary(tmp_path):
    path = save_checkpoint(tmp_path, "transformer_lm_outlayers", output_layer="tied")
    trained = loading.load(path)
    add_words(trained, ["yak"], vector_of(trained, "w1").unsqueeze(0))
    save(trained, path, tmp_path / "new")
    found = loading.load(str(tmp_path / "new" / "checkpoint.pt"))
    assert found.task.target_dictionary.symbols[-1] == "yak"


@pytest.mark.parametrize(
    ("text", "said"), [("", ": describes no word"), ("yak\tgnu\n", ": yak is described by gnu")]
)
def test_descriptions_that_describe_nothing_are_named(text, said, tmp_path):
    path = save_checkpoint(tmp_path, "luong_lstm", output_layer="tied")
    (tmp_path / "new.tsv").write_text(text)
    given = ["--descriptions", str(tmp_path / "new.tsv"), "--output", str(tmp_path / "new")]
    with pytest.raises(UserError, match=f"new.tsv{said}"):
        main(["unseen-words", path, *given])


def test_a_bias_for_classes_without_biases_is_refused(tmp_path):
    path = save_checkpoint(tmp_path, "luong_lstm", output_layer="tied", no_class_bias=True)
    trained = loading.load(path)
    vectors = vector_of(trained, "w1").unsqueeze(0)
    with pytest.raises(UserError, match=r"--bias 1\.5: the classes of this model have no biases"):
        add_words(trained, ["yak"], vectors, 1.5)
    add_words(trained, ["yak"], vectors)


def test_a_vector_beyond_the_models_precision_is_refused(task):
    trained = make_trained(task)
    trained.model.float()
    with pytest.raises(UserError, match="vectors of the new words must be finite"):
        add_words(trained, ["yak"], torch.full((1, 8), 1e300, dtype=torch.float64))
