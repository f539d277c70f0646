"""The log of a training run is read whatever happened to the run."""

import pytest

from recipes.lab.running import training_log

START = "2026-01-31 10:00:00 | INFO | fairseq_cli.train | num. shared model params: {} (num. t: 1)"


def line(tag, json):
    return f"2026-01-31 10:00:00 | INFO | {tag} | {json}"


def epoch(number, speed, updates, wall):
    return line(
        "train",
        f'{{"epoch": {number}, "train_wps": "{speed}", "train_num_updates": "{updates}", '
        f'"train_train_wall": "{wall}"}}',
    )


def valid(number, perplexity):
    return line("valid", f'{{"epoch": {number}, "valid_ppl": "{perplexity}"}}')


def write(tmp_path, *lines):
    path = tmp_path / "train.log"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_figures_of_a_whole_run(tmp_path):
    path = write(
        tmp_path,
        "some warning",
        START.format("1,234,567"),
        line("train_inner", '{"epoch": 1, "update": 0.5, "wps": "9999", "ppl": "3"}'),
        valid(1, 30.5),
        epoch(1, 1000, 10, 5),
        valid(2, 20.25),
        epoch(2, 3000, 20, 9),
        valid(3, 21),
        epoch(3, 2000.5, 30, 14),
        "2026-01-31 10:00:00 | INFO | fairseq_cli.train | done training in 14.5 seconds",
    )
    assert training_log.summarize(path) == {
        "parameters": 1234567,
        "train_tokens_per_second": 2000.5,
        "train_seconds": 28,
        "train_seconds_epochs": 3,
        "sampled_share": None,
        "epochs": 3,
        "updates": 30,
        "best_valid_ppl": 20.25,
        "attempts": 1,
        "finished": True,
        "history": [
            {"epoch": 1, "updates": 10, "seconds": 5.0, "valid_ppl": 30.5},
            {"epoch": 2, "updates": 20, "seconds": 14.0, "valid_ppl": 20.25},
            {"epoch": 3, "updates": 30, "seconds": 28.0, "valid_ppl": 21.0},
        ],
    }


def test_the_last_scales_of_frozen_layers_are_kept(tmp_path):
    radii = '{{"epoch": 1, "radius_decoder_0": "{}", "saturation_decoder_0": "0.1"}}'
    path = write(tmp_path, *(line("train_inner", radii.format(r)) for r in (0.9, 0.7)))
    found = training_log.summarize(path)["echo"]
    assert found == {"radius_decoder_0": 0.7, "saturation_decoder_0": 0.1}


def test_the_share_of_the_classes_is_the_mean_over_epochs(tmp_path):
    path = write(
        tmp_path,
        line("train", '{"epoch": 1, "train_sampled_share": "0.25"}'),
        line("train", '{"epoch": 2, "train_sampled_share": "0.35"}'),
    )
    assert training_log.summarize(path)["sampled_share"] == pytest.approx(0.3)


def test_an_epoch_repeated_after_an_interruption_counts_once(tmp_path):
    path = write(
        tmp_path,
        START.format("10"),
        epoch(1, 100, 10, 5),
        epoch(2, 900, 20, 10),
        '2026-01-31 10:00:00 | INFO | train | {"epoch": 3, "train_wps": "9',
        START.format("10"),
        epoch(2, 200, 20, 12),
        epoch(3, 300, 30, 17),
        "x | INFO | fairseq_cli.train | done training in 2.0 seconds",
    )
    figures = training_log.summarize(path)
    assert figures["train_tokens_per_second"] == 200
    # The second epoch of the first attempt was lost, and so were its 10 seconds.
    assert (figures["train_seconds"], figures["train_seconds_epochs"]) == (5 + 12 + 17, 3)
    assert (figures["epochs"], figures["updates"], figures["attempts"]) == (3, 30, 2)
    assert figures["finished"]


def test_a_run_that_was_cut_off_is_not_finished(tmp_path):
    path = write(
        tmp_path,
        START.format("10"),
        "x | INFO | fairseq_cli.train | done training in 2.0 seconds",
        START.format("10"),
        epoch(1, 100, 10, 5),
    )
    assert not training_log.summarize(path)["finished"]


def test_an_empty_log_gives_no_figures(tmp_path):
    figures = training_log.summarize(write(tmp_path, ""))
    assert figures["parameters"] is figures["best_valid_ppl"] is figures["updates"] is None
    assert figures["epochs"] == 0


def test_a_perplexity_that_is_not_a_number_is_never_the_best(tmp_path):
    figures = training_log.summarize(
        write(tmp_path, valid(1, "nan"), valid(2, 40), valid(3, "inf"))
    )
    assert figures["best_valid_ppl"] == 40


def test_words_among_the_statistics_are_passed_over():
    found = training_log.parse_line(line("train_inner", '{"epoch": 1, "note": "word", "x": null}'))
    assert found == ("train_inner", {"epoch": 1.0})
    assert training_log.parse_line("2026 | INFO | train | loading data {}") is None


def test_seconds_are_summed_over_the_epochs_of_all_attempts(tmp_path):
    """fairseq starts `train_train_wall` anew in every epoch, in a resumed run too."""
    path = write(
        tmp_path,
        START.format("10"),
        *(epoch(number, 100, 10 * number, 60 + number) for number in (1, 2)),
        START.format("10"),
        *(epoch(number, 100, 10 * number, 60 + number) for number in (3, 4, 5)),
    )
    assert training_log.summarize(path)["train_seconds"] == 61 + 62 + 63 + 64 + 65
