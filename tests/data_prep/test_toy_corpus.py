"""The toy corpus: the same bytes for the same seed, and the phenomena that it promises."""

import hashlib
from collections import Counter
from itertools import pairwise, product
from pathlib import Path

import pytest

from lib import toy_language
from lib.toy_language import Clause, NounPhrase, ToyLanguage, Word

SMALL = ["--output", "toy", "--seed", "7", "--train", "300", "--valid", "20", "--test", "30"]
SMALL_SHA256 = "82f619a7becd7d9250d922f9dd63d57ad20e011959209efe64577fef9888dc5b"


def digest(folder):
    """One checksum over names and bytes of the files in a folder."""
    result = hashlib.sha256()
    for path in sorted(Path(folder).iterdir()):
        result.update(path.name.encode() + path.read_bytes())
    return result.hexdigest()


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_seed_alone_decides_every_byte(hash_seed, command, tmp_path):
    # A known checksum: another Python or platform that draws other sentences fails here.
    process = command("toy_corpus", *SMALL, env={"PYTHONHASHSEED": hash_seed})
    assert process.returncode == 0, process.stderr
    assert digest(tmp_path / "toy") == SMALL_SHA256


def test_rerun_and_other_seed(command, tmp_path):
    first = command("toy_corpus", *SMALL)
    before = digest(tmp_path / "toy")
    assert command("toy_corpus", *SMALL).stdout == first.stdout
    assert digest(tmp_path / "toy") == before
    command("toy_corpus", *SMALL, "--seed", "8")
    assert digest(tmp_path / "toy") != before


def test_test_set_does_not_depend_on_the_size_of_the_training_set(command, tmp_path):
    command("toy_corpus", *SMALL)
    test = (tmp_path / "toy/test.tgt").read_bytes()
    command("toy_corpus", *SMALL, "--train", "500")
    assert (tmp_path / "toy/test.tgt").read_bytes() == test


def test_no_source_sentence_occurs_twice(command, tmp_path):
    command("toy_corpus", *SMALL)
    sentences = [
        line
        for split in ("train", "valid", "test")
        for line in (tmp_path / f"toy/{split}.src").read_text().split("\n")[:-1]
    ]
    assert len(sentences) == len(set(sentences)) == 350


# Words of three genders with transparent names.
MAN, WOMAN, CHILD = Word("man", "herr", 0), Word("girl", "frau", 1), Word("kin", "kind", 2)
OLD, SEE, HERE = Word("old", "alt", 0), Word("see", "seh", 0), Word("here", "hier", 0)
STONE, ANNA = Word("stone", "stein", 1), Word("Anna", "Anna", 0)


@pytest.mark.parametrize(
    ("phrase", "case", "source", "target"),
    [
        (NounPhrase(MAN, "the"), "nominative", "the man", "dor herr"),
        (NounPhrase(MAN, "the"), "accusative", "the man", "dor herran"),
        (NounPhrase(WOMAN, "a"), "dative", "a girl", "una frauem"),
        (NounPhrase(CHILD, "a", plural=True), "nominative", "kins", "kindi"),
        (NounPhrase(MAN, "the", adjective=OLD), "nominative", "the old man", "dor herr altos"),
        (NounPhrase(WOMAN, "the", adjective=OLD), "nominative", "the old girl", "dai frau altas"),
        (
            NounPhrase(CHILD, "the", STONE, OLD, plural=True),
            "dative",
            "the old stone kins",
            "dil steinskindim altoi",
        ),
        (NounPhrase(ANNA), "accusative", "Anna", "Anna"),
    ],
)
def test_noun_phrases_compound_inflect_and_put_the_adjective_last(phrase, case, source, target):
    assert " ".join(phrase.source()) == source
    assert " ".join(phrase.target(case)) == target


def test_target_clause_is_verb_final_with_adverb_first_and_postposition():
    men = NounPhrase(MAN, "the", plural=True)
    clause = Clause(
        men, SEE, "past", NounPhrase(WOMAN, "a"), "near", NounPhrase(STONE, "the"), HERE
    )
    assert " ".join(clause.source()) == "the mans seeed a girl near the stone here"
    assert " ".join(clause.target()) == "hier dil herri dai steinem bost una frauan sehon"


def test_source_words_have_one_reading():
    words = ToyLanguage(seed=3, vocabulary=1000).words
    endings = {"noun": ["", "s"], "verb": ["", "ed"]}
    readings = Counter(
        word.source + ending
        for word_class, group in words.items()
        for word in group.words
        for ending in endings.get(word_class, [""])
    )
    readings.update([*toy_language.PREPOSITIONS, *toy_language.ARTICLES, "and"])
    assert {form for form, count in readings.items() if count > 1} == set()


def test_inflected_target_words_have_one_stem():
    words = ToyLanguage(seed=3, vocabulary=1000).words
    endings = {
        "noun": {suffix for pair in toy_language.NOUN_SUFFIXES.values() for suffix in pair},
        "verb": {suffix for pair in toy_language.VERB_SUFFIXES.values() for suffix in pair},
        "adjective": set(toy_language.ADJECTIVE_SUFFIXES),
    }
    stems = [
        word.target + ending
        for word_class, group in words.items()
        for word in group.words
        for ending in endings.get(word_class, [""])
    ]
    assert len(stems) == len(set(stems))


def test_word_frequencies_fall_as_the_stated_power_of_their_rank():
    group = ToyLanguage(seed=1, vocabulary=1000).words["noun"]
    cumulative = [0, *group.cumulative]
    weights = [b - a for a, b in pairwise(cumulative)]
    expected = [(rank + 3) ** -1.5 for rank in range(1, len(weights) + 1)]
    scale = sum(expected) / sum(weights)
    assert [weight * scale for weight in weights] == pytest.approx(expected, rel=1e-6)


def test_draws_follow_the_weights_up_to_both_ends():
    words = [Word(str(i), "", 0) for i in range(5)]
    group = toy_language.ZipfianWords(words)
    assert group.draw(lambda: 0.0) is words[0]
    assert group.draw(lambda: 1 - 2**-53) is words[-1]


def test_rare_words_compounds_and_copied_names_occur():
    language = ToyLanguage(seed=1, vocabulary=3000)
    test = [language.sentence_pair() for _ in range(300)]
    train = [language.sentence_pair() for _ in range(3000)]
    counts = Counter(word for _, target in train for word in target.split())
    assert sum(count == 1 for count in counts.values()) > len(counts) / 3  # hapax legomena
    unseen = [word for _, target in test for word in target.split() if word not in counts]
    assert unseen
    assert all(
        {word for word in source.split() if word[0].isupper()}
        == {word for word in target.split() if word[0].isupper()}
        for source, target in train
    )
    lengths = [len(source.split()) for source, _ in train]
    assert min(lengths) == 3
    assert 6 < sum(lengths) / len(lengths) < 9
    assert max(lengths) < 30


def test_larger_vocabulary_leaves_more_test_words_unseen():
    def unseen_share(vocabulary):
        language = ToyLanguage(1, vocabulary)
        targets = [language.sentence_pair()[1].split() for _ in range(2500)]
        known = {word for target in targets[500:] for word in target}
        test = [word for target in targets[:500] for word in target]
        return sum(word not in known for word in test) / len(test)

    shares = [unseen_share(vocabulary) for vocabulary in (100, 1000, 10_000)]
    assert shares == sorted(shares)
    assert shares[2] > 1.5 * shares[0]


def test_agreement_depends_on_every_feature():
    forms = {
        " ".join(NounPhrase(noun, article, adjective=OLD, plural=plural).target(case))
        for noun, article, plural, case in product(
            (MAN, WOMAN, CHILD), ("the", "a"), (False, True), ("nominative", "accusative", "dative")
        )
    }
    # 3 genders x 2 articles x 5 noun forms (nominative and accusative plural are alike).
    assert len(forms) == 3 * 2 * 5
