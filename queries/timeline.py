"""What happens in a window on all lanes, on the path or not."""

import pandas as pd

from tracegraph.queries.module import load
from tracegraph.store.connection import Database


def lane_timeline(database: Database, run: str, start_ns: int, end_ns: int, pixel_ns: int) -> pd.DataFrame:
    """Work on every lane for drawing: lane, start_ns, end_ns, name, category, count.

    Segments shorter than `pixel_ns` become one row for each lane, pixel and category; its name is null where
    their names differ. At most lanes x pixels x categories rows.
    """
    return load("lane_timeline").run(database, run=run, start_ns=start_ns, end_ns=end_ns, pixel_ns=pixel_ns)


def gpu_busy(database: Database, run: str, start_ns: int, end_ns: int) -> pd.DataFrame:
    """Busy time of each GPU, overlapping streams counted once: rank, device, busy_ns, busy_share, count."""
    return load("gpu_busy").run(database, run=run, start_ns=start_ns, end_ns=end_ns)


def lane_waits(
    database: Database, run: str, start_ns: int, end_ns: int, *, least_ns: int = 0, limit: int = 100
) -> pd.DataFrame:
    """Waiting of each thread by name, longest first: lane, lane_name, name, duration_ns, share, count.

    Waits off the path are among them. Rows shorter than `least_ns` are left out.
    """
    return load("lane_waits").run(
        database, run=run, start_ns=start_ns, end_ns=end_ns, least_ns=least_ns, limit=limit
    )


def lane_dependencies(database: Database, run: str, start_ns: int, end_ns: int) -> pd.DataFrame:
    """Dependencies between different lanes by lanes, kind and mechanism: count, binding, gap_ns."""
    return load("lane_dependencies").run(database, run=run, start_ns=start_ns, end_ns=end_ns)


def near_critical(
    database: Database,
    run: str,
    start_ns: int,
    end_ns: int,
    *,
    slack_ns: int = 100_000,
    least_ns: int = 0,
    limit: int = 20,
) -> pd.DataFrame:
    """Events with a slack above zero and at most `slack_ns`, by name, category and lane, least slack first.

    Columns name, category, lane, lane_name, slack_ns, duration_ns, share (of the window), count. Groups
    shorter than `least_ns` are left out. The slack is against the end of the run, not of the window.
    """
    return load("near_critical").run(
        database,
        run=run,
        start_ns=start_ns,
        end_ns=end_ns,
        slack_ns=slack_ns,
        least_ns=least_ns,
        limit=limit,
    )
