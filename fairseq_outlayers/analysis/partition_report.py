"""How a corpus is divided into partitions, before training."""

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
from fairseq.data import Dictionary, data_utils

from fairseq_outlayers.checkpoints.stored_options import first_folder
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.partitions.corpus import corpus_side, reshuffled
from fairseq_outlayers.partitions.options import PartitionConfig, partition_limits
from fairseq_outlayers.partitions.plan import Words, partition


def partition_report(options: Any) -> str:
    """A plain-text table of partitions with their words and sentences.

    Args:
        options: of ``python -m fairseq_outlayers partitions``.
    Raises:
        UserError: if the data or the sizes are wrong.
    """
    pairs, dictionaries = _load(options)
    config = PartitionConfig(
        partition_size=options.partition_size,
        partition_mode=options.partition_mode,
        source_partition_size=options.source_partition_size,
    )
    limits = partition_limits(config, len(dictionaries["source"]), len(dictionaries["target"]))
    if not limits:
        raise UserError("--partition-size must be 1 or more")
    order = np.arange(len(pairs.tgt_sizes))
    if options.reshuffle_partitions:
        order = reshuffled(order, options.seed, epoch=1)
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


def _load(options: Any) -> Any:
    """The binarized training data and its dictionaries."""
    folder = first_folder(options.data)
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
    pairs, dictionaries = SimpleNamespace(), {}
    sides = {"source": (source, "src"), "target": (target, "tgt")}
    for side, (language, short) in sides.items():
        path = folder / f"dict.{language}.txt"
        if not path.is_file():
            raise UserError(f"{path}: no such file")
        dictionaries[side] = Dictionary.load(str(path))
        # Text that was binarized in the other direction serves, too, as in training.
        names = (f"train.{source}-{target}.{language}", f"train.{target}-{source}.{language}")
        prefixes = [folder / name for name in names]
        found = (data_utils.load_indexed_dataset(str(p), dictionaries[side]) for p in prefixes)
        text = next((one for one in found if one is not None), None)
        if text is None:
            raise UserError(f"{prefixes[0]}: no binarized text")
        setattr(pairs, short, text)
        setattr(pairs, f"{short}_sizes", text.sizes)
    return pairs, dictionaries
