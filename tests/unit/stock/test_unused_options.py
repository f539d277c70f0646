"""Options that a command takes and does not use are refused, with what would help."""

from argparse import Namespace

import pytest
from fairseq import options

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.stock.unused_options import UNUSED_IN_SCORING, check_unused

PARSERS = {
    "fairseq-train": options.get_training_parser,
    "fairseq-generate": options.get_generation_parser,
    "fairseq-interactive": lambda: options.get_generation_parser(interactive=True),
    "fairseq-validate": options.get_validation_parser,
    "fairseq-eval-lm": options.get_eval_lm_parser,
}


def check(command, **given):
    """The check of a command line with its defaults and some options."""
    parser = PARSERS[command]()
    parser.prog = command
    parsed = {action.dest: action.default for action in parser._actions}
    parsed["task"] = "language_modeling" if command == "fairseq-eval-lm" else "translation"
    check_unused(parser, Namespace(**{**parsed, **given}))


@pytest.mark.parametrize("command", PARSERS)
def test_defaults_are_accepted(command):
    check(command)


@pytest.mark.parametrize(
    ("command", "given", "message"),
    [
        (
            "fairseq-generate",
            {"num_shards": 2},
            "--num-shards 2 has no effect in fairseq-generate: all sentences are translated: for a "
            "part of them use --distributed-world-size and --distributed-rank",
        ),
        (
            "fairseq-generate",
            {"lm_path": "lm.pt"},
            "--lm-path lm.pt has no effect without --lm-weight: add that, or leave it out",
        ),
        (
            "fairseq-generate",
            {"sacrebleu": True},
            "--sacrebleu has no effect in fairseq-generate: use --scoring sacrebleu, also where "
            "fairseq's own warning recommends --sacrebleu",
        ),
        (
            "fairseq-interactive",
            {"sacrebleu": True},
            "--sacrebleu has no effect in fairseq-interactive: leave it out",
        ),
        (
            "fairseq-interactive",
            {"lm_weight": 0.3},
            "--lm-weight 0.3 has no effect in fairseq-interactive: only fairseq-generate adds a "
            "language model",
        ),
        (
            "fairseq-train",
            {"ema_decay": 0.9},
            "--ema-decay 0.9 has no effect without --store-ema: add that, or leave it out",
        ),
        (
            "fairseq-train",
            {"unk_replacement": "copy"},
            "--unk-replacement copy has no effect without --eval-bleu: add that, or leave it out",
        ),
        (
            "fairseq-generate",
            {"bf16": True},
            "--bf16 has no effect in fairseq-generate: only --fp16 acts there",
        ),
        (
            "fairseq-interactive",
            {"iter_decode_with_beam": 3},
            "--iter-decode-with-beam 3 has no effect in fairseq-interactive: it is for "
            "non-autoregressive models: leave it out",
        ),
        (
            "fairseq-generate",
            {"no_early_stop": True},
            "--no-early-stop has no effect in fairseq-generate: fairseq's search does not read it: "
            "leave it out",
        ),
        (
            "fairseq-generate",
            {"retain_dropout_modules": ["LuongLSTM"]},
            "--retain-dropout-modules LuongLSTM has no effect without --retain-dropout: add "
            "that, or leave it out",
        ),
        (
            "fairseq-generate",
            {"diverse_beam_strength": 0.3},
            "--diverse-beam-strength 0.3 has no effect without --diverse-beam-groups: add that, or "
            "leave it out",
        ),
        (
            "fairseq-interactive",
            {"unnormalized": True, "lenpen": 0.6},
            "--lenpen 0.6 has no effect with --unnormalized: leave one of them out",
        ),
        (
            "fairseq-validate",
            {"combine_valid_subsets": True},
            "--combine-valid-subsets has no effect in fairseq-validate: name the sets by "
            "--valid-subset",
        ),
        *(
            (
                command,
                {f"{name}_valid": 30},
                f"--{flag}-valid 30 has no effect in {command}: use --{flag}",
            )
            for command in ("fairseq-validate", "fairseq-eval-lm")
            for name, flag in (("max_tokens", "max-tokens"), ("batch_size", "batch-size"))
        ),
        (
            "fairseq-eval-lm",
            {"valid_subset": "test"},
            "--valid-subset test has no effect in fairseq-eval-lm: the set is named by "
            "--gen-subset",
        ),
        (
            "fairseq-train",
            {"scale_heads": True},
            "--scale-heads has no effect in fairseq-train: fairseq builds nothing for it: leave it "
            "out",
        ),
        (
            "fairseq-train",
            {"eval_bleu_args": '{"beam": 3}'},
            '--eval-bleu-args {"beam": 3} has no effect without --eval-bleu: add that, or leave it '
            "out",
        ),
        (
            "fairseq-train",
            {"combine_valid_subsets": True, "valid_subset": "valid,test"},
            "--valid-subset valid,test: --combine-valid-subsets joins all sets named valid, "
            "valid1, ...: leave one of the two out",
        ),
        (
            "fairseq-eval-lm",
            {"context_window": 35, "tokens_per_sample": 35},
            "--context-window 35: must be below --tokens-per-sample 35, which counts the words of "
            "the context too: lower it, or raise --tokens-per-sample",
        ),
        (
            "fairseq-interactive",
            {"score_reference": True},
            "--score-reference has no effect in fairseq-interactive: use fairseq-generate, or "
            "load(...).score in Python",
        ),
        (
            "fairseq-generate",
            {"score_reference": True, "lenpen": 0.6},
            "--lenpen 0.6 has no effect with --score-reference: given translations are scored by "
            "their mean log-probability: leave it out",
        ),
        (
            "fairseq-generate",
            {"score_reference": True, "print_alignment": "soft"},
            "--print-alignment soft: --score-reference prints only hard alignments: leave out soft",
        ),
        (
            "fairseq-eval-lm",
            {"task": "subword_language_modeling", "post_process": "subword_nmt"},
            "--post-process subword_nmt: a word that the end of a window divides would count as "
            "two: leave it out, and raise the perplexity per unit to the power of units / words",
        ),
        *(
            (
                command,
                {"results_path": "out"},
                f"--results-path out has no effect in {command}: only fairseq-generate writes a "
                "file: redirect the output (> FILE), or leave it out",
            )
            for command in ("fairseq-interactive", "fairseq-eval-lm", "fairseq-validate")
        ),
    ],
)
def test_options_without_effect_are_refused(command, given, message):
    with pytest.raises(UserError) as error:
        check(command, **given)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("command", "given"),
    [
        ("fairseq-generate", {"lm_path": "lm.pt", "lm_weight": 0.5}),
        ("fairseq-generate", {"prefix_size": 2}),
        ("fairseq-generate", {"diverse_beam_strength": 0.3, "diverse_beam_groups": 2}),
        ("fairseq-generate", {"unnormalized": True}),
        ("fairseq-generate", {"lenpen": 0.6}),
        ("fairseq-train", {"max_tokens_valid": 30, "batch_size_valid": 3}),
        # fairseq sets the first to the second.
        ("fairseq-validate", {"max_tokens_valid": 30, "max_tokens": 30}),
        ("fairseq-eval-lm", {"batch_size_valid": 3, "batch_size": 3}),
        ("fairseq-generate", {"results_path": "out"}),
        # With --eval-bleu of the checkpoint.
        ("fairseq-validate", {"unk_replacement": "copy"}),
        ("fairseq-generate", {"unk_replacement": "copy"}),
        ("fairseq-eval-lm", {"num_shards": 2, "shard_id": 1}),
        ("fairseq-eval-lm", {"context_window": 34, "tokens_per_sample": 35}),
        ("fairseq-train", {"ema_decay": 0.9, "store_ema": True}),
        ("fairseq-train", {"bf16": True}),
        ("fairseq-train", {"combine_valid_subsets": True}),
        ("fairseq-train", {"eval_bleu_args": "{}", "eval_bleu": True}),
        ("fairseq-validate", {"valid_subset": "test"}),
        ("fairseq-generate", {"retain_dropout_modules": ["LSTM"], "retain_dropout": True}),
        ("fairseq-train", {"unk_replacement": "copy", "eval_bleu": True}),
        ("fairseq-train", {"ema_decay": 0.9, "task": "audio_pretraining"}),
    ],
)
def test_they_are_accepted_where_they_have_an_effect(command, given):
    check(command, **given)


@pytest.mark.parametrize("words", [["--lm-weight", "0"], ["--lm-weight=0"]])
def test_an_option_that_is_needed_may_be_given_at_its_default(words):
    parser = options.get_generation_parser()
    parser.prog = "fairseq-generate"
    given = ["bin", "--task", "translation", "--path", "model.pt", "--lm-path", "lm.pt", *words]
    assert options.parse_args_and_arch(parser, input_args=given).lm_weight == 0


@pytest.mark.parametrize("option", ["eos_token", "beam_mt", "lenpen_mt", "decoding_format"])
@pytest.mark.parametrize("command", ["fairseq-generate", "fairseq-interactive"])
def test_options_for_speech_are_refused(command, option):
    with pytest.raises(UserError, match=f"has no effect in {command}: it is for speech"):
        check(command, **{option: 3})


def test_a_package_without_which_nothing_would_be_trained(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match="asynchronously needs the package iopath, which is not"):
        check("fairseq-train", write_checkpoints_asynchronously=True)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    check("fairseq-train", write_checkpoints_asynchronously=True)


def test_translating_a_part_of_the_text_is_said(caplog):
    check("fairseq-generate", distributed_world_size=2)
    (warning,) = (record.getMessage() for record in caplog.records)
    assert "translates one of 2 parts of the text" in warning
    assert "BLEU is that of the part" in warning


@pytest.mark.parametrize("name", UNUSED_IN_SCORING)
def test_what_scoring_given_translations_ignores_is_an_option_of_the_search(name):
    check("fairseq-generate", score_reference=True)
    with pytest.raises(UserError, match=f"--{name.replace('_', '-')} .*with --score-reference"):
        check("fairseq-generate", score_reference=True, **{name: "other"})


def test_a_part_of_the_text_is_said_of_translating_alone(caplog):
    check("fairseq-train", distributed_world_size=2)
    assert not caplog.records


@pytest.mark.parametrize("named", [{}, {"source_lang": "de"}, {"target_lang": "en"}])
def test_moses_needs_both_languages(named):
    both = {"source_lang": "de", "target_lang": "en"}
    check("fairseq-generate", tokenizer="moses", **both)
    with pytest.raises(UserError, match="--tokenizer moses needs the languages"):
        check("fairseq-generate", tokenizer="moses", **{**dict.fromkeys(both), **named})


def test_a_flag_that_an_architecture_has_set_to_false_is_not_given():
    parser = options.get_training_parser()
    words = ["data", "--task", "language_modeling", "--arch", "transformer_lm_gpt2_small"]
    parsed = options.parse_args_and_arch(parser, words)
    assert parsed.scale_heads is False
    check_unused(parser, parsed)


@pytest.mark.parametrize("named", [{}, {"source_lang": "de", "target_lang": "en"}])
def test_merged_embeddings_need_one_dictionary_of_both_sides(named, tmp_path):
    (tmp_path / "train.de-en.de.idx").touch()
    given = {"merge_src_tgt_embed": True, "data": f"{tmp_path}:elsewhere", **named}
    check("fairseq-train", **given)
    for language, text in {"de": "wort 2\n", "en": "wort 1\n"}.items():
        (tmp_path / f"dict.{language}.txt").write_text(text, encoding="utf-8")
    check("fairseq-train", **given)
    (tmp_path / "dict.en.txt").write_text("word 1\n", encoding="utf-8")
    check("fairseq-train", **{**given, "merge_src_tgt_embed": False})
    check("fairseq-train", **given, dataset_impl="raw")
    said = r"^--merge-src-tgt-embed: .*dict.de.txt and .*dict.en.txt differ, and .* a vector"
    with pytest.raises(UserError, match=f"{said}: binarize .* and use --share-all-embeddings$"):
        check("fairseq-train", **given)


def parsed_training(arch, *words):
    """What fairseq-train parses and checks."""
    parser = options.get_training_parser()
    parser.prog = "fairseq-train"
    task = "language_modeling" if "_lm" in arch else "translation"
    given = ["data", "--arch", arch, "--task", task, "--lr", "0.1", *words]
    return options.parse_args_and_arch(parser, given)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize("arch", ["transformer", "transformer_outlayers"])
def test_layers_to_keep_are_named_when_a_translation_model_is_loaded(side, arch):
    with pytest.raises(UserError, match=f"^--{side}-layers-to-keep 0,2: .* --model-overrides "):
        parsed_training(arch, f"--{side}-layers-to-keep", "0,2")


def test_no_layers_to_keep_are_all():
    parsed = parsed_training("transformer", "--encoder-layers-to-keep", "")
    assert parsed.encoder_layers_to_keep == []


def test_layers_to_keep_of_a_language_model_are_accepted():
    parsed = parsed_training("transformer_lm", "--decoder-layers-to-keep", "0,2")
    assert parsed.decoder_layers_to_keep == "0,2"


ENCODER, DECODER = "'encoder_layers_to_keep': '0'", "'decoder_layers_to_keep': '0,1'"


@pytest.mark.parametrize("command", ["fairseq-generate", "fairseq-interactive", "fairseq-validate"])
@pytest.mark.parametrize("given", [ENCODER, DECODER, f"{ENCODER}, 'decoder_layers_to_keep': None"])
def test_layers_to_keep_of_one_side_drop_the_other_side(command, given):
    said = r"^--model-overrides {'..coder_layers_to_keep': '.*'}: name the layers .* of both sides"
    with pytest.raises(UserError, match=said):
        check(command, model_overrides=f"{{{given}}}")
    check(command, model_overrides=f"{{{ENCODER}, {DECODER}}}")
    check(command, model_overrides=f"{{{given}}}", task="language_modeling")


@pytest.mark.parametrize("arch", ["transformer", "transformer_outlayers"])
@pytest.mark.parametrize(
    ("words", "needed"),
    [
        (["--adaptive-softmax-dropout", "0.1"], "--adaptive-softmax-cutoff: leave it out"),
        (["--adaptive-softmax-factor", "2.0"], "--adaptive-softmax-cutoff: leave it out"),
        (["--tie-adaptive-proj"], "--adaptive-softmax-cutoff: leave it out"),
        (["--quant-noise-pq-block-size", "4"], "--quant-noise-pq: add that, or leave it out"),
        (["--no-decoder-final-norm"], "--decoder-normalize-before: add that, or leave it out"),
    ],
)
def test_options_of_a_part_that_a_transformer_lacks_are_refused(arch, words, needed):
    with pytest.raises(UserError) as error:
        parsed_training(arch, *words)
    assert str(error.value) == f"{' '.join(words)} has no effect without {needed}"


def test_characters_that_no_model_reads_are_refused():
    with pytest.raises(UserError, match=r"^--char-inputs has no effect in fairseq-train: fairseq "):
        parsed_training("transformer_outlayers", "--char-inputs")


@pytest.mark.parametrize(
    ("arch", "words"),
    [
        # Values that the architectures set.
        ("transformer", []),
        ("transformer_outlayers", []),
        ("transformer_lm_gpt", []),
        ("transformer_lm_baevski_wiki103", []),
        # Values that need those of the architecture.
        ("transformer_lm_baevski_wiki103", ["--adaptive-softmax-dropout", "0.1"]),
        ("transformer_lm_gpt", ["--no-decoder-final-norm"]),
        # Both are given.
        ("transformer", ["--adaptive-softmax-cutoff", "5", "--adaptive-softmax-factor", "2"]),
        ("transformer", ["--quant-noise-pq", "0.1", "--quant-noise-pq-block-size", "4"]),
        ("transformer", ["--decoder-normalize-before", "--no-decoder-final-norm"]),
    ],
)
def test_options_of_a_part_that_a_transformer_has_are_accepted(arch, words):
    parsed_training(arch, *words)


@pytest.mark.parametrize("arch", ["transformer_outlayers", "transformer_lm"])
def test_experts_need_several_processes(arch, monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    one = ["--distributed-world-size", "1", "--base-layers"]
    parsed_training(arch, *one, "0")
    with pytest.raises(UserError, match=r"^--base-layers 2: .* a single process: leave it out$"):
        parsed_training(arch, *one, "2")
    parsed_training(arch, *one, "2", "--distributed-world-size", "2")
    monkeypatch.setenv("WORLD_SIZE", "2")  # of torchrun
    parsed_training(arch, *one, "2")
