"""Collect duration entries (ph X, B, E) from batches into columns, as the file states them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.microseconds import to_ns
from tracegraph.ingest.readers.chrome_text import RawEntry, time_literals
from tracegraph.ingest.readers.growing_columns import GrowingNumbers, GrowingTexts
from tracegraph.ingest.readers.kineto.entry_decoding import (
    Arguments,
    Event,
    decode_arguments,
    decode_links,
)
from tracegraph.ingest.readers.kineto.operand_texts import InputTexts, ShapeTexts
from tracegraph.ingest.text_columns import TextColumn
from tracegraph.ingest.trace import EVENT_NUMBERS, EVENT_TEXTS
from tracegraph.vocabulary.categories import GPU_WORK, Role, has_role, spellings_of

_T = TypeVar("_T", bound=np.generic)
DURATIONS = ("X", "B", "E")
_OF_ENTRIES, _AS_JSON = ("name", "category", "pid", "tid"), ("shapes", "inputs")
_TEXTS = (*(name for name in EVENT_TEXTS if name not in (*_OF_ENTRIES, *_AS_JSON)), "task_type")
_TIMES = ("source_index", "start_ns", "end_ns")
_IDS = ("correlation", "external_id")
_OF_OPERATORS = ("sequence_number", "forward_thread")
_OF_WORK = ("device", "stream", "wait_on_stream", "wait_on_record", "bytes", "bandwidth")
_OF_BOTH = tuple(name for name in EVENT_NUMBERS if name not in (*_TIMES, *_IDS, *_OF_OPERATORS, *_OF_WORK))
"""Numbers that both GPU work and operators may state: those of collectives, and any new column."""
_FRAMES = spellings_of(Role.FRAME)
_GROUPS = (
    ((*GPU_WORK, Role.SYNC), (*_IDS, *_OF_WORK, *_OF_BOTH), True),
    ((Role.CALL,), _IDS, False),
    ((Role.OPERATOR, Role.ANNOTATION), ("external_id", *_OF_OPERATORS, *_OF_BOTH), True),
    ((Role.OTHER, Role.DEVICE_ROW), ("device", "stream", "stream_id", "link"), True),
)
"""Arguments that are read: roles of the category, columns of numbers, and whether texts are read."""


@dataclass(frozen=True)
class Durations:
    """One row for each duration entry; arrays of equal length. `dur` holds only where `has_dur` is true."""

    position: Ints
    phase: TextColumn
    name: TextColumn
    category: TextColumn
    pid: TextColumn
    tid: TextColumn
    start: Ints
    has_start: Flags
    dur: Ints
    has_dur: Flags
    numbers: dict[str, tuple[Ints, Flags]]
    texts: dict[str, TextColumn]
    odd_arguments: Ints
    """Rows whose arguments are not an object."""
    frames: tuple[Ints, Flags]
    """Numbers of Python frames."""
    outer_frames: tuple[Ints, Flags]
    """Numbers of their callers."""


class DurationCollector:
    """Grows batch by batch; `finish` gives the columns."""

    def __init__(self) -> None:
        self._length = 0
        self._text = {name: GrowingTexts() for name in ("phase", *_OF_ENTRIES, *_AS_JSON, *_TEXTS)}
        self._number = {
            name: GrowingNumbers() for name in {name for _, names, _ in _GROUPS for name in names}
        }
        self._times: dict[str, list[Ints]] = {"start": [], "dur": [], "position": []}
        self._known: dict[str, list[Flags]] = {"start": [], "dur": []}
        self._shapes = ShapeTexts()
        self._inputs = InputTexts()
        self._odd_arguments: list[int] = []
        self._frame, self._outer_frame = GrowingNumbers(), GrowingNumbers()

    def add(self, events: Sequence[Event], texts: Sequence[RawEntry], positions: Sequence[int]) -> None:
        """Append entries; `texts` are their sources, `positions` their places in the file's list."""
        column = self._text
        column["phase"].extend([event.ph for event in events])
        column["name"].extend([event.name for event in events])
        column["category"].extend([event.cat for event in events])
        column["pid"].extend([event.pid for event in events])
        column["tid"].extend([event.tid for event in events])
        self._times["position"].append(np.array(positions, dtype=np.int64))
        self._add_times("start", to_ns([event.ts for event in events], lambda k: time_literals(texts[k])[0]))
        self._add_times("dur", to_ns([event.dur for event in events], lambda k: time_literals(texts[k])[1]))
        self._add_arguments(events)
        self._add_frames(events)
        self._length += len(events)

    def _add_times(self, name: str, times: tuple[Ints, Flags]) -> None:
        self._times[name].append(times[0])
        self._known[name].append(times[1])

    def _add_arguments(self, events: Sequence[Event]) -> None:
        described: list[tuple[Ints, list[Arguments]]] = []
        for roles, numbers, has_texts in _GROUPS:
            rows = self._text["category"].last_among(partial(_has_one, roles))
            places = rows.tolist()
            arguments, odd = decode_arguments([events[k].args for k in places])
            self._odd_arguments += [self._length + places[k] for k in odd]
            for name in numbers:
                self._number[name].extend(rows + self._length, list(map(attrgetter(name), arguments)))
            if has_texts:
                described.append((rows, arguments))
        for name in _TEXTS:
            groups = [(rows, list(map(attrgetter(name), arguments))) for rows, arguments in described]
            self._text[name].extend_sparse(len(events), groups)
        for name, known in (("shapes", self._shapes), ("inputs", self._inputs)):
            groups = [(rows, known.of(arguments)) for rows, arguments in described]
            self._text[name].extend_sparse(len(events), groups)

    def _add_frames(self, events: Sequence[Event]) -> None:
        rows = self._text["category"].last_among(_FRAMES.__contains__)
        links = decode_links([events[k].args for k in rows.tolist()])
        rows += self._length
        self._frame.extend(rows, [link.frame for link in links])
        self._outer_frame.extend(rows, [link.outer_frame for link in links])

    def append(self, other: "DurationCollector") -> None:
        """Append the entries of another collector."""
        for name, texts in self._text.items():
            texts.append(other._text[name])
        for name, numbers in self._number.items():
            numbers.append(other._number[name], self._length)
        for name, times in self._times.items():
            times.extend(other._times[name])
        for name, known in self._known.items():
            known.extend(other._known[name])
        self._odd_arguments += [self._length + row for row in other._odd_arguments]
        self._frame.append(other._frame, self._length)
        self._outer_frame.append(other._outer_frame, self._length)
        self._length += other._length

    def finish(self) -> Durations:
        """Build the columns of all entries that were added."""
        text = {name: column.column() for name, column in self._text.items()}
        times = {name: _joined(parts, np.int64) for name, parts in self._times.items()}
        known = {name: _joined(parts, np.bool_) for name, parts in self._known.items()}
        return Durations(
            position=times["position"],
            phase=text["phase"],
            name=text["name"],
            category=text["category"],
            pid=text["pid"],
            tid=text["tid"],
            start=times["start"],
            has_start=known["start"],
            dur=times["dur"],
            has_dur=known["dur"],
            numbers={name: column.dense(self._length) for name, column in self._number.items()},
            texts={name: text[name] for name in (*_AS_JSON, *_TEXTS)},
            frames=self._frame.dense(self._length),
            outer_frames=self._outer_frame.dense(self._length),
            odd_arguments=np.array(self._odd_arguments, dtype=np.int64),
        )


def _has_one(roles: Sequence[Role], category: str | None) -> bool:
    return has_role(category, *roles)


def _joined(parts: list[npt.NDArray[_T]], dtype: type[_T]) -> npt.NDArray[_T]:
    return np.concatenate(parts) if parts else np.empty(0, dtype)
