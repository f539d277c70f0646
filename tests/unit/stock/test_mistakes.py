"""Mistakes that fairseq finds: each made as a user makes it, and told in one line."""

import inspect
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fairseq import checkpoint_utils, file_utils, options, tasks, utils
from fairseq.data import FairseqDataset, data_utils, indexed_dataset, iterators
from fairseq.dataclass.utils import convert_namespace_to_omegaconf, eval_str_list
from fairseq.modules.quant_noise import quant_noise
from fairseq.optim import FairseqOptimizer
from fairseq.optim.fp16_optimizer import MemoryEfficientFP16Optimizer
from fairseq.optim.lr_scheduler.pass_through import (
    PassThroughScheduleConfig,
    PassThroughScheduleSchedule,
)
from fairseq.scoring.wer import WerScorer, WerScorerConfig
from fairseq.sequence_generator import SequenceGenerator
from fairseq.trainer import Trainer
from fairseq_cli import generate, train
from torch import distributed

from fairseq_outlayers.patches.conveniences.clear_errors import _show
from fairseq_outlayers.stock.mistakes import REMEDIES, plain_message


def line_of(function, *arguments, **keywords):
    """What a command line of these arguments is told."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 - fairseq raises all kinds
        function(*arguments, **keywords)
    return plain_message(raised.value, [str(argument) for argument in arguments])


def parsed(parser, *given):
    return options.parse_args_and_arch(parser, input_args=[str(word) for word in given])


def translation(folder, *given):
    """The task of ``fairseq-train folder``."""
    arch = ["--arch", "luong_lstm", *given]
    arguments = parsed(options.get_training_parser(), folder, *arch)
    return tasks.setup_task(convert_namespace_to_omegaconf(arguments).task)


def dictionaries(folder):
    for language in ("en", "de"):
        (folder / f"dict.{language}.txt").write_text("word 1\n", encoding="utf-8")


def test_a_missing_batch_size_names_its_options():
    cfg = convert_namespace_to_omegaconf(
        parsed(options.get_training_parser(), "data-bin", "--arch", "luong_lstm")
    )
    assert line_of(train.main, cfg) == ("no batch size: give --max-tokens or --batch-size")


def test_an_average_to_start_from_that_a_checkpoint_does_not_have(tmp_path):
    path = str(tmp_path / "model.pt")
    torch.save({"model": {}, "extra_state": {"epoch": 1}}, path)
    assert line_of(checkpoint_utils.load_ema_from_checkpoint, path) == (
        "--ema-seed-model: the checkpoint has no average of weights: give one of a training with "
        "--store-ema, or leave it out"
    )


def test_a_language_model_of_something_else_than_the_next_word(tmp_path):
    (tmp_path / "dict.txt").write_text("word 1\n", encoding="utf-8")
    options_of = ["--task", "language_modeling", "--self-target", "--arch", "subword_lm"]
    given = parsed(options.get_training_parser(), tmp_path, *options_of, "--composition", "word")
    cfg = convert_namespace_to_omegaconf(given)
    task = tasks.setup_task(cfg.task)
    assert line_of(task.build_model, cfg.model) == (
        "--self-target: this model predicts the next word only: leave out --self-target, "
        "--future-target and --past-target"
    )


def test_a_model_without_an_output_for_ctc():
    line = plain_message(AttributeError("'LuongLSTM' object has no attribute 'get_ctc_output'"))
    assert line.startswith("--criterion label_smoothed_cross_entropy_with_ctc needs a model")


def test_tpu_options_without_torch_xla_are_named():
    assert line_of(utils.get_tpu_device) == (
        "--bf16 and --tpu are for TPUs in fairseq, and need torch_xla: leave them out"
    )


def test_a_text_that_is_read_on_demand(tmp_path):
    builder = indexed_dataset.IndexedDatasetBuilder(str(tmp_path / "train.bin"))
    builder.add_item(torch.tensor([5, 2]))
    builder.finalize(str(tmp_path / "train.idx"))
    text = indexed_dataset.make_dataset(str(tmp_path / "train"), "cached")
    batches = iterators.EpochBatchIterator(text, lambda samples: samples, [[0]])
    assert line_of(lambda: batches.first_batch) == (
        "fairseq-train cannot read a text that was binarized with --dataset-impl lazy or cached: "
        "binarize it again without"
    )


def test_only_tables_on_several_processes(monkeypatch):
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # a process group replaces it
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        frozen = torch.nn.Linear(1, 1).requires_grad_(False)
        said = line_of(torch.nn.parallel.DistributedDataParallel, frozen)
    finally:
        distributed.destroy_process_group()
    assert said == (
        "several processes train only tables, which --optimizer lazy_adam averages itself (or "
        "nothing at all): use --ddp-backend legacy_ddp"
    )


def test_a_missing_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "editdistance", None)
    assert line_of(WerScorer, WerScorerConfig()) == (
        "this option needs a Python package that is not installed: pip install editdistance"
    )


def test_a_package_that_pip_has_under_another_name():
    assert "NVIDIA's apex" in plain_message(ImportError("Please install apex to use LAMB"))
    assert plain_message(ImportError("\n\n  Please install xFormers.")).endswith("xFormers")


def test_files_that_fairseq_would_download(monkeypatch):
    monkeypatch.delitem(sys.modules, "requests", raising=False)
    monkeypatch.setattr(sys, "path", [])
    assert "--gpt2-encoder-json" in line_of(file_utils.get_from_cache, "https://example.org/a")


@pytest.mark.parametrize("said", ["Torch not compiled with CUDA enabled", "Found no NVIDIA driver"])
def test_options_that_need_a_gpu_are_named(said):
    assert plain_message(AssertionError(said)) == (
        "PyTorch finds no GPU, and --fp16, --quant-noise-scalar and --profile need one: leave them "
        "out"
    )


def test_a_schedule_for_optimizers_with_their_own():
    line = line_of(PassThroughScheduleSchedule, PassThroughScheduleConfig(), FairseqOptimizer(None))
    assert line.startswith("--lr-scheduler pass_through: no --optimizer of the command line")


def test_two_kinds_of_mixed_precision():
    said = "Cannot use fp16 and AMP together"
    assert said in inspect.getsource(Trainer.__init__)
    line = plain_message(AssertionError(said))
    assert line.startswith("--amp beside --fp16 or --memory-efficient-fp16: leave one")


def test_a_value_that_is_no_python():
    assert "write true as True" in line_of(eval_str_list, "true")


def test_buckets_without_a_number_of_tokens():
    dataset = SimpleNamespace(get_batch_shapes=lambda: [(None, 2)])
    line = line_of(FairseqDataset.batch_by_size, dataset, np.arange(2), max_sentences=2)
    assert line.startswith("--num-batch-buckets needs --max-tokens")


def test_a_translation_model_for_a_task_of_language_models(tmp_path):
    (tmp_path / "dict.txt").write_text("word 1\n", encoding="utf-8")
    given = ["--task", "language_modeling", "--arch", "luong_lstm", "--hidden-size", "8"]
    arguments = parsed(options.get_training_parser(), tmp_path, *given)
    cfg = convert_namespace_to_omegaconf(arguments)
    assert line_of(tasks.setup_task(cfg.task).build_model, cfg.model) == (
        "the model (of --arch, or in the checkpoint) is a translation model, but the --task needs "
        "a language model: choose another model or --task"
    )


def test_no_sentence_to_train_on_names_all_limits():
    empty = SimpleNamespace(frozen_batches=())
    assert line_of(iterators.EpochBatchIterator.first_batch.fget, empty) == (
        "no sentences to train on: all are longer than --max-tokens, --max-source-positions or "
        "--max-target-positions allow, or the data is empty: raise the one that is too small"
    )


def test_a_sentence_that_fits_into_no_batch():
    sizes = np.array([3, 9])
    assert line_of(data_utils.batch_by_size, np.arange(2), None, sizes, max_tokens=5) == (
        "--max-tokens 5: there are longer sentences: raise it, or remove them from the data"
    )


def test_a_data_folder_that_does_not_exist(tmp_path):
    assert line_of(translation, tmp_path / "nowhere") == (
        f"{tmp_path}/nowhere: no such file or folder: check the path"
    )


def test_a_data_folder_without_translations(tmp_path):
    assert "the data folder has no train.XX-YY.*: " in line_of(translation, tmp_path)


def test_a_data_folder_of_another_task(tmp_path):
    line = line_of(translation, tmp_path, "-s", "en", "-t", "de")
    assert line.startswith(f"{tmp_path}/dict.en.txt: no such file: ")
    assert "dict.txt for language models" in line


def test_a_subset_that_does_not_exist(tmp_path):
    dictionaries(tmp_path)
    task = translation(tmp_path, "-s", "en", "-t", "de")
    assert line_of(task.load_dataset, "tset") == (
        f"{tmp_path}: no binarized text named tset: check the folder, and the name "
        "(--train-subset, --valid-subset, --gen-subset)"
    )


def test_a_checkpoint_that_does_not_exist():
    assert line_of(checkpoint_utils.load_model_ensemble_and_task, ["no.pt"]) == (
        "no.pt: no such checkpoint: check the path"
    )


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ([], "no checkpoint: give its path as --path"),
        (["--path", "a.pt", "--replace-unk"], "use --task translation_outlayers --unk-replacement"),
    ],
)
def test_commands_of_decoding(given, line):
    arguments = parsed(options.get_generation_parser(), "data-bin", *given)
    assert line in line_of(generate.main, convert_namespace_to_omegaconf(arguments))


def test_a_checkpoint_of_another_model_is_named_with_the_first_difference():
    said = "please ensure that the architectures match."
    assert said in inspect.getsource(Trainer.load_checkpoint)

    def load_checkpoint():
        try:
            torch.nn.Linear(2, 3).load_state_dict({})
        except Exception:
            raise Exception(f"Cannot load model parameters from checkpoint a.pt; {said}")  # noqa: B904

    assert line_of(load_checkpoint) == (
        "a.pt contains another model than the options describe: continue with the options of its "
        "training, or choose another --save-dir (or --restore-file). The first difference: "
        'Missing key(s) in state_dict: "weight", "bias".'
    )


def test_a_minimum_length_beyond_the_positions_of_the_model():
    said = "min_len cannot be larger than max_len, please adjust these!"
    assert said in inspect.getsource(SequenceGenerator._generate)
    assert plain_message(AssertionError(said)) == (
        "--min-len is larger than the longest translation, which the model's "
        "--max-target-positions, --max-len-a and --max-len-b limit: lower --min-len"
    )


def test_a_learning_rate_with_a_decimal_comma():
    given = ["data-bin", "--arch", "luong_lstm", "--lr", "0,001"]
    line = line_of(parsed, options.get_training_parser(), *given)
    assert line.endswith("write 0.001, as in --lr 0.001")


def test_an_epoch_without_an_update():
    def main(updates):  # as fairseq's, whose local variable has this name
        for _ in range(updates):
            valid_losses = []
        return valid_losses

    assert "valid_losses" in train.main.__code__.co_varnames
    assert "leave out --skip-remainder-batch, lower --update-freq" in line_of(main, 0)


def test_half_precision_weights_with_an_optimizer_that_cannot_have_them():
    optimizer = SimpleNamespace(supports_memory_efficient_fp16=False)
    wrapped = SimpleNamespace(**vars(optimizer), optimizer=torch.optim.SGD([torch.zeros(1)], 1.0))
    line = line_of(MemoryEfficientFP16Optimizer, None, [], wrapped)
    assert line.startswith("--memory-efficient-fp16 does not support this --optimizer (SimpleNames")


def test_every_other_error_keeps_its_traceback():
    assert plain_message(KeyError("output_layer")) is None
    assert plain_message(ValueError("not enough values to unpack (expected 2, got 1)")) is None
    assert plain_message(AssertionError("targets of shape (3, 2)")) is None
    assert plain_message(RuntimeError("--option of another kind of error")) is None


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("--sampling requires --nbest to be equal to --beam", None),
        ("--a-b and --c can not be specified together: {'x': 1,\n 'y': 2}",
         "--a-b and --c can not be specified together"),
        ("Cannot use a schedule with x. Consider --lr-scheduler=fixed instead.",
         "Cannot use a schedule with x. Consider --lr-scheduler=fixed instead"),
    ],
)  # fmt: skip
def test_a_refusal_of_fairseqs_that_names_an_option_is_told_as_it_is(said, line):
    assert plain_message(ValueError(said)) == (line or said)


@pytest.mark.parametrize(
    ("missing", "command", "told"),
    [
        ("text/train.en", ["--trainpref", "text/train"], True),
        ("text/train.en", ["--trainpref=text/train"], True),
        ("b", ["a:b"], True),
        ("nowhere/dict.txt", ["nowhere"], True),
        ("nowhere/sub/file", ["./nowhere/"], True),
        ("here/dict.txt", ["here"], True),
        ("here/dict.en.txt", ["here"], True),
        ("here/own.json", ["here"], False),  # the folder exists, and nobody named the file
        ("file", ["--text", "another"], False),
        ("dict.txt", ["another"], False),
        ("program", ["program2", "--program"], False),
    ],
)
def test_a_missing_file_is_told_if_the_user_named_it(missing, command, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    with pytest.raises(FileNotFoundError) as raised:
        Path(missing).read_text()
    line = plain_message(raised.value, command)
    assert (line or "").startswith(f"{missing}: no such file") == told
    monkeypatch.setattr(sys, "argv", ["fairseq-train", *command])
    assert plain_message(raised.value) == line


@pytest.mark.parametrize("lm", [["--lm-path", "lm.pt"], ["--lm-path=lm.pt"]])
def test_a_missing_dictionary_of_a_language_model_to_decode_with(lm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError) as raised:
        Path("bin/dict.txt").read_text()
    assert plain_message(raised.value, ["bin", *lm]) == (
        "bin/dict.txt: no such file: the language model of --lm-path reads its dictionary there, "
        "which must equal the target dictionary: copy that (cp bin/dict.TARGET.txt bin/dict.txt)"
    )
    with pytest.raises(FileNotFoundError) as raised:
        Path("bin/dict.de.txt").read_text()
    assert "check that the data folder is that of" in plain_message(raised.value, ["bin", *lm])


def test_a_command_for_one_checkpoint_says_so():
    line = plain_message(OSError("Model file not found: a.pt:b.pt"))
    assert line.startswith("a.pt:b.pt: this command evaluates one checkpoint: name one (load(")


def test_the_hook_prints_the_line_alone(capsys, monkeypatch):
    monkeypatch.delenv("OUTLAYERS_TRACEBACK", raising=False)
    error = OSError("Model file not found: no.pt")
    _show(sys.__excepthook__, OSError, error, None)
    assert capsys.readouterr().err == "error: no.pt: no such checkpoint: check the path\n"


def test_a_language_model_with_a_translation_task_is_named():
    said = "Interpolation key 'task.tokens_per_sample' not found\n    full_key: model.tokens"
    assert plain_message(Exception(said)).startswith("the model of --arch is a language model")


def test_blocks_of_noise_that_do_not_divide_a_width():
    line = line_of(quant_noise, torch.nn.Linear(6, 2), p=0.1, block_size=4)
    assert line.startswith("--quant-noise-pq-block-size (8 by default) must divide all widths of")


def test_every_remedy_has_the_groups_that_it_names():
    for said, instead in REMEDIES.items():
        named = {int(number) for number in re.findall(r"\{(\d)\}", instead)}
        # 0 is all that was said, groups included.
        assert named == {0} or named == set(range(1, re.compile(said).groups + 1)), said


def test_numbers_of_numpy_are_printed_as_numbers():
    error = Exception(
        "Size of sample #0 is invalid (=(np.int64(101), np.int64(0))) since "
        "max_positions=(100, 100), skip this example with --skip-invalid-size-inputs-valid-test"
    )
    assert "((101, 0) tokens, at most (100, 100))" in plain_message(error)
