"""Convert between fairseq's ``lstm`` and our ``luong_lstm``.

If encoder and decoder states have equal sizes, both are the same model with different names: LSTM
layers, general attention and input feeding (Luong et al. 2015).
"""

import re
from typing import Any

import torch.nn as nn
from fairseq.models.lstm import LSTMDecoder, LSTMEncoder, LSTMModel

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.output_layers.compiled import compiled_layer
from fairseq_outlayers.tables.table import table_of

NAMES = (  # fairseq's, ours
    (r"encoder\.lstm\.(\w+_[ih]h)_l(\d+)", r"encoder.lstm.layers.\2.0.\1_l0"),
    (r"encoder\.lstm\.(\w+_[ih]h)_l(\d+)_reverse", r"encoder.lstm.layers.\2.1.\1_l0"),
    (r"decoder\.layers\.(\d+)\.(\w+)", r"decoder.recurrence.layers.\1.\2"),
    (r"decoder\.attention\.input_proj\.weight", "decoder.recurrence.attention.query.weight"),
    (r"decoder\.attention\.output_proj\.weight", "decoder.recurrence.attention.output.weight"),
    (r"decoder\.fc_out\.(\w+)", r"decoder.output_projection.\1"),
)


def our_name(name: str) -> str:
    """The name in ``luong_lstm`` of a parameter of fairseq's ``lstm``."""
    for pattern, ours in NAMES:
        if re.fullmatch(pattern, name):
            return re.sub(pattern, ours, name)
    return name


def stock_lstm(model: Any) -> LSTMModel:
    """Convert a ``luong_lstm`` to fairseq's model, for TorchScript and inference.

    Tables are shared with the model, other parameters are copied. fairseq's model needs sentences
    of a batch sorted by length, longest first.

    Raises:
        UserError: if the source embedding is not a table, or in training.
    """
    encoder, decoder = model.encoder, model.decoder
    source, target = encoder.embed_tokens, decoder.embed_tokens
    if not isinstance(source, nn.Embedding) or source.num_embeddings != len(encoder.dictionary):
        raise UserError(
            f"torch.jit.script: cannot compile the source embedding {type(source).__name__}; use "
            "a model without --source-embedding and --internal-vocabulary"
        )
    layers, directions = list(decoder.recurrence.layers), len(encoder.lstm.layers[0])
    size = layers[0].hidden_size
    common = {"num_layers": len(layers), "embed_dim": target.embedding_dim}
    stock = LSTMModel(
        LSTMEncoder(encoder.dictionary, hidden_size=size // directions, **common,
                    bidirectional=directions == 2, pretrained_embed=_plain(source)),
        # Tied, so that fairseq does not allocate a class matrix, which is replaced below.
        LSTMDecoder(decoder.dictionary, hidden_size=size, out_embed_dim=size, **common,
                    encoder_output_units=size, pretrained_embed=_plain(target),
                    share_input_output_embed=True),
    )  # fmt: skip
    stock.to(target.weight)
    own = model.state_dict()
    nn.Module.load_state_dict(stock, {name: own[our_name(name)] for name in stock.state_dict()})
    stock.decoder.share_input_output_embed = False
    stock.decoder.fc_out = compiled_layer(decoder.output_projection)
    return stock.eval()


def _plain(embedding: nn.Embedding) -> nn.Embedding:
    """A plain embedding that shares the table."""
    rows = table_of(embedding).rows().detach()
    return nn.Embedding.from_pretrained(rows, freeze=True, padding_idx=embedding.padding_idx)
