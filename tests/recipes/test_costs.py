"""Tables of what methods cost."""

import json

from recipes.lab.pages import costs

NAMES = {"stock": "as it was", "ours": "ours", "new": "not measured"}


def speed_file(path, **ratios):
    """A file of measurements with the ratios of each arm to the first, by round."""
    rows = [
        {
            "arm": arm,
            "ratio_to_first": sorted(of_arm)[len(of_arm) // 2],
            "ratios": of_arm,
            "peak_rss_mb": 1234.5,
        }
        for arm, of_arm in ratios.items()
    ]
    path.write_text(json.dumps({"rows": rows}))
    return path


def test_speeds_are_those_of_the_rounds_beside_the_first_arm(tmp_path):
    path = speed_file(tmp_path / "speed.json", stock=[1.0, 1.0, 1.0], ours=[0.5, 2.0, 0.8])
    found = costs.table(
        NAMES, costs.measured(path), {"size": lambda arm: f"{len(arm)} letters"}, "text"
    )
    assert found == [
        "| text | size | training speed (as it was: 1) | peak memory |",
        "|---|---|---|---|",
        "| as it was | 5 letters | 1.00 (1.00 to 1.00) | 1,234 MB |",
        "| ours | 4 letters | 0.80 (0.50 to 2.00) | 1,234 MB |",
    ]


def test_without_a_measurement_there_is_no_table(tmp_path):
    path = tmp_path / "speed.json"
    assert costs.table(NAMES, costs.measured(path), {}) == []
    speed_file(path, stock=[1.0])
    assert costs.table({"other": "other"}, costs.measured(path), {}) == []
