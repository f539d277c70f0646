"""What translation models with a recurrent decoder have in common."""

from typing import Any, Dict, Tuple

from fairseq.models import FairseqEncoderDecoderModel
from torch import Tensor


class AttentionalModel(FairseqEncoderDecoderModel):
    """An encoder, and an ``AttentionalDecoder`` that reads what it returns."""

    def forward(
        self,
        src_tokens: Tensor,
        src_lengths: Tensor,
        prev_output_tokens: Tensor,
        features_only: bool = False,
    ) -> Tuple[Tensor, Dict[str, Any]]:
        """Logits ``(B, T, V)``, or what the output layer scores with ``features_only``.

        Args:
            src_tokens: source words, ``(B, S)``, padded on either side.
            src_lengths: is ignored; the padding says as much.
            prev_output_tokens: the target words before those to be predicted, ``(B, T)``.
            features_only: whether to stop before the output layer: ``(B, T, H)``.
        Returns:
            The scores or features, and ``{"attn": [(B, T, S)]}``.
        """
        encoder_out = self.encoder(src_tokens, src_lengths)
        return self.decoder(
            prev_output_tokens, encoder_out=encoder_out, features_only=features_only
        )
