"""Finds which rank the others wait for, how steadily, and why it is late."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.queries.shapes.path.sums import sum_by
from tracegraph.workbench.findings.findings import Findings

_MOST_CAUSES, _LEAST_CAUSE = 2, 0.05
"""How many causes of a late rank are shown, and the share of the waiting that each must reach. The share is
the threshold of the rule `straggler`; that two are enough was chosen by eye."""
_PART_IN_PHASE = 0.5
"""The share of the waiting from which on a phase says where a rank was late. A half, so that only one phase
can be named: with less, two could each claim the waiting."""


@dataclass(frozen=True)
class Cause:
    """Names by which a rank was late, the largest first; `inside`: what they all run in, if that is known."""

    inside: str | None
    names: Sequence[tuple[str, str, int]]
    """Name, category and ns of each."""

    @property
    def late_ns(self) -> int:
        """Time by which all the names together were late."""
        return sum(ns for *_, ns in self.names)


@dataclass(frozen=True)
class Straggler:
    """A rank that made others wait; times in ns, shares 0..1.

    `caused_ns`: the time that all others together waited for it; `share`: its share of all waiting;
    `longest_ns`: the longest single wait. `last`: how many of the `operations` it came last to. `on_path`:
    the share of the critical path on this rank. `steps_led`: steps in which it caused most of the waiting.
    `causes`: what made it late, the largest first. `phase`: in which most of that is, None if no phase takes
    so much longer than on the middle rank. `in_short`: whether what it worked on is not here.
    """

    rank: int
    caused_ns: int
    share: float
    longest_ns: int
    last: int
    operations: int
    on_path: float
    steps_led: int
    causes: Sequence[Cause]
    phase: str | None
    in_short: bool = False


@dataclass(frozen=True)
class Ranks:
    """The ranks of a run compared; `stragglers`: the one that caused most waiting first.

    `path_rank` holds `path_share` of the critical path, more than any other rank. `steps`: number of those in
    which any rank waited. `waited_share`, `transfer_share`: exposed communication as shares of the window, in
    the mean over the ranks in full. `in_full`, `in_short`: which these are, and how many others there are.
    """

    stragglers: Sequence[Straggler]
    path_rank: int
    path_share: float
    steps: int
    waited_share: float
    transfer_share: float
    in_full: Sequence[int]
    in_short: int


def compare_ranks(findings: Findings) -> Ranks | None:
    """Compare the ranks of a run; None for a run of one rank, or whose ranks share no operation."""
    waits = findings.answers.get("rank_waits", pd.DataFrame())
    if findings.details.ranks < 2 or not waits["operations"].sum():
        return None
    on_path = {int(rank): findings.share(ns) for rank, ns in sum_by(findings.path, "rank").items()}
    led = _steps_led(findings)
    caused = waits[waits["caused_ns"] > 0]
    first = next(iter(on_path))
    return Ranks(
        stragglers=[_straggler(row, on_path, led, findings) for row in caused.to_dict("records")],
        path_rank=first,
        path_share=on_path[first],
        steps=len(led),
        waited_share=findings.share(float(waits["exposed_wait_ns"].mean())),
        transfer_share=findings.share(float(waits["exposed_transfer_ns"].mean())),
        in_full=sorted(waits.loc[~waits["in_short"], "rank"].tolist()),
        in_short=int(waits["in_short"].sum()),
    )


def _straggler(
    row: dict[Any, Any], on_path: dict[int, float], led: "pd.Series[int]", findings: Findings
) -> Straggler:
    rank = int(row["rank"])
    waited = int(row["caused_ns"]) / max(1, findings.details.ranks - 1)
    least = _LEAST_CAUSE * waited
    causes = _causes(findings.answers["late_causes"], rank)
    return Straggler(
        rank=rank,
        caused_ns=int(row["caused_ns"]),
        share=float(row["caused_share"]),
        longest_ns=int(row["longest_ns"]),
        last=int(row["last"]),
        operations=int(row["operations"]),
        on_path=on_path.get(rank, 0.0),
        steps_led=int(led.eq(rank).sum()),
        causes=[cause for cause in causes if cause.late_ns >= least][:_MOST_CAUSES],
        phase=_late_phase(findings, rank, _PART_IN_PHASE * waited),
        in_short=bool(row["in_short"]),
    )


def _late_phase(findings: Findings, rank: int, least_ns: float) -> str | None:
    """Find the phase by which a rank is later than the middle one by most; None if that is less than a time.

    Phases are told by what their thread runs: one that waits for other ranks is longer on those.
    """
    phases = findings.answers.get("phases", pd.DataFrame())
    if phases.empty:
        return None
    length = phases["end_ns"] - phases["start_ns"]
    total = length.groupby([phases["phase"], phases["rank"]]).sum().unstack("rank").fillna(0)
    if rank not in total:
        return None
    middle = np.sort(total.to_numpy(), axis=1)[:, (total.shape[1] - 1) // 2]
    own = total[rank].to_numpy()
    place = int((own - middle).argmax())
    if own[place] - middle[place] < max(least_ns, 1):
        return None
    return str(total.index[place])


def _causes(late: pd.DataFrame, rank: int) -> list[Cause]:
    """Collect from the rows of `late_causes` why a rank was late; those inside one thing are joined."""
    found: dict[object, Cause] = {}
    for row in late[late["rank"].eq(rank)].to_dict("records"):
        inside = row["inside"] if isinstance(row["inside"], str) else None
        key = (row["name"], row["category"]) if inside is None else inside
        names = found[key].names if key in found else ()
        one = str(row["name"]), str(row["category"]), int(row["late_ns"])
        found[key] = Cause(inside, (*names, one))
    return sorted(found.values(), key=lambda cause: -cause.late_ns)


def _steps_led(findings: Findings) -> "pd.Series[int]":
    """Find, for each step in which a rank waited, the rank that caused most of the waiting."""
    steps = findings.answers.get("step_waits", pd.DataFrame({"number": [], "rank": [], "caused_ns": []}))
    waited = steps[steps["caused_ns"] > 0]
    return waited.drop_duplicates("number").set_index("number")["rank"]
