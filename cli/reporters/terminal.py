"""The report in the terminal, section by section."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd
from rich.console import Console, Group, RenderableType
from rich.text import Text

from tracegraph.cli.reporters.integrity import add_findings
from tracegraph.cli.reporters.layout import facts, indented, table
from tracegraph.cli.reporters.names import Names
from tracegraph.cli.reporters.near import near_critical
from tracegraph.cli.reporters.steps import compared_steps
from tracegraph.cli.reporters.what_if import other_assumptions, waiting, what_if
from tracegraph.store.gaps import UNTRACED_CPU
from tracegraph.workbench.report.findings import NEAR_TIE_NS, Findings
from tracegraph.workbench.report.recommendations import Recommendation
from tracegraph.workbench.text import format_ns, format_share, label, plural, visible

_OTHER_CELLS = 66
_LEAST_NAME_CELLS, _MOST_NAME_CELLS = 24, 90
_BAR_CELLS = 20


def print_report(
    console: Console,
    findings: Findings,
    recommendations: Sequence[Recommendation],
    *,
    full_names: bool = False,
) -> None:
    """Print the report; names of events are made safe and readable, or given in full."""
    names = Names(findings, full=full_names)
    name_cells = min(max(console.width - _OTHER_CELLS, _LEAST_NAME_CELLS), _MOST_NAME_CELLS)
    for title, body in _sections(findings, recommendations, names, name_cells):
        console.print(Text(title, style="bold"))
        console.print(indented(body))
        console.print()


def _sections(
    findings: Findings, recommendations: Sequence[Recommendation], names: Names, name_cells: int
) -> Iterator[tuple[str, RenderableType]]:
    yield f"Run {label(findings.details.name, 80)}", _counts(findings)
    yield "Integrity of the input", _integrity(findings.details.integrity)
    yield "Window", _window(findings)
    yield "Critical path", _path(findings)
    yield "Composition", _composition(findings)
    yield f"Hotspots on the critical path (the {_largest(findings)})", _listed(findings.hotspots, names)
    yield "Gaps on the critical path", _listed(findings.gaps_unknown_first, names)
    if findings.what_next:
        yield "What if", what_if(findings, names)
    if findings.alternatives:
        yield "Other assumptions", other_assumptions(findings, names)
    yield "Waiting", waiting(findings, name_cells)
    yield "Nearly critical", near_critical(findings, names)
    if findings.step_summary is not None:
        yield "Steps", compared_steps(findings, findings.step_summary, names)
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


def _integrity(found: Sequence[Mapping[str, object]]) -> RenderableType:
    if not found:
        return Text("nothing odd, dropped, repaired or missing", style="green")
    rows = table("level", "code", ">count", "what")
    add_findings(rows, found)
    return rows


def _window(findings: Findings) -> RenderableType:
    what = "the whole run" if findings.step is None else f"step {findings.step}"
    return Text(
        f"{what}: {format_ns(findings.length_ns)}, from {findings.start_ns} to {findings.end_ns} ns on the "
        "clock of the file"
    )


def _path(findings: Findings) -> RenderableType:
    untraced = findings.untraced_cpu_share
    named = max(0.0, 1 - findings.explained_share - findings.unknown_share - untraced)
    lines = facts()
    lines.add_row(
        "length",
        Text(f"{format_ns(findings.length_ns)} in {plural(len(findings.path), 'stretch', 'stretches')}"),
    )
    lines.add_row("tiling", _tiling(findings))
    lines.add_row("explained", Text(f"{format_share(findings.explained_share)} by events"))
    lines.add_row("unclear", Text(_unclear(findings)))
    lines.add_row(
        "gaps",
        Text(
            f"{format_share(findings.unknown_share)} unknown, {format_share(untraced)} {UNTRACED_CPU}, "
            f"{format_share(named)} in gaps with a reason"
        ),
    )
    lines.add_row("evidence", Text(_evidence(findings)))
    return lines


def _unclear(findings: Findings) -> str:
    return (
        f"{format_share(findings.unclear_share)} unknown or untraced: {format_share(findings.unknown_share)} "
        f"unknown gaps, {format_share(findings.untraced_cpu_share)} {UNTRACED_CPU} and "
        f"{format_share(findings.untraced_share)} untraced Python (self time of annotations, counted as "
        "explained)"
    )


def _evidence(findings: Findings) -> str:
    ties = plural(findings.near_ties, "near-tie")
    return (
        f"{format_share(findings.inferred_share)} starts by inferred dependencies; "
        f"{format_share(findings.near_tie_share)} hangs on {ties} (a second cause at most "
        f"{format_ns(NEAR_TIE_NS)} before)"
    )


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
        rows = table(f"by {title}", ">duration", ">share", "")
        rows.columns[0].min_width = 20
        for key, length in lengths.items():
            share = findings.share(length)
            bar = "█" * max(1, round(share * _BAR_CELLS)) if length else ""
            rows.add_row(
                Text(label(key, 30)), format_ns(length), format_share(share), Text(bar, style="blue")
            )
        tables += [rows, Text()]
    return Group(*tables[:-1])


def _listed(frame: pd.DataFrame, names: Names) -> RenderableType:
    """Return hotspots or gaps: proportion is of the listed total, prop_in_total of the path."""
    if frame.empty:
        return Text("none")
    rows = table("name", "category", ">duration", ">proportion", ">prop_in_total", ">count")
    for row in frame.to_dict("records"):
        rows.add_row(
            names.of(row["name"]),
            Text(label(str(row["category"]), 16)),
            format_ns(row["duration_ns"]),
            format_share(row["proportion"]),
            format_share(row["prop_in_total"]),
            f"{row['count']:,}",
        )
    return rows


def _recommendations(recommendations: Sequence[Recommendation]) -> RenderableType:
    if not recommendations:
        return Text("none: no rule reached its threshold")
    lines: list[RenderableType] = []
    for one in recommendations:
        number = f"{visible(one.number)}; threshold {format_share(one.threshold)}"
        lines += [Text(one.title, style="bold yellow"), indented(Text(number)), indented(Text(one.advice))]
    return Group(*lines)
