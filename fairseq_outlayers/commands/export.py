"""Export a trained model for programs without this package."""

import argparse
import shlex
from pathlib import Path

from fairseq_outlayers.commands.base import Command, add_checkpoint, add_data_argument
from fairseq_outlayers.formats.output_file import new_folder

TARGETS = ("fairseq", "ctranslate2")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser, "trained model")
    parser.add_argument(
        "--to",
        choices=TARGETS,
        required=True,
        help="fairseq: a checkpoint of fairseq's own Transformer, or of ours with --output-layer "
        "linear; ctranslate2: a folder for CTranslate2 (Transformers)",
    )
    parser.add_argument(
        "--output", type=Path, required=True, metavar="DIR", help="new folder to write"
    )
    add_data_argument(parser)


def run(options: argparse.Namespace) -> None:
    """Write the files and print how to load them."""
    # Imported here to keep other commands fast.
    from fairseq_outlayers.export.ctranslate2_model import export_ctranslate2
    from fairseq_outlayers.export.stock_checkpoint import export_checkpoint

    if options.to == "ctranslate2":
        exported = export_ctranslate2(options.checkpoint, options.output, options.data)
        is_translation = exported.program == "fairseq-generate"
        loader = f"ctranslate2.{'Translator' if is_translation else 'Generator'}"
        made = options.output
    else:
        made = options.output / "model.pt"
        with new_folder(options.output) as folder:
            exported = export_checkpoint(options.checkpoint, folder / made.name, options.data)
        paths = [shlex.quote(exported.data), "--path", shlex.quote(str(made))]
        loader = " ".join([exported.program, *paths, *exported.options])
        if exported.needs_plugin:
            loader += ' --user-dir "$(python -m fairseq_outlayers)"'
        elif exported.program == "fairseq-generate":
            # fairseq without this package leaves out sentences at the end.
            loader += " --required-batch-size-multiple 1"
    print(f"{made}: {exported.arch}, scores differ by at most {exported.difference:.1e}")
    print(f"load it with: {loader}")


COMMAND = Command(
    example="run/checkpoint_best.pt --to ctranslate2 --output exported",
    add_arguments=add_arguments,
    run=run,
)
