"""Multi-head additive attention against its equation, head by head."""

import torch

from fairseq_outlayers.layers.attention.multi_head_additive import MultiHeadAdditiveAttention

SIZE, HEADS = 6, 3


def test_contexts_and_weights_equal_the_equation():
    torch.manual_seed(0)
    attention = MultiHeadAdditiveAttention(SIZE, HEADS).double()
    source = torch.randn(2, 5, SIZE, dtype=torch.float64)
    padding = torch.tensor([[True, True, False, False, False], [False] * 5])
    query = torch.randn(2, SIZE, dtype=torch.float64)
    attend = attention.over(attention.keys(source), attention.values(source), padding)
    context, weights = attend(query)
    for row in range(2):
        heads, mean = [], torch.zeros(5, dtype=torch.float64)
        for head in range(HEADS):
            part = slice(2 * head, 2 * head + 2)
            scores = torch.full((5,), float("-inf"), dtype=torch.float64)
            for position in range(5):
                if not padding[row, position]:
                    key = attention.key.weight @ source[row, position]
                    hidden = torch.tanh(attention.query.weight @ query[row] + key)
                    scores[position] = attention.score[part] @ hidden[part]
            share = scores.softmax(0)
            heads.append(share @ source[row][:, part])
            mean += share / HEADS
        torch.testing.assert_close(context[row], attention.output.weight @ torch.cat(heads))
        torch.testing.assert_close(weights[row], mean)
    assert weights[padding].abs().max() == 0


def test_gradients_over_several_steps_are_those_of_autograd():
    torch.manual_seed(0)
    attention = MultiHeadAdditiveAttention(SIZE, HEADS).double()
    padding = torch.tensor([[True, False, False]])

    def two_steps(source, query, *_):
        attend = attention.over(attention.keys(source), attention.values(source), padding)
        context, _ = attend(query)
        return attend(query + context)

    source = torch.randn(1, 3, SIZE, dtype=torch.float64, requires_grad=True)
    query = torch.randn(1, SIZE, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(two_steps, (source, query, *attention.parameters()))
