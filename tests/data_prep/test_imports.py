"""The commands share ``formats`` with the package, and need neither fairseq nor PyTorch."""

import re

import pytest

from tests.data_prep.conftest import DATA_PREP

COMMANDS = [
    path.stem for path in sorted(DATA_PREP.glob("*.py")) if "\n    run(main)" in path.read_text()
]


def test_there_are_commands():
    assert {"build_candidates", "build_subword_table", "extract_embeddings"} <= set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_imports_the_package_of_its_checkout_without_fairseq_and_torch(command, name):
    # Elsewhere than in the checkout, and as if the package were not installed.
    environment = {"PYTHONPATH": "", "PYTHONVERBOSE": "1"}
    said = command(name, "--help", env=environment).stderr
    imported = set(re.findall(r"^import '([\w.]+)'", said, re.MULTILINE))
    assert "fairseq_outlayers.errors" in imported
    assert not {name for name in imported if name.split(".")[0] in ("torch", "fairseq")}
    code = re.findall(r"(/\S*/fairseq_outlayers/)errors\.py", said)
    assert code
    assert set(code) == {f"{DATA_PREP.parent}/fairseq_outlayers/"}
