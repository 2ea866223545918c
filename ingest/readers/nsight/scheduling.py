"""When the threads of a report did not run: from the row that took them off a CPU to the one after it."""

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.integrity_findings import percent
from tracegraph.ingest.readers.event_rows import number_texts
from tracegraph.ingest.readers.nsight.report import TURNS, Report, thread_of
from tracegraph.ingest.readers.usable_rows import LARGEST_NS, MAX_SPAN_NS
from tracegraph.ingest.trace import OFF_CPU_SCHEMA, table_in

_RUNNING = 1
"""The threadState of a thread that could have gone on as it left its CPU."""
_UNTOLD = (NONE, 0, 6)
"""States that do not say whether it could: none, unknown and unscheduled. All others are kinds of waits."""


def read_off_cpu(report: Report) -> pa.Table:
    """Read the stretches in which threads of the process did not run, in OFF_CPU_SCHEMA.

    A stretch begins with a row that takes the thread off a CPU, and ends with the thread's next row if that
    puts it on one. Other rows have no partner, and nothing follows from them; neither does anything from
    the times before a thread's first row and after its last.
    """
    rows = report.rows(TURNS, "globalTid", ("start", "isSchedIn", "globalTid", "threadState"))
    usable = np.flatnonzero((rows["start"] != NONE) & (rows["isSchedIn"] != NONE))
    thread = thread_of(rows["globalTid"])
    is_in = rows["isSchedIn"] != 0
    order = usable[np.lexsort((is_in[usable], rows["start"][usable], thread[usable]))]
    if len(order) < 2:
        return OFF_CPU_SCHEMA.empty_table()
    at, is_in, thread = rows["start"][order].clip(-LARGEST_NS, LARGEST_NS), is_in[order], thread[order]
    same = thread[1:] == thread[:-1]
    unpaired = same & (is_in[1:] == is_in[:-1])
    message = "rows of turns on a CPU have no partner: whether the thread ran beside them is unknown"
    report.integrity.add("turn_without_partner", int(unpaired.sum()) + rows.count - len(usable), message)
    length = at[1:] - at[:-1]
    chosen = np.flatnonzero(same & ~is_in[:-1] & is_in[1:] & (length > 0) & (length <= MAX_SPAN_NS))
    state = rows["threadState"][order[chosen]]
    told = ~np.isin(state, _UNTOLD)
    _state_untold(report, length[chosen], told)
    columns = {
        "pid": number_texts(np.full(len(chosen), report.pid)).arrow(),
        "tid": number_texts(thread[chosen]).arrow(),
        "start_ns": pa.array(at[chosen]),
        "end_ns": pa.array(at[chosen + 1]),
        "ready": pa.array(state == _RUNNING, mask=~told),
    }
    return table_in(OFF_CPU_SCHEMA, columns)


def _state_untold(report: Report, length: Ints, told: Flags) -> None:
    """Record of how many stretches the report does not say whether their threads could have run."""
    share = float(length[~told].sum()) / max(float(length.sum()), 1.0)
    message = (
        f"stretches in which threads did not run, {percent(share)} of all such time, do not say whether the "
        "threads could have run or waited"
    )
    report.integrity.add("turn_untold", int((~told).sum()), message)
