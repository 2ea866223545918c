"""One event that lasts far longer than others of its name and holds much of the path."""

import pandas as pd

from tracegraph.vocabulary.gaps import WAITING_FOR_RANK
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.topics import COMMUNICATION
from tracegraph.workbench.text.names import quoted
from tracegraph.workbench.text.text import format_ns, format_share

_HOLDS = 0.25


def outlier(findings: Findings) -> str:
    """What is said of the one event that holds the most of the path; empty where none stands out."""
    told = findings.answers.get("outliers")
    if told is None or told.empty:
        return ""
    path = findings.path.assign(spent=findings.durations)
    spent = path.groupby(["rank", "source_index"], observed=True)["spent"].sum()
    keys = pd.MultiIndex.from_frame(told[["rank", "source_index"]].astype("int64"))
    held = pd.Series(spent.reindex(keys).fillna(0).to_numpy(), told.index)
    most = int(held.to_numpy().argmax())
    share = findings.share(int(held.iloc[most]))
    if share < _HOLDS:
        return ""
    row = told.iloc[most]
    count, long = int(row["count"]), int(row["long_count"])
    who = "One" if long == 1 else f"The longest of {long} long ones"
    said = (
        f"{who} of {count:,} {quoted(str(row['name']))} takes {format_ns(row['duration_ns'])}, the others "
        f"{format_ns(row['median_ns'])} in the median: it alone holds {format_share(share)} of the path"
    )
    return f"{said}{_waited(findings, str(row['name']))}."


def _waited(findings: Findings, name: str) -> str:
    """Whether communication waited for another rank, as far as the files tell."""
    about = findings.topics[COMMUNICATION]
    if about.empty or not about["name"].eq(name).any():
        return ""
    waited = findings.by_gap_ns.get(WAITING_FOR_RANK, 0)
    if waited:
        return f", without the {format_ns(waited)} of the path in which collectives waited for another rank"
    files = "one file" if findings.details.ranks == 1 else "these files"
    return f"; how much of that is waiting for another rank {files} cannot tell"
