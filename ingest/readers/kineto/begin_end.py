"""Join the B and E entries of a thread into one event at the place of the B."""

from dataclasses import replace

import numpy as np

from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers.kineto.duration_columns import Durations


def match_pairs(durations: Durations, integrity: Integrity) -> tuple[Durations, Flags]:
    """Give B entries the durations of their pairs, and flag the events: ph X and each B that has an E.

    An E ends the innermost open B of its (pid, tid) with its name; an E without a name ends the innermost of
    all. Entries without their other half go to `integrity` and are not flagged.
    """
    dur, has_dur = durations.dur.copy(), durations.has_dur.copy()
    keep = durations.phase.among("X")
    begins = durations.phase.among("B")
    if keep.all():
        return durations, keep
    halves = np.flatnonzero(~keep & durations.has_start)
    # Entries may be out of order in the file; at one time a B comes before its E as written.
    halves = halves[np.argsort(durations.start[halves], kind="stable")]
    unmatched: list[int] = []
    open_rows = _OpenRows(durations)
    for row in halves.tolist():
        if begins[row]:
            open_rows.open(row)
            continue
        begin = open_rows.close(row)
        if begin is None:
            unmatched.append(row)
            continue
        dur[begin] = durations.start[row] - durations.start[begin]
        has_dur[begin] = keep[begin] = True
    opened = open_rows.left()
    lost = np.flatnonzero(~durations.phase.among("X") & ~durations.has_start)
    opened += lost[begins[lost]].tolist()
    unmatched += lost[~begins[lost]].tolist()
    for code, what, rows in (
        ("begin_without_end", "B entries without an E are dropped: their time is unknown", opened),
        ("end_without_begin", "E entries without a B are dropped: their time is unknown", unmatched),
    ):
        integrity.add_places(code, what, durations.position[np.array(sorted(rows), dtype=np.int64)])
    return replace(durations, dur=dur, has_dur=has_dur), keep


class _OpenRows:
    """The B entries without an E so far, of each thread and of each of its names."""

    def __init__(self, durations: Durations) -> None:
        self._threads = list(zip(durations.pid.codes.tolist(), durations.tid.codes.tolist(), strict=True))
        self._name = durations.name.codes.tolist()
        names = durations.name.values
        self._unnamed = {code for code, name in enumerate(names) if name in (None, "")}
        self._of_thread: dict[tuple[int, int], list[int]] = {}
        self._of_name: dict[tuple[tuple[int, int], int], list[int]] = {}
        self._closed: set[int] = set()

    def open(self, row: int) -> None:
        """Add the B in `row`."""
        thread = self._threads[row]
        self._of_thread.setdefault(thread, []).append(row)
        self._of_name.setdefault((thread, self._name[row]), []).append(row)

    def close(self, end: int) -> int | None:
        """Find and close the B of the E in row `end`: the innermost of its name, or of all without a name."""
        thread, name = self._threads[end], self._name[end]
        if name in self._unnamed:
            rows = self._of_thread.get(thread, [])
        else:
            rows = self._of_name.get((thread, name), [])
        while rows:  # each row stands in two lists; skip one that was closed by way of the other
            row = rows.pop()
            if row not in self._closed:
                self._closed.add(row)
                return row
        return None

    def left(self) -> list[int]:
        """List the B entries that nothing closed."""
        rows = (row for stack in self._of_thread.values() for row in stack)
        return [row for row in rows if row not in self._closed]
