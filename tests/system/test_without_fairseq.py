"""The mathematics where fairseq cannot be imported: in processes of their own."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "without_fairseq.md"

BLOCKER = """
import importlib.abc
import sys

class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("fairseq", "fairseq_cli", "hydra", "omegaconf"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
"""
NEEDS_TRITON = "fairseq_outlayers.losses.triton_kernels"  # which PyTorch brings for GPUs alone
PARTS = ("losses", "samplers", "output_layers", "compositions", "source_embeddings", "tables")


def run(code, folder, blocker=BLOCKER):
    """Run code from another folder than the checkout; stdout as text."""
    result = subprocess.run(
        [sys.executable, "-c", blocker + textwrap.dedent(code)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout


def test_every_module_of_the_mathematics_is_imported_and_none_of_fairseq(tmp_path):
    found = run(
        f"""
        import importlib, importlib.util, pkgutil
        import fairseq_outlayers
        names = ["fairseq_outlayers.registry", "fairseq_outlayers.optim.row_adam",
                 "fairseq_outlayers.optim.row_gradients", "fairseq_outlayers.optim.tables"]
        for part in {PARTS}:
            package = importlib.import_module(f"fairseq_outlayers.{{part}}")
            found = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
            names += [module.name for module in found]
        if importlib.util.find_spec("triton") is None:
            names.remove({NEEDS_TRITON!r})
        for name in names:
            importlib.import_module(name)
        loaded = {{name.partition(".")[0] for name in sys.modules}}
        assert not loaded & {{"fairseq", "hydra", "omegaconf"}}, loaded
        print(len(names))
        """,
        tmp_path,
    )
    assert int(found) > 40


def test_what_fairseq_itself_lacks_is_not_taken_for_a_missing_fairseq(tmp_path):
    """An environment with a broken fairseq must say so, and not register nothing."""
    broken = tmp_path / "fairseq"
    broken.mkdir()
    (broken / "__init__.py").write_text("import hydra_of_another_age\n")
    code = f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        try:
            import fairseq_outlayers
        except ModuleNotFoundError as error:
            print(error.name)
        """
    assert run(code, tmp_path, blocker="").strip() == "hydra_of_another_age"


@pytest.fixture(scope="module")
def page():
    return re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"))


def test_the_example_of_the_page_learns_what_a_uniform_guess_does_not_know(page, tmp_path):
    perplexity = float(run("\n".join([*page, "print(perplexity)"]), tmp_path))
    assert 1 <= perplexity < 20_000 / 20


def test_the_head_of_the_page_has_the_loss_and_the_best_classes_of_a_plain_one(page, tmp_path):
    """With labels that equal the inputs, which the plain loss shifts by itself."""
    plain = """
import torch.nn.functional as F
logits = (hidden @ embedding.weight.T)[:, :-1]
expected = F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), reduction="sum")
assert torch.allclose(exact, expected, rtol=1e-5), (exact, expected)
assert 0 < sampled < exact
assert torch.equal(best[1], (hidden[:, -1] @ embedding.weight.T).topk(5).indices)
print("equal")
"""
    assert run("\n".join([*page, plain]), tmp_path).strip() == "equal"
