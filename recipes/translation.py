"""Scores an arm by translating the test set: BLEU and chrF."""

import argparse
import shlex
from pathlib import Path

import kept_translations
import ledger
import length_limits
import process
import scoring


class Translation:
    """What makes an arm of a translation model.

    Args:
        arguments: the command line of arm.py.
    """

    def __init__(self, arguments: argparse.Namespace):
        if arguments.reference is None:
            raise SystemExit("arm.py: --reference FILE is needed to score translations")
        self.arguments = arguments
        self.options = shlex.split(arguments.generate)

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Options of its own."""
        group = parser.add_argument_group("translation")
        group.add_argument("--reference", type=Path, help="tokenised, as the model should write it")
        group.add_argument(
            "--raw-reference", type=Path, help="the plain text; adds BLEU of detokenised hypotheses"
        )
        group.add_argument("--language", default="en", help="of the target, for detokenising")
        group.add_argument("--lowercase", action="store_true", help="ignore case in plain text")
        group.add_argument("--generate", default="--beam 5", help="options for fairseq-generate")

    def setting(self) -> dict:
        """What of it decides what an arm is."""
        references = [self.arguments.reference]
        if self.arguments.raw_reference:
            references.append(self.arguments.raw_reference)
        return {
            "references": ledger.fingerprint(references),
            "generate": shlex.join(self.options),
        }

    def commands(self, common: list[str]) -> dict[str, list[str]]:
        """The commands to run, by the name that they have in the ledger."""
        return {"generate_command": ["fairseq-generate", *common, *self.options]}

    def figures(self, commands: dict[str, list[str]], folder: Path) -> dict:
        """Translate the test set and score the translations."""
        references = scoring.read_lines(self.arguments.reference)
        output = folder / "generate.out"
        with process.Progress(f"translating {len(references):,} sentences"):
            usage = process.run(
                commands["generate_command"], log=folder / "generate.log", output=output
            )
        hypotheses = scoring.hypotheses_in_corpus_order(output, len(references))
        figures = {
            "generate_wall_seconds": round(usage.wall_seconds, 1),
            "generate_peak_rss_mb": round(usage.peak_rss_mb),
            "sentences": len(references),
            **self._lengths(output, hypotheses, references),
        }
        figures |= self._score(hypotheses, references, folder / "test")
        if "--nbest" in self.options:
            summed = scoring.most_probable(output, len(references))
            scores = self._score(summed, references, folder / "test.lenpen0")
            figures |= {f"{name}_lenpen0": scores[name] for name in scores if "sig" not in name}
        return figures

    def _lengths(self, output: Path, hypotheses: list[str], references: list[str]) -> dict:
        """Loops and the length ratio."""
        train = getattr(self.arguments, "train", [])
        limits = length_limits.limits(self.arguments.data, train, self.options)
        counts = scoring.token_counts(output, len(references))
        return length_limits.figures(hypotheses, references, counts, limits)

    def _score(self, hypotheses: list[str], references: list[str], prefix: Path) -> dict:
        """Scores of tokens, and of plain text if there are plain references; keeps the texts."""
        figures = scoring.score(hypotheses, references, tokenised=True)
        write(prefix, "tokenised", hypotheses, references)
        if self.arguments.raw_reference:
            plain = scoring.detokenize(hypotheses, self.arguments.language)
            raw = scoring.read_lines(self.arguments.raw_reference)
            lowercase = self.arguments.lowercase
            figures |= scoring.score(plain, raw, tokenised=False, lowercase=lowercase)
            write(prefix, "plain", plain, raw)
        return figures

    def keep(self, results: Path, entry: dict, folder: Path) -> None:
        """Keep beside the ledger what comparisons need of a run."""
        kept_translations.note_references(
            results,
            entry["setting"]["references"],
            self.arguments.reference,
            self.arguments.raw_reference,
            self.arguments.language,
        )
        references = scoring.read_lines(self.arguments.reference)
        kept_translations.keep(results, entry, folder, references)


def write(prefix: Path, kind: str, hypotheses: list[str], references: list[str]) -> None:
    """Write both beside the run, for paired tests."""
    for name, lines in (("hyp", hypotheses), ("ref", references)):
        scoring.write_lines(prefix.with_name(f"{prefix.name}.{kind}.{name}"), lines)
    print(f"  {prefix}.{kind}.hyp")
