"""Which processes of a report are ranks: those whose work ran on a GPU, among all that the machine ran."""

from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers.nsight.report import CALLS, OF_GPU, RANGES, SYSTEM_CALLS, TURNS
from tracegraph.ingest.readers.sqlite_file import Database, quoted

_OF_THREADS = (CALLS, RANGES, SYSTEM_CALLS)
_OWNER = '("globalTid" & ~16777215)'
"""The globalPid of a row's process: its globalTid without the 24 bits of the thread."""


def find_processes(database: Database, integrity: Integrity) -> list[int]:
    """List the globalPid of each process with work on a GPU, in their order.

    Without such work it is the process with the most calls into CUDA, else ranges, else calls into the
    system. Rows of other processes, which only ran on the machine meanwhile, are counted and left out.
    """
    found: set[int] = set()
    for table in OF_GPU:
        if database.has(table, "globalPid"):
            query = f'SELECT DISTINCT "globalPid" FROM {quoted(table)}'
            found |= {one for (one,) in database.ask(query) if isinstance(one, int) and one >= 0}
    chosen = sorted(found) or _busiest(database)
    left, processes = _strangers(database, chosen)
    message = (
        f"rows of {processes:,} other processes, which have no work on a GPU, are left out: how they and the "
        "ranks wait for each other is not in the graph"
    )
    integrity.add("strangers_left_out", left, message)
    return chosen


def _busiest(database: Database) -> list[int]:
    for table in _OF_THREADS:
        if database.has(table, "globalTid"):
            query = (
                f"SELECT {_OWNER} AS owner FROM {quoted(table)} GROUP BY owner ORDER BY count(*) DESC, owner"
            )
            rows = [one for (one,) in database.ask(query) if isinstance(one, int)]
            if rows:
                return rows[:1]
    return []


def _strangers(database: Database, chosen: list[int]) -> tuple[int, int]:
    """Count the rows of other processes, and these."""
    left, processes = 0, set()
    for table in (*_OF_THREADS, TURNS):
        if database.has(table, "globalTid"):
            query = f"SELECT {_OWNER} AS owner, count(*) FROM {quoted(table)} GROUP BY owner"
            others = [(owner, rows) for owner, rows in database.ask(query) if owner not in chosen]
            left += sum(rows for _, rows in others)
            processes |= {owner for owner, _ in others}
    return left, len(processes)
