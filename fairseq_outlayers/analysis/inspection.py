"""Translations of a test set with their details, as plain data for a page or a program.

The data are only dictionaries, lists, texts and numbers, listed in :func:`inspect_test_set`.
"""

from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from sacrebleu.metrics import BLEU, CHRF

from fairseq_outlayers.analysis.bootstrap import Interval, bleu_intervals
from fairseq_outlayers.analysis.sentence_details import (
    Vocabulary,
    attention_text,
    candidate_data,
    neighbour_data,
    words_by_frequency,
)
from fairseq_outlayers.formats.text import count_parallel_lines, read_lines
from fairseq_outlayers.hub.translation import Translation
from fairseq_outlayers.hub.translator import Translator


class System(NamedTuple):
    """A model and its translations of the whole test set."""

    name: str
    path: str
    translator: Translator
    translations: List[Translation]


def read_pairs(source: str, reference: str) -> List[Tuple[str, str]]:
    """The lines of a source text and of its reference translation.

    Raises:
        UserError: if a file cannot be read or is empty, or the numbers of lines differ.
    """
    count_parallel_lines([Path(source), Path(reference)])
    return list(zip(read_lines(source), read_lines(reference), strict=True))


def inspect_test_set(
    pairs: Sequence[Tuple[str, str]],
    systems: Sequence[System],
    bleu_tokenizer: Optional[str] = None,
    neighbour_words: int = 500,
    number: int = 5,
) -> Dict[str, Any]:
    """Scores, marks, attention, candidates and neighbours of one or two systems.

    Args:
        pairs: sources and references.
        systems: with translations of the same test set.
        bleu_tokenizer: of sacreBLEU; by default ``none``, or ``13a`` for models that store their
            tokenizer.
        neighbour_words: how many words of the test set get neighbours, most frequent first.
        number: of neighbours for each.
    Returns:
        ``models`` (name, BLEU with its interval, chrF, counts), ``difference`` of BLEU,
        ``signatures``, ``words`` (by word number), ``candidates`` and ``neighbours`` of every
        model, and ``sentences``.
    """
    translator, vocabulary = systems[0].translator, Vocabulary()
    plain = translator.text.tokenizer is not None
    bleu = BLEU(tokenize=bleu_tokenizer or ("13a" if plain else "none"), force=True)
    references = [scored_reference(translator, text) for _, text in pairs]
    hypotheses = [[found.text for found in system.translations] for system in systems]
    intervals = bleu_intervals(hypotheses, references, bleu)
    scores, chrf_signature = chrf_scores(hypotheses, references)
    views = [
        sentence_views(system, sentences, pairs)
        for system, (_, sentences) in zip(systems, scores, strict=True)
    ]
    candidates = [candidate_data(s.translator, s.translations, vocabulary) for s in systems]
    words = words_by_frequency(views)
    neighbours = [
        neighbour_data(s.translator, words, vocabulary, neighbour_words, number) for s in systems
    ]
    summaries = [
        model_summary(system, interval, chrf, of_system)
        for system, interval, (chrf, _), of_system in zip(
            systems, intervals.systems, scores, views, strict=True
        )
    ]
    return {
        "models": summaries,
        "difference": intervals.difference and intervals.difference._asdict(),
        "signatures": [bleu.get_signature().format(), chrf_signature],
        "candidates": candidates,
        "neighbours": neighbours,
        "words": list(vocabulary.numbers),
        "sentences": [
            {"source": source, "reference": reference, "models": list(of_systems)}
            for (source, reference), *of_systems in zip(pairs, *views, strict=True)
        ],
    }


def scored_reference(translator: Translator, text: str) -> str:
    """A reference without segmentation marks, like the translations."""
    known = translator.text.tokenizer is not None or translator.text.bpe is not None
    return text if known else translator.text.decode(" ".join(text.split()))


def chrf_scores(
    systems: Sequence[Sequence[str]], references: Sequence[str]
) -> Tuple[List[Tuple[float, List[float]]], str]:
    """Corpus and sentence chrF of each system, and sacreBLEU's signature."""
    metric, found = CHRF(references=[list(references)]), []
    for texts in systems:
        # Not corpus_score and sentence_score, which would count all n-grams again.
        statistics = metric._extract_corpus_statistics(texts, None)
        sentences = [metric._compute_score_from_stats(row).score for row in statistics]
        found.append((metric._aggregate_and_compute(statistics).score, sentences))
    return found, metric.get_signature().format()


def model_summary(
    system: System, bleu: Interval, chrf: float, views: Sequence[Dict[str, Any]]
) -> Dict[str, Any]:
    """Scores and counts over the whole test set."""
    model = system.translator.models[0]
    layer = getattr(model.decoder, "output_projection", None)
    counts = {
        f"{what}_words": sum(len(view[what]) for view in views)
        for what in ("reference", "target", "unknown", "replaced", "misses")
    }
    return {
        "name": system.name,
        "path": system.path,
        "kind": f"{type(model).__name__}, {type(layer).__name__}",
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "bleu": bleu._asdict(),
        "chrf": chrf,
        **counts,
    }


def sentence_views(
    system: System, scores: Sequence[float], pairs: Sequence[Tuple[str, str]]
) -> List[Dict[str, Any]]:
    """A system's view of each sentence; lists of numbers are positions of units.

    Args:
        scores: chrF of each translation.
        pairs: sources and references.
    """
    translator = system.translator
    task, text = translator.task, translator.text
    known_source = set(task.source_dictionary.symbols[: translator.num_source])
    known_target = set(task.target_dictionary.symbols[: translator.num_target])
    views = []
    for found, score, (source, reference) in zip(system.translations, scores, pairs, strict=True):
        units, expected = text.encode(source).split(), text.encode_target(reference).split()
        missed = set(found.misses(expected))
        unknown = {
            k for k, unit in enumerate(found.target) if unit == task.target_dictionary.unk_word
        }
        views.append(
            {
                "source": units,
                "unknown_source": [k for k, unit in enumerate(units) if unit not in known_source],
                "reference": expected,
                "unknown_reference": [k for k, u in enumerate(expected) if u not in known_target],
                "misses": [k for k, unit in enumerate(expected) if unit in missed],
                "target": found.target,
                "unknown": sorted(unknown | set(found.replaced)),
                "replaced": found.replaced,
                "alignment": found.alignment,
                "attention": None if found.attention is None else attention_text(found.attention),
                "score": found.score,
                "chrf": score,
            }
        )
    return views
