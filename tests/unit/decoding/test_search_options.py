"""Search options that contradict each other or the model: one line, before anything is decoded."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from fairseq_outlayers.errors import UserError
from tests.conftest import make_batch, make_dictionary
from tests.unit.decoding.test_search import LENGTHS, models_of

NUM_WORDS = 41


def refused(task, models, **arguments):
    with pytest.raises(UserError) as raised:
        task.build_generator(models, SimpleNamespace(**arguments))
    return str(raised.value)


@pytest.mark.parametrize("count", [1, 2], ids=["our search", "fairseq's"])
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            {"sampling": True, "sampling_topk": 1000},
            "--sampling-topk 1000: there are only 41 words to sample from: lower it, or leave it "
            "out to sample from all",
        ),
        (
            {"sampling": True, "sampling_topk": 3, "sampling_topp": 0.5},
            "--sampling-topk 3 has no effect with --sampling-topp: leave one of them out",
        ),
        (
            {"diverse_beam_strength": 0.2},
            "--diverse-beam-strength 0.2 has no effect without --diverse-beam-groups: add that, or "
            "leave it out",
        ),
        (
            {"diverse_beam_strength": 0.2, "diverse_beam_groups": 0},
            "--diverse-beam-strength 0.2 has no effect without --diverse-beam-groups: add that, or "
            "leave it out",
        ),
        (
            {"sampling": True, "diversity_rate": 0.0},
            "--sampling and --diversity-rate exclude each other: give one",
        ),
        (
            {"match_source_len": True, "constraints": "ordered"},
            "--match-source-len and --constraints exclude each other: give one",
        ),
        (
            {"sampling_topp": 0.3},
            "--sampling-topp 0.3 has no effect without --sampling: add that, or leave it out",
        ),
        (
            {"sampling_topk": 3},
            "--sampling-topk 3 has no effect without --sampling: add that, or leave it out",
        ),
        (
            {"diverse_beam_groups": 3, "beam": 4},
            "--diverse-beam-groups 3: --beam 4 is not a multiple of it: give --beam 6, or another "
            "number of groups",
        ),
        (
            {"unnormalized": True, "lenpen": 2.0},
            "--lenpen 2.0 has no effect with --unnormalized: leave one of them out",
        ),
        (
            {"match_source_len": True, "min_len": 6},
            "--min-len 6 has no effect with --match-source-len: translations are as long as their "
            "source with its </s>; leave one of them out",
        ),
    ],
)
def test_options_that_contradict_each_other_are_refused(arguments, line, count, make_task):
    task = make_task()
    assert refused(task, models_of(task, count), **arguments) == line


def test_scores_may_be_sums_beside_the_default_length_penalty(make_task, decode):
    task = make_task()
    models, batch = models_of(task), make_batch(task, LENGTHS)
    for hypothesis in decode(task, models, batch, unnormalized=True, lenpen=1)[0]:
        torch.testing.assert_close(hypothesis["score"], hypothesis["positional_scores"].sum())


def test_a_minimum_share_with_the_length_of_the_source_is_refused(make_task):
    task = make_task(min_len_a=2.0)
    assert refused(task, models_of(task), match_source_len=True) == (
        "--min-len-a 2.0 has no effect with --match-source-len: translations are as long as their "
        "source with its </s>; leave one of them out"
    )


@pytest.mark.parametrize(("name", "value"), [("max_len_a", 0.5), ("max_len_b", 50)])
def test_a_longest_length_with_the_length_of_the_source_is_refused(name, value, make_task):
    task = make_task()
    assert refused(task, models_of(task), match_source_len=True, **{name: value}) == (
        f"--{name.replace('_', '-')} {value} has no effect with --match-source-len: translations "
        "are as long as their source with its </s>; leave one of them out"
    )


def test_an_average_of_one_model_is_refused(make_task):
    task = make_task(ensemble_average="log_probabilities")
    assert refused(task, models_of(task)) == (
        "--ensemble-average log_probabilities has no effect with one model: it averages the models "
        "of an ensemble; leave it out"
    )
    task.build_generator(models_of(task, 2), SimpleNamespace())


def test_a_prefix_that_ends_before_the_length_of_the_source_is_refused(make_task, decode):
    task = make_task()
    batch = make_batch(task, [(5, 2), (4, 3)])
    with pytest.raises(UserError, match=r"--prefix-size 3: a reference ends .* leave one of"):
        decode(task, models_of(task), batch, prefix_size=3, match_source_len=True)
    assert decode(task, models_of(task), batch, prefix_size=2, match_source_len=True)
    longer = make_batch(task, [(5, 6)])
    assert decode(task, models_of(task), longer, prefix_size=7, match_source_len=True)


@pytest.mark.parametrize(
    ("option", "flag"),
    [({"prefix_size": 2}, "--prefix-size 2"), ({"score_reference": True}, "--score-reference")],
)
def test_what_reads_references_is_refused_without_them(option, flag, make_task):
    task = make_task(target_lang="de")
    pairs = task.datasets["test"] = task.build_dataset_for_inference([torch.tensor([5, 2])], [2])
    task.build_generator(models_of(task), SimpleNamespace())
    assert refused(task, models_of(task), **option) == (
        f"{flag}: 'test' has no text in de to read: binarize it with its translations, or leave "
        "the option out"
    )
    pairs.tgt = pairs.src
    task.build_generator(models_of(task), SimpleNamespace(**option))


def test_as_many_words_as_the_dictionary_has_may_be_sampled(make_task, decode):
    task = make_task()
    batch = make_batch(task, LENGTHS)
    assert decode(task, models_of(task), batch, sampling=True, sampling_topk=NUM_WORDS)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_sample_larger_than_the_candidates_is_refused(share, make_task, decode):
    task = make_task(candidate_frequent=12, min_len_a=share)
    models, batch = models_of(task), make_batch(task, LENGTHS)
    assert decode(task, models, batch, sampling=True, sampling_topk=12)
    with pytest.raises(
        UserError,
        match="--sampling-topk 13: this search needs 13 cand",
    ):
        decode(task, models, batch, sampling=True, sampling_topk=13)


def test_a_translation_model_as_language_model_is_refused(make_task):
    task = make_task()
    models = models_of(task)
    extra = {"lm_model": models[0], "lm_weight": 1.0}
    arguments = SimpleNamespace(lm_path="nmt.pt")
    with pytest.raises(UserError) as raised:
        task.build_generator(models, arguments, extra_gen_cls_kwargs=extra)
    assert str(raised.value) == (
        "--lm-path nmt.pt: a translation model (LuongLSTM): give a language model over the target "
        "words"
    )


@pytest.mark.parametrize(("words", "fits"), [
    ("the same", True), ("in another order", False), ("fewer", False),
])  # fmt: skip
@pytest.mark.parametrize("count", [1, 2], ids=["our search", "fairseq's"])
def test_a_language_model_over_other_words_is_refused(count, words, fits, make_task):
    task = make_task()
    known = {"the same": list(range(37)), "in another order": [1, 0, *range(2, 37)],
             "fewer": list(range(36))}[words]  # fmt: skip
    dictionary = make_dictionary(0)
    for word in known:
        dictionary.add_symbol(task.target_dictionary.symbols[4 + word])
    model = SimpleNamespace(decoder=SimpleNamespace(dictionary=dictionary), eval=lambda: None)
    extra = {"lm_model": model, "lm_weight": 0.5}
    expected = (
        nullcontext() if fits else pytest.raises(UserError, match=r"lm\.pt: its words .* are")
    )
    with expected:
        task.build_generator(
            models_of(task) * count, SimpleNamespace(lm_path="lm.pt"), extra_gen_cls_kwargs=extra
        )


class TestScoresOfReferences:
    """``--score-reference`` scores over all words, and searches nothing."""

    def score(self, task, prefix_size=0):
        models, batch = models_of(task), make_batch(task, LENGTHS)
        generator = task.build_generator(models, SimpleNamespace(score_reference=True))
        prefix = batch["target"][:, :prefix_size] if prefix_size else None
        return task.inference_step(generator, models, batch, prefix_tokens=prefix)

    @pytest.mark.parametrize(
        ("options", "given"),
        [
            ({"candidates": "nosuch.npz", "candidate_frequent": 10}, "--candidates nosuch.npz"),
            ({"candidate_frequent": 10}, "--candidate-frequent 10"),
            ({"candidate_copies": True}, "--candidate-copies"),
            ({"unk_replacement": "copy"}, "--unk-replacement copy"),
            ({"min_len_a": 0.5}, "--min-len-a 0.5"),
            ({"int8_projection": True}, "--int8-projection"),
            ({"ensemble_average": "log_probabilities"}, "--ensemble-average log_probabilities"),
        ],
    )
    def test_an_option_of_the_search_is_refused(self, options, given, make_task):
        with pytest.raises(UserError) as raised:
            self.score(make_task(**options))
        assert str(raised.value) == (
            f"{given} has no effect with --score-reference: it scores given translations; leave "
            "one of them out"
        )

    def test_a_prefix_is_refused(self, make_task):
        with pytest.raises(UserError, match="--prefix-size 2 has no effect with --score-ref"):
            self.score(make_task(), prefix_size=2)

    def test_a_set_without_target_side_is_refused(self, make_task):
        task = make_task()
        models, batch = models_of(task), make_batch(task, LENGTHS)
        generator = task.build_generator(models, SimpleNamespace(score_reference=True))
        with pytest.raises(UserError, match="--score-reference: the set has no target side"):
            task.inference_step(generator, models, {**batch, "target": None})

    def test_without_them_every_sentence_has_a_score(self, make_task):
        assert len(self.score(make_task())) == len(LENGTHS)


@pytest.mark.parametrize(("frequent", "warned"), [(40, False), (41, True), (1000, True)])
def test_lists_of_all_words_are_warned_of(frequent, warned, make_task, caplog):
    task = make_task(candidate_frequent=frequent)
    models = models_of(task)
    for _ in range(2):  # read once
        task.build_generator(models, SimpleNamespace(beam=2))
    assert caplog.text.count("the target dictionary has only 41 words") == warned
