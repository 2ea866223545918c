"""report.html: one page that needs nothing else, with every section and the lanes drawn."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

import jinja2
from markupsafe import Markup

from tracegraph.workbench.output.lanes import NAME_CELLS
from tracegraph.workbench.output.summary import summarise
from tracegraph.workbench.pictures.palette import category_colour
from tracegraph.workbench.report.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Chart
from tracegraph.workbench.sections.cells import cell_text, number
from tracegraph.workbench.sections.section import all_sections
from tracegraph.workbench.sections.shown_names import ShownNames
from tracegraph.workbench.text import format_ns, format_share, label

_PLACE = files("tracegraph.workbench.output")
_SCRIPTS = ("lanes.js", "find.js", "steps.js", "page.js")
_TEXT_CELLS = 400
_EXACT = 1 << 53
_UNSAFE = re.compile("[<>&\u2028\u2029]")


def report_page(findings: Findings) -> str:
    """Return the page; text of the trace is only text or data in it, escaped and shown as text."""
    sections = [
        {
            "name": name,
            "title": section.heading(findings),
            "blocks": [(type(block).__name__, block) for block in section.content(findings)],
        }
        for name, section in all_sections().items()
    ]
    shown = [section for section in sections if section["blocks"]]
    names = ShownNames(block for section in shown for _, block in _blocks(section))
    charts = [block for section in shown for _, block in _blocks(section) if isinstance(block, Chart)]
    return _template().render(
        name=findings.details.name,
        scope="the whole run" if findings.step is None else f"step {findings.step}",
        sections=shown,
        charts=charts,
        cell=lambda value, kind: cell_text(kind, value, names),
        numbers=_flat(summarise(findings)),
        data=_safe_json([{"draw": chart.draw, "data": chart.data} for chart in charts]),
        style=_read("page.css"),
        scripts=[_read(name) for name in _SCRIPTS],
    )


def _blocks(section: Mapping[str, object]) -> Sequence[tuple[str, Block]]:
    blocks = section["blocks"]
    assert isinstance(blocks, list)
    return blocks


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {
        "plain": number,
        "duration": format_ns,
        "share": format_share,
        "colour": lambda category: category_colour(str(category)),
        "drawn_name": lambda name: label(str(name), NAME_CELLS),
        "safe_text": lambda text: label(str(text), _TEXT_CELLS),
        "hash": _hash,
        # Files of our own: escaped they would be no scripts.
        "ours": Markup,
    }
    return environment.from_string(_read("page.html.j2"))


def _read(name: str) -> str:
    return (_PLACE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _flat(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Every number of a summary by its dotted name."""
    if isinstance(value, list | tuple):
        value = dict(enumerate(value))
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(item, f"{name}.{key}" if name else str(key))
        if not value:
            yield name, "none"
    else:
        yield name, json.dumps(value, ensure_ascii=False).strip('"')


def _safe_json(data: object) -> Markup:
    """Return JSON that cannot end its script element and keeps large whole numbers as text."""
    text = json.dumps(_portable(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(_UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def _portable(value: object) -> object:
    """Return the value for JavaScript: whole numbers beyond a double as text, texts short and visible."""
    if isinstance(value, Mapping):
        return {label(str(key), _TEXT_CELLS): _portable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_portable(item) for item in value]
    if isinstance(value, str):
        return label(value, _TEXT_CELLS)
    if isinstance(value, int) and abs(value) >= _EXACT:
        return str(value)
    return value
