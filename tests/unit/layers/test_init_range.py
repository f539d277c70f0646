"""The spread of weights at the start, against closed forms."""

import math

import pytest
import torch
from fairseq.models import MODEL_DATACLASS_REGISTRY

from fairseq_outlayers.layers.init_range import PublishedInit, init_spread
from tests.conftest import make_model

WIDTHS = [16, 32, 128, 512]
# By architecture: the option, and what the papers start at which width.
PUBLISHED = {
    "luong_lstm": ("init_range", [(0.1, 512)]),
    "rnmt_plus": ("init_range", [(0.04, 512)]),
    "esnmt": ("init_range", [(0.04, 512)]),
    "esnmt_lstm": ("init_range", [(0.04, 512)]),
    "nematus_gru": ("init_std", [(0.01, 500)]),
    "rnnsearch": ("init_std", [(0.01, 1000)]),
    "subword_lm": ("init_range", [(0.1, 200), (0.05, 650)]),
}


@pytest.mark.parametrize("width", WIDTHS)
def test_the_variance_of_a_product_is_that_of_the_published_width(width):
    bound = init_spread(0.0, width, PublishedInit(0.1, 512))
    # Var(W x) = width * bound^2 / 3 * Var(x) for weights uniform in [-bound, bound].
    assert width * bound**2 / 3 == pytest.approx(512 * 0.1**2 / 3, rel=1e-12)
    torch.manual_seed(0)
    weights = torch.empty(4000, width, dtype=torch.float64).uniform_(-bound, bound)
    product = weights @ torch.randn(width, 200, dtype=torch.float64)
    assert product.var().item() == pytest.approx(512 * 0.1**2 / 3, rel=0.2)


def test_a_given_spread_is_taken_as_it_is():
    assert init_spread(0.3, 128, PublishedInit(0.1, 512)) == 0.3


@pytest.mark.parametrize(
    ("width", "expected"),
    [(200, 0.1), (650, 0.05), (100, 0.1 * 2**0.5), (1300, 0.05 / 2**0.5), (361, 0.0670962)],
)
def test_of_several_published_widths_the_nearest_in_ratio_counts(width, expected):
    # 361 is nearer to 650 than to 200 in ratio: 1.801 and 1.805.
    published = PublishedInit(0.1, 200), PublishedInit(0.05, 650)
    assert init_spread(0.0, width, *published) == pytest.approx(expected, rel=1e-3)


def spread_of(arch, task, width, **options):
    """The spread of the target embeddings, padding left out."""
    sizes = {"hidden_size": width}
    if arch != "subword_lm":
        sizes["embed_dim"] = 64
    model = make_model(arch, task, **sizes, **options)
    table = model.decoder.embed_tokens.weight.detach().double()
    rows = table[torch.arange(len(table)) != task.target_dictionary.pad()]
    return rows.abs().max().item() if "init_range" in options else rows.std().item()


@pytest.mark.parametrize("width", [16, 64])
@pytest.mark.parametrize("arch", PUBLISHED)
def test_every_recurrent_model_starts_by_its_width_and_as_asked_for_if_asked(task, arch, width):
    option, published = PUBLISHED[arch]
    at, found = min(published, key=lambda start: abs(math.log(start[1] / width)))
    expected = at * math.sqrt(found / width)
    tolerance = 0.02 if option == "init_range" else 0.15  # a maximum of many, a deviation of many
    assert spread_of(arch, task, width, **{option: 0.0}) == pytest.approx(expected, rel=tolerance)
    assert spread_of(arch, task, width, **{option: 0.3}) == pytest.approx(0.3, rel=tolerance)


@pytest.mark.parametrize("arch", sorted(set(PUBLISHED) - {"rnnsearch"}))
def test_the_spread_by_width_is_the_default(arch):
    assert getattr(MODEL_DATACLASS_REGISTRY[arch](), PUBLISHED[arch][0]) == 0
