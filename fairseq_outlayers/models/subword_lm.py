"""LSTM language models over words composed of subword units (Assylbekov & Takhanov 2018)."""

from dataclasses import dataclass, field
from typing import Any

import torch.nn as nn
from fairseq.data import TruncatedDictionary
from fairseq.models import FairseqLanguageModel, register_model
from fairseq.tasks.translation import TranslationTask

from fairseq_outlayers.compositions import COMPOSITION, WORD, ComposedEmbedding, compose_words
from fairseq_outlayers.decoders.language_model import RecurrentDecoder
from fairseq_outlayers.errors import UserError
from fairseq_outlayers.layers.init_range import PublishedInit, init_spread
from fairseq_outlayers.layers.initialization import Uniform, reset_parameters
from fairseq_outlayers.layers.recurrent.variational_dropout import VariationalLSTM
from fairseq_outlayers.models.checks import check_model
from fairseq_outlayers.models.dictionary_check import register_dictionaries
from fairseq_outlayers.options import OutputLayerConfig, changed_defaults, register_size
from fairseq_outlayers.output_layers import build_output_layer
from fairseq_outlayers.output_layers.compiled import NotCompiled
from fairseq_outlayers.output_layers.subword_composed import ORIGINAL
from fairseq_outlayers.ranges import depth, ranged, share, width
from fairseq_outlayers.registry import class_of

# The authors' small and medium models.
PUBLISHED_INITS = PublishedInit(0.1, 200), PublishedInit(0.05, 650)

DEFAULT_TIE = "re_rw"
Defaults: Any = changed_defaults(
    "SubwordLMDefaults", OutputLayerConfig, output_layer="subword", composition="morphsum",
    tie=DEFAULT_TIE,
)  # fmt: skip


@dataclass
class SubwordLMConfig(Defaults):
    # Used by the input with any output layer.
    also_reads = ("tie", COMPOSITION.option, *COMPOSITION.options())

    hidden_size: int = width(200, "size of the LSTM states")
    lstm_layers: int = depth(2, "LSTM layers")
    dropout: float = share(0.3, "variational dropout on the states of every LSTM layer")
    mask_per_row: bool = field(
        default=False,
        metadata={
            "help": "draw a dropout mask for every row of the batch instead of one for all, as the "
            "authors do; slower, because it cannot use the fused kernel"
        },
    )
    init_range: float = ranged(
        0.0,
        "initialize all parameters uniformly in [-init_range, init_range]; 0: the authors' 0.1 at "
        "--hidden-size 200 and 0.05 at 650, scaled for other sizes to preserve the variance of "
        "products",
        at_least=0,
        at_most=100,
    )


@register_model("subword_lm", dataclass=SubwordLMConfig)
class SubwordLM(NotCompiled, FairseqLanguageModel):
    """LSTM language model over words whose vectors are composed from subword units.

    Reads and predicts words. `--composition` selects how input vectors are composed,
    `--output-layer subword --tie` which of its layers the output shares; other output layers work
    with `--composition word`.
    """

    gates = 4  # of its recurrent cells, to estimate its size

    @classmethod
    def build_model(cls, cfg: Any, task: Any) -> "SubwordLM":
        dictionary, size = task.target_dictionary, cfg.hidden_size
        check_model(cfg, class_of(cfg), task, cls.gates)
        check_same_words(task)
        COMPOSITION.refuse_unselected(cfg)
        check_tie(cfg)
        embedding: Any = (
            nn.Embedding(len(dictionary), size)
            if cfg.composition == WORD
            else ComposedEmbedding(compose_words(cfg, dictionary, size))
        )
        decoder = RecurrentDecoder(
            dictionary,
            embedding,
            VariationalLSTM(
                embedding.embedding_dim, size, cfg.lstm_layers, cfg.dropout, cfg.mask_per_row
            ),
            build_output_layer(cfg, embedding, size, dictionary),
        )
        model = cls(decoder)
        bound = init_spread(cfg.init_range, size, *PUBLISHED_INITS)
        reset_parameters(model, Uniform(bound))
        register_dictionaries(model, task)
        return model


def check_same_words(task: Any) -> None:
    """Refuse a task with different input and output words.

    Raises:
        UserError: if the output dictionary is truncated, or the task is translation.
    """
    if isinstance(task, TranslationTask):
        raise UserError(
            "this --arch is a language model, but the --task is translation: use a translation "
            "model, or --task subword_language_modeling"
        )
    if isinstance(task.target_dictionary, TruncatedDictionary):
        raise UserError(
            f"--output-dictionary-size {len(task.target_dictionary)}: this model predicts all "
            f"{len(task.source_dictionary)} words that it reads; leave it out"
        )


def check_tie(cfg: Any) -> None:
    """Refuse ``--tie`` with another output layer than ``subword``.

    Raises:
        UserError: if words are composed at the input only, or ``--tie`` is given and they are not.
    """
    idle = (ORIGINAL, "none", *([DEFAULT_TIE] if cfg.composition == WORD else []))
    if cfg.output_layer != "subword" and cfg.tie not in idle:
        raise UserError(
            f"--tie {cfg.tie} shares layers of the input with --output-layer subword, not with "
            f"{cfg.output_layer}: leave --output-layer out, or add --tie {ORIGINAL}"
        )


# The models of the paper. Small: 200 LSTM units; medium: 650.
MEDIUM = {"hidden_size": 650, "dropout": 0.5}
register_size("word_lm", SubwordLM, "An embedding per word, small.", composition="word")
register_size("word_lm_medium", SubwordLM, "An embedding per word, medium.", composition="word",
              **MEDIUM)  # fmt: skip
# Reuse harms models of characters (the paper's results).
register_size("charcnn_lm", SubwordLM, "Convolutions over characters, small.",
              composition="charcnn", tie=ORIGINAL)  # fmt: skip
register_size("charcnn_lm_medium", SubwordLM, "Convolutions over characters, medium.",
              composition="charcnn", tie=ORIGINAL, char_widths=7, char_filters=50,
              **MEDIUM)  # fmt: skip
register_size("sylconcat_lm", SubwordLM, "Concatenated syllables, small.",
              composition="sylconcat")  # fmt: skip
register_size("sylconcat_lm_medium", SubwordLM, "Concatenated syllables, medium.",
              composition="sylconcat", unit_dim=200, highway_dim=800, **MEDIUM)  # fmt: skip
register_size("morphsum_lm", SubwordLM, "Sums of morphs, small.", composition="morphsum")
register_size("morphsum_lm_medium", SubwordLM, "Sums of morphs, medium.", composition="morphsum",
              **MEDIUM)  # fmt: skip
