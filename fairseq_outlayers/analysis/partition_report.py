"""How a corpus is divided into partitions, before training."""

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict

import numpy as np
from fairseq import utils
from fairseq.data import Dictionary, data_utils

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.partitions.corpus import corpus_side, reshuffled
from fairseq_outlayers.partitions.options import PartitionConfig, partition_limits
from fairseq_outlayers.partitions.plan import Words, partition
from fairseq_outlayers.stock.data_folders import check_data_folders


def partition_report(options: Any) -> str:
    """A plain-text table of partitions with their words and sentences.

    Of several data folders, each of which is the text of an epoch, each has its own table.

    Args:
        options: of ``python -m fairseq_outlayers partitions``.
    Raises:
        UserError: if the data or the sizes are wrong.
    """
    folders = [Path(folder) for folder in utils.split_paths(str(options.data))]
    check_data_folders(SimpleNamespace(data=str(options.data)))
    languages = _languages(options, folders[0])
    dictionaries = _dictionaries(folders[0], languages)
    config = PartitionConfig(
        partition_size=options.partition_size,
        partition_mode=options.partition_mode,
        source_partition_size=options.source_partition_size,
    )
    limits = partition_limits(config, len(dictionaries["source"]), len(dictionaries["target"]))
    if not limits:
        raise UserError("--partition-size must be 1 or more")
    tables = [
        _table(_texts(folder, languages, dictionaries), dictionaries, limits, options, epoch)
        for epoch, folder in enumerate(folders, start=1)
    ]
    if len(folders) == 1:
        return tables[0]
    return "\n".join(f"{folder}:\n{table}" for folder, table in zip(folders, tables, strict=True))


def _table(
    pairs: Any,
    dictionaries: Dict[str, Dictionary],
    limits: Dict[str, int],
    options: Any,
    epoch: int,
) -> str:
    """The table of one folder; with reshuffled partitions, those of an epoch."""
    order = np.arange(len(pairs.tgt_sizes))
    if options.reshuffle_partitions:
        order = reshuffled(order, options.seed, epoch)
    sides = {
        side: corpus_side(pairs, dictionaries[side], side, limit) for side, limit in limits.items()
    }
    began = time.perf_counter()
    bounds = partition(list(sides.values()), order)
    seconds = time.perf_counter() - began
    tokens = int(sum(side.text.starts[-1] for side in sides.values()))
    lines = [
        f"{len(bounds) - 1:,} partitions of {len(order):,} sentence pairs "
        f"({tokens:,} tokens scanned in {seconds:.2f} s)",
        f"  {'':22} {'least':>10} {'median':>10} {'most':>10}",
        _row("sentences", np.diff(bounds)),
    ]
    for name, side in sides.items():
        words = Words(side, order, bounds, keep_full=options.partition_mode == "authors")
        sizes = [len(words.of(number)) for number in range(len(bounds) - 1)]
        lines.append(_row(f"{name} words trained", np.asarray(sizes)))
        lines.append(f"    of {side.num_words:,} in the dictionary, {side.limit:,} at most")
    return "\n".join(lines) + "\n"


def _row(title: str, numbers: np.ndarray) -> str:
    least, middle, most = (int(f(numbers)) for f in (np.min, np.median, np.max))
    return f"  {title:22} {least:>10,} {middle:>10,} {most:>10,}"


def _languages(options: Any, folder: Path) -> Dict[str, str]:
    """The language of each side, inferred from the data if it is not given."""
    source, target = options.source_lang, options.target_lang
    if source is None or target is None:
        given, pair = source or target, data_utils.infer_language_pair(str(folder))
        if given is None or None in pair:
            source, target = pair
        elif given in pair:
            other = pair[1 - pair.index(given)]
            source, target = source or other, target or other
        else:
            raise UserError(f"{folder}: has {' and '.join(pair)}, not {given}")
    if source is None or target is None:
        raise UserError(
            f"{folder}: no train.XX-YY.* of fairseq-preprocess; give its --destdir, or the "
            "languages by --source-lang and --target-lang"
        )
    return {"source": source, "target": target}


def _dictionaries(folder: Path, languages: Dict[str, str]) -> Dict[str, Dictionary]:
    """The dictionary of each side."""
    found = {}
    for side, language in languages.items():
        path = folder / f"dict.{language}.txt"
        if not path.is_file():
            raise UserError(f"{path}: no such file")
        found[side] = Dictionary.load(str(path))
    return found


def _texts(folder: Path, languages: Dict[str, str], dictionaries: Dict[str, Dictionary]) -> Any:
    """The binarized training text of both sides, with the attributes of fairseq's pairs."""
    pairs, (source, target) = SimpleNamespace(), languages.values()
    for side, short in (("source", "src"), ("target", "tgt")):
        language = languages[side]
        # Text that was binarized in the other direction serves, too, as in training.
        names = (f"train.{source}-{target}.{language}", f"train.{target}-{source}.{language}")
        prefixes = [folder / name for name in names]
        found = (data_utils.load_indexed_dataset(str(p), dictionaries[side]) for p in prefixes)
        text = next((one for one in found if one is not None), None)
        if text is None:
            raise UserError(f"{prefixes[0]}: no binarized text")
        setattr(pairs, short, text)
        setattr(pairs, f"{short}_sizes", text.sizes)
    return pairs
