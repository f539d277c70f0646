"""Candidate files for this package's decoder, Marian and CTranslate2."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fairseq_outlayers.formats.candidate_file import CandidateFile
from fairseq_outlayers.formats.dictionary import DictionaryFile
from fairseq_outlayers.formats.lexicon import Lexicon
from fairseq_outlayers.formats.output_file import OutputFile


class RankedTranslations(NamedTuple):
    """The best translations of every source word, as ids, in compressed rows."""

    offsets: np.ndarray  # row s is targets[offsets[s] : offsets[s + 1]]
    targets: np.ndarray
    probabilities: np.ndarray
    blocked: np.ndarray  # ids of target words that are never produced

    @classmethod
    def select(
        cls,
        lexicon: Lexicon,
        source: DictionaryFile,
        target: DictionaryFile,
        per_word: int,
        blocked: np.ndarray,
    ) -> "RankedTranslations":
        """The ``per_word`` best entries of each word whose words are in the dictionaries."""
        ids = _ids(lexicon.source_words, source), _ids(lexicon.target_words, target)
        known = (ids[0][lexicon.sources] >= 0) & (ids[1][lexicon.targets] >= 0)
        known &= ~np.isin(ids[1][lexicon.targets], blocked)
        best = Lexicon(
            source.symbols,
            target.symbols,
            ids[0][lexicon.sources[known]],
            ids[1][lexicon.targets[known]],
            lexicon.probabilities[known],
        ).best(per_word)
        sizes = np.bincount(best.sources, minlength=len(source.symbols))
        offsets = np.insert(np.cumsum(sizes), 0, 0)
        return cls(offsets, best.targets, best.probabilities, blocked)

    def row(self, source_id: int) -> np.ndarray:
        """Translations of a word, most probable first."""
        return self.targets[self.offsets[source_id] : self.offsets[source_id + 1]]

    def write(
        self, output: OutputFile, source: DictionaryFile, target: DictionaryFile, per_word: int
    ) -> None:
        """Write the file for the decoder's ``--candidates``."""
        CandidateFile(self.offsets, self.targets, self.blocked, per_word).write(
            output, source, target
        )

    def write_marian(
        self, output: OutputFile, source: DictionaryFile, target: DictionaryFile
    ) -> None:
        """Write Marian's lexical shortlist: ``TARGET SOURCE P`` lines."""
        for source_id, word in enumerate(source.symbols):
            row = slice(self.offsets[source_id], self.offsets[source_id + 1])
            for target_id, p in zip(self.targets[row], self.probabilities[row], strict=True):
                output.write_line(f"{target.symbols[target_id]} {word} {p:.7f}")

    def write_ctranslate2(
        self,
        output: OutputFile,
        source: DictionaryFile,
        target: DictionaryFile,
        frequent: Sequence[int],
    ) -> None:
        """Write CTranslate2's ``vmap.txt``: words always allowed, then a line per source word."""
        output.write_line("\t" + " ".join(target.symbols[number] for number in frequent))
        for source_id, word in enumerate(source.symbols):
            if row := [target.symbols[number] for number in self.row(source_id)]:
                output.write_line(f"{word}\t{' '.join(row)}")


def _ids(words: Sequence[str], dictionary: DictionaryFile) -> np.ndarray:
    """The id of each word, -1 if it is not in the dictionary."""
    index = dictionary.ids()
    return np.array([index.get(word, -1) for word in words], dtype=np.int64)
