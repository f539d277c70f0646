"""The table of bad inputs: what is damaged, and the command that must refuse it in one line."""

import json
import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from tests.faults import world

Change = Callable[[Path], None]


class Case(NamedTuple):
    """One mistake: how the good world is changed, and what is run in it."""

    name: str
    change: Change
    line: str
    stdin: str = ""


def nothing(folder: Path) -> None:
    """The mistake is on the command line."""


def removed(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


def holds(name: str, data: bytes) -> Change:
    return lambda folder: (folder / name).write_bytes(data) and None


def cut(name: str, share: float) -> Change:
    def change(folder: Path) -> None:
        os.truncate(folder / name, int((folder / name).stat().st_size * share))

    return change


def is_folder(name: str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).mkdir()

    return change


def replaced(name: str, old: bytes, new: bytes) -> Change:
    def change(folder: Path) -> None:
        data = (folder / name).read_bytes()
        assert old in data, (name, old)
        (folder / name).write_bytes(data.replace(old, new, 1))

    return change


def lines_of(name: str, change_lines: Callable[[list], list]) -> Change:
    def change(folder: Path) -> None:
        lines = (folder / name).read_bytes().splitlines(keepends=True)
        (folder / name).write_bytes(b"".join(change_lines(lines)))

    return change


def facts_of(name: str, **values: object) -> Change:
    """Other values in a sidecar."""

    def change(folder: Path) -> None:
        facts = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps({**facts, **values}))

    return change


def arrays_of(name: str, **values: Callable[[np.ndarray], np.ndarray]) -> Change:
    """Other arrays in an archive, with checksums that are right."""

    def change(folder: Path) -> None:
        with np.load(folder / name) as file:
            arrays = {key: file[key] for key in file.files}
        arrays |= {key: np.asarray(make(arrays[key])) for key, make in values.items()}
        np.savez(folder / name, **arrays)

    return change


def saved(name: str, make: Callable[[dict], object]) -> Change:
    """Another object in a checkpoint."""

    def change(folder: Path) -> None:
        state = torch.load(folder / name, map_location="cpu", weights_only=False)
        torch.save(make(state), folder / name)

    return change


def typed(dtype: str) -> Change:
    """Another table, with checksums that are right."""

    def change(folder: Path) -> None:
        from fairseq.data import Dictionary

        from tests.conftest import write_external_table

        words = Dictionary.load(str(folder / "ext" / "dict.xx.txt"))
        write_external_table(folder / "table.npy", words, np.ones((len(words), 3), dtype))

    return change


BYTES = {
    "empty": b"",
    "one byte": b"\0",
    "text": b"this is a text\nof two lines\n",
    "no UTF-8": b"\xff\xfe\xfa\n" * 20,
    "zeros": bytes(5000),
}


def checkpoints() -> Iterator[Case]:
    readers = {
        "generate": world.GENERATE,
        "interactive": world.INTERACTIVE,
        "validate": f"{world.VALIDATE} --task translation",
        "resume": f"{world.TRAIN} --restore-file model.pt",
        "finetune": f"{world.TRAIN} --finetune-from-model model.pt",
        "checkpoint": "outlayers checkpoint model.pt",
    }
    structures: dict[str, Callable[[dict], object]] = {
        "a list": lambda state: [1, 2],
        "a tensor": lambda state: torch.ones(3),
        "an empty dict": lambda state: {},
        "no model": lambda state: {k: v for k, v in state.items() if k != "model"},
        "a model that is a number": lambda state: {**state, "model": 1},
    }
    lost = {
        "no parameters": lambda state: {**state, "model": {}},
        "one parameter less": lambda state: {
            **state,
            "model": dict(list(state["model"].items())[:-1]),
        },
        "one parameter more": lambda state: {
            **state,
            "model": {**state["model"], "x": torch.ones(1)},
        },
    }
    for reader, line in readers.items():
        for name, data in BYTES.items():
            yield Case(f"checkpoint, {name}, {reader}", holds("model.pt", data), line)
        for share in (0.02, 0.3, 0.6, 0.9, 0.999):
            yield Case(f"checkpoint cut at {share}, {reader}", cut("model.pt", share), line)
        yield Case(f"checkpoint missing, {reader}", removed("model.pt"), line)
        yield Case(f"checkpoint a folder, {reader}", is_folder("model.pt"), line)
        for name, make in structures.items():
            yield Case(f"checkpoint is {name}, {reader}", saved("model.pt", make), line)
        if reader != "checkpoint":
            for name, make in lost.items():
                if (name, reader) == ("one parameter less", "finetune"):
                    continue  # what a model lacks is new, which is what fine-tuning is for
                yield Case(f"checkpoint has {name}, {reader}", saved("model.pt", make), line)
    other = f"{world.TRAIN} --restore-file model.pt"
    yield Case(
        "resumed with another criterion", nothing, other.replace("full_softmax", "cross_entropy")
    )
    yield Case(
        "resumed with another optimizer",
        nothing,
        other.replace("--optimizer adam", "--optimizer sgd"),
    )
    yield Case("resumed with another size", nothing, f"{other} --hidden-size 10")
    yield Case(
        "a language model to translate with", nothing, world.GENERATE.replace("model.pt", "lm.pt")
    )
    yield Case(
        "a translation model as language model", nothing, world.EVAL_LM.replace("lm.pt", "model.pt")
    )
    yield Case("validate without a task", nothing, world.VALIDATE)


def data_folders() -> Iterator[Case]:
    train, generate = world.TRAIN, world.GENERATE
    dictionaries = {
        "empty": holds("bin/dict.yy.txt", b""),
        "without counts": lines_of(
            "bin/dict.yy.txt", lambda ls: [b.split()[0] + b"\n" for b in ls]
        ),
        "with a count that is no number": replaced("bin/dict.yy.txt", b" ", b" many"),
        "with a word twice": lines_of("bin/dict.yy.txt", lambda ls: [*ls, ls[0]]),
        "not UTF-8": lines_of("bin/dict.yy.txt", lambda ls: [b"\xff\xfe 3\n", *ls]),
        "edited, two words less": lines_of("bin/dict.yy.txt", lambda ls: ls[:-2]),
        "missing": removed("bin/dict.yy.txt"),
        "a folder": is_folder("bin/dict.yy.txt"),
        "with an empty line": lines_of("bin/dict.yy.txt", lambda ls: [*ls[:2], b"\n", *ls[2:]]),
    }
    for name, change in dictionaries.items():
        yield Case(f"target dictionary {name}, train", change, train)
        yield Case(f"target dictionary {name}, generate", change, generate)
    for name in ("train.xx-yy.xx.bin", "train.xx-yy.xx.idx", "train.xx-yy.yy.bin"):
        for kind, data in BYTES.items():
            if not (kind == "zeros" and name.endswith("bin")):
                yield Case(f"{name}, {kind}", holds(f"bin/{name}", data), train)
        for share in (0.1, 0.5, 0.95):
            yield Case(f"{name} cut at {share}", cut(f"bin/{name}", share), train)
        yield Case(f"{name} a folder", is_folder(f"bin/{name}"), train)
    for name in ("test.xx-yy.xx.bin", "test.xx-yy.xx.idx"):
        yield Case(f"{name} empty", holds(f"bin/{name}", b""), generate)
        yield Case(f"{name} cut", cut(f"bin/{name}", 0.6), generate)
        yield Case(f"{name} missing", removed(f"bin/{name}"), generate)
    yield Case("data folder missing", nothing, train.replace("train bin", "train nowhere"))
    yield Case("data folder a file", nothing, train.replace("train bin", "train train.xx"))
    yield Case("data folder without data", nothing, train.replace("train bin", "train ."))
    yield Case(
        "language model's data to translate", nothing, train.replace("train bin", "train lm")
    )


SIDES = "--source-lang xx --target-lang yy"
PREPROCESS = f"preprocess --user-dir {world.PLUGIN} {SIDES} --trainpref train --destdir new"


def texts() -> Iterator[Case]:
    """Parallel texts; binarized, then trained on, in one go."""
    changes = {
        "one line less": lines_of("train.yy", lambda ls: ls[:-1]),
        "one line more": lines_of("train.yy", lambda ls: [*ls, b"yy1\n"]),
        "carriage return in a line": replaced("train.yy", b" ", b"\r"),
        "empty": holds("train.yy", b""),
        "missing": removed("train.yy"),
        "a folder": is_folder("train.yy"),
        "not UTF-8": lines_of("train.yy", lambda ls: [b"\xff\xfe yy1\n", *ls[1:]]),
        "UTF-16": lines_of("train.yy", lambda ls: [b"".join(ls).decode().encode("utf-16")]),
    }
    for name, change in changes.items():
        yield Case(f"target text {name}", change, PREPROCESS)
    yield Case(
        "preprocess into a file", nothing, PREPROCESS.replace("--destdir new", "--destdir codes")
    )
    yield Case(
        "preprocess with a dictionary that is none", nothing, f"{PREPROCESS} --srcdict words.bin"
    )
    yield Case(
        "preprocess with an empty dictionary", holds("empty", b""), f"{PREPROCESS} --srcdict empty"
    )
    yield Case("preprocess without a text", nothing, f"preprocess {SIDES} --destdir new")


def options() -> Iterator[Case]:
    train, generate = world.TRAIN, world.GENERATE
    numbers = {
        "--max-tokens": "1 0 -1 nan x",
        "--clip-norm": "nan inf -1",
        "--lr": "nan inf -1 x",
        "--update-freq": "0 -1 x",
        "--seed": "-1 99999999999",
        "--log-interval": "0 -1",
        "--embed-dim": "0 -1 1000000000000000000 x nan",
        "--hidden-size": "0 -1 1000000000000000000 900000",
        "--encoder-layers": "0 -1 1000000000000000000",
        "--dropout": "nan inf -0.1 1 x",
        "--init-range": "nan inf -1",
        "--save-interval": "0 -1",
        "--validate-interval": "0",
        "--required-batch-size-multiple": "0 -1",
        "--num-workers": "-1 1000000000000000000",
        "--label-smoothing": "nan inf 1 -0.1",
        "--loss-chunk-size": "-1",
        "--max-epoch": "-1",
        "--arch": "no_such",
        "--criterion": "no_such",
        "--optimizer": "no_such",
        "--task": "no_such",
        "--output-layer": "no_such tied3",
        "--source-embedding": "no_such",
        "--no-such-option": "1",
        "--ddp-backend": "no_such",
        "--adam-betas": "x (0.9,nan) (0.9,2) 0.9",
    }
    for option, values in numbers.items():
        for value in values.split():
            yield Case(f"train {option} {value}", nothing, f"{train} {option} {shlex.quote(value)}")
    searches = {
        "--beam": "0 -1 nan 1000000000000000000",
        "--nbest": "0 5",
        "--lenpen": "nan inf",
        "--unkpen": "nan",
        "--temperature": "0 nan -1",
        "--max-len-a": "nan inf -1",
        "--max-len-b": "-1",
        "--min-len": "-1",
        "--prefix-size": "-1",
        "--batch-size": "0 -1",
        "--max-tokens": "0 -1 2",
        "--gen-subset": "no_such",
        "--path": "nowhere.pt bin",
        "--sampling-topp": "nan 2",
        "--no-repeat-ngram-size": "-1",
    }
    for option, values in searches.items():
        for value in values.split():
            yield Case(f"generate {option} {value}", nothing, f"{generate} {option} {value}")
    languages = f"{generate} --source-lang no --target-lang xx"
    yield Case("generate of languages that are not there", nothing, languages)
    for value in ("0", "-1", "1000000000000"):
        lm = world.TRAIN_LM.replace("--batch-size 4", f"--batch-size {value}")
        yield Case(f"language model --batch-size {value}", nothing, lm)
        lm = world.TRAIN_LM.replace("--tokens-per-sample 5", f"--tokens-per-sample {value}")
        if value != "1000000000000":
            yield Case(f"language model --tokens-per-sample {value}", nothing, lm)
        yield Case(
            f"eval-lm --batch-size {value}", nothing, f"{world.EVAL_LM} --batch-size {value}"
        )
    sampled = train.replace("full_softmax", "sampled_softmax")
    for more in (
        "",
        "--num-sampled -1",
        "--num-sampled 100000",
        "--sample-share nan",
        "--sample-share 2",
        "--num-sampled 2 --sample-share .1",
        "--num-sampled 3 --sampler unigram --unigram-power nan",
        "--num-sampled 3 --sampler unigram --unigram-power 1e30",
        "--num-sampled 3 --sampler proposal",
        "--num-sampled 3 --sampler proposal --proposal-file nowhere",
    ):
        yield Case(f"sampled softmax {more}", nothing, f"{sampled} {more}")
    for name in ("train.xx", "codes"):
        yield Case(
            f"--save-dir {name}, a file",
            nothing,
            train.replace("--save-dir save", f"--save-dir {name}"),
        )
        yield Case(
            f"--save-dir below {name}, a file",
            nothing,
            train.replace("--save-dir save", f"--save-dir {name}/save"),
        )
    yield Case(
        "all sentences longer than --max-tokens",
        nothing,
        train.replace("--max-tokens 200", "--max-tokens 2"),
    )
    yield Case("no size of batches", nothing, train.replace("--max-tokens 200", ""))


def proposals() -> Iterator[Case]:
    line = (
        world.TRAIN.replace("full_softmax", "sampled_softmax")
        + " --num-sampled 3 --sampler proposal --proposal-file proposal"
    )
    good = [f"yy{number}\t1\n".encode() for number in range(14)] + [b"</s>\t1\n", b"<unk>\t1\n"]
    changes = {
        "with nan": [*good, b"</s>\tnan\n"],
        "with inf": [b"yy0\tinf\n", *good[1:]],
        "with zero": [b"yy0\t0\n", *good[1:]],
        "with a negative weight": [b"yy0\t-1\n", *good[1:]],
        "with weights that overflow": [line.replace(b"\t1", b"\t1e308") for line in good],
        "of other words": [b"zz\t1\n"],
        "with a word twice": [*good, good[0]],
        "without weights": [b"yy0\n", b"yy1\n"],
        "without a word of the dictionary": good[2:],
        "empty": [],
        "not UTF-8": [b"\xff\xfe\t1\n"],
    }
    for name, lines in changes.items():
        yield Case(f"proposal {name}", holds("proposal", b"".join(lines)), line)
    yield Case("proposal a folder", lambda folder: (folder / "proposal").mkdir(), line)


def candidate_files() -> Iterator[Case]:
    line = f"{world.GENERATE} {world.CANDIDATES}"
    for name, data in BYTES.items():
        yield Case(f"candidates {name}", holds("candidates.npz", data), line)
    for share in (0.1, 0.5, 0.9):
        yield Case(f"candidates cut at {share}", cut("candidates.npz", share), line)
    arrays = {
        "negative offsets": {"offsets": lambda o: o - 1},
        "decreasing offsets": {"offsets": lambda o: o[::-1].copy()},
        "offsets beyond the end": {"offsets": lambda o: o * 1000},
        "huge offsets": {"offsets": lambda o: np.full_like(o, 2**31 - 1)},
        "too few offsets": {"offsets": lambda o: o[:-3]},
        "offsets of floats": {"offsets": lambda o: o.astype(float)},
        "offsets of two dimensions": {"offsets": lambda o: o[None]},
        "negative targets": {"targets": lambda t: t.astype(np.int64) - 1000},
        "targets beyond the dictionary": {"targets": lambda t: t + 1000},
        "targets of floats": {"targets": lambda t: t.astype(float)},
        "targets of texts": {"targets": lambda t: t.astype(str)},
        "negative blocked words": {"blocked": lambda b: np.array([-5])},
        "blocked words beyond the dictionary": {"blocked": lambda b: np.array([10**6])},
        "per_word of -1": {"per_word": lambda p: -1},
        "per_word of many": {"per_word": lambda p: np.array([1, 2])},
        "another format": {"format": lambda f: 99},
        "another source dictionary": {"source_fingerprint": lambda f: f + 1},
        "another target dictionary": {"target_fingerprint": lambda f: f + 1},
    }
    for name, changed in arrays.items():
        yield Case(f"candidates with {name}", arrays_of("candidates.npz", **changed), line)
    yield Case("candidates missing", removed("candidates.npz"), line)
    yield Case("candidates a folder", is_folder("candidates.npz"), line)
    for more in (
        "--candidate-frequent 0",
        "--candidate-frequent 1",
        "--candidate-frequent -1",
        "--candidate-per-word 99",
        "--candidate-per-word -1",
        "--beam 50",
        "--candidate-scope no_such",
    ):
        yield Case(f"candidates {more}", nothing, f"{line} {more}")


def unknown_words() -> Iterator[Case]:
    copy = f"{world.GENERATE} {world.OURS} --unk-replacement copy --source-text"
    table = f"{world.GENERATE} {world.OURS} --unk-replacement dictionary --unk-dictionary"
    texts = {
        "of another split": lambda folder: (folder / "source").write_bytes(
            (folder / "train.xx").read_bytes()
        ),
        "with words exchanged": lambda folder: (folder / "source").write_text(
            "\n".join(
                " ".join(reversed(line.split()))
                for line in (folder / "test.xx").read_text().splitlines()
            )
        ),
        "of the other side": lambda folder: (folder / "source").write_bytes(
            (folder / "test.yy").read_bytes()
        ),
        "one line less": lambda folder: (folder / "source").write_text(
            "\n".join((folder / "test.xx").read_text().splitlines()[:-1]) + "\n"
        ),
        "empty": holds("source", b""),
        "not UTF-8": holds("source", b"\xff\xfe\n" * 9),
        "missing": nothing,
        "a folder": lambda folder: (folder / "source").mkdir(),
    }
    for name, change in texts.items():
        yield Case(f"--source-text {name}", change, f"{copy} source")
    rows = {
        "nan": b"xx1 yy1 nan\n",
        "inf": b"xx1 yy1 inf\n",
        "a positive logarithm": b"xx1 yy1 0.5\n",
        "two columns": b"xx1 yy1\n",
        "four columns": b"xx1 yy1 -1 -1\n",
        "no number": b"x y z\n",
        "no UTF-8": b"\xff\xfe yy1 -1\n",
        "nothing": b"",
    }
    for name, data in rows.items():
        yield Case(f"--unk-dictionary with {name}", holds("words", data), f"{table} words")
    yield Case("--unk-dictionary missing", nothing, f"{table} nowhere")
    yield Case("--unk-dictionary with copy", nothing, f"{copy} test.xx --unk-dictionary lexicon")
    yield Case(
        "--unk-replacement without a dictionary",
        nothing,
        f"{world.GENERATE} {world.OURS} --unk-replacement dictionary",
    )


def external_tables() -> Iterator[Case]:
    line = world.TRAIN.replace("train bin", "train ext") + (
        " --source-embedding mix_sum --external-embeddings table.npy"
    )
    for name, data in BYTES.items():
        yield Case(f"table {name}", holds("table.npy", data), line)
        yield Case(f"sidecar {name}", holds("table.npy.json", data), line)
    for name in ("rows", "dimensions", "bytes", "crc32", "block_bytes", "blocks", "dictionary"):
        for value in (None, "text", -1, [], {}):
            change = facts_of("table.npy.json", **{name: value})
            yield Case(f"sidecar's {name} is {value!r}", change, line)
    yield Case(
        "sidecar's dictionary has a text",
        facts_of("table.npy.json", dictionary={"symbols": "x", "crc32": "y"}),
        line,
    )
    yield Case("sidecar missing", removed("table.npy.json"), line)
    yield Case("table missing", removed("table.npy"), line)
    yield Case("table cut", cut("table.npy", 0.7), line)

    for dtype in ("int32", "complex64", "bool", "S4"):
        yield Case(f"table of {dtype}", typed(dtype), line)
    yield Case("table of another dictionary", nothing, line.replace("train ext", "train bin"))
    yield Case("no table", nothing, line.replace("--external-embeddings table.npy", ""))


def vector_files() -> Iterator[Case]:
    line = "extract_embeddings --vectors {} --format {} --train train.xx --output new"
    kinds = {"words.vec": "vec", "words.glove": "glove", "words.bin": "word2vec"}
    for name, kind in kinds.items():
        command = line.format(name, kind)
        for damage, data in BYTES.items():
            yield Case(f"{name} {damage}", holds(name, data), command)
        yield Case(f"{name} cut within", cut(name, 0.6), command)
        yield Case(f"{name} missing", removed(name), command)
        yield Case(f"{name} a folder", is_folder(name), command)
    yield Case(
        "words.vec cut within its last number",
        cut("words.vec", 0.995),
        line.format("words.vec", "vec"),
    )
    yield Case(
        "words.glove cut within its last number",
        lambda folder: os.truncate(
            folder / "words.glove", (folder / "words.glove").stat().st_size - 3
        ),
        line.format("words.glove", "glove"),
    )
    yield Case(
        "word2vec of 0 dimensions",
        holds("words.bin", b"16 0\n" + b"a b c "),
        line.format("words.bin", "word2vec"),
    )
    yield Case(
        "vec of 0 dimensions", holds("words.vec", b"2 0\na\nb\n"), line.format("words.vec", "vec")
    )
    yield Case(
        "word2vec of 10^18 dimensions",
        holds("words.bin", b"16 1000000000000000000\nab c"),
        line.format("words.bin", "word2vec"),
    )
    for value in ("nan", "inf", "x", ""):
        yield Case(
            f"words.vec with {value!r}",
            lines_of(
                "words.vec", lambda ls, v=value: [*ls[:3], b"w 1 2 " + v.encode() + b"\n", *ls[4:]]
            ),
            line.format("words.vec", "vec"),
        )


def lexicons() -> Iterator[Case]:
    dictionaries = "--source-dictionary bin/dict.xx.txt --target-dictionary bin/dict.yy.txt"
    line = f"build_candidates --lexicon lexicon {dictionaries} --output new.npz"
    rows = {
        "nan": b"xx1\tyy1\tnan\n",
        "inf": b"xx1\tyy1\tinf\n",
        "a positive logarithm": b"a\tb\t1\n",
        "two columns": b"xx1\tyy1\n",
        "no number": b"a\tb\tc\n",
        "no UTF-8": b"\xff\xfe\tb\t-1\n",
        "nothing": b"",
    }
    for name, data in rows.items():
        yield Case(f"lexicon with {name}", holds("lexicon", data), line)
    yield Case("lexicon missing", removed("lexicon"), line)
    yield Case(
        "dictionary of candidates without counts",
        lines_of("bin/dict.yy.txt", lambda ls: [b.split()[0] + b"\n" for b in ls]),
        line,
    )
    yield Case("candidates per word 0", nothing, f"{line} --per-word 0")
    yield Case("candidates per word nan", nothing, f"{line} --per-word nan")
    align = "build_lexicon --source train.xx --target train.yy --output new"
    yield Case("lexicon of texts out of step", lines_of("train.yy", lambda ls: ls[1:]), align)
    yield Case("lexicon of an empty text", holds("train.yy", b""), align)
    yield Case("lexicon with 0 iterations", nothing, f"{align} --iterations 0")


def unit_tables() -> Iterator[Case]:
    line = world.TRAIN_LM.replace("charcnn", "morphsum")
    good = b"yy0\tyy 0\n"
    tables = {
        "missing": None,
        "empty": b"",
        "of other words": b"zz\tz z\n",
        "with a word twice": good * 2,
        "with a word without units": b"yy0\t\n",
        "without tabs": b"yy0 yy 0\n",
        "with no UTF-8": b"\xff\xfe\ta b\n",
    }
    for name, data in tables.items():
        change = nothing if data is None else holds("lm/morphs.txt", data)
        yield Case(f"table of units {name}", change, line)
    yield Case(
        "table of units a folder", lambda folder: (folder / "lm" / "morphs.txt").mkdir(), line
    )
    build = "build_subword_table bin/dict.yy.txt --units"
    yield Case("units of an empty dictionary", holds("bin/dict.yy.txt", b""), f"{build} characters")
    yield Case("units of an unknown kind", nothing, f"{build} no_such")
    yield Case("units of a missing dictionary", removed("bin/dict.yy.txt"), f"{build} characters")


def commands() -> Iterator[Case]:
    for number in ("0", "4", "x", "nan", "99999999999999999999"):
        yield Case(f"capacity of {number}", nothing, f"outlayers capacity --num-classes {number}")
    for number in ("0", "x", "99999999999999999999"):
        yield Case(
            f"capacity of d = {number}",
            nothing,
            f"outlayers capacity --num-classes 100 --embed-dim {number}",
        )
    for name in (
        "neighbours",
        "principal-components",
        "transform-gates",
        "unseen-words",
        "no_such",
    ):
        yield Case(f"command {name} without arguments", nothing, f"outlayers {name}")
    tokenize = "tokenize_corpus --input train --output new --languages xx yy"
    for option in (
        "--max-length 0",
        "--max-length x",
        "--max-ratio nan",
        "--max-ratio 0",
        "--workers 0",
        "--workers -1",
    ):
        yield Case(f"tokenize {option}", nothing, f"{tokenize} {option}")
    yield Case(
        "codes that are none",
        holds("codes", b"\xff\xfe\n"),
        "segment apply --codes codes --input train --output new --languages xx yy",
    )
    yield Case(
        "codes missing",
        removed("codes"),
        "segment apply --codes codes --input train --output new --languages xx yy",
    )
    yield Case("merges of 0", nothing, "segment learn --inputs train.xx --output new --merges 0")
    yield Case("toy corpus of nothing", nothing, "toy_corpus --output new --vocabulary 0")


GROUPS = {
    "checkpoints": checkpoints,
    "data folders": data_folders,
    "texts": texts,
    "options": options,
    "proposals": proposals,
    "candidate files": candidate_files,
    "unknown words": unknown_words,
    "external tables": external_tables,
    "vector files": vector_files,
    "lexicons": lexicons,
    "tables of units": unit_tables,
    "commands": commands,
}
