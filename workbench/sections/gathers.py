"""When gathers of sharded parameters begin, how long work waits for them, and how many are ahead."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Plot, Table, Words, filled
from tracegraph.workbench.sections.section import OTHERS, Parameters, Scope, Section
from tracegraph.workbench.text.text import format_ns, format_share, plural

_MOST_MODULES = 60
"""How many modules are drawn and listed."""
_LEAD, _STALL = "begins before it could be used", "work waits for it"
_COLOURS = {_LEAD: "#2a9d8f", _STALL: "#d1495b"}
_MODULES = (
    Column("module", "module", "name"),
    Column("phase", "phase"),
    Column("bytes", "data", "bytes", roomy=True),
    Column("count", "gathers", "count"),
    Column("lead_ns", "lead", "duration"),
    Column("stall_ns", "stall", "duration"),
    Column("ahead", "modules ahead", "text"),
    Column("hidden_share", "hidden", "share"),
    Column("again", "gathered again", "count", roomy=True),
)
_NOTE = (
    "Means of all steps and ranks. Lead: how long a gather began before the work that needs it could have "
    "begun; below 0, it began later. Stall: how long that work then waited for it. Modules ahead: modules "
    "that launched work between; 0 without prefetching. Hidden: part of its time in which something computes."
)
_ROOT = "(root or unnamed)"


def _content(findings: Findings) -> Sequence[Block]:
    rows = findings.answers.get("gathers")
    if rows is None or rows.empty or rows["first_use_ns"].isna().all():
        return []
    known = rows[rows["first_use_ns"].notna()]
    modules = _by_module(known)
    blocks: list[Block] = [Words(" ".join(_said(rows, known)))]
    left = rows["lacks"].dropna().value_counts()
    blocks += [
        Words(f"Of {plural(int(count), 'gather')}: {text}", "note") for text, count in left.head(2).items()
    ]
    shown = filled(modules, _MODULES)
    return [*blocks, _plot(modules), Table(modules, shown, "By module, as first needed:", _NOTE)]


def _said(rows: pd.DataFrame, known: pd.DataFrame) -> Iterator[str]:
    stalls = known[known["stall_ns"] > 0]
    steps = max(1, known[["rank", "step"]].drop_duplicates().shape[0])
    lost = f", {format_ns(int(stalls['stall_ns'].sum()) // steps)} in a step of a rank" if len(stalls) else ""
    yield f"Work waits for {len(stalls):,} of {plural(len(known), 'gather')} whose use is known{lost}."
    ahead = known["modules_ahead"].dropna()
    if len(ahead):
        between = _range(ahead.min(), ahead.max())
        yield f"They are launched {between} modules ahead, {float(ahead.median()):g} in the median."
    hidden = rows["hidden_share"].dropna()
    if len(hidden):
        yield f"Computing hides {format_share(float(hidden.mean()))} of a gather in the mean."


def _range(least: float, most: float) -> str:
    return f"{least:.0f}" if least == most else f"{least:.0f} to {most:.0f}"


def _by_module(known: pd.DataFrame) -> pd.DataFrame:
    """Take the means of each module in each phase, as they are first needed."""
    rows = known.sort_values("first_use_ns", kind="stable")
    rows = rows.assign(module=rows["module"].fillna(_ROOT), phase=rows["phase"].fillna(""))
    groups = rows.groupby(["module", "phase"], sort=False)
    found = groups.agg(
        bytes=("bytes", "max"),
        count=("begins_ns", "size"),
        lead_ns=("lead_ns", "mean"),
        stall_ns=("stall_ns", "mean"),
        hidden_share=("hidden_share", "mean"),
        again=("gathered_again", lambda told: int(told.fillna(False).sum())),
        least=("modules_ahead", "min"),
        most=("modules_ahead", "max"),
    ).reset_index()
    whole = found[["lead_ns", "stall_ns"]].astype(float).round().astype("int64")
    ahead = [
        "" if pd.isna(least) else _range(least, most) for least, most in found[["least", "most"]].to_numpy()
    ]
    found = found.drop(columns=["least", "most"])
    return found.assign(lead_ns=whole["lead_ns"], stall_ns=whole["stall_ns"], ahead=ahead).head(_MOST_MODULES)


def _plot(modules: pd.DataFrame) -> Plot:
    """Draw for each module from the begin of its gather on: what is ahead of the need, then the waiting."""
    told = modules.assign(
        _module=[" ".join(one) for one in zip(modules["phase"], modules["module"], strict=True)]
    )
    bars = pd.concat(
        [
            told.assign(part=_LEAD, length_ns=told["lead_ns"].clip(lower=0)),
            told.assign(part=_STALL, length_ns=told["stall_ns"]),
        ],
        ignore_index=True,
    )
    return Plot(
        "Gathers: how long before the need they begin, and how long work waits for them",
        bars,
        "bars",
        Column("_module", "module"),
        Column("length_ns", "time", "duration"),
        colour="part",
        colours=_COLOURS,
        told=(Column("ahead", "modules ahead"), Column("hidden_share", "hidden", "share")),
        across=True,
    )


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    return {"gathers": scope.between} if scope.drawn and scope.communicates else {}


SECTION = Section(104, "Gathers of parameters", _content, _asks, group=OTHERS)
