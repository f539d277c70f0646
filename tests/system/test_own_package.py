"""A part in another installed package, as CONTRIBUTING describes it."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.system.commands import succeed
from tests.system.test_walkthrough import FILE
from tests.warm_server import run_python

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
INIT = "import fairseq_outlayers\n"
# The section with its code, class, option, and a test of the contract.
PARTS = {
    "output_layers": ("output layer", "ScaledOutputLayer", "--initial-scale", "output_layers"),
    "samplers": ("sampler", "MixedSampler", "--uniform-share", "samplers"),
    "compositions": ("composition", "CharMean", "--length-power", "compositions"),
    "source_embeddings": (
        "source embedding", "LowRankEmbedding", "--source-rank", "source_embeddings",
    ),
}  # fmt: skip


def section(title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.DOTALL).group(1)


@pytest.fixture
def package(tmp_path):
    """A function that installs the package of the page, with another initialization or entry."""

    def install(init=INIT, entry=""):
        toml = re.search(r"```toml\n(.*?)```", section("In a package of your own"), re.DOTALL)
        ((group, entries),) = tomllib.loads(toml.group(1))["project"]["entry-points"].items()
        info = tmp_path / "mylayers-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mylayers\nVersion: 1.0\n")
        lines = [entry] if entry else [f"{name} = {value}" for name, value in entries.items()]
        (info / "entry_points.txt").write_text(f"[{group}]\n" + "\n".join(lines) + "\n")
        (tmp_path / "mylayers").mkdir()
        (tmp_path / "mylayers" / "__init__.py").write_text(init)
        _, code = FILE.search(section("Add an output layer")).groups()
        (tmp_path / "mylayers" / "scaled.py").write_text(code)
        _, code = FILE.search(section("Add a model")).groups()
        (tmp_path / "mylayers" / "mean_context.py").write_text(code)
        return tmp_path

    def install_part(group):
        """Of another group of entry points, in a module of its section's name."""
        title, kind, *_ = PARTS[group]
        path, code = FILE.search(section(f"Add a {title}".replace("a o", "an o"))).groups()
        name = Path(path).stem
        folder = install(entry=f"{name} = mylayers.{name}:{kind}")
        (folder / "mylayers" / f"{name}.py").write_text(code)
        entries = folder / "mylayers-1.0.dist-info" / "entry_points.txt"
        text = entries.read_text()
        entries.write_text(text.replace("outlayers.output_layers]", f"outlayers.{group}]"))
        return folder, name

    install.part = install_part

    return install


def run(folder, *command):
    path = f"{folder}{os.pathsep}{ROOT}"
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("group", PARTS)
def test_an_installed_part_has_its_options(group, package):
    folder, name = package.part(group)
    page = run(folder, "-m", "fairseq_outlayers", "options")
    assert f"`{name}`" in page.stdout, page.stderr
    assert f"`{PARTS[group][2]}`" in page.stdout


@pytest.mark.parametrize("group", PARTS)
def test_an_installed_part_passes_the_contract_and_the_tests_of_the_page(group, package):
    """The command of the section "Add a part", on one file of the contract."""
    folder, name = package.part(group)
    contract = f"tests/contract/test_{PARTS[group][3]}.py"
    of_all = "test_options or test_ranges or test_baking"
    said = run(
        folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not gpu", contract,
        "tests/unit/commands/test_options.py", "tests/unit/test_options.py",
        "tests/unit/test_ranges.py", "tests/unit/export/test_baking.py",
        "-k", f"{name} or {of_all}",
    )  # fmt: skip
    assert said.returncode == 0, said.stdout[-3000:]
    assert f"{name}" in run(
        folder, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", contract,
        "-k", name,
    ).stdout  # fmt: skip


def test_the_options_of_an_installed_composition_are_those_of_a_command(package):
    folder, name = package.part("compositions")
    code = f"""
        from fairseq_outlayers.options import OutputLayerConfig
        config = OutputLayerConfig(output_layer="subword", composition="{name}", length_power=2.0)
        print(config.length_power)
    """
    said = run(folder, "-c", "\n".join(line.strip() for line in code.splitlines()))
    assert said.stdout == "2.0\n", said.stderr[-3000:]


def test_an_installed_layer_may_inherit_the_options_of_compositions(package):
    folder = package(entry="mysub = mylayers.mysub:MySubword")
    (folder / "mylayers" / "mysub.py").write_text(
        "from dataclasses import dataclass\n"
        "from fairseq_outlayers.output_layers.subword_composed import SubwordOutputLayer\n"
        "class MySubword(SubwordOutputLayer):\n"
        "    @dataclass\n"
        "    class Config(SubwordOutputLayer.Config):\n"
        "        my_size: int = 3\n"
    )
    said = run(folder, "-c", "from fairseq_outlayers.options import OutputLayerConfig as C; "
               "print(C(output_layer='mysub').my_size)")  # fmt: skip
    assert said.stdout == "3\n", said.stderr[-3000:]


def test_it_may_be_imported_before_ours(package):
    code = """
        import mylayers.scaled
        from fairseq_outlayers.output_layers import OUTPUT_LAYERS
        print(OUTPUT_LAYERS["scaled"] is mylayers.scaled.ScaledOutputLayer)
    """
    said = run(package(), "-c", "\n".join(line.strip() for line in code.splitlines()))
    assert said.stdout == "True\n", said.stderr[-3000:]


@pytest.mark.parametrize("first", ["import fairseq_outlayers", "import mylayers.mean_context"])
def test_an_installed_model_is_registered_after_ours(first, package):
    folder = package()
    toml = re.findall(r"```toml\n(.*?)```", section("In a package of your own"), re.DOTALL)[1]
    ((group, entries),) = tomllib.loads(toml)["project"]["entry-points"].items()
    file = folder / "mylayers-1.0.dist-info" / "entry_points.txt"
    lines = [f"{name} = {value}" for name, value in entries.items()]
    file.write_text(file.read_text() + "\n".join([f"[{group}]", *lines]) + "\n")
    code = f"""
        {first}
        from fairseq.models import MODEL_REGISTRY
        print({{"mean_context", "luong_lstm"}} <= set(MODEL_REGISTRY))
    """
    said = run(folder, "-c", "\n".join(line.strip() for line in code.splitlines()))
    assert said.stdout == "True\n", said.stderr[-3000:]


MODULES = {
    "models": ("mean_context", "tests/contract/test_models.py"),
    "criterions": ("focal_softmax", "tests/contract/test_criterions.py"),
}
FOCAL = """
from dataclasses import dataclass
import torch
from fairseq.criterions import register_criterion
from fairseq_outlayers.criterions.base import Loss
from fairseq_outlayers.criterions.full_softmax import FullSoftmax, FullSoftmaxConfig
from fairseq_outlayers.ranges import ranged

@dataclass
class FocalConfig(FullSoftmaxConfig):
    focus: float = ranged(2.0, "exponent of 1 - p", at_least=0, at_most=10)

@register_criterion("focal_softmax", dataclass=FocalConfig)
class FocalSoftmax(FullSoftmax):
    @classmethod
    def build_criterion(cls, cfg, task):
        criterion = super().build_criterion(cfg, task)
        criterion.focus = cfg.focus
        return criterion

    def training_loss(self, layer, hidden, targets, reduce):
        loss, nll, _ = self.exact_loss(layer, hidden, targets, reduce=False)  # loss: smoothed
        loss = (1 - torch.exp(-nll)) ** self.focus * loss
        return Loss(loss.sum() if reduce else loss, nll.sum() if reduce else nll, {})
"""


@pytest.mark.parametrize("group", MODULES)
def test_an_installed_model_or_criterion_passes_the_contract_and_has_its_options(group, package):
    name, contract = MODULES[group]
    folder = package()
    (folder / "mylayers" / "focal_softmax.py").write_text(FOCAL)
    entries = folder / "mylayers-1.0.dist-info" / "entry_points.txt"
    entries.write_text(f"[fairseq_outlayers.{group}]\n{name} = mylayers.{name}\n")
    page = run(folder, "-m", "fairseq_outlayers", "options").stdout
    assert f"### `--{group[:-1].replace('model', 'arch')} {name}`" in page
    assert ("`--focus`" in page) == (group == "criterions")
    said = run(
        folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not gpu", contract,
        "-k", name,
    )  # fmt: skip
    assert said.returncode == 0, said.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", said.stdout).group(1)) >= 4


NEEDY = """
from dataclasses import dataclass
from fairseq_outlayers.samplers.base import ProposalSampler

class Needy(ProposalSampler):
    @dataclass
    class Config(ProposalSampler.Config):
        counts_of: str = ""

    @classmethod
    def build(cls, config, dictionary, num_sampled):
        with open(config.counts_of) as lines:
            return cls([float(line) for line in lines], num_sampled)

    @classmethod
    def options_for_tests(cls, dictionary, folder):
        path = folder / f"counts.{len(dictionary)}"
        path.write_text("".join(f"{1 + k % 3}\\n" for k in range(len(dictionary))))
        return {"counts_of": str(path)}
"""


def test_an_installed_part_says_what_tests_build_it_with(package):
    folder = package(entry="needy = mylayers.needy:Needy")
    (folder / "mylayers" / "needy.py").write_text(NEEDY)
    entries = folder / "mylayers-1.0.dist-info" / "entry_points.txt"
    entries.write_text(entries.read_text().replace("output_layers]", "samplers]"))
    said = run(
        folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not gpu",
        "tests/contract/test_samplers.py", "-k", "needy",
    )  # fmt: skip
    assert said.returncode == 0, said.stdout[-3000:]
    assert "passed" in said.stdout


@pytest.mark.parametrize(
    ("group", "message"),
    [
        (
            "output_layer",
            "no such group; known are .* did you mean fairseq_outlayers.output_layers",
        ),
        ("model", "no such group; .* did you mean fairseq_outlayers.models"),
    ],
)
def test_an_entry_point_of_an_unknown_group_is_refused(package, group, message):
    folder = package()
    entries = folder / "mylayers-1.0.dist-info" / "entry_points.txt"
    entries.write_text(entries.read_text().replace("output_layers]", f"{group}]"))
    said = run(folder, "-m", "fairseq_outlayers", "options")
    assert said.returncode != 0
    assert re.search(message, said.stderr.strip().splitlines()[-1]), said.stderr[-3000:]


def test_a_model_with_the_name_of_another_is_refused(package):
    """fairseq would train the other one."""
    folder = package(entry="mean_context = mylayers.mean_context")
    file = folder / "mylayers" / "mean_context.py"
    file.write_text(file.read_text().replace('"mean_context"', '"luong_lstm"'))
    entries = folder / "mylayers-1.0.dist-info" / "entry_points.txt"
    entries.write_text(entries.read_text().replace("output_layers]", "models]"))
    said = run(folder, "-m", "fairseq_outlayers", "options")
    last = said.stderr.strip().splitlines()[-1]
    assert said.returncode != 0
    assert "mylayers.mean_context.MeanContext cannot be registered as luong_lstm: fairseq_" in last


FLAWS = {
    "    @classmethod\n    def build": (
        "    @classmethod\n    def make",
        "ScaledOutputLayer does not define build, which OutputLayer leaves to its subclasses",
    ),
    "    @dataclass\n": (
        "",
        "has a Config whose initial_scale is ignored: Config needs @dataclass",
    ),
    '        initial_scale: float = ranged(1.0, "scale of E at the start", at_least=-1000, '
    "at_most=1000)\n": (
        "        initial_scale: list = __import__('dataclasses').field(default_factory=list)\n",
        "has a Config whose initial_scale has no default value, which an option needs",
    ),
}


@pytest.mark.parametrize("code", FLAWS)
def test_what_a_part_lacks_is_told_in_one_line(package, code):
    folder, (instead, message) = package(), FLAWS[code]
    file = folder / "mylayers" / "scaled.py"
    assert file.read_text().count(code) == 1
    file.write_text(file.read_text().replace(code, instead))
    said = run(folder, "-m", "fairseq_outlayers", "options")
    assert said.returncode != 0
    assert message in said.stderr.strip().splitlines()[-1], said.stderr[-3000:]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"entry": "tied = mylayers.scaled:ScaledOutputLayer"}, "there is a part of this name"),
        ({"entry": "own = mylayers.scaled:nn"}, "is not a subclass of OutputLayer"),
        ({"entry": "own = mylayers.nowhere:Layer"}, "cannot be loaded: No module named"),
        ({"entry": "own = mylayers.scaled:Layer"}, "has no attribute.*is Layer the name"),
        (
            {"init": INIT + "from mylayers import mean_context\n"},
            "cannot be loaded: .*partially initialized.*group fairseq_outlayers.models instead",
        ),
    ],
)
def test_what_is_wrong_with_an_entry_point_is_told_in_one_line(package, changes, message):
    said = run(package(**changes), "-m", "fairseq_outlayers", "options")
    last = said.stderr.strip().splitlines()[-1]
    assert said.returncode != 0
    assert re.search(rf"entry point .* of mylayers .*{message}", last), said.stderr[-3000:]


def test_a_model_of_ones_own_user_dir_is_known_to_commands_once_it_has_an_entry_point(
    tmp_path, random_data
):
    """The page docs/own_models.md, whose other blocks ``tests/docs/test_pages.py`` runs."""
    text = (ROOT / "docs" / "own_models.md").read_text(encoding="utf-8")
    (tmp_path / "mymodels").mkdir()
    for path, code in re.findall(r"`(mymodels/\w+\.py)`:\n\n```python\n(.*?)```", text, re.DOTALL):
        (tmp_path / path).write_text(code, encoding="utf-8")
    command = re.search(
        r"fairseq-train data-bin --user-dir mymodels (.*?)--max-epoch", text, re.DOTALL
    )
    succeed("train", random_data, "--user-dir", tmp_path / "mymodels",
            *command[1].replace("\\", "").split(), "--max-update", 1, "--cpu", "--num-workers", 0,
            "--save-dir", tmp_path)  # fmt: skip

    def export(kind):
        options = ["checkpoint_last.pt", "--to", kind, "--output", kind]
        return run_python(["-m", "fairseq_outlayers", "export", *options], cwd=tmp_path)

    said = export("fairseq").stderr
    assert "'scaled_transformer_tiny', which fairseq does not have: give the --user-dir" in said
    toml = re.search(r"```toml\n(.*?)```", text, re.DOTALL).group(1)
    ((group, entries),) = tomllib.loads(toml)["project"]["entry-points"].items()
    info = tmp_path / "mymodels-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mymodels\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in entries.items()]
    (info / "entry_points.txt").write_text(f"[{group}]\n" + "\n".join(lines) + "\n")
    said = export("fairseq")
    assert "model.pt: scaled_transformer_tiny, scores differ by at most" in said.stdout, said.stderr
    assert "supports only Transformers" in export("ctranslate2").stderr
