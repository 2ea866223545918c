"""What is known of each lane of a file, a thread of a process, before its rows have a meaning."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.readers.kineto.duration_columns import Durations
from tracegraph.ingest.readers.kineto.thread_names import NameCollector
from tracegraph.ingest.text_columns import distinct_pairs, read_texts
from tracegraph.ingest.trace import LAUNCH_FLOWS
from tracegraph.vocabulary.categories import GPU_WORK, Role, has_role, is_known

_NUMBERS = re.compile(r"\d{1,9}", re.ASCII)


@dataclass(frozen=True)
class LaneFacts:
    """What is known of one lane.

    `foreign`: how many of its rows have no category that says what they are. `host`, `work`: how many are a
    thread's or GPU work. `launched`: whether a flow of launches ends on it.
    """

    pid: str
    tid: str
    process: str
    """The name of the process, else its pid unless that is a number."""
    label: str
    thread: str
    foreign: int
    host: int
    work: int
    launched: bool

    @property
    def names(self) -> tuple[str, str]:
        """Names that may say that the process is a device."""
        return self.process, self.label


@dataclass(frozen=True)
class LaneTable:
    """All lanes, and the lane of each row; `foreign`: see `LaneFacts`, as a flag for each row."""

    lanes: list[LaneFacts]
    of_row: Ints
    foreign: Flags

    def rows_on(self, lanes: Iterable[int]) -> Flags:
        """Flag the foreign rows that are on one of these lanes."""
        chosen = np.zeros(len(self.lanes), dtype=bool)
        chosen[list(lanes)] = True
        rows: Flags = self.foreign & chosen[self.of_row]
        return rows


def foreign_rows(durations: Durations) -> Flags:
    """Flag the rows whose category does not say whether they are a thread's or a device's."""
    texts = durations.category.values
    foreign = [text is None or not is_known(text) or has_role(text, Role.DEVICE_ROW) for text in texts]
    return durations.category.matching(np.array(foreign, dtype=bool))


def describe(durations: Durations, flows: pa.Table, names: NameCollector) -> LaneTable:
    """Count the rows of each lane by what their categories say."""
    texts = durations.category.values
    work = [has_role(text, *GPU_WORK, Role.GPU_ANNOTATION, Role.SYNC) for text in texts]
    is_foreign = foreign_rows(durations)
    is_work = durations.category.matching(np.array(work, dtype=bool))
    pairs, of_row = distinct_pairs(durations.pid.codes, durations.tid.codes)
    counts = [
        np.bincount(of_row[rows], minlength=len(pairs)).tolist()
        for rows in (is_foreign, ~(is_foreign | is_work), is_work)
    ]
    launched = _ends(flows)
    keys = [(durations.pid.values[p] or "", durations.tid.values[t] or "") for p, t in pairs]
    lanes = [
        LaneFacts(
            pid=pid,
            tid=tid,
            process=names.processes.get(pid, "" if _NUMBERS.fullmatch(pid) else pid),
            label=names.labels.get(pid, ""),
            thread=names.threads.get((pid, tid), ""),
            foreign=foreign_rows,
            host=host_rows,
            work=work_rows,
            launched=(pid, tid) in launched,
        )
        for (pid, tid), foreign_rows, host_rows, work_rows in zip(keys, *counts, strict=True)
    ]
    return LaneTable(lanes, of_row, is_foreign)


def _ends(flows: pa.Table) -> set[tuple[str, str]]:
    """Find the lanes on which flows of launches end."""
    kind, pid, tid = (read_texts(flows[name]) for name in ("kind", "pid", "tid"))
    meant = kind.matching(np.array([LAUNCH_FLOWS.fullmatch(str(text)) is not None for text in kind.values]))
    rows = meant & ~flows["is_start"].to_numpy()
    pairs, _ = distinct_pairs(pid.codes[rows], tid.codes[rows])
    return {(str(pid.values[p]), str(tid.values[t])) for p, t in pairs}


def last_number(text: str) -> int | None:
    """Find the last number in a name, None if it has none."""
    found = _NUMBERS.findall(text)
    return int(found[-1]) if found else None
