"""fairseq's ``lstm`` and our ``luong_lstm`` are one model under two sets of names.

Where encoder and decoder states have one size: LSTM layers, general attention and input feeding
(Luong et al. 2015).
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
    """What a parameter of fairseq's ``lstm`` is called in ``luong_lstm``."""
    for pattern, ours in NAMES:
        if re.fullmatch(pattern, name):
            return re.sub(pattern, ours, name)
    return name


def stock_lstm(model: Any) -> LSTMModel:
    """A ``luong_lstm`` as fairseq's model, which TorchScript can compile, for inference.

    Tables are shared with the model, other parameters are copies. As ever with fairseq's, sentences
    of a batch must be sorted by length, the longest first.

    Raises:
        UserError: if source vectors are no table, or in training.
    """
    encoder, decoder = model.encoder, model.decoder
    source, target = encoder.embed_tokens, decoder.embed_tokens
    if not isinstance(source, nn.Embedding) or source.num_embeddings != len(encoder.dictionary):
        raise UserError(
            f"torch.jit.script: source vectors by {type(source).__name__} are no TorchScript; a "
            "model without --source-embedding and --internal-vocabulary is"
        )
    layers, directions = list(decoder.recurrence.layers), len(encoder.lstm.layers[0])
    size = layers[0].hidden_size
    common = {"num_layers": len(layers), "embed_dim": target.embedding_dim}
    stock = LSTMModel(
        LSTMEncoder(encoder.dictionary, hidden_size=size // directions, **common,
                    bidirectional=directions == 2, pretrained_embed=_plain(source)),
        # Said to be tied, so that no matrix of classes is made only to be thrown away.
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
    """The same table in fairseq's own kind of embedding."""
    rows = table_of(embedding).rows().detach()
    return nn.Embedding.from_pretrained(rows, freeze=True, padding_idx=embedding.padding_idx)
