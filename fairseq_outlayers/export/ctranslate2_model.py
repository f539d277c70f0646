"""Export Transformers to CTranslate2."""

import tempfile
from pathlib import Path
from typing import Any

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.export.stock_checkpoint import Exported, export_checkpoint
from fairseq_outlayers.formats.output_file import new_folder


def export_ctranslate2(path: str, output: Path, data: Any = None) -> Exported:
    """Write a folder for ``ctranslate2.Translator`` or ``ctranslate2.Generator``.

    Args:
        path: a checkpoint of one of fairseq's Transformers with an output layer of this package.
        output: the folder to write, which must not exist.
        data: folder of the dictionaries; by default that of the training.
    Raises:
        UserError: if CTranslate2 is not installed or does not support the model, or ``output``
            exists.
    """
    try:
        from ctranslate2.converters import FairseqConverter
    except ImportError:
        raise UserError(
            "--to ctranslate2 needs the package ctranslate2: pip install ctranslate2"
        ) from None
    with (
        new_folder(output) as new,
        # Not in /tmp, which may be small.
        tempfile.TemporaryDirectory(dir=output.parent, prefix=f".{output.name}.") as folder,
    ):
        stock = Path(folder) / "model.pt"
        exported = export_checkpoint(path, stock, data, for_converter=True)
        if exported.needs_plugin:
            raise UserError(
                f"--to ctranslate2 supports only Transformers, and {path} is {exported.arch}: use "
                "--to fairseq"
            )
        try:
            FairseqConverter(str(stock), str(exported.data)).convert(str(new), force=True)
        # AttributeError: the model has other parts than the converter assumes.
        except (ValueError, NotImplementedError, AttributeError) as error:
            reason = " ".join(str(error).split())
            raise UserError(f"{path}: CTranslate2 does not support this model: {reason}") from error
    return exported
