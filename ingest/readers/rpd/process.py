"""One process in a database of rocmProfileData: its calls, its ranges, and what they gave to GPUs."""

import re
from dataclasses import dataclass, replace

import numpy as np

from tracegraph.ingest.array_tables import find_positions
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers.event_rows import EventRows, copy_rates, join_texts
from tracegraph.ingest.readers.sqlite_file import Database, Rows
from tracegraph.ingest.text_columns import TextColumn
from tracegraph.vocabulary.categories import Role, names_of

CALLS, WORK, LINKS, COPIES, TEXTS = (
    f"rocpd_{name}" for name in ("api", "op", "api_ops", "copyapi", "string")
)
_MARKER = "UserMarker"
"""The name of the rows of roctx: what a range is called stands in the arguments."""
_OWN = re.compile(r"\w+::\w+|hcc_activity_callback")
"""What the profiler calls its own work, which it records as if it were calls."""
_DIRECTIONS = {
    "CopyHostToDevice": "HtoD",
    "CopyDeviceToHost": "DtoH",
    "CopyDeviceToDevice": "DtoD",
    "CopyHostToHost": "HtoH",
}
"""Kinds of copies, and Kineto's words for their directions."""
_FILL = "FillBuffer"
_BARRIER = re.compile(r"Barrier|Marker")
"""Kinds of rows in which a queue does nothing."""
(_KERNEL,), (_COPY,), (_SET,) = names_of(Role.KERNEL), names_of(Role.COPY), names_of(Role.MEMSET)
(_ANNOTATION,), (_OVERHEAD,) = names_of(Role.ANNOTATION), names_of(Role.OVERHEAD)
_CALL = names_of(Role.CALL)[0]


@dataclass(frozen=True)
class Process:
    """A process of a database; `alone`: whether it is the only one with work on a GPU."""

    database: Database
    pid: int
    alone: bool
    integrity: Integrity

    def names(self, ids: Ints) -> TextColumn:
        """Find the texts of ids; None where there is no such text."""
        return self.database.look_up(TEXTS, ("id", "string"), ids)

    def rows(self, table: str, numbers: tuple[str, ...], where: str) -> Rows:
        """Read columns of numbers of the rows of a table that fulfil a condition in SQL."""
        return self.database.read(table, numbers, (), where)


def read_calls(process: Process) -> list[EventRows]:
    """Read the calls into HIP, the user's ranges of roctx, and the profiler's own work."""
    columns = ("id", "tid", "start", "end", "apiName_id", "args_id")
    rows = process.rows(CALLS, columns, f'"pid" = {process.pid}')
    name = process.names(rows["apiName_id"])
    is_range = name.among(_MARKER)
    pid = np.full(rows.count, process.pid)
    found = EventRows(_CALL, name, rows["start"], rows["end"], pid, rows["tid"])
    own = name.matching(np.array([bool(_OWN.fullmatch(text or "")) for text in name.values], dtype=bool))
    calls = replace(found, numbers={"correlation": rows["id"]}).take(~(is_range | own))
    ranges = replace(found, category=_ANNOTATION, name=process.names(rows["args_id"])).take(is_range)
    return [calls, ranges, replace(found, category=_OVERHEAD).take(own)]


def read_work(process: Process) -> tuple[list[EventRows], dict[str, int]]:
    """Read the work that the process gave to GPUs, on the queues that did it, and count barriers.

    Work that no call is known for belongs to the only process that there is. Streams share queues, and only
    the queue is recorded of all work.
    """
    known = process.database.has(CALLS, "id", "pid")
    mine = f'SELECT "id" FROM {CALLS} WHERE "pid" = {process.pid}' if known else "NULL"
    links = process.rows(LINKS, ("api_id", "op_id"), f'"api_id" IN ({mine})')
    columns = ("id", "gpuId", "queueId", "start", "end", "description_id", "opType_id")
    rows = process.rows(WORK, columns, _of_process(process, mine) if known else "1")
    call = np.append(links["api_id"], NONE)[find_positions(links["op_id"], rows["id"])]
    place = {"correlation": call, "device": rows["gpuId"], "stream": rows["queueId"]}
    device = np.where(rows["gpuId"] == NONE, 0, rows["gpuId"])
    kind = process.names(rows["opType_id"])
    name = _names(process.names(rows["description_id"]), kind)
    found = EventRows(_KERNEL, name, rows["start"], rows["end"], device, rows["queueId"], place)
    sizes = _sizes(process, call, mine)
    rates = copy_rates(rows["start"], rows["end"], sizes)
    moved = replace(found, numbers={**place, "bytes": sizes, "bandwidth": rates})
    still = kind.matching(np.array([bool(_BARRIER.search(text or "")) for text in kind.values], dtype=bool))
    is_set, is_copy = kind.among(_FILL), kind.among(*_DIRECTIONS)
    parts = [
        found.take(~(still | is_set | is_copy)),
        replace(moved, category=_COPY).take(is_copy),
        replace(moved, category=_SET).take(is_set),
    ]
    barriers = int(still.sum())
    return parts, {"i": barriers} if barriers else {}


def _of_process(process: Process, mine: str) -> str:
    """Return the condition in SQL for work of the process. `mine`: a query for its calls' ids."""
    if not process.database.has(LINKS, "api_id", "op_id"):
        return "1"
    linked = f'"id" IN (SELECT "op_id" FROM {LINKS} WHERE "api_id" IN ({mine}))'
    return f'{linked} OR "id" NOT IN (SELECT "op_id" FROM {LINKS})' if process.alone else linked


def _sizes(process: Process, call: Ints, mine: str) -> Ints:
    """Find the bytes of each row: those of its call, if that gave no other work to a GPU."""
    rows = process.rows(COPIES, ("api_ptr_id", "size"), f'"api_ptr_id" IN ({mine})')
    size = np.append(rows["size"], NONE)[find_positions(rows["api_ptr_id"], call)]
    _, place, count = np.unique(call, return_inverse=True, return_counts=True)
    return np.where((count[place.reshape(-1)] == 1) & (call != NONE), size, NONE)


def _names(description: TextColumn, kind: TextColumn) -> TextColumn:
    """Name work by its description, which kernels have, else by its kind, in Kineto's words."""
    words = {name: f"Memcpy {direction}" for name, direction in _DIRECTIONS.items()} | {_FILL: "Memset"}
    both = join_texts([description, kind.renamed(words)])
    size = len(kind)
    return both.take(np.where(description.among("", None), np.arange(size) + size, np.arange(size)))
