"""Options of candidate lists."""

import logging
from dataclasses import dataclass, field
from typing import Any, Optional

from fairseq.dataclass import ChoiceEnum, FairseqDataclass

from fairseq_outlayers.decoding.candidates import SCOPES, CandidateLists
from fairseq_outlayers.decoding.copies import copies_of
from fairseq_outlayers.decoding.translations import Translations
from fairseq_outlayers.errors import UserError, refuse_idle
from fairseq_outlayers.ranges import check_ranges, ranged
from fairseq_outlayers.registry import lookup

logger = logging.getLogger(__name__)


@dataclass
class CandidateConfig(FairseqDataclass):
    candidates: Optional[str] = field(
        default=None,
        metadata={"help": "file of data_prep/build_candidates.py: translations of source words"},
    )
    candidate_frequent: int = ranged(
        0,
        "K: decode over the K most frequent words, including </s> and <unk>, and those that "
        "--candidates adds; 0: over all words",
        at_least=0,
    )
    candidate_per_word: int = ranged(
        10, "K': translations of each source word from --candidates", at_least=0
    )
    candidate_scope: ChoiceEnum(list(SCOPES)) = field(  # type: ignore[valid-type]
        default="sentence",
        metadata={
            "help": "one list for each sentence, for each batch, or of K words for successive "
            "batches; only with sentence are hypotheses independent of the batch"
        },
    )
    candidate_copies: bool = field(
        default=False,
        metadata={
            "help": "add words of a source sentence that are also in the target dictionary, such "
            "as names and numbers, to its candidates"
        },
    )


def build_lists(
    config: CandidateConfig, source_dictionary: Any, target_dictionary: Any
) -> Optional[CandidateLists]:
    """Build the candidate lists of the options; None for the whole vocabulary.

    Raises:
        UserError: if options are missing, or contradict each other or the file.
    """
    check_ranges(config, CandidateConfig)
    frequent, per_word = config.candidate_frequent, config.candidate_per_word
    if frequent == 0 and config.candidates is None:
        idle = ("candidate_scope", "candidate_copies")
        refuse_idle(config, CandidateConfig(), "--candidate-frequent", *idle)
        refuse_idle(config, CandidateConfig(), "--candidates", "candidate_per_word")
        return None
    if frequent < 2:
        raise UserError(
            f"--candidate-frequent {frequent}: must be at least 2, because it counts </s> and "
            "<unk>; --candidates needs it"
        )
    if config.candidates is None:
        if per_word != 0:
            refuse_idle(config, CandidateConfig(), "--candidates", "candidate_per_word")
        translations, per_word = Translations.none(len(source_dictionary)), 0
    else:
        translations = Translations.load(config.candidates, source_dictionary, target_dictionary)
    if not 0 <= per_word <= translations.per_word:
        raise UserError(
            f"--candidate-per-word {per_word}: must be from 0 to {translations.per_word}, the "
            f"--per-word of {config.candidates} (data_prep/build_candidates.py)"
        )
    if frequent >= len(target_dictionary):
        blocked = len(translations.blocked)
        logger.warning(
            "--candidate-frequent %d: the target dictionary has only %d words, so that all of them "
            "%sare candidates of every sentence",
            frequent,
            len(target_dictionary),
            f"except the {blocked} blocked ones " if blocked else "",
        )
    scope = lookup(SCOPES, str(config.candidate_scope), "--candidate-scope")
    copies = copies_of(source_dictionary, target_dictionary) if config.candidate_copies else None
    return scope(target_dictionary, translations, frequent, per_word, copies)
