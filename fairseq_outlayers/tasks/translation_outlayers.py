"""Translation with candidate lists."""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from fairseq.dataclass import ChoiceEnum
from fairseq.tasks import register_task
from fairseq.tasks.translation import TranslationConfig, TranslationTask

from fairseq_outlayers.decoding.candidates import CandidateConfig, build_lists
from fairseq_outlayers.decoding.search import CandidateGenerator, CandidateGeneratorWithAlignment
from fairseq_outlayers.errors import UserError

AVERAGES = ["probabilities", "log_probabilities"]


@dataclass
class TranslationOutlayersConfig(CandidateConfig, TranslationConfig):
    ensemble_average: ChoiceEnum(AVERAGES) = field(  # type: ignore[valid-type]
        default="probabilities",
        metadata={"help": "what is averaged over the models of an ensemble"},
    )


@register_task("translation_outlayers", dataclass=TranslationOutlayersConfig)
class TranslationOutlayersTask(TranslationTask):
    """fairseq's translation, decoding over candidate lists if asked for (Jean et al. 2015)."""

    cfg: TranslationOutlayersConfig

    def build_generator(
        self,
        models: List[Any],
        args: Any,
        seq_gen_cls: Any = None,
        extra_gen_cls_kwargs: Optional[Dict[str, Any]] = None,
        prefix_allowed_tokens_fn: Any = None,
    ) -> Any:
        """fairseq's generator, or ours where an option of ours needs it.

        Raises:
            UserError: if candidates are asked for beside what cannot be restricted to them.
        """
        extra = dict(extra_gen_cls_kwargs or {})
        stock = super().build_generator
        average = str(self.cfg.ensemble_average)
        if getattr(args, "score_reference", False) or seq_gen_cls is not None:
            return stock(models, args, seq_gen_cls, extra, prefix_allowed_tokens_fn)
        lists = build_lists(self.cfg, self.source_dictionary, self.target_dictionary)
        if lists is None and average == "probabilities":
            return stock(models, args, seq_gen_cls, extra, prefix_allowed_tokens_fn)
        if lists is not None:
            _refuse_whole_vocabulary(args, extra, prefix_allowed_tokens_fn)
        extra.update(candidates=lists, average=average)
        generator = CandidateGenerator
        if getattr(args, "print_alignment", None):
            generator = CandidateGeneratorWithAlignment
            extra["print_alignment"] = args.print_alignment
        return stock(models, args, generator, extra, prefix_allowed_tokens_fn)


def _refuse_whole_vocabulary(args: Any, extra: Dict[str, Any], allowed_tokens: Any) -> None:
    """Refuse what speaks of words that may not be candidates."""
    reasons = {
        "--lm-path": extra.get("lm_model"),
        "--constraints": getattr(args, "constraints", None),
        "a prefix_allowed_tokens_fn": allowed_tokens
        or getattr(args, "prefix_allowed_tokens_fn", None),
    }
    for name, given in reasons.items():
        if given:
            raise UserError(
                f"{name} needs the whole vocabulary: leave it out, or leave out --candidates and "
                "--candidate-frequent"
            )
