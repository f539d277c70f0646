"""What an output layer may not do, because losses and searches would not see it."""

import pytest

from fairseq_outlayers.output_layers import OutputLayer


@pytest.mark.parametrize("method", ["logits", "forward"])
def test_scores_that_are_no_dot_products_are_refused_where_they_are_written(method):
    """Sampled losses and candidate lists never call ``logits``: they would train another layer."""
    scores = {method: lambda self, hidden, candidates=None: hidden.log_softmax(-1)}
    with pytest.raises(TypeError, match=rf"Mixture\.{method}.*project, class_embeddings"):
        type("Mixture", (OutputLayer,), scores)
