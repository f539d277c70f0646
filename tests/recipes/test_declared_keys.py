"""Arms are the ones that the ledgers know: their keys have not changed since they stood in shell.

``declared_keys.txt`` was written from the shell declarations of the recipes before arms.py took
their place: with the data and the references standing for themselves, every arm's key, and for
other settings a digest of the keys and the names. Since then: learning rates of digangi2017's
1,000, 5,000 and 29,000 pairs, of garg2020 (with the range of its trained model, and apart for the
paper's input scale), of MorphSum on German captions, of four of pappas2018's layers into English
and four into German; the halving of all pappas2018's rates from the eleventh epoch on; the whole
Treebank as a data set of its own; and, none of which had been run, the decay of assylbekov2018's
medium models of words, the dropout of WikiText-2, and the length limit of jean2015's paper setting.
"""

import hashlib
import os
import shlex
from pathlib import Path

import pytest

from recipes.lab import ledger
from recipes.lab.arms import load
from recipes.lab.running.run_arm import Place, Run
from tests.recipes.conftest import ROOT

LINES = (Path(__file__).parent / "declared_keys.txt").read_text().splitlines()


def blocks():
    """Recipe, settings, and the expected keys by name or a digest of them."""
    default: dict[str, dict[str, str]] = {}
    others = []
    for line in LINES:
        if line.startswith("  "):
            others[-1].append(line.split())
            continue
        recipe, _, rest = line.partition(": ")
        if ": " in rest:
            settings, _, digest = rest.partition(": ")
            others.append([recipe, settings, digest.split()[1]])
        else:
            name, key = rest.split()
            default.setdefault(recipe, {})[name] = key
    return [(recipe, "", keys, list(keys)) for recipe, keys in default.items()] + others


BLOCKS = blocks()


@pytest.fixture
def keys(tmp_path, monkeypatch):
    """The keys of a recipe's arms, in a checkout where every model was trained."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ledger, "ROOT", tmp_path)
    # Contents stand for themselves, by the names of their files.
    monkeypatch.setattr(ledger, "fingerprint", lambda paths: " ".join(map(str, paths)))
    for number, size in enumerate(("1000", "5000", "10000", "29000", "all")):
        for vectors in ("captions", "ptb", "file.glove.txt", "file.news.vec"):
            words = range(40 + 10 * number + len(vectors.partition(".")[0]))
            table = Path(f"work/digangi2017_external/table.{size}.{vectors}.dict.txt")
            table.parent.mkdir(parents=True, exist_ok=True)
            table.write_text("".join(f"w{k} {max(1, 20 - k // 2)}\n" for k in words))
    (tmp_path / "run/checkpoints").mkdir(parents=True)
    for name in ("checkpoint_best.pt", "checkpoint.best_loss_1.pt"):
        (tmp_path / "run/checkpoints" / name).touch()

    def keys(name, settings, names):
        environment = dict(pair.split("=", 1) for pair in shlex.split(settings))
        recipe = load(name, {**environment, "OUTLAYERS_RESULTS": "nothing"})
        arms = {name: recipe.arm(name) for name in names}
        path = tmp_path / "ledger.jsonl"
        trained = {parent for arm in arms.values() if arm.decoding for parent in arm.decoding.of}
        for arm in trained:
            entry = {"arm": arm, "key": "KEY", "seed": 1, "run": "run", "command": "fairseq-train"}
            ledger.append(path, {**entry, "figures": {}})
        return {name: Run(arm, 1, Place(path, Path("runs"))).key for name, arm in arms.items()}

    return keys


@pytest.mark.parametrize(
    ("recipe", "settings", "expected", "names"),
    BLOCKS,
    ids=[f"{recipe} {settings}"[:60] for recipe, settings, *_ in BLOCKS],
)
def test_the_keys_of_arms_are_those_of_the_shell_declarations(
    keys, recipe, settings, expected, names
):
    found = keys(recipe, settings, names)
    if isinstance(expected, str):
        lines = "".join(f"{name} {key}\n" for name, key in sorted(found.items()))
        assert hashlib.sha256(lines.encode()).hexdigest()[:12] == expected
    else:
        assert found == expected


def test_lines_of_the_ledger_are_recognized(monkeypatch, tmp_path):
    """Where the settings are still those of the ledger, nothing would be run again."""
    monkeypatch.chdir(tmp_path)
    declared = load("assylbekov2018_subword_lm", {})
    others = set()
    for line in ledger.read(ROOT / declared.ledger):
        if ledger.kind_of(line) != ledger.ARM or line["arm"].startswith("ptb42k"):  # other EPOCHS
            continue
        data = line["setting"]["data"]
        monkeypatch.setattr(ledger, "fingerprint", lambda paths, data=data: data)
        place = Place(Path(os.devnull), Path("runs"))
        if Run(declared.arm(line["arm"]), 1, place).key != line["key"]:
            others.add((line["arm"], line["date"][:10]))
    assert others == {
        *((f"{data}.morphsum_re_rw", "2026-11-21") for data in ("de5k", "en5k", "fr5k")),  # rates
        *((f"{arm}.sampled", "2026-11-21") for arm in (
            "de5k.word_re", "de5k.morphsum_re_rw", "de15k.word_re", "de15k.morphsum_re_rw",
        )),  # uniform samples
        ("de5k.charcnn_re_rw", "2026-11-25"),  # its rate
    }  # fmt: skip
