"""Beam search on an accelerator, with every option of ours."""

import pytest

from tests.conftest import TRANSLATION_ARCHITECTURES, make_batch
from tests.devices import DEVICES, device_of_kind, to_device
from tests.unit.decoding.test_search import LENGTHS, models_of

LISTS = {"candidate_frequent": 8, "candidate_per_word": 2}
# Options of the task, and of the search.
SEARCHES = {
    "all words": ({}, {}),
    "sentence": (LISTS, {}),
    "batch": ({**LISTS, "candidate_scope": "batch"}, {}),
    "common": ({**LISTS, "candidate_frequent": 24, "candidate_scope": "common"}, {}),
    "copies": ({**LISTS, "candidate_copies": True}, {}),
    "prefix": (LISTS, {"prefix_size": 2}),
    "minimum length": ({**LISTS, "min_len_a": 0.5}, {}),
    "replaced unknowns": ({**LISTS, "unk_replacement": "copy"}, {}),
    "alignment": (LISTS, {"print_alignment": "hard"}),
    "sampling": (LISTS, {"sampling": True}),
    "n-gram blocking": (LISTS, {"no_repeat_ngram_size": 2}),
    "two models": (LISTS, {}),
    "logarithms": ({**LISTS, "ensemble_average": "log_probabilities"}, {}),
}
ARCHITECTURES = [arch for arch in TRANSLATION_ARCHITECTURES if arch != "luong_lstm"]
PAIRS = [("luong_lstm", search) for search in SEARCHES]
PAIRS += [(arch, search) for arch in ARCHITECTURES for search in ("all words", "sentence")]


@pytest.mark.parametrize("kind", DEVICES)
@pytest.mark.parametrize(("arch", "search"), PAIRS)
def test_translations_are_the_cpus_and_no_step_of_ours_makes_the_host_wait(
    kind,
    arch,
    search,
    make_task,
    decode,
    write_candidates,
):
    conf, options = SEARCHES[search]
    if conf:
        conf = {**conf, "candidates": write_candidates()}
    number = 2 if search in ("two models", "logarithms") else 1
    task = make_task(**conf)
    models = [model.float() for model in models_of(task, number, arch)]
    batch = make_batch(task, LENGTHS)
    expected = decode(task, models, batch, **options)
    with device_of_kind(kind) as device:
        models = [model.to(device.device) for model in models]
        task, batch = make_task(**conf), to_device(batch, device.device)
        device.forget()
        found = decode(task, models, batch, **options)
        tokens = [[h["tokens"].tolist() for h in hypotheses] for hypotheses in found]
    if search != "sampling" or kind == "pretended":
        assert tokens == [[h["tokens"].tolist() for h in hypotheses] for hypotheses in expected]
    if kind == "pretended":
        in_steps = ("_put_rows", "reorder_encoder_out", "forward_decoder", "step", "forward")
        ours = [place for place in device.waits if "fairseq's" not in place]
        assert [place for place in ours if place.split()[-1] in in_steps] == []
