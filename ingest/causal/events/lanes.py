"""The lanes of a run: CPU threads and GPU streams, with what names them and which of them matter."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE, Events, marks_step
from tracegraph.ingest.text_columns import TextColumn
from tracegraph.ingest.trace import TraceFile
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.lane_kinds import IN_SHORT, STREAM, THREAD


@dataclass(frozen=True)
class Lanes:
    """The lanes of a run; lane ids are positions: threads by (pid, tid) first, then streams."""

    frame: pd.DataFrame
    """Columns rank, kind, name, pid, tid (text), device, stream (nullable Int64), matters (bool)."""

    @property
    def rank(self) -> Ints:
        """The rank of each lane."""
        return self.frame["rank"].to_numpy(dtype=np.int64)

    @property
    def is_thread(self) -> Flags:
        """Whether each lane is a CPU thread, or of a rank in short: its segments tile the window."""
        return (self.frame["kind"] != STREAM).to_numpy()

    @property
    def in_short(self) -> Flags:
        """Whether each lane is of a rank in short."""
        return (self.frame["kind"] == IN_SHORT).to_numpy()

    @property
    def process(self) -> Ints:
        """The number of the process that each lane belongs to; two ranks never share a process."""
        numbers = self.frame.groupby(["rank", "pid"], sort=False).ngroup()
        return np.asarray(numbers, dtype=np.int64)

    @property
    def matters(self) -> Flags:
        """Whether the path may end on each lane (rule 9)."""
        return self.frame["matters"].to_numpy(dtype=bool)


def _sort_key(text: str) -> tuple[int, int, str]:
    return (0, int(text), "") if text.isascii() and text.isdigit() and len(text) < 19 else (1, 0, text)


def number_lanes(
    on_thread: Flags, first: tuple[TextColumn, Ints], second: tuple[TextColumn, Ints]
) -> tuple[Ints, list[tuple[bool, str, str]]]:
    """Find the lanes of the events and give them numbers.

    Parameters
    ----------
    first, second
        pid and tid as written, each with the device or stream that stands for it on a GPU.

    Returns
    -------
    tuple
        The lane of each event, and for each lane its key: whether it is on a GPU, its process or device, and
        its thread or stream.
    """
    outer, outers = _distinct_places(on_thread, *first)
    inner, inners = _distinct_places(on_thread, *second)
    code, found = pd.factorize((outer * len(inners) + inner) * 2 + ~on_thread)
    keys = [
        (bool(place & 1), outers[place // 2 // len(inners)], inners[place // 2 % len(inners)])
        for place in found.tolist()
    ]
    order = sorted(range(len(keys)), key=lambda i: (keys[i][0], _sort_key(keys[i][1]), _sort_key(keys[i][2])))
    lane = np.empty(len(order), dtype=np.int64)
    lane[order] = np.arange(len(order))
    return lane[code], [keys[i] for i in order]


def _distinct_places(on_thread: Flags, written: TextColumn, number: Ints) -> tuple[Ints, list[str]]:
    """Find for each event the position of its place among the distinct texts of places, and these."""
    texts = {str(text): position for position, text in enumerate(written.values)}
    codes = written.codes.astype(np.int64)
    numbered = np.flatnonzero(~on_thread & (number != NONE))
    code, numbers = pd.factorize(number[numbered])
    place = [texts.setdefault(str(value), len(texts)) for value in numbers.tolist()]
    codes[numbered] = np.array(place, dtype=np.int64)[code]
    return codes, list(texts)


def describe_lanes(trace: TraceFile, events: Events, keys: list[tuple[bool, str, str]]) -> Lanes:
    """Describe the lanes that `number_lanes` has found."""
    rows = []
    for on_gpu, first, second in keys:
        if on_gpu:
            name = f"GPU {first} stream {second}"
        else:
            name = trace.thread_names.get((first, second)) or f"thread {second}"
        rows.append((STREAM if on_gpu else THREAD, name, first, second))
    frame = pd.DataFrame(rows, columns=["kind", "name", "pid", "tid"])
    frame.insert(0, "rank", trace.rank)
    on_stream = frame["kind"] == STREAM
    for column, source in (("device", "pid"), ("stream", "tid")):
        is_number = on_stream & frame[source].str.fullmatch(r"-?[0-9]{1,18}")
        frame[column] = pd.to_numeric(frame[source].where(is_number)).astype("Int64")
    # Some files write a stream's tid as text of their own, such as "stream 7": lanes keep what is written.
    first_event = np.unique(events.lane, return_index=True)[1]
    for column in ("pid", "tid"):
        frame[column] = trace.events[column].take(first_event).cast("string").to_pylist()
    frame["matters"] = _lanes_that_matter(events, len(frame))
    return Lanes(frame)


def _lanes_that_matter(events: Events, count: int) -> Flags:
    """Tell which lanes may end the path (rule 9): threads with a step, and streams with work.

    Without steps, threads with at least 5 % of the operators count, and without operators those with 5 % of
    the events, so that an idle thread or a watchdog cannot end the path. Nor can a thread that only calls the
    operating system, as many do that poll.
    """
    matters: Flags = np.bincount(events.lane[events.is_gpu], minlength=count) > 0
    for chosen, share in (
        (marks_step(events), 0.0),
        (events.of_role(Role.OPERATOR), 0.05),
        (~events.of_role(Role.SYSTEM_CALL, Role.SYSTEM_WAIT), 0.05),
        (events.on_thread, 0.05),
    ):
        on_lane = np.bincount(events.lane[chosen & events.on_thread], minlength=count)
        if on_lane.sum():
            matters |= (on_lane > 0) & (on_lane >= share * on_lane.sum())
            break
    return matters
