"""N-best lists of fairseq-generate, and scores of the same translations by a model."""

import re
import shutil
from pathlib import Path
from typing import NamedTuple

from recipes.lab.running import process
from recipes.lab.running.run_arm import fairseq
from recipes.lab.scores import scoring

# S-: the source as read by the model; H-: score in bits per token, including </s>.
LINE = re.compile(r"^(?P<kind>[SH])-(?P<number>\d+)\t(?P<rest>.*)$")


class Hypothesis(NamedTuple):
    """A translation: its words, and its score log2 P / length."""

    score: float
    words: str

    @property
    def length(self) -> int:
        """Number of tokens, including the end of the sentence."""
        return len(self.words.split()) + 1


class NBest(NamedTuple):
    """The translations of a sentence, best first."""

    source: str
    hypotheses: list[Hypothesis]


def read(output: Path) -> list[NBest]:
    """Read the n-best lists of all sentences, in corpus order.

    Args:
        output: of fairseq-generate.
    Raises:
        Incomplete: if a sentence has no translation.
    """
    sources: dict[int, str] = {}
    found: dict[int, list[Hypothesis]] = {}
    for line in scoring.read_lines(output):
        if (match := LINE.match(line)) is None:
            continue
        number = int(match["number"])
        if match["kind"] == "S":
            sources[number] = match["rest"]
        else:
            score, _, words = match["rest"].partition("\t")
            found.setdefault(number, []).append(Hypothesis(float(score), words))
    if not found or sorted(found) != sorted(sources) or max(found) + 1 != len(found):
        raise scoring.Incomplete(f"{output}: not every sentence has a translation")
    return [NBest(sources[number], found[number]) for number in range(len(found))]


def score_over_all_words(
    lists: list[NBest], data: Path, checkpoint: Path, languages: tuple[str, str], work: Path
) -> list[list[Hypothesis]]:
    """Score the same hypotheses over the whole vocabulary.

    Args:
        data: binarized data with the model's dictionaries.
        languages: source and target.
        work: folder for intermediate files; its contents are deleted.
    Raises:
        CommandFailed: if a fairseq command fails.
    """
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    source, target = languages
    pairs = [(one.source, found.words) for one in lists for found in one.hypotheses]
    for language, lines in zip(languages, zip(*pairs, strict=True), strict=True):
        scoring.write_lines(work / f"nbest.{language}", lines)
    sides = ["--source-lang", source, "--target-lang", target]
    dictionaries = ["--srcdict", str(data / f"dict.{source}.txt")]
    dictionaries += ["--tgtdict", str(data / f"dict.{target}.txt"), "--padding-factor", "1"]
    texts = ["--testpref", str(work / "nbest"), "--destdir", str(work / "bin")]
    process.run(["fairseq-preprocess", *sides, *dictionaries, *texts], log=work / "preprocess.log")
    command = [*fairseq("fairseq-generate", str(work / "bin")), *sides]
    command += ["--task", "translation_outlayers", "--path", str(checkpoint), "--batch-size", "64"]
    command += ["--score-reference", "--no-progress-bar"]
    process.run(command, log=work / "score.log", output=work / "score.out")
    scored = iter(read(work / "score.out"))
    return [[next(scored).hypotheses[0] for _ in one.hypotheses] for one in lists]
