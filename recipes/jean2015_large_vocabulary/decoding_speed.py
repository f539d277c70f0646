"""Decoding time per word of several decodings, in alternating runs on one machine.

The search is timed by fairseq-generate; words are target words, including the end of the sentence.
The batch size is 1, as in the paper.
"""

import re
import shlex
from pathlib import Path

from recipes.jean2015_large_vocabulary.arms import Jean2015
from recipes.lab.__main__ import step
from recipes.lab.running import speed
from recipes.lab.running.run_arm import fairseq
from recipes.lab.scores import scoring

TRANSLATED = re.compile(
    r"Translated [\d,]+ sentences \((?P<tokens>[\d,]+) tokens\) in (?P<s>[\d.]+)s"
)


def words_per_second(log: Path) -> float:
    """Speed from the log of fairseq-generate.

    Raises:
        Incomplete: if it is missing.
    """
    found = list(TRANSLATED.finditer(log.read_text(encoding="utf-8")))
    if not found or float(found[-1]["s"]) == 0:
        raise scoring.Incomplete(f"{log} does not say in how many seconds it was translated")
    return int(found[-1]["tokens"].replace(",", "")) / float(found[-1]["s"])


def groups_of(recipe: Jean2015) -> dict[str, list[str]]:
    """Options for fairseq-generate of decodings whose models are on this machine."""
    groups, chosen, seed = {}, recipe.choice(), recipe.seeds[0]
    for name in ("shortlist", "lv", f"lv.{chosen}", f"lv.{chosen}.common"):
        model = name.partition(".")[0]
        checkpoint = recipe.checkpoint_of(model, seed)
        if not checkpoint:
            print(f"  not measured, because {model} was not run here: {name}")
            continue
        options = shlex.split(recipe.arm(name, seed).test.generate)
        options = ["--path", checkpoint, *options, "--batch-size", "1"]
        groups[name] = [recipe.timing_data(model), *options]
    return groups


def in_words(rows: list[dict]) -> list[dict]:
    """The rows with words per second instead of tokens, and seconds per word."""
    for row in rows:
        row["words_per_second"] = row.pop("tokens_per_second")
        row["seconds_per_word"] = 1 / row["words_per_second"]
    return rows


def main(recipe: Jean2015) -> None:
    """Measure, write the JSON file and print a table."""
    output, runs = Path(recipe.results, "decoding_speed.json"), Path(recipe.work, "decoding_speed")
    groups = groups_of(recipe)
    if not groups or recipe.measured(output):
        return

    def measure(name: str, number: int) -> tuple[float, float]:
        data, *options = groups[name]
        command = [*fairseq("fairseq-generate", data), *options, "--no-progress-bar"]
        return speed.logged(command, runs, name, number, words_per_second)

    rows = in_words(speed.take_turns(list(groups), recipe.settings.whole("TIMING_ROUNDS"), measure))
    speed.write(output, rows, groups, "seconds_per_word", 4)


if __name__ == "__main__":
    step("jean2015_large_vocabulary", main)
