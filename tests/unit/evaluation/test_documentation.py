"""docs/unseen_words.md: what it shows must work as it stands."""

import re
import subprocess
import sys
from pathlib import Path

from fairseq_outlayers.evaluation.unseen_words import read_descriptions

PAGE = Path(__file__).parents[3] / "docs" / "unseen_words.md"


def test_the_script_describes_unseen_compounds_by_their_parts(tmp_path):
    script = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    (tmp_path / "describe.py").write_text(script, encoding="utf-8")
    (tmp_path / "dict").write_text("knüng 9\nhaus 5\nhausan 2\nknüngshaus 1\n", encoding="utf-8")
    text = "knüng knüngshaus haussknüng\nknüngshausan yakshaus hausshaus\n"
    (tmp_path / "text").write_text(text, encoding="utf-8")
    printed = subprocess.run(
        [sys.executable, "describe.py", "dict", "text"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONUTF8": "1"},
    ).stdout
    (tmp_path / "new.tsv").write_text(printed, encoding="utf-8")
    assert read_descriptions(str(tmp_path / "new.tsv")) == {
        "haussknüng": ["haus", "knüng"],
        "knüngshausan": ["knüng", "hausan"],
        "hausshaus": ["haus", "haus"],
    }
