"""B and E entries of a thread become one event at the place of the B."""

from dataclasses import replace

import numpy as np

from tracegraph.ingest.integrity import Integrity
from tracegraph.ingest.readers.columns import Flags
from tracegraph.ingest.readers.durations import Durations


def match_pairs(durations: Durations, integrity: Integrity) -> tuple[Durations, Flags]:
    """The rows with the durations of pairs, and which are events: ph X and each B that has an E.

    An E ends the innermost open B of its (pid, tid) with its name; one without a name the innermost.
    """
    dur, has_dur = durations.dur.copy(), durations.has_dur.copy()
    keep = durations.phase.among(("X",))
    begins = durations.phase.among(("B",))
    halves = np.flatnonzero(~keep & durations.has_start)
    # entries may be out of order in the file; at one time a B comes before its E as written
    halves = halves[np.argsort(durations.start[halves], kind="stable")]
    unmatched: list[int] = []
    open_rows: dict[tuple[int, int], list[int]] = {}
    for row in halves.tolist():
        stack = open_rows.setdefault((int(durations.pid.codes[row]), int(durations.tid.codes[row])), [])
        if begins[row]:
            stack.append(row)
            continue
        begin = _innermost(durations, stack, row)
        if begin is None:
            unmatched.append(row)
            continue
        dur[begin] = durations.start[row] - durations.start[begin]
        has_dur[begin] = keep[begin] = True
    opened = [row for stack in open_rows.values() for row in stack]
    lost = np.flatnonzero(~durations.phase.among(("X",)) & ~durations.has_start)
    opened += lost[begins[lost]].tolist()
    unmatched += lost[~begins[lost]].tolist()
    for code, what, rows in (
        ("begin_without_end", "B entries without an E are dropped: their time is unknown", opened),
        ("end_without_begin", "E entries without a B are dropped: their time is unknown", unmatched),
    ):
        if rows:
            message = f"{what}, the first at source index {int(durations.position[min(rows)])}"
            integrity.add(code, "error", len(rows), message)
    return replace(durations, dur=dur, has_dur=has_dur), keep


def _innermost(durations: Durations, stack: list[int], end: int) -> int | None:
    """Take the B that the E in row `end` closes out of `stack`."""
    name = durations.name.codes[end]
    unnamed = durations.name.distinct[name] in (None, "")
    for k in range(len(stack) - 1, -1, -1):
        if unnamed or durations.name.codes[stack[k]] == name:
            return stack.pop(k)
    return None
