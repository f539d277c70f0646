"""The template of all pages: escaping, embedded data, style, scripts, light and dark mode."""

import base64
import hashlib
import html
import json
import re
from pathlib import Path
from typing import Any, Sequence

ASSETS = Path(__file__).parent / "assets"
GENERATOR = "fairseq_outlayers"  # identifies our pages
# Invalid in XML and HTML, and interpreted by terminals.
CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def escape(text: object) -> str:
    """Text for the content or a quoted attribute of HTML."""
    return html.escape(CONTROLS.sub("\N{REPLACEMENT CHARACTER}", str(text)))


def element(tag: str, content: str = "", **attributes: object) -> str:
    """An element; ``content`` is HTML, attributes are text (``class_`` is ``class``).

    Attributes that are None or False are left out; True gives an attribute without a value.
    """
    given = "".join(
        f" {name.strip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(value)}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    return f"<{tag}{given}>{content}</{tag}>"


def json_script(data: Any) -> str:
    """Data for the page's script (``#data``), escaped so that no text can close the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029\x7f":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json" id="data">{text}</script>'


def document(title: str, body: str, scripts: Sequence[str], footer: str = "") -> str:
    """A complete page.

    Its content security policy allows only its own scripts, by checksum.

    Args:
        title: text.
        body: HTML, between the heading and the footer.
        scripts: files of ``assets/``, run in this order.
        footer: HTML.
    """
    style = (ASSETS / "page.css").read_text(encoding="utf-8")
    code = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in scripts)
    code = f'"use strict";\n{{\n{code}\n}}'
    checksum = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{checksum}'; base-uri 'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="{GENERATOR}">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>
{style}
</style>
</head>
<body>
<header class="top">
<h1>{escape(title)}</h1>
<button id="theme" type="button" hidden>Dark</button>
</header>
{body}
<footer>{footer}</footer>
<script>{code}</script>
</body>
</html>
"""
