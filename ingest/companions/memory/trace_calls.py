"""The calls of modules in a trace with memory rows: where each ends, and where its backward begins."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.companions.memory.stacks import Stack
from tracegraph.ingest.companions.memory.trace_stacks import number_threads
from tracegraph.ingest.text_columns import read_texts
from tracegraph.ingest.trace import TraceFile
from tracegraph.vocabulary.phases import ENGINE


def calls_in(trace: TraceFile, stacks: Mapping[int, Stack], at_ns: Ints) -> pd.DataFrame:
    """Return the calls of `stacks` in the columns of `Lives.calls`; `at_ns`: the times of the entries.

    Autograd numbers the operators of forward, and runs their steps of backward under the same numbers. The
    backward of a call begins with its last operator.
    """
    called = np.unique([call for stack in stacks.values() for call in stack.calls]).astype(np.int64)
    start, end = (trace.events[name].to_numpy() for name in ("start_ns", "end_ns"))
    last = np.searchsorted(at_ns, end[called], "right") - 1
    backward = np.full(len(called), len(at_ns), dtype=np.int64)
    name = read_texts(trace.events["name"])
    engine = name.matching(np.array([str(one).startswith(ENGINE) for one in name.values], dtype=bool))
    numbers = trace.events["sequence_number"].combine_chunks()
    numbered = numbers.is_valid().to_numpy(zero_copy_only=False)
    number = numbers.fill_null(-1).to_numpy()
    (threads,) = number_threads(trace.events)
    steps = np.flatnonzero(engine & numbered)
    steps = steps[np.lexsort((start[steps], number[steps]))]
    for thread in np.unique(threads[called]).tolist() if len(steps) else ():
        mine = threads[called] == thread
        operators = np.flatnonzero(~engine & numbered & (threads == thread))
        operators = operators[np.argsort(start[operators], kind="stable")]
        first = np.searchsorted(start[operators], start[called[mine]], "left")
        after = np.searchsorted(start[operators], end[called[mine]], "left")
        some = after > first
        lowest, highest = (number[operators[place[some]]] for place in (first, after - 1))
        place = np.searchsorted(number[steps], highest, "right") - 1
        begin = np.searchsorted(at_ns, start[steps[place]], "left")
        rows = np.flatnonzero(mine)[some]
        # Each thread numbers its own operators: what ran before the call ended belongs to another thread's.
        found = (place >= 0) & (number[steps[place]] >= lowest) & (begin > last[rows])
        backward[rows[found]] = begin[found]
    return pd.DataFrame({"end": last, "backward": backward}, index=called)
