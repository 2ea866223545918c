"""report.html: one page that needs nothing else, with every section and the lanes drawn."""

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import NamedTuple

import jinja2
from markupsafe import Markup

from tracegraph.base.units import short_ns
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.output.plots import plot_data, plot_note
from tracegraph.workbench.output.summary import summarise
from tracegraph.workbench.pictures.lanes import NAME_CELLS
from tracegraph.workbench.pictures.palette import frame_colour
from tracegraph.workbench.sections.blocks import Block, Chart, Fact, Plot
from tracegraph.workbench.sections.cells import cell_text, number, said_faster
from tracegraph.workbench.sections.glossary import WORDS
from tracegraph.workbench.sections.run import run_facts
from tracegraph.workbench.sections.section import GROUPS, OPEN, all_sections
from tracegraph.workbench.sections.shown_names import ShownNames
from tracegraph.workbench.sections.verdict import trust
from tracegraph.workbench.text.markup import coded, command, safe_text
from tracegraph.workbench.text.text import format_ns, format_share, format_times, label

_PLACE = files("tracegraph.workbench.output")
_MOST_PARTS = 6
"""How many parts of a bar have a row below it."""
_EXACT = 1 << 53
"""Whole numbers beyond 2^53 are not exact in JavaScript."""
_SCRIPTS: Mapping[str, Sequence[str]] = {
    "lanes": ("scales.js", "ways.js", "lanes.js", "find.js"),
    "flame": ("scales.js", "flame.js"),
    "plot": ("plots.js",),
    "tree": ("trees.js",),
}
"""The scripts that each kind of drawing needs."""
_LIBRARY = "vendor/echarts.min.js"
"""What draws plots; three times as large as it is packed."""


def read_part(name: str) -> str:
    """Read a script, style or template beside this module, also in a folder of it."""
    return _PLACE.joinpath(*name.split("/")).read_text(encoding="utf-8")


def content_hash(text: str) -> str:
    """Hash a script or style for the page's policy, which allows it by this text."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def packed_json(data: object) -> str:
    """Return JSON as gzip in base64, which holds no markup; large whole numbers are text in it."""
    text = json.dumps(_portable(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return packed(text)


def packed(text: str) -> str:
    """Return a text as gzip in base64."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _portable(value: object) -> object:
    """Return the value for JavaScript: whole numbers beyond a double as text, texts short and visible."""
    if isinstance(value, Mapping):
        return {safe_text(key): _portable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_portable(item) for item in value]
    if isinstance(value, str):
        return safe_text(value)
    if isinstance(value, int) and abs(value) >= _EXACT:
        return str(value)
    return value


class Shown(NamedTuple):
    """A section as the template gets it: in which `group`, and whether it is `folded` at first."""

    name: str
    title: str
    blocks: Sequence[Block]
    group: str = ""
    folded: bool = False


class Packed(NamedTuple):
    """A script that a page unpacks when it needs it: the hash of its text, for the policy, and the text."""

    hash: str
    data: str


class Head(NamedTuple):
    """The first line: the title, what else says which run this is, and how far the input can be trusted."""

    title: str
    facts: Sequence[str]
    trust: Fact | None = None


def report_page(findings: Findings) -> str:
    """Return the page; text of the trace is only text or data in it, escaped and shown as text."""
    sections = [
        Shown(name, section.heading(findings), section.content(findings), group, group not in OPEN)
        for group in GROUPS
        for name, section in all_sections().items()
        if section.group == group and name != "run"  # the page's head says what it does
    ]
    facts = (findings.scope, short_ns(findings.length_ns), *run_facts(findings))
    head = Head(findings.details.name, facts, trust(findings))
    return sections_page(head, sections, ("summary.json", summarise(findings)))


def sections_page(head: Head, sections: Sequence[Shown], numbers: tuple[str, Mapping[str, object]]) -> str:
    """Make a page of sections, except empty ones, and of all `numbers` with the name of their file."""
    shown = [section for section in sections if section.blocks]
    names = ShownNames(block for section in shown for block in section.blocks)
    charts = [block for section in shown for block in section.blocks if isinstance(block, Chart | Plot)]
    file, values = numbers
    return _template("page.html.j2").render(
        head=head,
        groups=[(group, list(members)) for group, members in groupby(shown, lambda one: one.group)],
        place=lambda block: next(at for at, chart in enumerate(charts) if chart is block),
        cell=lambda value, kind: cell_text(kind, value, names),
        file=file,
        data=packed_json([*(_drawn(chart, names) for chart in charts), _numbers(values)]),
        last=len(charts),
        style=read_part("page.css"),
        scripts=[read_part(name) for name in _scripts(charts, "charts.js", "page.js")],
        library=_library(charts),
    )


def plot_page(title: str, plots: Sequence[Plot]) -> str:
    """Make a page with these plots only; names as in `report_page`."""
    names = ShownNames(plots)
    return _template("plot.html.j2").render(
        title=title,
        plots=plots,
        data=packed_json([_drawn(plot, names) for plot in plots]),
        style=read_part("page.css"),
        scripts=[read_part(name) for name in _scripts(plots, "charts.js")],
        library=_library(plots),
    )


def _scripts(charts: Sequence[Chart | Plot], *last: str) -> Sequence[str]:
    """List the scripts that a page with these charts needs, in their order."""
    drawn = [chart.draw if isinstance(chart, Chart) else _drawing(chart) for chart in charts]
    needed = [script for draw in dict.fromkeys(drawn) for script in _SCRIPTS[draw]]
    return tuple(dict.fromkeys(("tools.js", *needed, *last)))


def _library(charts: Sequence[Chart | Plot]) -> list[Packed]:
    """Return the library of plots if there are any."""
    return [_packed_library()] if any(isinstance(chart, Plot) for chart in charts) else []


@cache
def _packed_library() -> Packed:
    text = read_part(_LIBRARY)
    return Packed(content_hash(text), packed(text))


def _drawn(chart: Chart | Plot, names: ShownNames) -> Mapping[str, object]:
    if isinstance(chart, Plot):
        return {"draw": _drawing(chart), "data": plot_data(chart, names)}
    return {"draw": chart.draw, "data": chart.data}


def _drawing(plot: Plot) -> str:
    """Name the function of the page's script that draws a plot."""
    return "tree" if plot.kind == "tree" else "plot"


@cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters |= {
        "kind": lambda block: type(block).__name__,
        "plain": number,
        "duration": format_ns,
        "short": short_ns,
        "listed": lambda stack: stack.listed(_MOST_PARTS),
        "faster": said_faster,
        "share": format_share,
        "times": format_times,
        "colour": lambda category: frame_colour(str(category)),
        "drawn_name": lambda name: label(str(name), NAME_CELLS),
        "plot_note": plot_note,
        "safe_text": safe_text,
        "hash": content_hash,
        "coded": coded,
        "command": command,
        "meaning": lambda word: WORDS.get(str(word).lower(), WORDS.get(str(word), "")),
        # These are files of our own; escaped, they would not be scripts.
        "ours": Markup,
    }
    return environment.from_string(read_part(name))


def _numbers(values: Mapping[str, object]) -> Mapping[str, object]:
    return {"draw": "numbers", "data": list(_flat(values))}


def _flat(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield every number of a summary by its dotted name."""
    if isinstance(value, list | tuple):
        value = dict(enumerate(value))
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(item, f"{name}.{key}" if name else str(key))
        if not value:
            yield name, "none"
    else:
        yield name, json.dumps(value, ensure_ascii=False).strip('"')
