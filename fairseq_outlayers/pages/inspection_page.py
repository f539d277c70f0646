"""The page of a test set: summary, filterable sentences, and sentence details."""

from typing import Any, Dict, List, Sequence

from fairseq_outlayers.pages.document import document, element, escape, json_script
from fairseq_outlayers.pages.intervals import interval_plot

SCRIPTS = ("page.js", "sentence_list.js", "words.js", "attention.js", "sentence.js")
FILTERS = {
    "unknown": ("unknown words", "A translation has a word that the model does not know"),
    "misses": ("candidate misses", "The reference has a word that was not a candidate"),
    "differ": ("models differ", "The translations of the two models differ"),
}
VIEW_OF_TEXT = ("source", "unknown_source", "reference", "unknown_reference")


def inspection_page(data: Dict[str, Any], title: str, command: str = "") -> str:
    """The page as HTML.

    Args:
        data: of :func:`fairseq_outlayers.analysis.inspection.inspect_test_set`.
        title: of the page.
        command: that generated it.
    """
    models = data["models"]
    sentences = data["sentences"]
    details = {
        "models": [model["name"] for model in models],
        "words": data["words"],
        "candidates": data["candidates"],
        "neighbours": data["neighbours"],
        "sentences": [_compact(sentence) for sentence in sentences],
    }
    rows = "\n".join(_row(k, sentence) for k, sentence in enumerate(sentences, start=1))
    body = f"""{_summary(data)}
<main class="browser">
<section class="list" aria-label="Sentences">
{_toolbar(models, sentences)}
<ol id="sentences">
{rows}
</ol>
<p id="nothing" hidden>No sentence matches.</p>
</section>
<article id="detail" aria-live="polite">
<noscript>The list works without JavaScript; a sentence's details need it.</noscript>
</article>
</main>
{json_script(details)}"""
    made = "".join(element("p", escape(line)) for line in data["signatures"])
    made += element("p", element("code", escape(command))) if command else ""
    footer = element("details", element("summary", "How this page was made") + made)
    return document(title, body, SCRIPTS, footer)


def _summary(data: Dict[str, Any]) -> str:
    models, difference = data["models"], data["difference"]
    tiles = [_model_tile(letter, model, data) for letter, model in zip("AB", models, strict=False)]
    bars = [(model["name"], model["bleu"]) for model in models]
    plots, finding = interval_plot("BLEU", bars), ""
    if difference:
        plots += interval_plot("difference in BLEU, B - A", [("B - A", difference)], zero=True)
        finding = element("p", _finding(difference), class_="finding")
    plots = element("div", plots, class_="plots") + finding
    note = element("p", "Bars: 95% interval over 1,000 resamples of the sentences", class_="note")
    tiles.append(element("div", plots + note, class_="tile plot"))
    return element("section", "".join(tiles), class_="summary", aria_label="Summary")


def _finding(difference: Dict[str, float]) -> str:
    value = f"{difference['value']:+.2f} [{difference['low']:+.2f}, {difference['high']:+.2f}]"
    if difference["low"] > 0:
        return f"B is better: {value}"
    if difference["high"] < 0:
        return f"A is better: {value}"
    return f"No difference beyond chance: {value}"


def _model_tile(letter: str, model: Dict[str, Any], data: Dict[str, Any]) -> str:
    bleu = model["bleu"]
    name = element("b", letter, class_=f"letter {letter.lower()}") if data["difference"] else ""
    facts = [
        ("chrF", f"{model['chrf']:.1f}"),
        ("parameters", f"{model['parameters']:,}"),
        ("unknown words", _share(model["unknown_words"], model["target_words"])),
    ]
    if model["replaced_words"]:
        facts.append(("replaced", f"{model['replaced_words']:,}"))
    candidates = data["candidates"]["AB".index(letter)]
    if candidates:
        facts.append(("candidates per sentence", f"{candidates['mean']:,.0f}"))
        facts.append(("candidate misses", _share(model["misses_words"], model["reference_words"])))
    terms = "".join(element("dt", escape(a)) + element("dd", escape(b)) for a, b in facts)
    score = (
        element("strong", f"{bleu['value']:.2f}")
        + element("span", "BLEU")
        + element("span", f"[{bleu['low']:.2f}, {bleu['high']:.2f}]", class_="interval")
    )
    heading = element("h2", name + escape(model["name"]), title=model["path"])
    kind = element("p", escape(model["kind"]), class_="note kind")
    return element(
        "div",
        heading
        + kind
        + element(
            "div", element("p", score, class_="score") + element("dl", terms), class_="facts"
        ),
        class_="tile",
    )


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({part / max(whole, 1):.1%})"


def _toolbar(models: Sequence[Dict[str, Any]], sentences: Sequence[Dict[str, Any]]) -> str:
    chips = ""
    for name, (label, title) in FILTERS.items():
        number = sum(name in _marks(sentence) for sentence in sentences)
        if number:
            box = element("input", type="checkbox", name=name).removesuffix("</input>")
            text = f"{box}{label} {element('small', f'{number:,}')}"
            chips += element("label", text, class_="chip", title=title)
    orders = [("order", "test set order")]
    for letter, model in zip("AB", models, strict=False):
        orders.append((f"worst {letter}", f"worst chrF of {model['name']} first"))
    if len(models) == 2:
        orders += [("gain B", "B gains most over A first"), ("gain A", "A gains most over B first")]
    orders.append(("long", "longest first"))
    options = "".join(element("option", escape(text), value=value) for value, text in orders)
    search = (
        '<input id="search" type="search" placeholder="Filter by words  ( / )" '
        'aria-label="Filter by words" autocomplete="off" spellcheck="false">'
    )
    select = element("select", options, id="order", aria_label="Order")
    count = element("p", f"{len(sentences):,} sentences", id="count", role="status")
    hint = element("p", "<kbd>j</kbd> <kbd>k</kbd> next, previous", class_="hint")
    return element(
        "form",
        element("div", search + select, class_="line")
        + element("div", chips, class_="chips")
        + element("div", count + hint, class_="line"),
        class_="toolbar",
        id="toolbar",
    )


def _marks(sentence: Dict[str, Any]) -> List[str]:
    """Names of the filters that a sentence passes."""
    models = sentence["models"]
    tests = {
        "unknown": any(model["unknown"] for model in models),
        "misses": any(model["misses"] for model in models),
        "differ": len({tuple(model["target"]) for model in models}) > 1,
    }
    return [name for name, passed in tests.items() if passed]


def _row(number: int, sentence: Dict[str, Any]) -> str:
    models, marks = sentence["models"], _marks(sentence)
    texts = element("span", escape(sentence["source"]) or "&nbsp;", class_="source", dir="auto")
    shown = models if "differ" in marks else models[:1]
    for letter, model in zip("ab", shown, strict=False):
        side = f"hypothesis {letter}" if len(shown) > 1 else "hypothesis"
        words = " ".join(model["target"])
        texts += element("span", escape(words) or "&nbsp;", class_=side, dir="auto")
    scores = " ".join(
        element("span", f"{model['chrf']:.0f}", class_=letter if len(models) > 1 else None)
        for letter, model in zip("ab", models, strict=False)
    )
    tags = "".join(
        element("i", label.split()[-1] if name == "misses" else label.split()[0], class_=name)
        for name, (label, _) in FILTERS.items()
        if name in marks and name != "differ"
    )
    side = element("span", element("b", scores, title="chrF") + tags, class_="tags")
    link = element(
        "a",
        element("span", str(number), class_="number")
        + element("span", texts, class_="texts")
        + side,
        href=f"#s{number}",
    )
    return element(
        "li",
        link,
        id=f"s{number}",
        data_marks=" ".join(marks),
        data_chrf=" ".join(f"{model['chrf']:.2f}" for model in models),
    )


def _compact(sentence: Dict[str, Any]) -> Dict[str, Any]:
    """Remove what duplicates the first model's units or another key."""
    first, *others = sentence["models"]
    models = [{name: value for name, value in first.items() if value != []}]
    for model in others:
        models.append(
            {
                name: value
                for name, value in model.items()
                if (value != first[name] if name in VIEW_OF_TEXT else value != [])
            }
        )
    return {
        **{k: sentence[k] for k in ("source", "reference") if sentence[k] != " ".join(first[k])},
        "models": [{name: _rounded(value) for name, value in m.items()} for m in models],
    }


def _rounded(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value
