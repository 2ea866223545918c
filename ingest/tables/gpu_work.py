"""What each GPU activity adds to the time in which GPUs work, wait, copy and have work queued."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE, Events
from tracegraph.ingest.causal.launches.launches import Launches
from tracegraph.ingest.intervals import Spans, covered, ended_before
from tracegraph.ingest.tables.columns import nullable
from tracegraph.ingest.text_columns import TextColumn, distinct_pairs, read_texts, text_column
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.device_peaks import FASTEST_COPY
from tracegraph.vocabulary.kernel_types import (
    COMMUNICATION,
    COMPUTATION,
    KERNEL_TYPES,
    Spelling,
    copy_kind,
    kernel_type,
)

_NS_PER_S = 1_000_000_000


def with_kernel_types(stated: pa.Table, own: Iterable[Spelling] = ()) -> pa.Table:
    """Add `kernel_type` to what files state of their events; it is null for all but GPU work."""
    name, category = (read_texts(stated[column]) for column in ("name", "category"))
    pairs, place = distinct_pairs(name.codes, category.codes)
    spellings = tuple(own)
    found = [kernel_type(str(name.values[a]), str(category.values[b]), spellings) for a, b in pairs]
    return stated.append_column("kernel_type", text_column(place, found).arrow())


def gpu_work_columns(stated: pa.Table, events: Events, launches: Launches) -> Mapping[str, pa.Array]:
    """Compute the properties that only GPU work has, one entry for each event; the schema explains them.

    Of work that begins at the same time, the shorter one counts as earlier, then the one earlier in the file.
    """
    work = np.flatnonzero(events.is_gpu)
    work = work[np.lexsort((work, events.end[work], events.start[work]))]
    types = read_texts(stated["kernel_type"])
    is_type = {name: types.among(name)[work] for name in KERNEL_TYPES}
    of_type = {name: work[own] for name, own in is_type.items()}
    kinds = _copy_kinds(stated, events)
    queue_at_launch, queue_at_start = _queue_lengths(events, launches, work)
    at_start, at_end = _bandwidths(stated, events, kinds)
    columns = {
        "busy_ns": nullable(_uncovered(events, [work])),
        "type_busy_ns": nullable(_uncovered(events, of_type.values())),
        **{
            f"busy_without_{name}_ns": nullable(_uncovered(events, [work[~own]]))
            for name, own in is_type.items()
        },
        "exposed_ns": nullable(_exposed(events, of_type)),
        "idle_ns": nullable(_idle_before(events, work, events.rank)),
        "stream_idle_ns": nullable(_idle_before(events, work, events.lane)),
        "queue_at_launch": nullable(queue_at_launch),
        "queue_at_start": nullable(queue_at_start),
        "bandwidth_at_start": nullable(at_start),
        "bandwidth_at_end": nullable(at_end),
    }
    known = types.masked(events.is_gpu)
    texts = {"kernel_type": known.arrow(), "copy_kind": kinds.arrow()}
    return {**columns, **texts}


def _copy_kinds(stated: pa.Table, events: Events) -> TextColumn:
    """Find what each row copies, None if it is not a copy."""
    name, is_copy = read_texts(stated["name"]), events.of_role(Role.COPY, Role.MEMSET)
    kinds: list[str | None] = [copy_kind(str(text)) for text in name.values]
    return text_column(np.where(is_copy, name.codes, len(kinds)), [*kinds, None])


def _groups(rows: Ints, of: Ints) -> Iterator[Ints]:
    """Yield the rows of each group, in their order."""
    order = np.argsort(of[rows], kind="stable")
    ends = np.flatnonzero(np.diff(of[rows][order])) + 1
    return (part for part in np.split(rows[order], ends) if len(part))


def _none(events: Events) -> Ints:
    return np.full(len(events), NONE, dtype=np.int64)


def _uncovered(events: Events, choices: Iterable[Ints]) -> Ints:
    """Compute what earlier rows of its rank and choice leave uncovered at the end of each row, ns."""
    found = _none(events)
    for rows in (group for choice in choices for group in _groups(choice, events.rank)):
        start, end = events.start[rows], events.end[rows]
        found[rows] = np.maximum(end - np.maximum(start, ended_before(end, start[0])), 0)
    return found


def _exposed(events: Events, of_type: Mapping[str, Ints]) -> Ints:
    """Compute how long each communication runs without computation or earlier communication, ns."""
    found, members, computing = _none(events), of_type[COMMUNICATION], of_type[COMPUTATION]
    alone = _uncovered(events, [members])[members]
    own = Spans(events.rank[members], events.end[members] - alone, events.end[members])
    by = Spans(events.rank[computing], events.start[computing], events.end[computing])
    found[members] = alone - covered(own, by)
    return found


def _idle_before(events: Events, work: Ints, of: Ints) -> Ints:
    """Compute how long nothing of its group ran when each row began, ns; `NONE` for the first."""
    found = _none(events)
    for rows in _groups(work, of):
        since = events.start[rows] - ended_before(events.end[rows], 0)
        found[rows[1:]] = np.maximum(since[1:], 0)
    return found


def _queue_lengths(events: Events, launches: Launches, work: Ints) -> tuple[Ints, Ints]:
    """Count the work queued on its stream when each row was launched, and when it begins.

    Launches come before starts at the same time. Work that a call launches together with other work, a graph,
    is not counted.
    """
    called = launches.call[work]
    alone = (called >= 0) & (np.bincount(called[called >= 0], minlength=len(events))[called] == 1)
    counted = work[alone]
    ones = np.ones(len(counted), dtype=np.int64)
    times = events.start[launches.call[counted]], events.start[counted]
    return _running_sums(events, counted, events.lane, times, ones, rises_first=True)


def _bandwidths(stated: pa.Table, events: Events, kinds: TextColumn) -> tuple[Ints, Ints]:
    """Compute what copies of one kind move together as each row begins and ends, B/s.

    Ends come before starts at the same time. A rate that the file states counts before size by duration: the
    profiler had the time in ns, whereas many files have whole µs. A copy that takes no time ends as that rate
    says; without a stated rate it has no bandwidth.
    """
    copies = np.flatnonzero(events.of_role(Role.COPY, Role.MEMSET))
    rate, moved = (stated[name].fill_null(0).to_numpy()[copies] for name in ("bandwidth", "bytes"))
    length = (events.end - events.start)[copies]
    by_size = moved * (_NS_PER_S / np.maximum(length, 1))
    told = (length > 0) & (by_size < FASTEST_COPY) & stated["bytes"].is_valid().to_numpy()[copies]
    amount = np.where(rate > 0, rate, np.rint(np.where(told, by_size, 0)).astype(np.int64))
    known = told | (rate > 0)
    copies, rate, moved, length, amount = (one[known] for one in (copies, rate, moved, length, amount))
    unseen = 1 + np.minimum(moved * (_NS_PER_S / np.maximum(rate, 1)), FASTEST_COPY).astype(np.int64)
    times = events.start[copies], events.start[copies] + np.where(length > 0, length, unseen)
    group = events.rank * (kinds.codes.max(initial=0) + 1) + kinds.codes
    return _running_sums(events, copies, group, times, amount, rises_first=False)


def _running_sums(
    events: Events, rows: Ints, of: Ints, times: tuple[Ints, Ints], amount: Ints, *, rises_first: bool
) -> tuple[Ints, Ints]:
    """Compute the sum of a group just after each row adds its amount, and just after it takes it back."""
    count = len(rows)
    group, at = np.tile(of[rows], 2), np.concatenate(times)
    falls = np.repeat([0, 1], count)
    order = np.lexsort((falls if rises_first else 1 - falls, at, group))
    sums = np.empty(2 * count, dtype=np.int64)
    sums[order] = np.cumsum(np.concatenate([amount, -amount])[order])  # each group's amounts add up to 0
    found = _none(events), _none(events)
    for one, values in zip(found, np.split(sums, 2), strict=True):
        one[rows] = values
    return found
