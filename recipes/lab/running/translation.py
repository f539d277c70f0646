"""Score an arm by its translations: BLEU and chrF."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from recipes.lab import ledger
from recipes.lab.arms import TranslationTest
from recipes.lab.running import process
from recipes.lab.scores import kept_translations, length_limits, scoring


class Translation:
    """Translates and scores the test set, and the validation set if it has a reference.

    Args:
        train: training options of the model.
    """

    def __init__(self, test: TranslationTest, train: Sequence[str] = ()):
        self.train = train
        sets = {"": test}
        if test.valid_reference:
            generate = f"{test.generate} --gen-subset valid"
            valid = replace(test, reference=test.valid_reference, raw_reference="")
            sets["valid_"] = replace(valid, generate=generate)
        # By the prefix of the figures.
        self.sets = {
            prefix: replace(one, generate=one.generate.replace("{subset}", prefix[:-1] or "test"))
            for prefix, one in sets.items()
        }

    def setting(self) -> dict:
        """The part of the setting that belongs to scoring."""
        setting = {}
        for prefix, test in self.sets.items():
            files = [Path(file) for file in (test.reference, test.raw_reference) if file]
            setting[f"{prefix}references"] = ledger.fingerprint(files)
            setting[f"{prefix}generate"] = shlex.join(shlex.split(test.generate))
        return setting

    def commands(self, begin: process.Begin) -> dict[str, list[str]]:
        """The commands to run, by their names in the ledger."""
        beginning = [*begin("fairseq-generate"), *length_limits.direction(self.train)]
        return {
            f"{prefix}generate_command": [*beginning, *shlex.split(test.generate)]
            for prefix, test in self.sets.items()
        }

    def figures(self, commands: dict[str, list[str]], folder: Path) -> dict:
        """Translate and score; the validation set in a subfolder."""
        figures: dict = {}
        for prefix, test in self.sets.items():
            place = folder / prefix[:-1]
            place.mkdir(parents=True, exist_ok=True)
            command = commands[f"{prefix}generate_command"]
            found = _figures(test, self.train, command, place)
            figures |= {f"{prefix}{name}": value for name, value in found.items()}
        return figures

    def keep(self, results: Path, entry: dict, folder: Path) -> None:
        """Copy the translations of the test set to the ledger's folder, for comparisons."""
        kept_translations.keep(results, entry, folder, self.sets[""])


def _figures(test: TranslationTest, train: Sequence[str], command: list[str], folder: Path) -> dict:
    references = scoring.read_lines(Path(test.reference))
    output = folder / "generate.out"
    with process.Progress(f"translating {len(references):,} sentences"):
        usage = process.run(command, log=folder / "generate.log", output=output)
    hypotheses = scoring.hypotheses_in_corpus_order(output, len(references))
    figures = {
        "generate_wall_seconds": round(usage.wall_seconds, 1),
        "generate_peak_rss_mb": round(usage.peak_rss_mb),
        "sentences": len(references),
    }
    limits = length_limits.limits(process.data_of(command), train, command)
    counts = scoring.token_counts(output, len(references))
    figures |= length_limits.figures(hypotheses, references, counts, limits)
    figures |= _score(test, hypotheses, references, folder / "test")
    if "--nbest" in command:
        summed = scoring.most_probable(output, len(references))
        scores = _score(test, summed, references, folder / "test.lenpen0")
        figures |= {f"{name}_lenpen0": scores[name] for name in scores if "sig" not in name}
    return figures


def _score(
    test: TranslationTest, hypotheses: list[str], references: list[str], prefix: Path
) -> dict:
    """Score tokens, and plain text if there are plain references; writes the texts."""
    figures = scoring.score(hypotheses, references, tokenised=True)
    _write(prefix, "tokenised", hypotheses, references)
    if test.raw_reference:
        plain = scoring.detokenize(hypotheses, test.language)
        raw = scoring.read_lines(Path(test.raw_reference))
        figures |= scoring.score(plain, raw, tokenised=False, lowercase=test.lowercase)
        _write(prefix, "plain", plain, raw)
    return figures


def _write(prefix: Path, kind: str, hypotheses: list[str], references: list[str]) -> None:
    """Write both into the run folder, for paired tests."""
    for name, lines in (("hyp", hypotheses), ("ref", references)):
        scoring.write_lines(prefix.with_name(f"{prefix.name}.{kind}.{name}"), lines)
    print(f"  {prefix}.{kind}.hyp")
