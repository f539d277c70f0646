"""Score a language model by word perplexity with fairseq-eval-lm."""

import re
import shlex
from pathlib import Path

from recipes.lab.arms import PerplexityTest
from recipes.lab.running import process
from recipes.lab.scores import scoring, sentence_scores

SPLITS = ("valid", "test")
# The perplexity is printed with two digits; the loss, in bits per word, has more.
LOSS = re.compile(r"Loss \(base 2\): ([\d.]+), Perplexity")
TOKENS = re.compile(r"Evaluated ([\d,]+) tokens")


class Perplexity:
    """Evaluates the validation and test texts."""

    def __init__(self, test: PerplexityTest):
        self.options = shlex.split(test.evaluate)

    def setting(self) -> dict:
        """The part of the setting that belongs to scoring."""
        return {"evaluate": shlex.join(self.options)}

    def commands(self, begin: process.Begin) -> dict[str, list[str]]:
        """The commands to run, by their names in the ledger."""
        command = [*begin("fairseq-eval-lm"), "--gen-subset"]
        commands = {f"evaluate_{one}_command": [*command, one, *self.options] for one in SPLITS}
        commands["evaluate_test_command"].append("--output-word-probs")  # for intervals
        return commands

    def figures(self, commands: dict[str, list[str]], folder: Path) -> dict:
        """Perplexity and number of words of every split, and the cost of the last one."""
        figures: dict = {}
        for split, command in zip(SPLITS, commands.values(), strict=True):
            log = folder / f"evaluate.{split}.log"
            with process.Progress(f"evaluating on {split}"):
                usage = process.run(command, log=log)
            figures |= read_log(log, split)
            print(f"  {log}")
        figures["evaluate_wall_seconds"] = round(usage.wall_seconds, 1)
        return figures

    def keep(self, results: Path, entry: dict, folder: Path) -> None:
        """Store the log-probabilities of the test text by sentence."""
        sentence_scores.keep(results, entry, folder / "evaluate.test.log")


def read_log(log: Path, split: str) -> dict:
    """Read the log of fairseq-eval-lm.

    Raises:
        Incomplete: if it has no perplexity, or one of no words.
    """
    text = log.read_text(encoding="utf-8", errors="replace")
    losses, tokens = LOSS.findall(text), TOKENS.findall(text)
    if not losses or not tokens:
        raise scoring.Incomplete(f"{log} does not end with a perplexity")
    words = int(tokens[-1].replace(",", ""))
    if not words:
        raise scoring.Incomplete(f"{log}: no word was evaluated, so there is no perplexity")
    return {f"{split}_ppl": 2 ** float(losses[-1]), f"{split}_words": words}
