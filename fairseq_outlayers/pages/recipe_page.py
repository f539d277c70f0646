"""The page of an experiment: claims with their verdicts, figures, and the ledger of runs."""

import base64
from pathlib import Path
from typing import Any, Dict, List, Sequence

from fairseq_outlayers.errors import UserError
from fairseq_outlayers.pages.document import document, element, escape

MEDIA_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}
SCRIPTS = ("page.js", "tables.js")


def recipe_page(data: Dict[str, Any], folder: Path = Path()) -> str:
    """The page as HTML.

    Args:
        data: ``title``; optionally ``summary`` (text), ``command`` (runs the recipe), ``claims``:
            ``number``, ``text``, ``verdict``, ``command`` and ``parts``, each with
            ``inequality``, ``verdict`` and ``numbers`` (values and interval as text);
            ``figures``: ``title``, ``caption`` and ``file`` (SVG or PNG); ``ledger``: ``columns``
            and ``rows``; ``links``: ``text`` and ``href``, to pages in the same folder.
        folder: base of relative figure paths.
    Raises:
        UserError: if a figure cannot be read, or a link is not relative.
    """
    claims, figures = data.get("claims", []), data.get("figures", [])
    parts = [
        element("p", escape(data["summary"]), class_="lead") if data.get("summary") else "",
        _command(data.get("command", "")),
        _links(data.get("links", [])),
        _section("Claims", _verdict_counts(claims) + "".join(map(_claim, claims)), claims),
        _section("Figures", "".join(_figure(each, folder) for each in figures), figures),
        _ledger(data.get("ledger") or {}),
    ]
    body = element("main", "".join(parts), class_="report")
    return document(data["title"], body, SCRIPTS)


def _section(heading: str, content: str, wanted: Sequence[Any]) -> str:
    if not wanted:
        return ""
    return element("section", element("h2", heading) + content, id=heading.lower())


def _command(command: str) -> str:
    return element("pre", element("code", escape(command))) if command else ""


def _links(links: Sequence[Dict[str, str]]) -> str:
    for link in links:
        if ":" in link["href"] or link["href"].startswith("/"):
            raise UserError(f"{link['href']}: a page links only to files in its folder")
    items = (element("li", element("a", escape(k["text"]), href=k["href"])) for k in links)
    return element("nav", element("ul", "".join(items)), aria_label="Pages") if links else ""


def _chip(verdict: str) -> str:
    return element("span", escape(verdict), class_=f"verdict {verdict.replace(' ', '-')}")


def _verdict_counts(claims: Sequence[Dict[str, Any]]) -> str:
    verdicts = [claim["verdict"] for claim in claims]
    counts = (f"{_chip(verdict)} {verdicts.count(verdict)}" for verdict in dict.fromkeys(verdicts))
    return element("p", " &ensp; ".join(counts), class_="counts")


def _claim(claim: Dict[str, Any]) -> str:
    heading = element(
        "h3", f"{escape(claim['number'])}. {escape(claim['text'])} {_chip(claim['verdict'])}"
    )
    rows = "".join(
        element(
            "tr",
            element("td", escape(part["inequality"]))
            + element("td", escape(part.get("numbers", "")), class_="numbers")
            + element("td", _chip(part["verdict"])),
        )
        for part in claim.get("parts", [])
    )
    table = element("div", element("table", rows), class_="scroll") if rows else ""
    return element(
        "article", heading + table + _command(claim.get("command", "")), class_="claim",
        id=f"claim-{claim['number']}",
    )  # fmt: skip


def _figure(figure: Dict[str, str], folder: Path) -> str:
    path = folder / figure["file"]
    if path.suffix not in MEDIA_TYPES:
        raise UserError(f"{path}: a figure must be {' or '.join(MEDIA_TYPES)}")
    try:
        data = base64.b64encode(path.read_bytes()).decode()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from error
    # An SVG in <img> cannot run scripts or load resources.
    source = f"data:{MEDIA_TYPES[path.suffix]};base64,{data}"
    image = element("img", src=source, alt=figure["title"], loading="lazy").removesuffix("</img>")
    caption = element("b", escape(figure["title"]))
    if figure.get("caption"):
        caption += " " + escape(figure["caption"])
    return element("figure", image + element("figcaption", caption), class_="picture")


def _ledger(ledger: Dict[str, List[Any]]) -> str:
    rows = ledger.get("rows", [])
    numeric = [
        all(isinstance(cell, (int, float)) or cell is None for cell in column)
        for column in zip(*rows, strict=True)
    ]
    heads = "".join(
        element("th", element("button", escape(name), type="button"), class_=_side(k, numeric))
        for k, name in enumerate(ledger.get("columns", []))
    )
    lines = "".join(element("tr", _cells(row, numeric)) for row in rows)
    table = element("table", element("thead", heads) + element("tbody", lines), class_="sortable")
    return _section("Ledger", element("div", table, class_="scroll"), rows)


def _cells(row: Sequence[Any], numeric: Sequence[bool]) -> str:
    return "".join(
        element("td", escape(_shown(cell)), class_=_side(k, numeric), data_value=cell)
        for k, cell in enumerate(row)
    )


def _side(column: int, numeric: Sequence[bool]) -> Any:
    return "number" if column < len(numeric) and numeric[column] else None


def _shown(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, (bool, str)):
        return str(cell)
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.4g}"
