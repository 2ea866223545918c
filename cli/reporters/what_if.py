"""What if, in the terminal: without each hotspot, under other assumptions; and what all threads wait for."""

from rich.console import Group, RenderableType
from rich.text import Text

from tracegraph.cli.reporters.layout import facts, table
from tracegraph.cli.reporters.names import Names
from tracegraph.workbench.report.assumptions import Assumption, read_assumptions
from tracegraph.workbench.report.findings import Findings
from tracegraph.workbench.text import format_ns, format_share, label

_POLICY_CELLS = 20
_TIGHT_CELLS = 4
_MOST_LANE_CELLS, _WAIT_CELLS = 30, 26


def what_if(findings: Findings, names: Names) -> RenderableType:
    """Return what each of the longest hotspots costs, and what is critical once it takes no time."""
    rows = table("hotspot", ">on the path", ">gain", "critical then")
    for row in findings.what_next:
        following = [names.line(spot["name"]) for spot in row["following"]]
        rows.add_row(
            names.of(row["name"]),
            format_ns(row["duration_ns"]),
            format_ns(row["gain_ns"]),
            Text("\n".join(following) or "nothing that has a name", overflow="fold"),
        )
    method = Text(
        "The gain is a replay's: all work of that name removed, on the path or not, and all lags kept."
    )
    return Group(method, rows)


def other_assumptions(findings: Findings, names: Names) -> RenderableType:
    """Return what the path is made of under each policy between threads and on recorded edges only."""
    assumptions = read_assumptions(findings)
    if all(one.same for one in assumptions):
        return Text(
            "none matters: the path is made of the same under every policy between threads and on recorded "
            "dependencies only"
        )
    rows = table("assumption", ">events", ">named gaps", ">inferred", "longest hotspots")
    for one in assumptions:
        rows.add_row(
            Text(_marked(one), style="bold" if one.chosen else ""),
            format_share(one.events),
            format_share(one.named_gaps),
            format_share(one.inferred),
            _hotspots(one, names),
        )
    method = Text(
        "What the path is made of with other dependencies between threads, and without any that a timing "
        "rule made (recorded only). Where the rows differ, the conclusion rests on the choice:"
    )
    return Group(method, rows)


def _marked(one: Assumption) -> str:
    return label(f"{one.name} (chosen)" if one.chosen else one.name, _POLICY_CELLS)


def _hotspots(one: Assumption, names: Names) -> RenderableType:
    if one.same and not one.chosen:
        return "the same"
    lines = facts()
    for name, share in one.hotspots:
        lines.add_row(f"{format_share(share):>7}", names.of(name))
    return lines if one.hotspots else "none"


def waiting(findings: Findings, name_cells: int) -> RenderableType:
    """Return what the threads wait for, on the critical path or not."""
    if findings.waits.empty:
        return Text("no thread is known to wait for 1 % of the window or more for the same reason")
    lane_cells = min(name_cells - _TIGHT_CELLS, _MOST_LANE_CELLS)
    rows = table("thread", "name", ">duration", ">share", ">count")
    for row in findings.waits.to_dict("records"):
        rows.add_row(
            Text(label(str(row["lane_name"]), lane_cells)),
            Text(label(str(row["name"]), _WAIT_CELLS)),
            format_ns(row["duration_ns"]),
            format_share(row["share"]),
            f"{row['count']:,}",
        )
    return Group(Text("Of each thread, on the critical path or not, from 1 % of the window:"), rows)
