"""Refuse a language model whose scores cannot be added to those of a translation model.

``fairseq-generate --lm-path`` adds log-probabilities by the ids of words (fairseq/search.py), and
compares no words. A language model over other words of the same number, or over the same words in
another order, gives each word the score of another.
"""

from typing import Any, Callable

from fairseq.models import FairseqEncoderDecoderModel
from fairseq.tasks import FairseqTask

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.patches.replacing import replaces


@replaces(FairseqTask, "build_generator")
def _refuse_other_words(
    stock: Callable[..., Any],
    self: Any,
    models: Any,
    args: Any,
    seq_gen_cls: Any = None,
    extra_gen_cls_kwargs: Any = None,
    *more: Any,
    **kwargs: Any,
) -> Any:
    language_model = (extra_gen_cls_kwargs or {}).get("lm_model")
    if language_model is not None:
        _check(language_model, self.target_dictionary, getattr(args, "lm_path", None))
    return stock(self, models, args, seq_gen_cls, extra_gen_cls_kwargs, *more, **kwargs)


def _check(language_model: Any, target_dictionary: Any, path: Any) -> None:
    if isinstance(language_model, FairseqEncoderDecoderModel):
        raise UserError(
            f"--lm-path {path}: a translation model ({type(language_model).__name__}): give a "
            "language model over the target words"
        )
    known = getattr(getattr(language_model, "decoder", None), "dictionary", None)
    if known is not None and known.symbols != target_dictionary.symbols:
        raise UserError(
            f"--lm-path {path}: its words (dict.txt in the data folder) are not those of the "
            "target dictionary, in the same order: binarize its text by fairseq-preprocess "
            "--only-source --srcdict with the target dictionary, and train it on that"
        )
