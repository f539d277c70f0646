"""Another model's parameters for ours: by name, by word, and everything that is left over said."""

import math
from types import SimpleNamespace

import pytest
import torch
from fairseq.data import Dictionary
from fairseq.models import ARCH_CONFIG_REGISTRY, MODEL_REGISTRY

from fairseq_outlayers.checkpoints.finetuning import adapt
from fairseq_outlayers.checkpoints.word_rows import WordRows
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers import OUTPUT_LAYERS
from fairseq_outlayers.partitions.working_set import WorkingSet
from tests.conftest import (
    make_batch,
    make_dictionary,
    make_model,
    make_task,
    needed_source_options,
    small_sizes,
)

LENGTHS = [(6, 5), (4, 3), (2, 2)]
LSTM = {
    "encoder_embed_dim": 8,
    "encoder_hidden_size": 8,
    "encoder_layers": 2,
    "decoder_embed_dim": 8,
    "decoder_hidden_size": 8,
    "decoder_layers": 2,
    "decoder_out_embed_dim": 8,
    "criterion": "cross_entropy",
}


def stock_model(arch, task, **options):
    """One of fairseq's own, with parameters far from their start."""
    sizes = LSTM if arch == "lstm" else small_sizes("transformer_outlayers")
    args = SimpleNamespace(**{**sizes, **options})
    ARCH_CONFIG_REGISTRY[arch](args)
    torch.manual_seed(3)
    return MODEL_REGISTRY[arch].build_model(args, task).double().eval()


def words_of(*words):
    dictionary = Dictionary()
    for word in words:
        dictionary.add_symbol(word)
    return dictionary


def as_task(source, target):
    languages = SimpleNamespace(source_lang="src", target_lang="tgt")
    return SimpleNamespace(
        source_dictionary=source, target_dictionary=target, src_dict=source, tgt_dict=target,
        cfg=languages,
    )  # fmt: skip


def checkpoint(model, folder, arch="transformer"):
    """What is in a file, trained on the data in a folder."""
    task = {"data": str(folder), "source_lang": "src", "target_lang": "tgt"}
    config = {"task": task, "model": {"_name": arch, "arch": arch}}
    return {"model": model.state_dict(), "cfg": config, "args": None}


def finetune(model, state, task, path="/nowhere/model.pt"):
    done = adapt(str(path), state, model, task)
    model.load_state_dict(done.state, strict=True)
    return done


def own_task():
    return as_task(make_dictionary(13), make_dictionary(17))


@pytest.mark.parametrize(
    ("arch", "ours", "tied", "layer"),
    [
        ("transformer", "transformer_outlayers", False, "linear"),
        ("transformer", "transformer_outlayers", True, "tied"),
        ("transformer", "transformer_outlayers", True, "linear"),
        ("lstm", "luong_lstm", False, "linear"),
        ("lstm", "luong_lstm", True, "tied"),
        ("lstm", "luong_lstm", True, "linear"),
    ],
)
def test_the_same_layer_scores_as_fairseqs_own_model(tmp_path, arch, ours, tied, layer):
    task = own_task()
    stock = stock_model(arch, task, share_decoder_input_output_embed=tied)
    options = {"embedding_dropout": 0.0} if ours == "luong_lstm" else {}
    if ours == "luong_lstm":
        # A tied LSTM of fairseq's has no bias, and ours starts at random.
        options |= {"encoder_layers": 2, "decoder_layers": 2, "no_class_bias": tied}
    model = make_model(ours, task, output_layer=layer, **options).eval()
    done = finetune(model, checkpoint(stock, tmp_path, arch), task)
    batch = make_batch(task, LENGTHS)["net_input"]
    torch.testing.assert_close(model(**batch)[0], stock(**batch)[0])
    assert done.new == ([] if arch == "lstm" else ["decoder.output_projection.bias"])
    assert done.mapped == done.unused == []


@pytest.mark.parametrize("layer", [name for name in OUTPUT_LAYERS if name != "linear"])
def test_what_another_layer_has_not_is_new_and_what_it_does_not_use_is_said(tmp_path, layer):
    task = own_task()
    stock = stock_model("transformer", task)
    model = make_model("transformer_outlayers", task, output_layer=layer)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    given, prefix = stock.state_dict(), "decoder.output_projection."
    if f"{prefix}weight" in start:
        pytest.skip("it has a class matrix, which is loaded")
    done = finetune(model, checkpoint(stock, tmp_path), task)
    for name, value in model.state_dict().items():
        if name.startswith(prefix) or name.endswith("dictionary_version"):
            torch.testing.assert_close(value, start[name], rtol=0, atol=0)
        else:
            torch.testing.assert_close(value, given[name], rtol=0, atol=0)
    assert all(name.startswith(prefix) for name in done.new)
    assert f"{prefix}bias" in done.new
    assert done.unused == [f"{prefix}weight (21 x 8)"]
    assert set(done.loaded) == given.keys() - {f"{prefix}weight"}


@pytest.mark.parametrize("arch", ["transformer", "lstm"])
@pytest.mark.parametrize("layer", ["linear", "tied", "joint"])
def test_class_vectors_of_an_adaptive_softmax_are_not_those_of_the_input(tmp_path, arch, layer):
    task, prefix = own_task(), "decoder.output_projection."
    ours, options = "transformer_outlayers", {}
    if arch == "lstm":
        ours, options = "luong_lstm", {"encoder_layers": 2, "decoder_layers": 2}
    adaptive = {"adaptive_softmax_cutoff": "8", "criterion": "adaptive_loss"}
    stock = stock_model(arch, task, **adaptive)
    model = make_model(ours, task, output_layer=layer, **options)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    done = finetune(model, checkpoint(stock, tmp_path, arch), task)
    own = {name for name in start if name.startswith(prefix) and not name.endswith("_version")}
    assert set(done.new) == own
    for name in own - {f"{prefix}bias"}:  # a bias starts at zero
        torch.testing.assert_close(model.state_dict()[name], start[name], rtol=0, atol=0)
    unused = {name for name in stock.state_dict() if ".adaptive_softmax." in name}
    assert {line.partition(" ")[0] for line in done.unused} == unused
    assert len(done.loaded) == len(stock.state_dict()) - len(unused)


@pytest.mark.parametrize("trained", OUTPUT_LAYERS)
def test_what_a_layer_computes_with_is_loaded_into_the_same_layer_alone(tmp_path, trained):
    """Others have parameters of the same name and shape with another meaning."""
    task, prefix = own_task(), "decoder.output_projection."
    state = checkpoint(make_model("luong_lstm", task, output_layer=trained), tmp_path, "luong_lstm")
    state["cfg"]["model"]["output_layer"] = trained
    for layer in OUTPUT_LAYERS:
        model = make_model("luong_lstm", task, output_layer=layer)
        done = adapt("/nowhere/model.pt", state, model, task)
        names = {name for name in model.state_dict() if name.startswith(prefix)}
        names = {name for name in names if not name.endswith(("_version", "projection.bias"))}
        names -= {f"{prefix}weight"}
        assert names & set(done.loaded) == (names if layer == trained else set()), layer
        assert not {line.partition(" ")[0] for line in done.unused} & set(done.loaded)


def test_words_that_only_pad_a_dictionary_are_neither_mapped_nor_lost():
    old, new = (words_of("a", last, "madeupword0000") for last in ("gone", "new"))
    rows = WordRows.between(old, new)
    of = {name: [dictionary.symbols[row] for row in getattr(rows, name).tolist()]
          for name, dictionary in (("old", old), ("new", new))}  # fmt: skip
    assert of["old"] == of["new"] == [*old.symbols[: old.nspecial], "a"]
    assert rows.lost == 1


@pytest.mark.parametrize("arch", ["transformer", "lstm"])
@pytest.mark.parametrize("layer", ["linear", "tied", "joint"])
def test_rows_go_to_the_same_word_and_new_words_keep_their_start(tmp_path, arch, layer):
    old = as_task(words_of("a", "b", "c"), words_of("x", "y", "z", "gone"))
    new = as_task(words_of("c", "new", "a"), words_of("fresh", "z", "x", "more", "y", "words"))
    old.source_dictionary.save(str(tmp_path / "dict.src.txt"))
    old.target_dictionary.save(str(tmp_path / "dict.tgt.txt"))
    stock = stock_model(arch, old)
    ours = "luong_lstm" if arch == "lstm" else "transformer_outlayers"
    sizes = {"encoder_layers": 2, "decoder_layers": 2} if arch == "lstm" else {}
    model = make_model(ours, new, output_layer=layer, **sizes)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    done = finetune(model, checkpoint(stock, tmp_path, arch), new)
    given, found = stock.state_dict(), model.state_dict()
    tables = {
        "encoder.embed_tokens.weight": ("encoder.embed_tokens.weight", "source_dictionary"),
        "decoder.embed_tokens.weight": ("decoder.embed_tokens.weight", "target_dictionary"),
    }
    projection = "decoder.fc_out" if arch == "lstm" else "decoder.output_projection"
    for name in ("weight", "bias"):
        if f"{projection}.{name}" in given and f"decoder.output_projection.{name}" in found:
            ours = f"decoder.output_projection.{name}"
            tables[ours] = (f"{projection}.{name}", "target_dictionary")
    for name, (theirs, side) in tables.items():
        before, after = getattr(old, side), getattr(new, side)
        for row, word in enumerate(after.symbols):
            known = word in before.indices
            expected = given[theirs][before.indices[word]] if known else start[name][row]
            torch.testing.assert_close(found[name][row], expected, rtol=0, atol=0, msg=word)
    assert {name: (rows, of) for name, rows, of in done.mapped} == {
        name: (6, 7) if name.startswith("encoder") else (7, 10) for name in tables
    }
    assert done.lost == {"source": 1, "target": 1}
    said = "\n".join(done.lines("model.pt", arch))
    assert "mapped by word: decoder.embed_tokens.weight: 7 of 10 rows" in said
    assert "1 words of its target dictionary are not in this one" in said


def test_a_short_list_grows_into_a_larger_vocabulary_of_ours(tmp_path):
    old, new = as_task(make_dictionary(9), make_dictionary(9)), own_task()
    for side in ("source", "target"):
        getattr(old, f"{side}_dictionary").save(str(tmp_path / f"dict.{side[:1]}.txt"))
    (tmp_path / "dict.s.txt").rename(tmp_path / "dict.src.txt")
    (tmp_path / "dict.t.txt").rename(tmp_path / "dict.tgt.txt")
    trained = make_model("luong_lstm", old, seed=5, output_layer="joint").eval()
    model = make_model("luong_lstm", new, output_layer="joint").eval()
    done = finetune(model, checkpoint(trained, tmp_path, "luong_lstm"), new)
    batch = make_batch(old, LENGTHS)["net_input"]
    shared = len(old.target_dictionary)
    scores = model(**batch)[0][..., :shared]
    torch.testing.assert_close(scores, trained(**batch)[0])
    assert done.new == done.unused == []
    assert ("decoder.output_projection.bias", 13, 21) in done.mapped


@pytest.mark.parametrize("internal_vocabulary", [9, 17])
@pytest.mark.parametrize(
    ("before", "after", "name", "other"),
    [
        ("internal", "mix_sum", "internal.weight", "weight"),
        ("mix_gate", "internal", "weight", "internal.weight"),
        ("mix_sum", "mix_gate", "internal.weight", "internal.weight"),
    ],
)
def test_learned_source_vectors_are_kept_with_and_without_external_ones(
    tmp_path, before, after, name, other, internal_vocabulary
):
    task, models = own_task(), {}
    sizes = {before: 17, after: internal_vocabulary}
    for kind, size in sizes.items():
        needed = needed_source_options(kind, task.source_dictionary)
        models[kind] = make_model("luong_lstm", task, seed=size, source_embedding=kind,
                                  internal_vocabulary=size, **needed)  # fmt: skip
    done = finetune(models[after], checkpoint(models[before], tmp_path, "luong_lstm"), task)
    found, given = (models[kind].state_dict() for kind in (after, before))
    known = found[f"encoder.embed_tokens.{name}"]
    expected = given[f"encoder.embed_tokens.{other}"][:internal_vocabulary]
    assert torch.equal(known, expected)
    assert f"encoder.embed_tokens.{name}" not in done.new
    assert not any(f"embed_tokens.{other} " in unused for unused in done.unused)


@pytest.mark.parametrize("layer", ["linear", "joint"])
@pytest.mark.parametrize("has_bias", [True, False])
def test_biases_of_new_classes_start_at_the_correction_of_their_partitions(
    tmp_path, layer, has_bias
):
    old = as_task(words_of("a"), words_of("x", "y"))
    new = as_task(words_of("a"), words_of("fresh", "y", "more", "x"))
    old.source_dictionary.save(str(tmp_path / "dict.src.txt"))
    old.target_dictionary.save(str(tmp_path / "dict.tgt.txt"))
    trained = make_model("luong_lstm", old, output_layer="linear", no_class_bias=not has_bias)
    model = make_model("luong_lstm", new, seed=2, output_layer=layer)
    working_set = WorkingSet(model, 6, None)
    name = "decoder.output_projection.bias"
    start = model.state_dict()[name].clone()
    done = finetune(model, checkpoint(trained, tmp_path, "luong_lstm"), new)
    log_shares = torch.linspace(-3, -1, len(start), dtype=start.dtype)
    working_set.start_class_bias(log_shares, done.new_biases)
    for row, word in enumerate(new.target_dictionary.symbols):
        known = word in old.target_dictionary.indices
        if has_bias and known:
            expected = trained.state_dict()[name][old.target_dictionary.index(word)]
        elif known and layer == "linear":  # its score was right without a bias
            expected = torch.zeros_like(start[row])
        else:
            expected = (start[row] if has_bias else 0) + log_shares[row]
        torch.testing.assert_close(model.state_dict()[name][row], expected, msg=word)


@pytest.mark.parametrize("trained", ["tied", "linear", "joint", "adaptive"])
def test_scores_by_other_parameters_are_not_those_of_the_checkpoint(tmp_path, trained):
    """A tied model begins with the input vectors of these, which their scores were not made of."""
    task = own_task()
    if trained == "adaptive":
        options = {"criterion": "adaptive_loss", "adaptive_softmax_cutoff": "8"}
        state = checkpoint(stock_model("lstm", task, **options), tmp_path, "lstm")
    else:
        other = make_model("luong_lstm", task, output_layer=trained, no_class_bias=True)
        state = checkpoint(other, tmp_path, "luong_lstm")
    done = finetune(make_model("luong_lstm", task, seed=2, output_layer="tied"), state, task)
    assert done.new_biases.tolist() == [trained != "tied"] * len(task.target_dictionary)


def test_a_tied_model_without_biases_scores_as_before(tmp_path):
    task = own_task()
    trained = make_model("luong_lstm", task, output_layer="tied", no_class_bias=True).eval()
    model = make_model("luong_lstm", task, seed=2, output_layer="linear").eval()
    finetune(model, checkpoint(trained, tmp_path, "luong_lstm"), task)
    batch = make_batch(task, LENGTHS)["net_input"]
    torch.testing.assert_close(model(**batch)[0], trained(**batch)[0])


def test_a_dictionary_beside_the_checkpoint_is_found_first(tmp_path):
    old, new = as_task(words_of("a"), words_of("x", "y")), as_task(words_of("a"), words_of("y"))
    (tmp_path / "here").mkdir()
    old.source_dictionary.save(str(tmp_path / "here" / "dict.src.txt"))
    old.target_dictionary.save(str(tmp_path / "here" / "dict.tgt.txt"))
    words_of("y", "x").save(str(tmp_path / "dict.tgt.txt"))
    stock = stock_model("transformer", old)
    model = make_model("transformer_outlayers", new)
    done = finetune(model, checkpoint(stock, tmp_path), new, tmp_path / "here" / "model.pt")
    row = stock.state_dict()["decoder.embed_tokens.weight"][old.target_dictionary.index("y")]
    torch.testing.assert_close(done.state["decoder.embed_tokens.weight"][4], row)


def test_dictionaries_of_languages_that_were_inferred_are_recognized(tmp_path):
    """fairseq does not store inferred ones, and the new training may be of others."""
    old, new = (
        as_task(words_of("a", "b"), words_of("x", "y")),
        as_task(words_of("c"), words_of("y")),
    )
    new.cfg.source_lang, new.cfg.target_lang = "fr", "de"
    old.source_dictionary.save(str(tmp_path / "dict.de.txt"))
    old.target_dictionary.save(str(tmp_path / "dict.en.txt"))
    trained = make_model("transformer_outlayers", old)
    state = checkpoint(trained, tmp_path, "transformer_outlayers")
    state["cfg"]["task"].update(source_lang=None, target_lang=None)
    done = finetune(make_model("transformer_outlayers", new), state, new)
    row = trained.state_dict()["decoder.embed_tokens.weight"][old.target_dictionary.index("y")]
    torch.testing.assert_close(done.state["decoder.embed_tokens.weight"][4], row)
    (tmp_path / "dict.en.txt").unlink()
    with pytest.raises(
        UserError, match=r"target dictionary, of 6 symbols, is no dict.\*.txt in /no"
    ):
        finetune(make_model("transformer_outlayers", new), state, new)


def test_a_dictionary_that_is_not_the_trained_one_is_refused(tmp_path):
    stock = stock_model("transformer", as_task(make_dictionary(13), make_dictionary(9)))
    task = own_task()
    task.target_dictionary.save(str(tmp_path / "dict.tgt.txt"))
    model = make_model("transformer_outlayers", task)
    with pytest.raises(
        UserError, match=r"target dictionary, of 13 symbols, is no dict.tgt.txt in "
    ):
        finetune(model, checkpoint(stock, tmp_path), task)


@pytest.mark.parametrize(
    ("fingerprint", "damage"),
    [
        ([1, 2], r"has shape \(2,\), not \(\)"),
        ([], r"has shape \(0,\)"),
        (math.nan, "has a number that is not whole"),
    ],
)
def test_a_damaged_fingerprint_of_a_dictionary_is_refused(tmp_path, fingerprint, damage):
    task, key = own_task(), "encoder.source_dictionary_version"
    model = make_model("transformer_outlayers", task)
    state = checkpoint(model, tmp_path, "transformer_outlayers")
    state["model"][key] = torch.tensor(fingerprint)
    says = f"^--finetune-from-model /nowhere/model.pt: the checkpoint is damaged: {key} {damage}"
    with pytest.raises(UserError, match=says):
        finetune(model, state, task)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoder_layers": 2}, r"encoder.layers.1.*the checkpoint .* has no such parameter"),
        ({"encoder_ffn_embed_dim": 4}, r"has 16 x 8, the model 4 x 8"),
        ({"decoder_layers": 0}, r"has 8 x 8, the model none"),
        ({"share_all_embeddings": True, "output_layer": "tied"}, "leave out --share-all-embed"),
    ],
)
def test_what_does_not_fit_elsewhere_is_refused(tmp_path, options, message):
    dictionary = make_dictionary(13)
    task = as_task(dictionary, dictionary)
    stock = stock_model("transformer", task)
    model = make_model("transformer_outlayers", task, **options)
    named = "^--finetune-from-model /nowhere/model.pt: .*"
    with pytest.raises(UserError, match=named + message):
        finetune(model, checkpoint(stock, tmp_path), task)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("attention", "encoder", r"encoder\.\S+ is frozen in the checkpoint and trained in the"),
        ("all", "encoder", r"decoder\.\S+ is trained in the checkpoint and frozen in the model"),
    ],
)
def test_layers_that_are_frozen_on_one_side_only_are_refused(tmp_path, before, after, message):
    task = own_task()
    task.target_dictionary.save(str(tmp_path / "dict.tgt.txt"))
    task.source_dictionary.save(str(tmp_path / "dict.src.txt"))
    trained = make_model("esnmt_lstm", task, release=before, gamma_init=None)
    state = checkpoint(trained, tmp_path, "esnmt_lstm")
    model = make_model("esnmt_lstm", task, release=after)
    with pytest.raises(UserError, match=f"{message}.*--release"):
        finetune(model, state, task)


def composing_task(folder, rows):
    """Words w0, w1, ... of morphs and characters; ``rows`` are lines of the table of morphs."""
    folder.mkdir()
    own_task().target_dictionary.save(str(folder / "dict.tgt.txt"))
    (folder / "morphs.tgt.txt").write_text("".join(f"w{n}\t{row}\n" for n, row in enumerate(rows)))
    dictionary = Dictionary.load(str(folder / "dict.tgt.txt"))
    make_dictionary(13).save(str(folder / "dict.src.txt"))
    return as_task(make_dictionary(13), dictionary)


def test_units_of_another_training_are_refused(tmp_path):
    options = {"output_layer": "subword", "composition": "morphsum", "tie": "none"}
    rows = ["a b", "b", "c a", *["b c"] * 14]
    task = composing_task(tmp_path / "old", rows)
    state = checkpoint(make_model("luong_lstm", task, **options), tmp_path / "old", "luong_lstm")
    state["cfg"]["model"] |= options
    same = composing_task(tmp_path / "same", rows)
    done = finetune(make_model("luong_lstm", same, **options), state, same)
    assert "decoder.output_projection.parts.emb.weight" in done.loaded
    cut_otherwise = composing_task(tmp_path / "new", ["b a c", *rows[1:]])
    with pytest.raises(UserError, match="trained with other morphs: copy the morphs"):
        finetune(make_model("luong_lstm", cut_otherwise, **options), state, cut_otherwise)
    # Highway layers of another composition mean something else.
    options["composition"] = "charcnn"
    options |= {"char_filters": 1, "char_widths": 5, "unit_dim": 4}
    done = finetune(make_model("luong_lstm", same, **options), state, same)
    assert not [name for name in done.loaded if ".output_projection.parts." in name]


def test_units_of_words_are_not_mapped_to_other_words(tmp_path):
    old, new = make_task(13, 9), own_task()
    old.target_dictionary.save(str(tmp_path / "dict.tgt.txt"))
    options = {"output_layer": "subword", "composition": "charcnn"}
    stock = stock_model("transformer", old)
    model = make_model("transformer_outlayers", new, **options)
    with pytest.raises(UserError, match="composed of units cannot be mapped"):
        finetune(model, checkpoint(stock, tmp_path), new)


def test_rows_beyond_a_short_list_of_either_side_are_not_mapped():
    rows = WordRows(torch.tensor([0, 1, 2]), torch.tensor([2, 0, 1]), 0)
    table = torch.zeros(2, 1)
    assert rows.fill(table, torch.tensor([[10.0], [11.0]])).tolist() == [True, False]
    assert table.tolist() == [[11.0], [0.0]]


def test_adaptive_inputs_are_not_mapped_to_other_words(tmp_path):
    old, new = (as_task(words, words) for words in (words_of(*"abcdef"), words_of(*"fedcba")))
    old.target_dictionary.save(str(tmp_path / "dict.tgt.txt"))
    arch = "transformer_lm_outlayers"
    options = {"output_layer": "linear", "adaptive_input": True, "adaptive_input_cutoff": "6"}
    state = checkpoint(make_model(arch, old, **options), tmp_path, arch)
    finetune(make_model(arch, old, **options), state, old)
    with pytest.raises(UserError, match=r"decoder.embed_tokens cannot .* --adaptive-input divides"):
        finetune(make_model(arch, new, **options), state, new)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_frozen_embeddings_are_not_mapped_to_other_words(tmp_path, side):
    first, other = words_of("a", "b"), words_of("b", "a")
    old = as_task(first, first)
    new = as_task(other, first) if side == "encoder" else as_task(first, other)
    for name in ("src", "tgt"):
        first.save(str(tmp_path / f"dict.{name}.txt"))
    options = {"release": "softmax", "output_layer": "linear"}
    state = checkpoint(make_model("esnmt", old, **options), tmp_path, "esnmt")
    finetune(make_model("esnmt", old, **options), state, old)
    with pytest.raises(UserError, match=rf"{side}.embed_tokens cannot be .* a frozen table"):
        finetune(make_model("esnmt", new, **options), state, new)
