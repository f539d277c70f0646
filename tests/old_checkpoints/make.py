"""Train the old checkpoints and write down how they score: ``python make.py FOLDER ARCHIVE``.

Run once, at commit 77bff7b; running it at another commit would make the test compare a commit with
itself.
"""

import shutil
import sys
import tarfile
from argparse import Namespace
from pathlib import Path

import torch

import fairseq_outlayers

sys.path.insert(0, str(Path(__file__).parent))
import families


def preprocess(folder):
    from fairseq import options
    from fairseq_cli import preprocess as command

    families.write_text(folder)
    parser = options.get_preprocessing_parser()
    prefixes = [f"--{split}pref={folder / split}" for split in families.SENTENCES]
    both = ["--source-lang", "xx", "--target-lang", "yy", "--joined-dictionary"]
    command.main(parser.parse_args([*both, *prefixes, "--padding-factor", "1",
                                    "--destdir", str(folder / "bin")]))  # fmt: skip
    dictionary = str(folder / "bin" / "dict.yy.txt")
    prefixes = [f"{prefix}.yy" for prefix in prefixes]
    command.main(parser.parse_args(["--only-source", *prefixes, "--padding-factor", "1",
                                    "--srcdict", dictionary,
                                    "--destdir", str(folder / "lm")]))  # fmt: skip
    lines = Path(dictionary).read_text(encoding="utf-8").splitlines()
    symbols = ["<s>", "<pad>", "</s>", "<unk>", *(line.split()[0] for line in lines)]
    for data in ("bin", "lm"):
        families.write_tables(folder / data, symbols)


def slim(path, destination, folders):
    """A checkpoint without what scoring does not need, and without names of folders."""
    state = torch.load(path, weights_only=False)
    state["cfg"] = without(state["cfg"], folders)
    state["extra_state"] = {"epoch": 1}
    state["last_optimizer_state"] = None
    torch.save(state, destination)


def without(value, folders):
    if isinstance(value, dict):
        return {key: without(item, folders) for key, item in value.items()}
    if isinstance(value, Namespace):
        return Namespace(**without(vars(value), folders))
    if isinstance(value, str):
        for folder in folders:
            value = value.replace(str(folder), "old")
    return value


def main(folder, archive):
    out = folder / "out"
    folder.mkdir(parents=True, exist_ok=True)
    out.mkdir(exist_ok=True)
    preprocess(folder)
    expected = {}
    folders = [folder, Path(fairseq_outlayers.__file__).parents[1]]
    for name in [*families.TRANSLATION, *families.LANGUAGE_MODELS]:
        save_dir = folder / "save" / name
        shutil.rmtree(save_dir, ignore_errors=True)
        families.train(["--criterion", "full_softmax", *families.options_of(name, folder),
                         "--batch-size", 8, "--max-update", 3, "--save-dir", save_dir])  # fmt: skip
        slim(save_dir / "checkpoint_last.pt", out / f"{name}.pt", folders)
        data = folder / ("lm" if name in families.LANGUAGE_MODELS else "bin")
        model, task = families.load(out / f"{name}.pt", data)
        batch = families.make_batch(task)
        found = families.scores(model, batch)
        expected[name] = {"scores": found, "trained": families.train_on(model, task, batch)}
        print(name, flush=True)
    torch.save(expected, out / "expected.pt")
    for data in ("bin", "lm"):
        (out / data).mkdir(exist_ok=True)
        for file in (folder / data).glob("dict.*"):
            shutil.copy(file, out / data)
    with tarfile.open(archive, "w:xz") as packed:
        for file in sorted(out.iterdir()):
            packed.add(file, file.name, filter=anonymous)


def anonymous(member):
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
