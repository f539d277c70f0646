"""Models in tables and plots: checkpoints of one run, or of runs of one name, are told apart."""

import json

import pytest

from fairseq_outlayers.__main__ import main
from fairseq_outlayers.checkpoints import loading
from fairseq_outlayers.checkpoints.loading import Trained
from fairseq_outlayers.commands import plots
from fairseq_outlayers.commands.tables import model_names
from tests.conftest import make_model

ONE_RUN = ["c/esl/checkpoint1.pt", "c/esl/checkpoint2.pt"]
SEEDS = [f"runs/ptb.re/seed{n}-abc/checkpoints/checkpoint_best.pt" for n in (1, 2)]


@pytest.mark.parametrize(
    ("checkpoints", "names"),
    [
        (["c/esl/best.pt", "c/tied/best.pt"], ["esl", "tied"]),
        (ONE_RUN, ["checkpoint1.pt", "checkpoint2.pt"]),
        (
            [*ONE_RUN, "c/tied/best.pt"],
            ["esl/checkpoint1.pt", "esl/checkpoint2.pt", "tied/best.pt"],
        ),
        (SEEDS, ["seed1-abc", "seed2-abc"]),
        (["c/esl/best.pt"], ["esl"]),
        (["c/esl/best.pt", "c/esl/best.pt", "c/tied/best.pt"], ["esl", "esl", "tied"]),
    ],
)
def test_models_are_named_after_their_runs_or_else_by_what_differs(checkpoints, names):
    assert model_names(checkpoints) == names


@pytest.fixture
def drawn(task, monkeypatch):
    """What the plots get, for any checkpoints."""
    options = {"composition": "charcnn", "char_widths": 2, "char_filters": 2}
    model = make_model("subword_lm", task, output_layer="subword", tie="none", **options)
    found = []
    monkeypatch.setattr(loading, "load", lambda path, data: Trained(model.eval(), task))
    monkeypatch.setattr(plots, "draw", lambda curves, *_: found.extend(name for name, *_ in curves))
    monkeypatch.setattr(plots, "draw_maps", lambda maps, _: found.extend(one.title for one in maps))
    return found


@pytest.mark.parametrize("study", ["principal-components", "transform-gates"])
@pytest.mark.parametrize(
    ("checkpoints", "run", "names"),
    [
        (ONE_RUN, "esl", ["checkpoint1.pt", "checkpoint2.pt"]),
        (SEEDS, "ptb.re", ["seed1-abc", "seed2-abc"]),  # a recipe groups them by "model"
    ],
)
def test_studies_have_a_column_that_tells_apart_what_has_one_name(
    study, checkpoints, run, names, drawn, capsys
):
    main([study, *checkpoints, "--json", "--plot", "plot.svg"])
    rows = json.loads(capsys.readouterr().out)
    half = len(rows) // 2
    assert [row["checkpoint"] for row in rows] == [names[0]] * half + [names[1]] * half
    assert {row["model"] for row in rows} == {run}
    assert len(set(drawn)) == len(drawn) == len(rows)
    main([study, *checkpoints])
    heading, _, *table = capsys.readouterr().out.splitlines()
    assert heading.startswith("| model | checkpoint | side |")
    assert [line.split(" | ")[1] for line in table] == [row["checkpoint"] for row in rows]


@pytest.mark.parametrize("study", ["principal-components", "transform-gates"])
def test_studies_of_runs_with_different_names_have_no_such_column(study, drawn, capsys):
    main([study, "c/esl/best.pt", "c/tied/best.pt", "--json"])
    assert all("checkpoint" not in row for row in json.loads(capsys.readouterr().out))


def test_maps_of_neighbours_are_titled_by_checkpoint(drawn):
    main(["neighbours", *ONE_RUN, "--words", "w1", "--number", "2", "--plot", "plot.svg"])
    assert drawn == [f"checkpoint{n}.pt, {side}" for n in (1, 2) for side in ("input", "output")]
