"""What becomes critical next, in the terminal: events with little slack, second causes of the hotspots."""

import pandas as pd
from rich.console import Group, RenderableType
from rich.text import Text

from tracegraph.cli.reporters.layout import table
from tracegraph.cli.reporters.names import Names
from tracegraph.workbench.report.findings import Findings
from tracegraph.workbench.text import format_ns, format_share, label

_LANE_CELLS = 16
_RULE_CELLS = 14


def near_critical(findings: Findings, names: Names) -> RenderableType:
    """Return the events off the path that may end only a little later, and where the path would turn."""
    slack = format_ns(findings.near_slack_ns)
    parts: list[RenderableType] = []
    if findings.near_critical.empty:
        parts.append(Text(f"no event off the path would lengthen the run by ending {slack} later"))
    else:
        title = f"Events off the path that may end at most {slack} later at no cost, the least first:"
        parts += [Text(title), _slack(findings.near_critical, names)]
    turns = findings.second_causes[findings.second_causes["count"] > 0]
    parts.append(Text())
    if turns.empty:
        parts.append(Text("no start of a hotspot has a second cause"))
    else:
        parts += [
            Text("Hotspots whose starts have a second cause; it takes over when the first gains the margin:"),
            _turns(turns, names),
        ]
    return Group(*parts)


def _slack(frame: pd.DataFrame, names: Names) -> RenderableType:
    rows = table("name", "lane", ">slack", ">duration", ">share")
    for row in frame.to_dict("records"):
        rows.add_row(
            names.of(row["name"]),
            Text(label(str(row["lane_name"]), _LANE_CELLS)),
            format_ns(row["slack_ns"]),
            format_ns(row["duration_ns"]),
            format_share(row["share"]),
        )
    return rows


def _turns(frame: pd.DataFrame, names: Names) -> RenderableType:
    rows = table("name", ">margin", "second cause", "by")
    for row in frame.to_dict("records"):
        rows.add_row(
            names.of(row["name"]),
            format_ns(row["margin_ns"]),
            names.of(row["second"]),
            Text(label(str(row["second_mechanism"]), _RULE_CELLS)),
        )
    return rows
