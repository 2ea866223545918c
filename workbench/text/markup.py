"""Texts as HTML, escaped and of limited length: names of traces are only text in it."""

import re

from markupsafe import Markup, escape

from tracegraph.workbench.text.text import label

TEXT_CELLS = 400
"""How many cells a text may take before it is shortened."""
_INSIDE_AMOUNT = re.compile(r"(?<=\d) (?=(?:ns|µs|ms|s|[kMGT]?B)\b|%)|(?<=[<>]) (?=\d)")


def safe_text(text: object) -> str:
    """Return a text as one line of limited length, which whoever puts it into HTML escapes."""
    return label(str(text), TEXT_CELLS)


def code_parts(text: str) -> list[tuple[str, bool]]:
    """Cut a text at its backticks: each part, and whether it stands between two of them."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one backtick has no partner: it is part of a name
        return [(text, False)]
    return [(part, place % 2 == 1) for place, part in enumerate(parts)]


def coded(text: object) -> Markup:
    """Escape a text, with what stands between backticks as code; an amount, as `> 1 ms`, is not broken."""
    whole = _INSIDE_AMOUNT.sub("\N{NO-BREAK SPACE}", safe_text(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if is_code else escape(part)
        for part, is_code in code_parts(whole)
    )


def command(text: object) -> Markup:
    """Escape a command, each of whose words stays on one line if it fits on one."""
    words = safe_text(text).split(" ")
    return Markup(" ").join(Markup("<span>{}</span>").format(word) for word in words)
