"""Python frames that were never seen to return, and end with the recording: closed where they must have."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints


def close_frames(
    start: Ints, end: Ints, process: Ints, frame: tuple[Ints, Flags], outer: tuple[Ints, Flags]
) -> Ints:
    """The ends of all events, earlier for frames that end when the last of all frames ends.

    Such a frame returned before its caller did, and before the next frame with the same caller began.
    `process`: a number for each. `frame`, `outer`: number of each frame and of its caller, which only mean
    something within one process, and where they are known. ns.
    """
    framed = np.flatnonzero(frame[1])
    if not len(framed):
        return end
    last = end[framed].max()
    open_ones = framed[(end[framed] == last) & outer[1][framed]]
    open_ones = open_ones[np.argsort(start[open_ones], kind="stable")]
    wanted = outer[0][open_ones]
    following = _next_of_caller(
        start, process, outer[0], framed[outer[1][framed] & np.isin(outer[0][framed], wanted)]
    )
    callers = framed[np.isin(frame[0][framed], wanted)]
    keys = zip(process[callers].tolist(), frame[0][callers].tolist(), strict=True)
    caller_of = dict(zip(keys, callers.tolist(), strict=True))
    end = end.copy()
    for row in open_ones.tolist():
        caller = caller_of.get((int(process[row]), int(outer[0][row])), -1)
        until = int(end[caller]) if caller >= 0 and start[caller] <= start[row] else int(last)
        end[row] = max(int(start[row]), min(until, following.get(row, until)))
    return end


def _next_of_caller(start: Ints, process: Ints, outer: Ints, rows: Ints) -> dict[int, int]:
    """Start of the next frame with the same caller, by row."""
    order = rows[np.lexsort((start[rows], outer[rows], process[rows]))]
    same = (outer[order][1:] == outer[order][:-1]) & (process[order][1:] == process[order][:-1])
    return dict(zip(order[:-1][same].tolist(), start[order][1:][same].tolist(), strict=True))
