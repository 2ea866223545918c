"""The critical path of a window, computed by walking the stored chains back from the window's sink.

Every function takes the window as `start_ns`, `end_ns` (ns) and `chain`, the sink's chain, as `run_window`
and `step_window` of `tracegraph.queries.windows` give them.
"""

from itertools import chain as joined

import numpy as np
import pandas as pd

from tracegraph.queries.inventory import lanes
from tracegraph.queries.module import Column, in_types, load
from tracegraph.store.categories import GAP
from tracegraph.store.connection import Database

PATH_COLUMNS = (
    Column("position", "INTEGER", False, "0-based place on the path"),
    Column("rank", "INTEGER", False, "rank of the process"),
    Column("lane", "INTEGER", False, "lane id"),
    Column("source_index", "INTEGER", True, "0-based position in the file's traceEvents, null for a gap"),
    Column("name", "STRING", False, "name of the event, or of the gap"),
    Column("category", "STRING", False, "Kineto category, or `gap`"),
    Column("start_ns", "INTEGER", False, "start, clipped to the window, ns"),
    Column("end_ns", "INTEGER", False, "end, clipped to the window, ns"),
    Column("dependency", "STRING", False, "what explains the start; `root` for the first row"),
    Column("mechanism", "STRING", True, "the rule that made the dependency"),
    Column("evidence", "STRING", True, "`recorded` or `inferred`"),
    Column("confidence", "FLOAT", True, "how sure the rule is, 0..1"),
    Column("lag_ns", "INTEGER", True, "what a replay adds to the cause's completion, ns"),
    Column("lane_name", "STRING", False, "readable name of the lane"),
    Column("margin_ns", "INTEGER", True, "how much later the cause comes than the second-best, ns"),
)
"""Columns of `critical_path`."""
PATH_SUMMARY = "The rows of a window's critical path in time order: events and named gaps that tile it."


def path_segments(database: Database, run: str, start_ns: int, end_ns: int, chain: int) -> pd.DataFrame:
    """Segments on the path, unordered, each with its binding dependency and the name of a lag before it.

    Columns as of `cypher/critical_path.cypher`, one row a segment; source_index is null for a gap, margin_ns
    where there is no second cause.
    """
    groups = load("critical_path").run(database, run=run, start_ns=start_ns, end_ns=end_ns, chain=chain)
    lists = ["source_index", "margin_ns", "start_ns", "end_ns"]
    sizes = groups["start_ns"].map(len).astype("int64")
    segments = groups.drop(columns=lists).loc[groups.index.repeat(sizes)].reset_index(drop=True)
    for name in lists:
        segments[name] = np.fromiter(joined.from_iterable(groups[name]), dtype=np.int64, count=len(segments))
    for name in ("source_index", "margin_ns"):
        segments[name] = segments[name].astype("Int64").mask(segments[name] < 0)
    return segments


def critical_path(database: Database, run: str, start_ns: int, end_ns: int, chain: int) -> pd.DataFrame:
    """Rows of the path in time order, with the columns PATH_COLUMNS; they tile the window.

    A row is a stretch of one event, or a named gap (category `gap`, no source_index): time in which no event
    is open, a wait, or the lag between a cause and its effect. Empty when the run has no such chain.
    """
    segments = path_segments(database, run, start_ns, end_ns, chain)
    # Of segments that start together, the one after a lag is the first, and only the last has a length.
    segments = segments.sort_values(["start_ns", "end_ns", "gap_ns"], ascending=[True, True, False])
    lags = segments.assign(
        start_ns=segments["end_ns"].shift(fill_value=start_ns),
        end_ns=segments["start_ns"],
        name=segments["lag_name"],
        category=GAP,
        source_index=pd.array([pd.NA] * len(segments), dtype="Int64"),
    )
    stretches = pd.concat([lags, segments], ignore_index=True)
    stretches = stretches[stretches["start_ns"] < stretches["end_ns"]].sort_values("start_ns")
    rows = _merge_pieces(stretches)
    rows.insert(0, "position", range(len(rows)))
    details = ["dependency", "mechanism", "evidence", "confidence", "lag_ns", "margin_ns"]
    rows.loc[rows["position"] == 0, details] = None
    rows["dependency"] = rows["dependency"].fillna("root")
    names = lanes(database, run).set_index("lane")["name"]
    rows["lane_name"] = rows["lane"].map(names)
    return in_types(rows, PATH_COLUMNS)


def _merge_pieces(stretches: pd.DataFrame) -> pd.DataFrame:
    """Neighbouring pieces of one event as one row that keeps what explains the first piece."""
    index, lane = stretches["source_index"], stretches["lane"]
    continues = (index == index.shift()).fillna(False).astype(bool) & (lane == lane.shift())
    ends = stretches["end_ns"][~continues.shift(-1, fill_value=False)]
    rows = stretches[~continues].reset_index(drop=True)
    rows["end_ns"] = ends.reset_index(drop=True)
    return rows


def path_hops(database: Database, run: str, start_ns: int, end_ns: int, chain: int) -> pd.DataFrame:
    """Chains on the path in time order: where it enters and leaves each, and what led there.

    The path in its shortest form: a handful of rows where `critical_path` has one for each event.
    """
    return load("path_hops").run(database, run=run, start_ns=start_ns, end_ns=end_ns, chain=chain)


def hotspots(
    database: Database, run: str, start_ns: int, end_ns: int, chain: int, *, limit: int = 10
) -> pd.DataFrame:
    """Events on the path by name and category, longest first.

    Columns name, category, duration_ns, proportion (of the listed total), prop_in_total (of the path), count.
    """
    return load("hotspots").run(database, run=run, start_ns=start_ns, end_ns=end_ns, chain=chain, limit=limit)


def path_gaps(
    database: Database, run: str, start_ns: int, end_ns: int, chain: int, *, limit: int = 100
) -> pd.DataFrame:
    """Gaps on the path by name, longest first, in the form of `hotspots`; count = stretches."""
    return load("path_gaps").run(
        database, run=run, start_ns=start_ns, end_ns=end_ns, chain=chain, limit=limit
    )


def path_composition(database: Database, run: str, start_ns: int, end_ns: int, chain: int) -> pd.DataFrame:
    """Time on the path by category, gaps included: category, duration_ns, share, count."""
    return load("path_composition").run(database, run=run, start_ns=start_ns, end_ns=end_ns, chain=chain)


def near_ties(
    database: Database,
    run: str,
    start_ns: int,
    end_ns: int,
    chain: int,
    *,
    margin_ns: int = 1000,
    limit: int = 20,
) -> pd.DataFrame:
    """Segments of the path whose second-best cause comes at most `margin_ns` before the chosen one.

    Columns lane, source_index, name, category, start_ns, end_ns, margin_ns, cause and second (names of the
    two causes), mechanism and second_mechanism.
    """
    return load("near_ties").run(
        database, run=run, start_ns=start_ns, end_ns=end_ns, chain=chain, margin_ns=margin_ns, limit=limit
    )


def second_causes(
    database: Database, run: str, start_ns: int, end_ns: int, chain: int, *, limit: int = 10
) -> pd.DataFrame:
    """For each of the largest hotspots, how close a second cause comes to the one that started it.

    Columns name, category, duration_ns (on the path), count (starts with a second cause), margin_ns (the
    smallest), cause, second, mechanism, second_mechanism (at that start; null where there is one cause only).
    """
    return load("second_causes").run(
        database, run=run, start_ns=start_ns, end_ns=end_ns, chain=chain, limit=limit
    )
