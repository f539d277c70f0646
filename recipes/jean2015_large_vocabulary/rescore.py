"""Score n-best lists of a search over candidates with the full vocabulary.

Scores over candidates are renormalized, log P(y | words of the list), and are higher than those
over all words, so the two do not compare. This program scores the hypotheses over all words and
reports the effect of the restriction. Writes OUTPUT.md and OUTPUT.json.
"""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from recipes.jean2015_large_vocabulary import nbest
from recipes.jean2015_large_vocabulary.arms import Jean2015
from recipes.jean2015_large_vocabulary.nbest import Hypothesis, NBest
from recipes.lab import ledger
from recipes.lab.__main__ import step
from recipes.lab.markdown import markdown_table
from recipes.lab.repeats import without_begun_repeats
from recipes.lab.running.run_arm import find_fairseq_commands
from recipes.lab.runs import Runs
from recipes.lab.scores import scoring


def first_best(hypotheses: Sequence[Hypothesis]) -> int:
    """The index of the hypothesis with the highest score."""
    return max(range(len(hypotheses)), key=lambda number: hypotheses[number].score)


def figures(
    restricted: Sequence[NBest],
    over_all: Sequence[Sequence[Hypothesis]],
    full: Sequence[NBest],
    references: Sequence[str],
) -> dict[str, float]:
    """The effect of the restriction.

    Args:
        restricted: hypotheses and scores of the search over candidates.
        over_all: the same hypotheses scored over all words.
        full: hypotheses and scores of the search over all words.
        references: tokenized.
    """
    choices = [first_best(scored) for scored in over_all]
    best = [one.hypotheses[0] for one in restricted]
    same = [scored[0] for scored in over_all]
    reranked = [scored[number] for scored, number in zip(over_all, choices, strict=True)]
    unrestricted = [one.hypotheses[0] for one in full]
    pairs = list(zip(unrestricted, reranked, strict=True))

    def bleu(hypotheses: Sequence[Hypothesis]) -> float:
        words = [hypothesis.words for hypothesis in hypotheses]
        return scoring.score(words, references, tokenised=True)["bleu_tokenised"]

    return {
        "sentences": len(restricted),
        "hypotheses": sum(len(one.hypotheses) for one in restricted),
        "score_renormalised": mean(found.score for found in best),
        "score_all_words": mean(found.score for found in same),
        "score_full_search": mean(found.score for found in unrestricted),
        "share_reranked": mean(number != 0 for number in choices),
        "share_same_as_full": mean(a.words == b.words for a, b in pairs),
        # Search errors of the full search: the model prefers the other translation.
        "share_above_full": mean(b.score > a.score and a.words != b.words for a, b in pairs),
        "bleu_renormalised": bleu(best),
        "bleu_reranked": bleu(reranked),
        "bleu_full_search": bleu(unrestricted),
    }


def markdown(arm_name: str, full: str, found: dict[str, float]) -> list[str]:
    """The page."""
    score = "log2 P / length, mean of the best translations"
    rows = {
        f"{score}: renormalized over the list": f"{found['score_renormalised']:.3f}",
        f"{score}: the same ones over all words": f"{found['score_all_words']:.3f}",
        f"{score}: those of the search over all words": f"{found['score_full_search']:.3f}",
        "BLEU, order of the renormalized scores": f"{found['bleu_renormalised']:.2f}",
        "BLEU, order of the scores over all words": f"{found['bleu_reranked']:.2f}",
        "BLEU, search over all words": f"{found['bleu_full_search']:.2f}",
        "another translation is best over all words": f"{found['share_reranked']:.1%}",
        "then the same translation as that search's": f"{found['share_same_as_full']:.1%}",
        "then a better one than that search's": f"{found['share_above_full']:.1%}",
    }
    heading = f"{found['hypotheses']:,} translations of {found['sentences']:,} sentences by"
    lines = ["# Scores over candidates and over all words", ""]
    lines += [f"{heading} `{arm_name}`; the search over all words is that of `{full}`.", ""]
    lines += ["Scores over candidates are renormalized: they compare with no others.", ""]
    return [*lines, *markdown_table(("", ""), rows.items())]


def main(recipe: Jean2015) -> None:
    """Score and write both files."""
    seed = recipe.seeds[0]
    runs = Runs(without_begun_repeats(ledger.read(recipe.ledger)))
    chosen, full = f"lv.{recipe.choice()}.nbest", "lv"
    outputs = []
    for name in (chosen, full):
        if seed not in runs.seeds([name]):
            print(f"  nothing: {name} was not run with seed {seed}")
            return
        outputs.append(ledger.ROOT / runs.entry(name, seed)["run"] / "generate.out")
        if not outputs[-1].exists():
            print(f"  nothing: {outputs[-1]} is not on this machine")
            return
    checkpoint = recipe.checkpoint_of(full, seed)
    if not checkpoint:
        print(f"  nothing: {full} was not run here")
        return
    find_fairseq_commands()
    restricted, searched = map(nbest.read, outputs)
    languages = recipe.settings.SOURCE, recipe.settings.TARGET
    work = Path(recipe.work, "rescoring")
    over_all = nbest.score_over_all_words(
        restricted, Path(recipe.bin_of(full)), Path(checkpoint), languages, work
    )
    references = scoring.read_lines(Path(recipe.arm(full, seed).test.reference))
    found = figures(restricted, over_all, searched, references)
    output = Path(recipe.results, "rescoring")
    scoring.write_lines(output.with_suffix(".md"), markdown(chosen, full, found))
    scoring.write_json(output.with_suffix(".json"), found)
    print(f"  {output}.md\n  {output}.json")


if __name__ == "__main__":
    step("jean2015_large_vocabulary", main)
