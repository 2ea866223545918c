"""The events of a run as numpy arrays with their lanes: what the causal model works on."""

from dataclasses import dataclass, replace

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.text_columns import TextColumn, with_role
from tracegraph.vocabulary.categories import Role

NONE = np.iinfo(np.int64).min
"""Stands for an absent number in an integer array."""


@dataclass(frozen=True)
class Events:
    """All events of a file in its order, one array per attribute; times in ns, `NONE` where absent."""

    source_index: Ints
    name: TextColumn
    category: TextColumn
    rank: Ints
    lane: Ints
    start: Ints
    end: Ints
    correlation: Ints
    """Joins GPU work and cuda_sync rows with the one call that carries it: see `correlations`."""
    written_correlation: Ints
    """The correlation id as the file has it."""
    device: Ints
    stream: Ints
    sequence_number: Ints
    forward_thread: Ints
    wait_on_stream: Ints
    wait_on_record: Ints
    elements: Ints
    launch_flow: Ints
    """Index of the call that a flow or an `External id` joins with GPU work whose correlation finds no call;
    else -1."""
    forward_flow: Ints
    """Index of the forward operator that a flow joins with an operator, if no operator of the file has a
    sequence number; else -1."""
    step_number: Ints
    """The number of the step that an event marks: see `step_marks`."""
    is_gpu: Flags
    on_thread: Flags
    clipped: Ints
    """How much earlier each event ends than the file says, because it cannot have lasted so long; ns."""
    step_marker: str
    """What the names of the events that mark steps have in common."""

    def __len__(self) -> int:
        return len(self.start)

    def of_role(self, *roles: Role) -> Flags:
        """Tell which events are of a category with one of `roles`."""
        return with_role(self.category, *roles)

    def shift_gpu(self, offset_ns: int, drift_ppb: int = 0, since_ns: int = 0) -> "Events":
        """Move all rows that are on the GPU's clock; cuda_sync rows are on the CPU's and stay.

        Rows move by `offset_ns` at the time `since_ns`, and by `drift_ppb` ns more each second after it.
        """
        on_gpu = ~(self.on_thread | self.of_role(Role.SYNC))

        def move(times: Ints) -> Ints:
            more = np.rint((times - since_ns) * (drift_ppb * 1e-9)).astype(np.int64)
            return np.where(on_gpu, times + offset_ns + more, times)

        return replace(self, start=move(self.start), end=move(self.end))


def recording_start(events: Events) -> int:
    """Find when the recording begins: the first start on any lane, in ns; 0 without events."""
    placed = events.start[events.on_thread | events.is_gpu]
    return int(placed.min()) if len(placed) else 0


def is_annotation(events: Events) -> Flags:
    """Tell which events are annotations or steps, which go on while nothing is recorded."""
    return events.of_role(Role.ANNOTATION) | marks_step(events)


def marks_step(events: Events) -> Flags:
    """Tell which events mark steps."""
    marks: Flags = events.step_number != NONE
    return marks


def is_passive(events: Events) -> Flags:
    """Tell which events may wait in their self time: annotations, steps and Python frames do no work.

    Nor do waits in the operating system.
    """
    return is_annotation(events) | events.of_role(Role.FRAME, Role.SYSTEM_WAIT)


def is_named(events: Events, *parts: str) -> Flags:
    """Tell which events have one of `parts` in their name."""
    named = np.array([any(part in str(name) for part in parts) for name in events.name.values], dtype=bool)
    return events.name.matching(named)


def is_call_named(events: Events, *parts: str) -> Flags:
    """Tell which events are runtime or driver calls with one of `parts` in their name."""
    return is_named(events, *parts) & events.of_role(Role.CALL)
