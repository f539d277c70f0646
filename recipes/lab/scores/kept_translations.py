"""Translations stored with the ledger, for comparisons with later arms on any machine.

    results/mine/translations/ARM.seed1.KEY.hyp    output of the model, a line per sentence
    results/mine/translations/references.json      paths of the references

Run folders are not shared between machines. Only tokens are stored; plain text is computed from
them. References belong to the data, which the recipe's 00_prepare.sh creates; only their paths are
stored, by the fingerprint in every ledger line.
"""

import math
from functools import lru_cache
from pathlib import Path

from recipes.lab import ledger
from recipes.lab.arms import TranslationTest
from recipes.lab.scores import scoring
from recipes.lab.settings import UserError

FOLDER = "translations"
HYPOTHESES = "test.tokenised.hyp"
REFERENCES = {"test.tokenised.ref": "tokenised", "test.plain.ref": "plain"}


def kept_file(results: Path, entry: dict) -> Path:
    """The path of the stored hypotheses of a ledger line.

    Args:
        results: the ledger's folder.
    """
    return results / FOLDER / f"{ledger.name_of(entry)}.hyp"


def keep(results: Path, entry: dict, run: Path, test: TranslationTest) -> None:
    """Copy the hypotheses of a run folder, if they match the ledger line."""
    note_references(results, entry["setting"]["references"], test)
    references = scoring.read_lines(Path(test.reference))
    if not (run / HYPOTHESES).exists():
        return
    target, lines = kept_file(results, entry), scoring.read_lines(run / HYPOTHESES)
    if target.exists() and scoring.read_lines(target) == lines:
        return
    if len(lines) != len(references):
        return
    bleu = scoring.bleu_metric(tokenised=True).corpus_score(lines, [references]).score
    # The line may be from another machine, or older than the translations.
    if not math.isclose(bleu, entry["figures"]["bleu_tokenised"], abs_tol=1e-6):
        print(f"  not stored, because their BLEU is not that of the ledger: {run / HYPOTHESES}")
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    scoring.write_lines(target, lines)
    print(f"  {target}")


def note_references(results: Path, fingerprint: str, test: TranslationTest) -> None:
    """Store the paths of references.

    Args:
        results: the ledger's folder.
        fingerprint: of the files, as in the setting of an arm.
        test: has the files and the language, for detokenization.
    """
    place = {"language": test.language}
    if test.raw_reference:
        place["plain"] = _from_checkout(test.raw_reference)
    place["tokenised"] = _from_checkout(test.reference)
    file = results / FOLDER / "references.json"
    with ledger.locked(file.parent):
        known = scoring.read_json(file)
        if known.get(fingerprint) != place:
            known[fingerprint] = place
            scoring.write_json(file, dict(sorted(known.items())))


def find(entry: dict, name: str) -> Path | None:
    """A file of a run: the stored one, else that in the run folder, else None.

    Args:
        entry: a line of `ledger.read`.
        name: relative to the run folder.
    """
    path = _kept(entry, name) or ledger.ROOT / entry["run"] / name
    return path if path.exists() else None


def translations(entry: dict, kind: str) -> tuple[list[str], list[str]] | None:
    """Hypotheses and references of a run, or None if either is not on this machine.

    Args:
        kind: "tokenised" or "plain".
    Raises:
        UserError: if their number differs from the ledger line.
    """
    kept, references = _kept(entry, HYPOTHESES), find(entry, f"test.{kind}.ref")
    language = _places(entry).get("language")
    detokenize = kind == "plain" and kept is not None and language is not None
    path = kept if detokenize else find(entry, f"test.{kind}.hyp")
    if path is None or references is None:
        return None
    hypotheses, expected = scoring.read_lines(path), entry["figures"]["sentences"]
    texts = list(_plain(tuple(hypotheses), language)) if detokenize else hypotheses
    found = texts, scoring.read_lines(references)
    if not len(found[0]) == len(found[1]) == expected:
        raise UserError(
            f"{path} has {len(found[0])} lines and {references.name} {len(found[1])}, "
            f"but the ledger says {expected} sentences; run the arm again with FORCE=1"
        )
    return found


@lru_cache(maxsize=1024)  # a report compares one translation in several tables and claims
def _plain(hypotheses: tuple[str, ...], language: str) -> tuple[str, ...]:
    return tuple(scoring.detokenize(hypotheses, language))


def _kept(entry: dict, name: str) -> Path | None:
    if name in REFERENCES:
        place = _places(entry).get(REFERENCES[name])
        return ledger.ROOT / place if place else None
    if name != HYPOTHESES or "results" not in entry:
        return None
    path = kept_file(Path(entry["results"]), entry)
    return path if path.exists() else None


def _places(entry: dict) -> dict[str, str]:
    """Stored paths of an entry's references; empty unless the fingerprint matches."""
    file = Path(entry.get("results", "/nowhere")) / FOLDER / "references.json"
    fingerprint = entry.get("setting", {}).get("references")
    places = scoring.read_json(file).get(fingerprint, {})
    files = [ledger.ROOT / places[kind] for kind in REFERENCES.values() if kind in places]
    here = files and all(path.exists() for path in files)
    return places if here and ledger.fingerprint(files) == fingerprint else {}


def _from_checkout(file: str) -> str:
    path = Path(file).resolve()
    return str(path.relative_to(ledger.ROOT) if path.is_relative_to(ledger.ROOT) else path)
