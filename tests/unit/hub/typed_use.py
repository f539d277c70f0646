"""How a typed program uses ``load``: mypy reads this file (``make check``), nothing runs it.

An ignored error that is none fails the check, too.
"""

from typing import Any, Iterator, List, assert_type

from fairseq_outlayers import load
from fairseq_outlayers.hub import LanguageModel, TextScore, Translation, Translator

translator = load("model.pt", kind=Translator, candidates="lists.npz", candidate_frequent=50)
assert_type(translator, Translator)
assert_type(translator.translate("ein hund"), Translation)
assert_type(translator.translate(["ein hund"], 5, batch_size=8), List[Translation])
assert_type(translator.translate(iter(["ein hund"]), temperature=0.5), Iterator[Translation])
assert_type(translator.translate("ein hund", None, sampling=True), Translation)

language_model = load(["one.pt", "two.pt"], kind=LanguageModel, device="cuda")
assert_type(language_model, LanguageModel)
assert_type(language_model.score("a dog"), TextScore)
assert_type(language_model.score(["a dog"]), List[TextScore])
language_model.continue_("a dog", sampling=True, sampling_topk=10)
language_model.continue_("a dog", lenpen=0.5)

# Without kind nothing is known of the type.
assert_type(load("model.pt"), Any)

load("model.pt", candidate_frequnet=50)  # type: ignore[call-overload]
load("model.pt", kind=str)  # type: ignore[type-var]
translator.translate("ein hund", beam="5")  # type: ignore[call-overload]
translator.translate("ein hund", no_repeat_ngram_sizes=3)  # type: ignore[call-overload]
translator.translate("ein hund", batch_size="8")  # type: ignore[call-overload]
translator.translate("ein hund", lenpen=0.5)  # type: ignore[call-overload]
language_model.continue_("a dog", temperature="0.8")  # type: ignore[arg-type]
language_model.continue_("a dog", match_source_len=True)  # type: ignore[call-arg]
