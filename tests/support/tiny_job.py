"""Jobs of a few rows for tests: ranks that work, meet in an all-reduce, and go on; times in µs."""

import json
from collections.abc import Sequence
from pathlib import Path

from tiny import Row, call, event, kernel

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"


def rows_of_rank(work_us: float, *, skew_us: float = 0, steps: int = 3, **collective: object) -> list[Row]:
    """A thread that works, then launches an all-reduce, whose kernel ends 10 µs after the last rank came.

    The other rank works 100 µs in each step.
    """
    found: list[Row] = []
    begin = skew_us
    for number in range(steps):
        ready = begin + work_us
        leaves = begin + max(work_us, 100) + 5 + 10
        stated = {"group": "0", "group_ranks": "[0, 1]", "group_sequence": number, **collective}
        found += [
            event("work", begin, ready),
            call("cudaLaunchKernel", ready, ready + 2, number + 1),
            kernel(ALL_REDUCE, ready + 5, leaves, number + 1, **stated),
            call("cudaStreamSynchronize", ready + 2, leaves, 100 + number),
        ]
        begin = leaves
    return found


def write_trace(path: Path, rows: Sequence[Row], rank: int | None, world_size: int = 2) -> Path:
    """The rows as a trace of Kineto's."""
    names = {
        "correlation": "correlation", "device": "device", "stream": "stream", "group": "Process Group Name",
        "group_ranks": "Process Group Ranks", "group_sequence": "Seq", "elements": "In msg nelems",
        "dtype": "dtype", "collective": "Collective name", "receiver": "Dst Rank", "sender": "Src Rank",
    }  # fmt: skip
    entries = [
        {
            "ph": "X",
            "name": row["name"],
            "cat": row["category"],
            "pid": row["pid"],
            "tid": row["tid"],
            "ts": int(str(row["start_ns"])) / 1000,
            "dur": (int(str(row["end_ns"])) - int(str(row["start_ns"]))) / 1000,
            "args": {names[key]: value for key, value in row.items() if key in names and value is not None},
        }
        for row in rows
    ]
    info = {} if rank is None else {"distributedInfo": {"rank": rank, "world_size": world_size}}
    path.write_text(json.dumps({"traceEvents": entries, **info}))
    return path
