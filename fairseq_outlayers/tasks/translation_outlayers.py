"""Translation with candidate lists, replacement of unknown words, and partitions."""

import json
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Tuple

from fairseq.dataclass import ChoiceEnum
from fairseq.sequence_generator import SequenceGenerator
from fairseq.sequence_scorer import SequenceScorer
from fairseq.tasks import register_task
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from torch import Tensor

from fairseq_outlayers.decoding.attention import require_attention
from fairseq_outlayers.decoding.candidate_options import CandidateConfig, build_lists
from fairseq_outlayers.decoding.search import CandidateGenerator, CandidateGeneratorWithAlignment
from fairseq_outlayers.decoding.search_options import (
    check_search,
    refuse_with_references,
    search_option_names,
)
from fairseq_outlayers.decoding.unk_replacement import (
    UnkReplacementConfig,
    build_replacement,
    encode_new_words,
)
from fairseq_outlayers.errors import UserError, as_flag, changes_nothing
from fairseq_outlayers.partitions.options import PartitionConfig
from fairseq_outlayers.partitions.training import PartitionedTraining
from fairseq_outlayers.ranges import check_ranges, ranged

AVERAGES = ["probabilities", "log_probabilities"]


@dataclass
class TranslationOutlayersConfig(
    CandidateConfig, UnkReplacementConfig, PartitionConfig, TranslationConfig
):
    ensemble_average: ChoiceEnum(AVERAGES) = field(  # type: ignore[valid-type]
        default="probabilities",
        metadata={"help": "average of an ensemble"},
    )
    min_len_a: float = ranged(
        0.0,
        "translations have at least floor(A x source length) words, including the source's </s>; "
        "0.5 in the authors' code of Jean et al. (2015)",
        at_least=0,
    )
    int8_projection: bool = field(
        default=False,
        metadata={
            "help": "score the whole vocabulary with 8-bit integers: faster on a CPU, but a few "
            "translations differ"
        },
    )


@register_task("translation_outlayers", dataclass=TranslationOutlayersConfig)
class TranslationOutlayersTask(PartitionedTraining, TranslationTask):
    """fairseq's translation, optionally with partitions and candidates (Jean et al. 2015)."""

    cfg: TranslationOutlayersConfig

    def __init__(self, cfg: Any, src_dict: Any, tgt_dict: Any):
        super().__init__(cfg, src_dict, tgt_dict)
        check_ranges(cfg, TranslationOutlayersConfig)
        self.unk_replacement = build_replacement(cfg, src_dict, tgt_dict)
        self.candidate_lists: Any = None
        self.spelled: Callable[..., str] = as_flag  # options of the search in errors

    def build_model(self, cfg: Any, from_checkpoint: bool = False) -> Any:
        """Build the model; ``--eval-bleu`` with too few candidates is refused before training."""
        model = super().build_model(cfg, from_checkpoint)
        search = getattr(self, "sequence_generator", None)
        if isinstance(search, CandidateGenerator):
            search.spelled = _in_training
            search.check_frequent()
        return model

    def load_dataset(self, split: str, *args: Any, **kwargs: Any) -> None:
        """Load a split; ``--source-text`` of another one is refused before training or decoding.

        Raises:
            UserError: if the source text of ``--eval-bleu`` is not that of a validation set.
        """
        super().load_dataset(split, *args, **kwargs)
        if self.unk_replacement is not None and split != self.cfg.train_subset:
            pairs = self.dataset(split)
            sizes = pairs.src_sizes
            if self.cfg.truncate_source:  # fairseq's are then up to a word too large
                sizes = (len(pairs.src[number]) for number in range(len(pairs)))
            if not self.cfg.num_batch_buckets:  # padded; each sentence is compared when it is read
                self.unk_replacement.check_text(sizes)

    def build_generator(
        self,
        models: List[Any],
        args: Any,
        seq_gen_cls: Any = None,
        extra_gen_cls_kwargs: Optional[Dict[str, Any]] = None,
        prefix_allowed_tokens_fn: Any = None,
    ) -> Any:
        """fairseq's generator, or ours for a single model or if one of our options needs it.

        Removes words that replacements of an earlier search have added to the target dictionary.

        Raises:
            UserError: if search options contradict each other, candidates are combined with an
                option that needs the full vocabulary, or references or attention that an option
                needs are missing.
        """
        extra = dict(extra_gen_cls_kwargs or {})
        stock = super().build_generator
        if self.unk_replacement is not None:  # a search is over the model's own words
            self.unk_replacement.remove_replacements()
        self._refuse_without_references(args)
        readers = {
            "print_alignment": getattr(args, "print_alignment", None),
            "unk_replacement": self.unk_replacement,
        }
        require_attention(models, readers, self.spelled)
        if getattr(args, "score_reference", False) or seq_gen_cls is not None:
            return stock(models, args, seq_gen_cls, extra, prefix_allowed_tokens_fn)
        check_search(args, self.cfg, len(self.target_dictionary), self.spelled)
        average = str(self.cfg.ensemble_average)
        if average != "probabilities" and isinstance(models, list) and len(models) == 1:
            remedy = "it averages the models of an ensemble; leave it out"
            where = "with one model"
            raise changes_nothing("ensemble_average", average, where, remedy, self.spelled)
        if self.candidate_lists is None:  # read once
            self.candidate_lists = build_lists(
                self.cfg, self.source_dictionary, self.target_dictionary
            )
        if self.candidate_lists is not None:
            self.candidate_lists.reset()
            self._refuse_whole_vocabulary(args, extra, prefix_allowed_tokens_fn)
        elif not self._needs_ours(models, args):
            return stock(models, args, seq_gen_cls, extra, prefix_allowed_tokens_fn)
        extra.update(
            candidates=self.candidate_lists,
            average=average,
            min_len_a=self.cfg.min_len_a,
            int8_projection=self.cfg.int8_projection,
            spelled=self.spelled,
        )
        generator = CandidateGenerator
        if getattr(args, "print_alignment", None):
            generator = CandidateGeneratorWithAlignment
            extra["print_alignment"] = args.print_alignment
        return stock(models, args, generator, extra, prefix_allowed_tokens_fn)

    def begin_valid_epoch(self, epoch: int, model: Any) -> None:
        super().begin_valid_epoch(epoch, model)
        if self.candidate_lists is not None:
            self.candidate_lists.reset()
        search = getattr(self, "sequence_generator", None)  # of --eval-bleu
        if isinstance(search, CandidateGenerator) and search.int8_projections is not None:
            search.int8_projections.clear()

    def valid_step(self, sample: Dict[str, Any], model: Any, criterion: Any) -> Any:
        """fairseq's step; words that ``--eval-bleu`` has copied leave the target dictionary."""
        result = super().valid_step(sample, model, criterion)
        if self.unk_replacement is not None:
            self.unk_replacement.remove_replacements()
        return result

    def _needs_ours(self, models: Any, args: Any) -> bool:
        """Whether a search over all words is ours, not fairseq's."""
        return (
            str(self.cfg.ensemble_average) != "probabilities"
            or self.cfg.min_len_a > 0
            or self.cfg.int8_projection
            # A step of ours is faster for a single model.
            or (isinstance(models, (list, tuple)) and len(models) == 1)
            # fairseq's limits would depend on the batch, or be beyond the model's positions.
            or getattr(args, "max_len_a", 0) != 0
            or getattr(args, "match_source_len", False)
        )

    def _refuse_without_references(self, args: Any) -> None:
        """Refuse what reads references where a loaded set has none."""
        without = [split for split, pairs in self.datasets.items() if pairs.tgt is None]
        for name in ("prefix_size", "score_reference"):
            value = getattr(args, name, False)
            if value and without:
                raise UserError(
                    f"{as_flag(name, value)}: '{without[0]}' has no text in {self.cfg.target_lang} "
                    "to read: binarize it with its translations, or leave the option out"
                )

    def _refuse_whole_vocabulary(self, args: Any, extra: Dict[str, Any], allowed: Any) -> None:
        """Refuse options that need the scores of all words, which candidate lists leave out."""
        given = {
            self.spelled("lm_path"): extra.get("lm_model"),
            self.spelled("constraints"): getattr(args, "constraints", None),
            "a prefix_allowed_tokens_fn": allowed
            or getattr(args, "prefix_allowed_tokens_fn", None),
            self.spelled("int8_projection"): self.cfg.int8_projection,
        }
        for name, value in given.items():
            if value:
                raise UserError(
                    f"{name} needs the whole vocabulary: leave it out, or leave out "
                    f"{self.spelled('candidates')} and {self.spelled('candidate_frequent')}"
                )

    def inference_step(
        self,
        generator: Any,
        models: List[Any],
        sample: Dict[str, Any],
        prefix_tokens: Any = None,
        constraints: Any = None,
    ) -> Any:
        """Hypotheses of a batch, with unknown words replaced; or scores of given ones.

        Raises:
            UserError: if an option has no effect on scores of given translations.
        """
        # Here, because only commands call it: a hub interface may score and translate.
        if isinstance(generator, SequenceScorer):
            refuse_with_references(self.cfg, TranslationOutlayersConfig(), prefix_tokens)
        replacement = self.unk_replacement
        if replacement is None or not isinstance(generator, SequenceGenerator):
            return super().inference_step(generator, models, sample, prefix_tokens, constraints)
        known = replacement.known(sample)
        found = super().inference_step(generator, models, known, prefix_tokens, constraints)
        replacement.apply(sample, found)
        return found

    def get_interactive_tokens_and_lengths(
        self, lines: List[str], encode_fn: Callable[[str], str]
    ) -> Tuple[List[Any], List[int]]:
        """Encode the input of fairseq-interactive; new words get ids, so that they can be copied.

        Removes new words of earlier input, which is printed already.
        """
        if self.unk_replacement is None:
            return super().get_interactive_tokens_and_lengths(lines, encode_fn)
        self.unk_replacement.remove_new_words()
        tokens = [encode_new_words(self.source_dictionary, encode_fn(line)) for line in lines]
        return tokens, [len(sentence) for sentence in tokens]

    def build_dataset_for_inference(
        self, src_tokens: Any, src_lengths: Any, constraints: Optional[Tensor] = None
    ) -> Any:
        """fairseq's dataset of sentences to translate.

        A word of ``--constraints`` that a replacement in earlier input has added to the target
        dictionary is unknown to the model, as before that replacement.
        """
        if constraints is not None and self.unk_replacement is not None:
            constraints = self.unk_replacement.known_targets(constraints)
        return super().build_dataset_for_inference(src_tokens, src_lengths, constraints)


def reset_search(options: Any) -> None:
    """Reset what a task searches and validates by, which is not a matter of the trained model.

    Args:
        options: of a task in a checkpoint, as a mapping; those that are missing remain so.
    """
    defaults = TranslationOutlayersConfig()
    # Validation by BLEU would need a generator of its own.
    for name in (*search_option_names(), "eval_bleu"):
        if name in options:
            options[name] = getattr(defaults, name)


def _in_training(option: str, value: Any = True) -> str:
    """An option of the search of ``--eval-bleu``, in messages."""
    if option in TranslationOutlayersConfig.__dataclass_fields__:
        return as_flag(option, value)
    name = option if value is True else json.dumps({option: value})
    return f"{name} in --eval-bleu-args"
