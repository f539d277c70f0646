"""An option that fairseq does not recognize: one line, with what takes it."""

import pytest
from fairseq import options

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.conveniences import option_hints

TRAIN = ["data-bin", "--optimizer", "adam", "--lr", "0.001"]


def refused(capsys, parser, arguments):
    """What is printed when the arguments are refused."""
    with pytest.raises(SystemExit) as stopped:
        options.parse_args_and_arch(parser, input_args=arguments)
    assert stopped.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (
            "--arch transformer_iwslt_de_en --output-layer joint",
            "--output-layer is an option of --arch transformer_iwslt_de_en_outlayers",
        ),
        (
            "--arch luong_lstm --criterion full_softmax --sample-share=0.25",
            "--sample-share is an option of --criterion sampled_softmax",
        ),
        (
            "--arch luong_lstm --label-smoothing 0.1",
            "--label-smoothing is an option of --criterion full_softmax, "
            "--criterion sampled_softmax, --criterion partition_softmax, "
            "--criterion label_smoothed_cross_entropy, ... (docs/options.md)",
        ),
        (
            "--arch luong_lstm --partition-size 200",
            "--partition-size is an option of --task translation_outlayers",
        ),
        (
            "--arch luong_lstm --reservoir-seed 2",
            "--reservoir-seed is an option of --arch esnmt, --arch esnmt_lstm, "
            "--arch transformer_outlayers, --arch esnmt_512, ... (docs/options.md)",
        ),
        (
            "--arch luong_lstm --output-layr joint",
            "instead of --output-layr, did you mean --output-layer?",
        ),
        (
            "--arch luong_lstm --max-epochs 3 --learning-rate 2",
            "instead of --max-epochs, did you mean --max-epoch?",
        ),
    ],
)
def test_an_unknown_option_is_refused_in_one_line_with_what_takes_it(capsys, given, hint):
    arguments = [*TRAIN, *given.split()]
    printed = refused(capsys, options.get_training_parser(), arguments)
    assert printed.count("\n") == 1
    assert "error: unrecognized arguments: --" in printed
    assert printed.endswith(f"; {hint}\n")


def test_a_model_option_in_decoding_is_said_to_come_from_the_checkpoint(capsys):
    given = ["data-bin", "--path", "checkpoint.pt", "--output-layer", "joint"]
    printed = refused(capsys, options.get_generation_parser(), given)
    assert printed.endswith("; --output-layer is stored in the checkpoint: leave it out\n")


def test_candidates_without_our_task_are_said_to_be_the_tasks(capsys):
    given = ["data-bin", "--path", "checkpoint.pt", "--candidates", "candidates.npz"]
    printed = refused(capsys, options.get_generation_parser(), given)
    assert printed.count("\n") == 1
    assert printed.endswith("; --candidates is an option of --task translation_outlayers\n")


def test_an_option_unlike_any_other_gets_no_hint(capsys):
    given = [*TRAIN, "--arch", "luong_lstm", "--xyzzy", "word"]
    printed = refused(capsys, options.get_training_parser(), given)
    assert printed.endswith("error: unrecognized arguments: --xyzzy word\n")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("--arch luong_lstm --output-layer jiont", "joint"),
        ("--arch luong_lstm --criterion ful_softmax", "full_softmax"),
        ("--arch loung_lstm", "luong_lstm"),
        ("--arch transformer_iwslt_de_en_outlayer", "transformer_iwslt_de_en_outlayers"),
        ("--arch luong_lstm --task translation_outlayer", "translation_outlayers"),
        ("--arch luong_lstm --optimizer lazyadam", "lazy_adam"),
        ("--arch transformer_outlayers --joint-activation tahn", "tanh"),
    ],
)
def test_a_mistyped_choice_is_refused_in_one_line_with_the_one_meant(capsys, given, meant):
    printed = refused(capsys, options.get_training_parser(), [*TRAIN[:1], *given.split()])
    assert printed.count("\n") == 1
    assert "invalid choice: " in printed
    assert printed.endswith(f"; did you mean {meant}?\n")
    assert len(printed) < 600


@pytest.mark.parametrize(
    ("given", "warned"), [("--optimizer adam", True), ("--lr 0.1", False), ("--lr=0.1", False)]
)
def test_a_missing_learning_rate_is_warned_of(caplog, given, warned):
    parser = options.get_training_parser()
    parser.prog = "fairseq-train"
    option_hints._warn_of_default_rate(parser, given.split())
    assert ("no --lr: fairseq's default of 0.25 is used" in caplog.text) == warned


def test_a_command_without_a_model_is_refused_in_one_line():
    with pytest.raises(UserError, match="needs --arch: name a model, such as luong_lstm or "):
        options.parse_args_and_arch(options.get_training_parser(), input_args=TRAIN)


def test_choices_are_listed_where_they_are_few(capsys):
    given = [*TRAIN, "--arch", "luong_lstm", "--output-layer", "xyzzy"]
    printed = refused(capsys, options.get_training_parser(), given)
    assert "argument --output-layer: invalid choice: 'xyzzy' (choose from " in printed
    assert "linear" in printed
    assert "did you mean" not in printed


def test_any_other_mistake_is_told_as_fairseq_does(capsys):
    printed = refused(capsys, options.get_training_parser(), ["data-bin", "--arch"])
    assert printed.endswith("error: argument --arch/-a: expected one argument\n")


@pytest.mark.parametrize(
    ("given", "meant"),
    [("--trainprf text", "--trainpref"), ("--bpe subword_nnt", "subword_nmt")],
)
def test_preprocessing_answers_alike(capsys, given, meant):
    with pytest.raises(SystemExit) as stopped:
        options.get_preprocessing_parser().parse_args(given.split())
    assert stopped.value.code == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert printed.endswith(f"did you mean {meant}?\n")
