"""One id everywhere: what a join of ids takes is bounded by the size of the file."""

import tracemalloc
from collections.abc import Callable

import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st
from tiny import Row, call, event, flow, kernel, sync

from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.graph.model import build_model
from tracegraph.ingest.causal.launches.backward_passes import backward_links
from tracegraph.ingest.integrity_findings import Integrity

COUNT = 2000
Made = tuple[list[Row], list[Row]]


def _own_ids(i: int) -> list[Row]:
    return [call("l", 10 * i, 10 * i + 4, i + 1), kernel("k", 10 * i + 7, 10 * i + 9, i + 1)]


def _alone(row: Row) -> Row:
    return {**row, "correlation": None}


def correlations() -> Made:
    rows = [(call("l", 10 * i, 10 * i + 4, 1), kernel("k", 10 * i + 7, 10 * i + 9, 1)) for i in range(COUNT)]
    return [row for pair in rows for row in pair], []


def flows(kind: str = "ac2g") -> Made:
    rows = [[_alone(row) for row in _own_ids(i)] for i in range(COUNT)]
    return [row for pair in rows for row in pair], [
        end for launch, work in rows for end in flow(kind, launch, work)
    ]


def backward_flows() -> Made:
    rows = [
        [event("f", 10 * i, 10 * i + 4), event("b", 10 * i + 5, 10 * i + 9, thread=2)] for i in range(COUNT)
    ]
    return [row for pair in rows for row in pair], [
        end for forward, backward in rows for end in flow("fwdbwd", forward, backward)
    ]


def event_records() -> Made:
    return [
        row
        for i in range(COUNT)
        for row in (
            call("cudaStreamSynchronize", 10 * i, 10 * i + 4, 1),
            sync("Stream Sync", 10 * i + 1, 10 * i + 3, 1, stream=7, wait_on_record=1),
        )
    ] + [kernel("k", 1, 2, 1)], []


def external_ids() -> Made:
    rows = [{**_alone(row), "external_id": 1} for i in range(COUNT) for row in _own_ids(i)]
    return rows, []


@pytest.mark.parametrize("make", [correlations, flows, backward_flows, event_records, external_ids])
def test_one_id_everywhere_takes_no_more_memory_than_the_file_allows(make: Callable[[], Made]) -> None:
    """A table of all pairs would have 4 million rows: 50 kB for each row of the file and more."""
    rows, ends = make()
    file = tiny.trace(*rows, flows=ends)
    tracemalloc.start()
    build_model(*read_events(file), Integrity("tiny.json"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8_000 * len(rows)


def test_a_sequence_number_of_hundreds_of_threads_makes_no_pairs_of_all() -> None:
    rows = [
        row
        for i in range(600)
        for row in (
            event("f", 10 * i, 10 * i + 4, thread=3 + i % 300, sequence_number=1, forward_thread=0),
            event("b", 10 * i + 5, 10 * i + 9, thread=2, sequence_number=1, forward_thread=1),
        )
    ]
    events, lanes = read_events(tiny.trace(*rows))
    assert len(backward_links(events, lanes.process)) <= 16 * len(rows)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=12))
def test_a_flow_launches_work_only_if_its_id_has_one_cause(pairs: list[tuple[int, int]]) -> None:
    """Each flow starts at a call and ends at a kernel, under an id; some ids stand at several calls."""
    calls = {k: _alone(call(f"l{k}", 10 * k, 10 * k + 2, 1)) for k in range(len(pairs))}
    works = {k: kernel(f"k{k}", 500 + 10 * k, 505 + 10 * k, None) for k in range(len(pairs))}
    ends = [
        end
        for k, (start, stop) in enumerate(pairs)
        for end in (
            flow("ac2g", calls[k], works[k], number=start)[0],
            flow("ac2g", calls[k], works[k], number=stop)[1],
        )
    ]
    rows = [*calls.values(), *works.values()]
    model = tiny.model(*rows, flows=ends)
    starts = [start for start, _ in pairs]
    for k, (_, stop) in enumerate(pairs):
        sole = starts.index(stop) if starts.count(stop) == 1 else -1
        assert model.launches.call[len(pairs) + k] == sole
