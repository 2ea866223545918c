"""Single events: finding them, what they contain, who launched them, and why they started when they did.

An event is named by `source_index`, its 0-based position in the file's traceEvents, and the file's `rank`.
"""

import pandas as pd

from tracegraph.queries.module import load
from tracegraph.store.connection import Database


def events_named(database: Database, run: str, name: str, limit: int = 20) -> pd.DataFrame:
    """The longest events whose name begins with `name`."""
    return load("events_named").run(database, run=run, name=name, limit=limit)


def events_about(database: Database, run: str, start_ns: int, end_ns: int, beginnings: str) -> pd.DataFrame:
    """Where events run whose names begin in one of several ways (one a line): beginning, lane, start, end."""
    return load("events_about").run(
        database, run=run, start_ns=start_ns, end_ns=end_ns, beginnings=beginnings
    )


def call_tree(
    database: Database, run: str, source_index: int, rank: int = 0, *, depth: int = 3, limit: int = 200
) -> pd.DataFrame:
    """An event and what runs inside it down to `depth` levels, in the order of time."""
    return load("call_tree").run(
        database, run=run, source_index=source_index, rank=rank, depth=depth, limit=limit
    )


def launches(
    database: Database, run: str, source_index: int, rank: int = 0, *, limit: int = 100
) -> pd.DataFrame:
    """The call that launched a GPU activity, or the activities that a call launched, one row a pair."""
    return load("launches").run(database, run=run, source_index=source_index, rank=rank, limit=limit)


def event_causes(
    database: Database, run: str, source_index: int, rank: int = 0, *, limit: int = 20
) -> pd.DataFrame:
    """Every candidate cause of an event's first `limit` starts: when it arrived, and why it won or lost.

    A start is that of the event, and of each of its segments that something on another lane may have led to,
    as where a call goes on after a wait.
    """
    return load("event_causes").run(database, run=run, source_index=source_index, rank=rank, limit=limit)


def event_history(
    database: Database, run: str, source_index: int, rank: int = 0, *, depth: int = 5, limit: int = 20
) -> pd.DataFrame:
    """Binding causes of an event's first `limit` segments, `depth` hops back, as an edge list for drawing.

    cause and effect are node ids valid within this result, each with lane, name, category and times; then
    dependency, mechanism, evidence, confidence, lag_ns, gap_ns and binding.
    """
    return load("event_history").run(
        database, run=run, source_index=source_index, rank=rank, depth=depth, limit=limit
    )


def hotspot_neighbourhood(
    database: Database, run: str, start_ns: int, end_ns: int, chain: int, *, name: str, limit: int = 10
) -> pd.DataFrame:
    """All causes and effects of the `limit` longest stretches of `name` on the critical path.

    An edge list of the columns of `event_history`.
    """
    return load("hotspot_neighbourhood").run(
        database, run=run, start_ns=start_ns, end_ns=end_ns, chain=chain, name=name, limit=limit
    )
