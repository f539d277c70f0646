"""Every block of code of the pages runs as it stands, in the order in which a reader runs them.

Except for the number of epochs: those after the second only repeat what the first two do.
"""

import re

import pytest

from tests.docs.page import CHOICE, ROOT, SHELL, SHOWN, blocks, is_fragment
from tests.docs.readers import Readers
from tests.warm_shell import Shell

pytestmark = pytest.mark.system

PAGES = {  # and what the reader has before the first block
    "README.md": "raw",
    "docs/candidate_copies.md": "trained",
    "docs/decoding.md": "trained",
    "docs/echo_states.md": "words",
    "docs/export.md": "trained",
    "docs/external_vectors.md": "words",
    "docs/first_steps.md": "raw",
    "docs/hydra.md": "large",
    "docs/inspect.md": "trained",
    "docs/language_models.md": "text",
    "docs/large_vocabularies.md": "large",
    "docs/own_models.md": "words",
    "docs/python.md": "trained",
    "docs/torchscript.md": "exported",
    "docs/unseen_words.md": "demo",
    "docs/using.md": "words",
    "docs/without_fairseq.md": "nothing",
}
NOT_RUN = {
    "docs/finetuning.md": "tests/system/test_finetuning.py follows it",
    "docs/installing.md": "downloads from PyPI",
    "docs/patches.md": "tests/unit/patches/test_replacing.py replaces functions like it",
    "docs/static_vectors.md": "tests/data_prep/test_model2vec.py runs it on a small model",
    "CONTRIBUTING.md": "tests/system/test_walkthrough.py follows it",
}
NEEDS = {"docs/export.md": "ctranslate2", "docs/external_vectors.md": "gensim",
         "docs/language_models.md": "morfessor"}  # fmt: skip


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    """Readers, in whose home the checkout lies."""
    home = tmp_path_factory.mktemp("home")
    checkout = home / "fairseq_outlayers"
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "bin" / "activate").write_text("")  # it is active already
    for name in ("data_prep", "fairseq_outlayers", "recipes", "docs"):
        (checkout / name).symlink_to(ROOT / name)
    shell = Shell(tmp_path_factory.mktemp("shell"), HOME=str(home))
    return Readers(shell, tmp_path_factory.mktemp("readers"))


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_runs_as_it_stands(page, readers, tmp_path):
    if page in NEEDS:
        pytest.importorskip(NEEDS[page])
    folder = readers.copy(PAGES[page], tmp_path / "reader")
    script = []  # one shell for the page: a variable that it sets stays
    for number, block in enumerate(blocks(ROOT / page)):
        if block.language == "python":
            name = re.search(r"`([\w/]+\.py)`", block.before)
            file = folder / (name[1] if name else "page.py")
            file.parent.mkdir(exist_ok=True)
            with file.open("a", encoding="utf-8") as code:
                code.write(block.code)
            if not name:  # what Python has, stays as well: all blocks so far run again
                script.append(f"python page.py > python.{number}.log\n")
        elif block.language in SHELL and not is_fragment(block):
            script.append(block.code)
    assert script, "nothing of this page was run"
    readers.shell.run(_of_two_epochs(_without_repetitions(script)), folder)


def research():
    """The common part of the commands for the methods in README.md, and each of them."""
    codes = [each.code for each in blocks(ROOT / "README.md")]
    (common,) = [code for code in codes if code.startswith("train=")]
    (commands,) = [code for code in codes if code.startswith(CHOICE)]
    return common, re.findall(r"(?m)^(?!#)(?:.*\\\n)*.*\n", commands)


@pytest.mark.parametrize("number", range(6))
def test_every_method_has_a_command_that_trains(number, readers, tmp_path):
    pytest.importorskip("morfessor")
    common, commands = research()
    assert len(commands) == 6
    folder = readers.copy("research", tmp_path / "reader")
    readers.shell.run(_of_two_epochs(f"{common}{commands[number]}"), folder)
    own = [re.search(r"--save-dir (\S+)", command)[1] for command in commands]
    assert len(set(own)) == len(commands)  # a folder holds one model
    assert (folder / own[number] / "checkpoint_best.pt").exists()


SMALL = " ".join(
    f"--{side}-layers 1 --{side}-embed-dim 8 --{side}-ffn-embed-dim 8 --{side}-attention-heads 1"
    for side in ("encoder", "decoder")
)


def test_a_stock_command_trains_once_it_is_changed_as_shown(readers, tmp_path):
    (block,) = [each.code for each in blocks(ROOT / "README.md") if "# before" in each.code]
    before, after = block.split("fairseq-train")[1:]
    added = [word for word in after.split() if word not in before.split()]
    assert [word for word in added if word.startswith("-")] == [
        "--user-dir", "--criterion", "--sampler", "--num-sampled"
    ]  # fmt: skip
    options = f"{SMALL} --lr 0.001 --max-tokens 500 --max-update 2"
    command = f"fairseq-train{after}".replace(" ... ", f" {options} ").replace("8192", "20")
    folder = readers.copy("words", tmp_path / "reader")
    readers.shell.run(command, folder)
    assert (folder / "checkpoints" / "checkpoint_best.pt").exists()


def test_a_transformer_trains_by_samples_with_the_sizes_that_a_reader_adds(readers, tmp_path):
    page = blocks(ROOT / "docs/large_vocabularies.md")
    (code,) = [each.code for each in page if "--arch transformer_outlayers" in each.code]
    folder = readers.copy("large", tmp_path / "reader")
    said = readers.shell.run(code.replace(" ...", f" {SMALL} --max-update 2"), folder)
    assert "updated row by row: encoder.embed_tokens.weight, decoder.embed_tokens.weight" in said
    assert (folder / "checkpoints" / "transformer" / "checkpoint_best.pt").exists()


def _of_two_epochs(script):
    script = re.sub(r"--max-epoch \d+", "--max-epoch 2", script)
    return re.sub(r"(?m)(--config-name \w+)$", r"\1 optimization.max_epoch=2", script)


def _without_repetitions(script):
    """Python blocks in a row are one program."""
    kept = [
        code
        for code, after in zip(script, [*script[1:], ""], strict=True)
        if not (code.startswith("python page.py") and after.startswith("python page.py"))
    ]
    return "".join(kept)


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "contents.md").read_text(encoding="utf-8")
    pages = {page.name for page in ROOT.glob("docs/*.md")} - {"contents.md"}
    assert {page for page in pages if f"({page})" not in index} == set()


def test_every_page_with_code_is_run_or_says_why_not():
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    with_code = {
        str(page.relative_to(ROOT))
        for page in pages
        if any(block.language not in SHOWN for block in blocks(page))
    }
    assert with_code == {*PAGES, *NOT_RUN}
