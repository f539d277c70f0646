"""A synthetic language pair: words, grammar, and random sentences.

The target side has what makes output vocabularies large and translation hard: compounds,
agreement, another word order, and copied names. Every target sentence is a function of its source
sentence, so everything can be learned; only rare words are difficult.
"""

import bisect
import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# Of the random module, only random.Random.random is guaranteed to be stable across Python versions,
# so nothing else is used.
Draw = Callable[[], float]

SHARES = {"noun": 0.45, "verb": 0.2, "adjective": 0.2, "name": 0.1, "adverb": 0.05}

# Onsets, vowels and codas. No source stem ends in "s" or "d" and every target stem ends in a
# consonant, so with the suffixes below, two stems never share an inflected form.
SOURCE_SYLLABLES = ("b d f g k l m n p r s t v z br st pl tr", "a e i o u", "l m n r")
TARGET_SYLLABLES = (
    "h w j sch gr kn pf zw fl dr m t",
    "a e i o u ä ö ü ei au",
    "ch ng rt lk nd ss pf tz",
)

PREPOSITIONS = {
    "in": "wen",
    "on": "nak",
    "near": "bost",
    "under": "ulf",
    "with": "mik",
    "for": "tav",
}
ARTICLES = {"the": ("dor", "dai", "dut", "dil"), "a": ("un", "una", "unut", "")}
ADJECTIVE_SUFFIXES = ("os", "as", "um", "oi")  # three genders, plural
NOUN_SUFFIXES = {"nominative": ("", "i"), "accusative": ("an", "i"), "dative": ("em", "im")}
VERB_SUFFIXES = {"present": ("et", "en"), "past": ("ot", "on")}  # [plural]
PLURAL = 3  # index of the plural form, after the three genders


@dataclass(frozen=True)
class Word:
    """A source stem, its target stem, and its gender (0, 1, 2) for agreement in the target."""

    source: str
    target: str
    gender: int


class ZipfianWords:
    """Samples words with probability proportional to 1 / (rank + 3)^1.5."""

    def __init__(self, words: Sequence[Word]):
        self.words = words
        # Integers, because powers of floats may differ in the last digit between machines.
        ranks = range(4, len(words) + 4)
        weights = (10**20 // (rank * math.isqrt(rank * 10**16)) for rank in ranks)
        self.cumulative = list(itertools.accumulate(weights))

    def draw(self, draw: Draw) -> Word:
        return self.words[bisect.bisect_right(self.cumulative, draw() * self.cumulative[-1])]


@dataclass(frozen=True)
class NounPhrase:
    """An article, at most one adjective and a noun (or noun + noun compound), or a lone name."""

    noun: Word
    article: str | None = None  # None for a name
    modifier: Word | None = None
    adjective: Word | None = None
    plural: bool = False

    def source(self) -> list[str]:
        """The phrase in source order, for example ``the old stone houses``."""
        if self.article is None:
            return [self.noun.source]
        article = [] if self.plural and self.article == "a" else [self.article]
        before = [word.source for word in (self.adjective, self.modifier) if word]
        return [*article, *before, self.noun.source + ("s" if self.plural else "")]

    def target(self, case: str) -> list[str]:
        """The phrase in target order: article, inflected (compound) noun, agreeing adjective."""
        if self.article is None:
            return [self.noun.target]
        agreement = PLURAL if self.plural else self.noun.gender
        article = ARTICLES[self.article][agreement]
        stem = f"{self.modifier.target}s{self.noun.target}" if self.modifier else self.noun.target
        phrase = [article] if article else []
        phrase.append(stem + NOUN_SUFFIXES[case][self.plural])
        if self.adjective:
            phrase.append(self.adjective.target + ADJECTIVE_SUFFIXES[agreement])
        return phrase


@dataclass(frozen=True)
class Clause:
    """Subject, verb and optional parts; verb-final with fronted adverb in the target."""

    subject: NounPhrase
    verb: Word
    tense: str
    direct_object: NounPhrase | None
    preposition: str | None
    place: NounPhrase | None
    adverb: Word | None

    def source(self) -> list[str]:
        """Subject, verb, object, preposition + phrase, adverb."""
        words = [*self.subject.source(), self.verb.source + ("ed" if self.tense == "past" else "")]
        words += self.direct_object.source() if self.direct_object else []
        words += [self.preposition, *self.place.source()] if self.preposition and self.place else []
        return words + ([self.adverb.source] if self.adverb else [])

    def target(self) -> list[str]:
        """Adverb, subject, phrase + postposition, object, verb agreeing with the subject."""
        words = [self.adverb.target] if self.adverb else []
        words += self.subject.target("nominative")
        if self.preposition and self.place:
            words += [*self.place.target("dative"), PREPOSITIONS[self.preposition]]
        words += self.direct_object.target("accusative") if self.direct_object else []
        return [*words, self.verb.target + VERB_SUFFIXES[self.tense][self.subject.plural]]


class ToyLanguage:
    """Samples sentence pairs from a grammar with a seeded vocabulary.

    Args:
        seed: the same seed gives the same sentences on every platform.
        vocabulary: number of source stems of all word classes; at least 20.
    """

    def __init__(self, seed: int, vocabulary: int):
        self.draw: Draw = random.Random(seed).random
        taken = {*PREPOSITIONS, *PREPOSITIONS.values(), *ARTICLES, *sum(ARTICLES.values(), ())}
        taken |= {"and", "os", "li"}
        self.words = {
            word_class: ZipfianWords(self._invent(word_class, round(vocabulary * share), taken))
            for word_class, share in SHARES.items()
        }

    def sentence_pair(self) -> tuple[str, str]:
        """One tokenized source sentence and its translation, 3 to about 20 tokens each."""
        clauses = [self._clause()]
        if self.draw() < 0.1:
            clauses.append(self._clause())
        question = self.draw() < 0.1
        source = " and ".join(" ".join(clause.source()) for clause in clauses)
        target = " os ".join(" ".join(clause.target()) for clause in clauses)
        return (f"{source} ?", f"li {target} ?") if question else (f"{source} .", f"{target} .")

    def _clause(self) -> Clause:
        preposition = self._pick(list(PREPOSITIONS)) if self.draw() < 0.3 else None
        return Clause(
            subject=self._noun_phrase(),
            verb=self._word("verb"),
            tense="past" if self.draw() < 0.4 else "present",
            direct_object=self._noun_phrase() if self.draw() < 0.6 else None,
            preposition=preposition,
            place=self._noun_phrase() if preposition else None,
            adverb=self._word("adverb") if self.draw() < 0.25 else None,
        )

    def _noun_phrase(self) -> NounPhrase:
        if self.draw() < 0.15:
            return NounPhrase(self._word("name"))
        return NounPhrase(
            noun=self._word("noun"),
            article="the" if self.draw() < 0.6 else "a",
            modifier=self._word("noun") if self.draw() < 0.08 else None,
            adjective=self._word("adjective") if self.draw() < 0.3 else None,
            plural=self.draw() < 0.3,
        )

    def _word(self, word_class: str) -> Word:
        return self.words[word_class].draw(self.draw)

    def _pick(self, items: Sequence[str]) -> str:
        return items[int(self.draw() * len(items))]

    def _invent(self, word_class: str, count: int, taken: set[str]) -> list[Word]:
        """``count`` new words, most frequent first; frequent words are short."""
        words = []
        for rank in range(max(count, 1)):
            source = self._stem(SOURCE_SYLLABLES, rank, taken)
            if word_class == "name":
                source = target = source.capitalize()  # names are copied
            else:
                target = self._stem(TARGET_SYLLABLES, rank, taken)
            words.append(Word(source, target, gender=int(self.draw() * 3)))
        return words

    def _stem(self, syllables: Sequence[str], rank: int, taken: set[str]) -> str:
        onsets, vowels, codas = (sounds.split() for sounds in syllables)
        length = 1 + (rank >= 20) + int(self.draw() * 1.4)
        while True:
            open_syllables = [self._pick(onsets) + self._pick(vowels) for _ in range(length)]
            stem = "".join(open_syllables) + self._pick(codas)
            if stem not in taken:
                taken.add(stem)
                return stem
            length = min(length + 1, 5)  # short stems run out
