"""What if, in the terminal: without each hotspot, under other assumptions; and what all threads wait for."""

from rich.console import Group, RenderableType
from rich.text import Text

from tracegraph.cli.reporters.layout import table
from tracegraph.workbench.report.assumptions import Assumption, read_assumptions
from tracegraph.workbench.report.findings import Findings
from tracegraph.workbench.text import format_ns, format_share, label

_SPARE_CELLS = 24
_SHARE_CELLS = 8
_POLICY_CELLS = 20
_TIGHT_CELLS = 4
_MOST_LANE_CELLS, _WAIT_CELLS = 30, 26


def what_if(findings: Findings, name_cells: int) -> RenderableType:
    """Return what each of the longest hotspots costs, and what is critical once it takes no time."""
    rows = table("hotspot", ">on the path", ">gain", "critical then")
    # Two names share the room of one and of the columns that this table lacks.
    cells = (name_cells + _SPARE_CELLS) // 2
    for row in findings.what_next:
        following = [label(str(spot["name"]), cells) for spot in row["following"]]
        rows.add_row(
            Text(label(str(row["name"]), cells)),
            format_ns(row["duration_ns"]),
            format_ns(row["gain_ns"]),
            Text("\n".join(following) or "nothing that has a name"),
        )
    method = Text(
        "The gain is a replay's: all work of that name removed, on the path or not, and all lags kept."
    )
    return Group(method, rows)


def other_assumptions(findings: Findings, name_cells: int) -> RenderableType:
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
            Text(_hotspots(one, name_cells - _SHARE_CELLS)),
        )
    method = Text(
        "What the path is made of with other dependencies between threads, and without any that a timing "
        "rule made (recorded only). Where the rows differ, the conclusion rests on the choice:"
    )
    return Group(method, rows)


def _marked(one: Assumption) -> str:
    return label(f"{one.name} (chosen)" if one.chosen else one.name, _POLICY_CELLS)


def _hotspots(one: Assumption, name_cells: int) -> str:
    if one.same and not one.chosen:
        return "the same"
    lines = (f"{format_share(share):>7} {label(name, name_cells)}" for name, share in one.hotspots)
    return "\n".join(lines) or "none"


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
