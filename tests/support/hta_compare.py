"""Is a difference from HTA what the table says: the rules named by its ids, and no other."""

from collections.abc import Collection, Sequence
from functools import cache

import pandas as pd
from hta import HtaRuns, files_of
from hta_oracle import FEATURES
from hta_rows import raw_rows, rows_by, step_names
from hta_tables import difference, lies_between, theirs

VARIANTS = ("full", "ns", "")
"""HTA's ways of reading a trace, best first: all of it, its last step cut off, besides whole µs."""

_ORDERS = {"S8", "D5"}
"""Rules about the order of what happens at the same time, of which a sort in HTA decides some by chance."""
Clock = tuple[int, int, int]


def best_variant(trace: str, feature: str) -> str | None:
    """The variant whose events are all of the file's as far as there is one; None where HTA has no table."""
    return next((one for one in VARIANTS if theirs(trace, feature, one) is not None), None)


def ids_of_variant(trace: str, variant: str) -> set[str]:
    """The rules of HTA that the variant stands for: rounding, by which more falls together; step cut."""
    ranks = [raw_rows(path) for path in files_of(trace)]
    rounded = variant == "" and any(rows.attrs["fractional"] for rows in ranks)
    cut = variant != "full" and len(step_names(ranks)) > 1
    return ({"W1", *_ORDERS} if rounded else set()) | ({"S1", "S2"} if cut else set())


def clocks_of(runs: HtaRuns, trace: str) -> list[Clock]:
    """What tracegraph adds to the GPU rows of each rank: ns, ns/s besides, and since when: its first row."""
    known = runs.rows("traces", trace)
    window_start = int(runs.rows("run_window", trace)["start_ns"].iloc[0])
    clocks = []
    offsets, drifts = known["clock_offset_ns"].tolist(), known["clock_drift_ppb"].tolist()
    for path, offset, drift in zip(files_of(trace), offsets, drifts, strict=True):
        since = int(raw_rows(path)["start"].min())
        clocks.append((offset + round((since - window_start) * (drift * 1e-9)), drift, since))
    return clocks


def computed(trace: str, feature: str, ids: Collection[str], clocks: Sequence[Clock]) -> pd.DataFrame:
    """The table from the rows of the files alone, by our rules but those that ids name."""
    return _computed(trace, feature, frozenset(ids), tuple(clocks))


@cache
def _computed(trace: str, feature: str, ids: frozenset[str], clocks: tuple[Clock, ...]) -> pd.DataFrame:
    files = files_of(trace)
    ranks = [_rank_of(trace, k) for k in range(len(files))]
    return FEATURES[feature](list(zip(ranks, rows_by(ids, files, clocks), strict=True)), ids).sort_index()


def _rank_of(trace: str, place: int) -> int:
    return 1 if trace == "c2" else place


def explained(trace: str, feature: str, variant: str, ids: Collection[str], clocks: Sequence[Clock]) -> str:
    """What of HTA's table those rules do not explain, "" for nothing."""
    table = theirs(trace, feature, variant)
    assert table is not None
    found = computed(trace, feature, ids, clocks)
    apart = difference(feature, table, found)
    if apart and set(ids) & _ORDERS:
        other = computed(trace, feature, set(ids) - _ORDERS, clocks)
        return "" if lies_between(table, found, other) else apart
    if "D2" in ids and set(table.index) == set(found.index):
        # A piece that is short of a whole µs by the last bit of a 64-bit number loses all of that µs.
        near = (table["sum"] - found.reindex(table.index)["sum"]).abs() <= 1
        return apart if not near.all() else ""
    return apart
