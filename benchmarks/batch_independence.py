"""Dependence of translations on the batch, for this package and CTranslate2.

    python benchmarks/batch_independence.py

A small Transformer is trained on the toy language pair and exported to CTranslate2. Each arm
translates the same sentences in one batch and one by one, with beam search:

    all words            ours over the whole vocabulary
    candidates           ours over the candidates of each sentence (--candidate-scope sentence)
    candidates, batch    ours over those of the batch (--candidate-scope batch)
    CTranslate2          the exported model over the whole vocabulary
    CTranslate2, vmap    with the same lists as vmap.txt, whose union over the batch it uses

Prints the number of sentences whose translations are equal token for token. Nothing is timed.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import turns

from fairseq_outlayers import load
from fairseq_outlayers.export.ctranslate2_model import export_ctranslate2

ROOT = Path(__file__).resolve().parents[1]
TRAINING = (
    "--encoder-embed-dim 64 --decoder-embed-dim 64 --encoder-ffn-embed-dim 128 "
    "--decoder-ffn-embed-dim 128 --encoder-layers 2 --decoder-layers 2 --optimizer adam "
    "--lr 0.003 --lr-scheduler inverse_sqrt --warmup-updates 200 --dropout 0.1 "
    "--clip-norm 1 --max-tokens 1000 --num-workers 0 --seed 1 --no-epoch-checkpoints "
    "--criterion full_softmax"
)
Translate = Callable[[list[str]], list[list[str]]]  # a batch of sentences to units


def run(*command: object) -> None:
    """Run a Python script or module; prints its output only if it fails."""
    words = [sys.executable, *map(str, command)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        sys.exit(f"{' '.join(words)}:\n{done.stderr[-2000:]}")


def prepare(folder: Path, settings: argparse.Namespace) -> None:
    """Make text, binarized data, candidate lists, a trained model and its export."""
    text, data, model = folder / "text", folder / "bin", folder / "model"
    if not data.exists():
        run("data_prep/toy_corpus.py", "--output", text, "--seed", 1, "--train", settings.train,
            "--valid", 100, "--test", settings.sentences, "--vocabulary", 1000)  # fmt: skip
        run("-m", "fairseq_cli.preprocess", "--source-lang", "src", "--target-lang", "tgt",
            "--trainpref", text / "train", "--validpref", text / "valid",
            "--destdir", data, "--padding-factor", 1)  # fmt: skip
    # Resumes if interrupted, and ends immediately if finished.
    run("-m", "fairseq_cli.train", data, "--user-dir", "fairseq_outlayers", "--cpu",
        "--arch", "transformer_iwslt_de_en_outlayers", "--output-layer", "tied",
        *TRAINING.split(), "--max-epoch", settings.epochs, "--save-dir", model)  # fmt: skip
    run("data_prep/build_lexicon.py", "--source", text / "train.src", "--target",
        text / "train.tgt", "--output", folder / "lexicon")  # fmt: skip
    run("data_prep/build_candidates.py", "--lexicon", folder / "lexicon",
        "--source-dictionary", data / "dict.src.txt", "--target-dictionary", data / "dict.tgt.txt",
        "--output", folder / "candidates.npz", "--per-word", settings.per_word,
        "--ctranslate2", folder / "vmap.txt", "--frequent", settings.frequent)  # fmt: skip
    shutil.rmtree(folder / "exported", ignore_errors=True)
    export_ctranslate2(str(model / "checkpoint_last.pt"), folder / "exported")
    shutil.copy(folder / "vmap.txt", folder / "exported" / "vmap.txt")


def make_arms(folder: Path, settings: argparse.Namespace) -> Iterator[tuple[str, Translate]]:
    """Functions that translate a list of sentences as one batch, with names."""
    import ctranslate2  # an extra

    path = folder / "model" / "checkpoint_last.pt"
    lists = {
        "candidates": folder / "candidates.npz",
        # K counts </s> and <unk>; a vmap.txt does not.
        "candidate_frequent": settings.frequent + 2,
        "candidate_per_word": settings.per_word,
        "device": settings.device,
    }
    yield "all words", ours(load(path, device=settings.device), settings)
    yield "candidates", ours(load(path, **lists), settings)
    yield "candidates, batch", ours(load(path, **lists, candidate_scope="batch"), settings)
    translator = ctranslate2.Translator(
        str(folder / "exported"), settings.device, intra_threads=settings.threads
    )
    yield "CTranslate2", theirs(translator, settings, use_vmap=False)
    yield "CTranslate2, vmap", theirs(translator, settings, use_vmap=True)


def ours(model: Any, settings: argparse.Namespace) -> Translate:
    """Translation by a model of this package."""
    search = {"beam": settings.beam, "max_len_a": 0, "max_len_b": settings.longest}
    return lambda texts: [
        found.target for found in model.translate(texts, batch_size=len(texts), **search)
    ]


def theirs(translator: Any, settings: argparse.Namespace, use_vmap: bool) -> Translate:
    """Translation by the exported model."""
    return lambda texts: [
        found.hypotheses[0]
        for found in translator.translate_batch(
            [text.split() for text in texts],
            beam_size=settings.beam,
            max_decoding_length=settings.longest,
            use_vmap=use_vmap,
        )
    ]


def main() -> None:
    """Prepare, translate both ways, print a table, write the results."""
    settings = parse_arguments()
    torch.set_num_threads(settings.threads)
    folder = settings.work.resolve()
    prepare(folder, settings)
    texts = (folder / "text" / "test.src").read_text(encoding="utf-8").splitlines()
    references = (folder / "text" / "test.tgt").read_text(encoding="utf-8").splitlines()
    rows = []
    turns.print_headings("translated over | equal in one batch and singly | equal to the reference")
    for name, translate in make_arms(folder, settings):
        together = translate(texts)
        singly = [translate([text])[0] for text in texts]
        equal = sum(one == other for one, other in zip(together, singly, strict=True))
        right = sum(" ".join(one) == text for one, text in zip(singly, references, strict=True))
        rows.append({"arm": name, "equal": equal, "sentences": len(texts), "right_singly": right})
        turns.print_row(name, f"{equal} of {len(texts)}", right)
    turns.write(settings.output, vars(settings), rows)


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=int, default=60)
    parser.add_argument("--train", type=int, default=8000, help="training sentences")
    parser.add_argument("--epochs", type=int, default=8, help="of training")
    parser.add_argument("--frequent", type=int, default=40, help="K, without </s> and <unk>")
    parser.add_argument("--per-word", type=int, default=2, help="K'")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--longest", type=int, default=40, help="maximum units per translation")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    turns.add_device(parser)
    parser.add_argument("--work", type=Path, default=Path("work/batch_independence"))
    parser.add_argument(
        "--output", type=Path, default=Path("results/benchmarks/batch_independence.json")
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
