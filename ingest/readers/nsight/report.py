"""One process of a report: rows of its tables, and the texts that stand for their numbers."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers.sqlite_file import Database, Rows
from tracegraph.ingest.text_columns import TextColumn

KERNELS, COPIES, SETS, GRAPHS, CALLS, SYNCS, RECORDS, OVERHEADS = (
    f"CUPTI_ACTIVITY_KIND_{kind}"
    for kind in (
        "KERNEL",
        "MEMCPY",
        "MEMSET",
        "GRAPH_TRACE",
        "RUNTIME",
        "SYNCHRONIZATION",
        "CUDA_EVENT",
        "OVERHEAD",
    )
)
RANGES, SYSTEM_CALLS, TOOL_OVERHEADS = "NVTX_EVENTS", "OSRT_API", "PROFILER_OVERHEAD"
ALLOCATIONS = "CUDA_GPU_MEMORY_USAGE_EVENTS"
TURNS = "SCHED_EVENTS"
OF_GPU = (KERNELS, COPIES, SETS, GRAPHS)
"""Tables of the work of GPUs."""
Owner = Literal["globalPid", "globalTid"]
_THREAD_BITS = 24
_THREAD = (1 << _THREAD_BITS) - 1


@dataclass(frozen=True)
class Report:
    """One process in a report. `process`: its globalPid, whose lowest 24 bits, a thread's, are 0."""

    database: Database
    process: int
    integrity: Integrity

    @property
    def pid(self) -> int:
        """The number that the system gave to the process."""
        return self.process >> _THREAD_BITS & _THREAD

    def rows(
        self,
        table: str,
        owner: Owner,
        numbers: tuple[str, ...],
        texts: tuple[str, ...] = (),
        blobs: tuple[str, ...] = (),
    ) -> Rows:
        """Read the rows of the process; none if the table is absent, or lacks the column of its owner.

        `owner`: the column that says whose each row is. `blobs`: columns of bytes, read as digits.
        """
        where = self.is_own(owner) if self.database.has(table, owner) else "0"
        return self.database.read(table, numbers, texts, where, blobs)

    def is_own(self, owner: Owner) -> str:
        """Return the condition in SQL for the rows of the process."""
        return f'"{owner}" & {~_THREAD} = {self.process}'

    def names(self, ids: Ints) -> TextColumn:
        """Find the texts of ids; None where there is no such text."""
        return self.database.look_up("StringIds", ("id", "value"), ids)


def thread_of(global_ids: Ints) -> Ints:
    """Take the number of the thread from its globalTid, `NONE` from none."""
    return np.where(global_ids == NONE, NONE, global_ids & _THREAD)
