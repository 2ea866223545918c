"""The part of a job's path that is missed although the files show it."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from benchmarks.accuracy.compare import missed_stretches
from benchmarks.accuracy.sets import Row


def told_but_missed(
    truth: dict[str, Any], true: Sequence[Row], ours: Sequence[Row], path: pd.DataFrame
) -> float:
    """Return the share of the time of true events that is missed although the files show it.

    Two things are not in the files: which of two causes of a start came, if both came in the same ns (margin
    0), and what a rank does after its last row if the run ends in that (the last segment of `truth` has no
    event) while another rank has a later row.

    Parameters
    ----------
    true, ours
        The paths as `missed_stretches` takes them.
    path
        The rows of ours, with `rank`, `end_ns` and `margin_ns`.
    """
    rank, event, *_ = truth["segments"][-1]
    last = path.iloc[-1]
    later = max((end for _, end, at in true if at is not None), default=0) <= last.end_ns
    unseen = event < 0 and rank != last["rank"] and later
    tied = path["margin_ns"].eq(0).fillna(False).to_numpy(bool)
    missed = missed_stretches(true, ours)
    told = sum(length for length, row in missed if not (tied[row] if row >= 0 else unseen))
    return told / sum(end - start for start, end, at in true if at is not None)
