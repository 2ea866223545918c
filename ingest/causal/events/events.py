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
    """All events of a file in its order, one array an attribute; times in ns, `NONE` where absent."""

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
    """As the file has it."""
    device: Ints
    stream: Ints
    sequence_number: Ints
    forward_thread: Ints
    wait_on_stream: Ints
    wait_on_record: Ints
    elements: Ints
    launch_flow: Ints
    """Index of the call that flow or id joins with GPU work whose correlation finds none; else -1."""
    forward_flow: Ints
    """Index of the forward operator that a flow joins with an operator, where no operator has a number."""
    step_number: Ints
    """Of an event that marks a step its number: see `step_marks`."""
    is_gpu: Flags
    on_thread: Flags
    clipped: Ints
    """How much earlier each ends than the file says, as it cannot have lasted so long; ns."""

    def __len__(self) -> int:
        return len(self.start)

    def of_role(self, *roles: Role) -> Flags:
        """Which events are of a category with one of `roles`."""
        return with_role(self.category, *roles)

    def shift_gpu(self, offset_ns: int, drift_ppb: int = 0, since_ns: int = 0) -> "Events":
        """Return the same events with all rows on the GPU's clock moved; cuda_sync rows are on the CPU's.

        By `offset_ns` at the time `since_ns`, and by `drift_ppb` ns more each second.
        """
        on_gpu = ~(self.on_thread | self.of_role(Role.SYNC))

        def move(times: Ints) -> Ints:
            more = np.rint((times - since_ns) * (drift_ppb * 1e-9)).astype(np.int64)
            return np.where(on_gpu, times + offset_ns + more, times)

        return replace(self, start=move(self.start), end=move(self.end))


def recording_start(events: Events) -> int:
    """When the recording begins: the first start on any lane, ns; 0 where there is none."""
    placed = events.start[events.on_thread | events.is_gpu]
    return int(placed.min()) if len(placed) else 0


def is_annotation(events: Events) -> Flags:
    """Which events are annotations or steps, which go on while nothing is recorded."""
    return events.of_role(Role.ANNOTATION) | marks_step(events)


def marks_step(events: Events) -> Flags:
    """Which events mark steps."""
    marks: Flags = events.step_number != NONE
    return marks


def is_passive(events: Events) -> Flags:
    """Which events may be waiting in their self time: annotations, steps and python frames do no work."""
    return is_annotation(events) | events.of_role(Role.FRAME)


def is_named(events: Events, *parts: str) -> Flags:
    """Which events have one of `parts` in their name."""
    named = np.array([any(part in str(name) for part in parts) for name in events.name.values], dtype=bool)
    return events.name.matching(named)


def is_call_named(events: Events, *parts: str) -> Flags:
    """Which events are runtime or driver calls with one of `parts` in their name."""
    return is_named(events, *parts) & events.of_role(Role.CALL)
