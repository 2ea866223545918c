"""The report in the terminal: integrity, window, path, composition, hotspots, gaps, recommendations."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd
from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tracegraph.cli.findings import Findings
from tracegraph.cli.recommendations import Recommendation
from tracegraph.cli.reporters.text import format_ns, format_share, label, plural, visible

_OTHER_CELLS = 66
_LEAST_NAME_CELLS, _MOST_NAME_CELLS = 24, 90
_MESSAGE_CELLS = 400
_LEVEL_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}
_BAR_CELLS = 20


def print_report(console: Console, findings: Findings, recommendations: Sequence[Recommendation]) -> None:
    """Print the report; names are made safe and, in the terminal only, shortened in the middle."""
    name_cells = min(max(console.width - _OTHER_CELLS, _LEAST_NAME_CELLS), _MOST_NAME_CELLS)
    for title, body in _sections(findings, recommendations, name_cells):
        console.print(Text(title, style="bold"))
        console.print(_indented(body))
        console.print()


def _sections(
    findings: Findings, recommendations: Sequence[Recommendation], name_cells: int
) -> Iterator[tuple[str, RenderableType]]:
    yield f"Run {label(findings.details.name, 80)}", _counts(findings)
    yield "Integrity of the input", _integrity(findings.details.integrity)
    yield "Window", _window(findings)
    yield "Critical path", _path(findings)
    yield "Composition", _composition(findings)
    yield f"Hotspots on the critical path (the {_largest(findings)})", _listed(findings.hotspots, name_cells)
    yield "Gaps on the critical path", _listed(findings.gaps, name_cells)
    yield "Recommendations", _recommendations(recommendations)


def _largest(findings: Findings) -> str:
    count = len(findings.hotspots)
    return "largest" if count == 1 else f"{count} largest"


def _counts(findings: Findings) -> RenderableType:
    details = findings.details
    edges = sum(details.relationships.values())
    return Text(
        f"{plural(details.ranks, 'rank')}, {plural(details.events, 'event')}; in the graph "
        f"{plural(details.nodes, 'node')} and {plural(edges, 'relationship')}"
    )


def _integrity(rows: Sequence[Mapping[str, object]]) -> RenderableType:
    if not rows:
        return Text("nothing odd, dropped, repaired or missing", style="green")
    table = _table("level", "code", ">count", "what")
    for row in rows:
        level = str(row["level"])
        table.add_row(
            Text(label(level, 10), style=_LEVEL_STYLES.get(level, "")),
            Text(label(str(row["code"]), 30)),
            f"{row['count']:,}",
            Text(label(str(row["message"]), _MESSAGE_CELLS)),
        )
    return table


def _window(findings: Findings) -> RenderableType:
    what = "the whole run" if findings.step is None else f"step {findings.step}"
    return Text(
        f"{what}: {format_ns(findings.length_ns)}, from {findings.start_ns} to {findings.end_ns} ns on the "
        "clock of the file"
    )


def _path(findings: Findings) -> RenderableType:
    unknown = findings.share(findings.by_gap_ns.get("unknown", 0))
    named = max(0.0, 1 - findings.explained_share - unknown)
    lines = Table.grid(padding=(0, 2))
    lines.add_row(
        "length",
        Text(f"{format_ns(findings.length_ns)} in {plural(len(findings.path), 'stretch', 'stretches')}"),
    )
    lines.add_row("tiling", _tiling(findings))
    lines.add_row(
        "explained",
        Text(
            f"{format_share(findings.explained_share)} by events, of which untraced Python (self time of "
            f"annotations) is {format_share(findings.untraced_share)} of the length"
        ),
    )
    lines.add_row("gaps", Text(f"{format_share(named)} in named gaps, {format_share(unknown)} unknown"))
    return lines


def _tiling(findings: Findings) -> Text:
    if findings.untiled_ns:
        return Text(
            f"does NOT tile the window: {format_ns(findings.untiled_ns)} left out or twice", style="bold red"
        )
    return Text("tiles the window: every ns is in exactly one stretch", style="green")


def _composition(findings: Findings) -> RenderableType:
    groups = (("category", findings.by_category_ns), ("dependency", findings.by_dependency_ns))
    tables: list[RenderableType] = []
    for title, lengths in groups:
        table = _table(f"by {title}", ">duration", ">share", "")
        table.columns[0].min_width = 20
        for key, length in lengths.items():
            share = findings.share(length)
            bar = "█" * max(1, round(share * _BAR_CELLS)) if length else ""
            table.add_row(
                Text(label(key, 30)), format_ns(length), format_share(share), Text(bar, style="blue")
            )
        tables += [table, Text()]
    return Group(*tables[:-1])


def _listed(frame: pd.DataFrame, name_cells: int) -> RenderableType:
    """Return hotspots or gaps: proportion is of the listed total, prop_in_total of the path."""
    if frame.empty:
        return Text("none")
    table = _table("name", "category", ">duration", ">proportion", ">prop_in_total", ">count")
    for row in frame.to_dict("records"):
        table.add_row(
            Text(label(str(row["name"]), name_cells)),
            Text(label(str(row["category"]), 16)),
            format_ns(row["duration_ns"]),
            format_share(row["proportion"]),
            format_share(row["prop_in_total"]),
            f"{row['count']:,}",
        )
    return table


def _recommendations(recommendations: Sequence[Recommendation]) -> RenderableType:
    if not recommendations:
        return Text("none: no rule reached its threshold")
    lines: list[RenderableType] = []
    for one in recommendations:
        number = f"{visible(one.number)}; threshold {format_share(one.threshold)}"
        lines += [Text(one.title, style="bold yellow"), _indented(Text(number)), _indented(Text(one.advice))]
    return Group(*lines)


def _indented(body: RenderableType) -> Padding:
    return Padding(body, (0, 0, 0, 2), expand=False)


def _table(*headers: str) -> Table:
    """Return an empty table; a header that starts with `>` stands over numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
    for header in headers:
        number = header.startswith(">")
        table.add_column(header.lstrip(">"), justify="right" if number else "left", no_wrap=number)
    return table
