"""A trace tells the same whenever it was recorded: absolute times, as of machines that were up for weeks."""

import dataclasses

import numpy as np
import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st
from random_traces import rows
from tiny import call, event, kernel

from tracegraph.base.errors import InputError
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.path_rows import path_rows
from tracegraph.vocabulary.mechanisms import CODE, SILENT_SYNCHRONIZE, STREAM_RESUME

WEEKS_NS = 5_000_000_000_000_000


def moved(trace: list[tiny.Row], by_ns: int) -> list[tiny.Row]:
    return [{**row, **{k: int(str(row[k])) + by_ns for k in ("start_ns", "end_ns")}} for row in trace]


def told(model: Model, by_ns: int) -> dict[str, list[object]]:
    """All that the model says, with times as they were before the trace was moved."""
    rows = path_rows(model)
    rows[["start_ns", "end_ns"]] -= by_ns
    tables = {"segments": model.segments, "dependencies": model.dependencies, "binding": model.binding}
    columns = {
        f"{name}.{field.name}": getattr(table, field.name) - by_ns * (field.name in ("start", "end"))
        if getattr(table, field.name).dtype == np.int64
        else getattr(table, field.name)
        for name, table in tables.items()
        for field in dataclasses.fields(table)
    }
    columns |= {"slack": model.slack, "gap_name": model.gap_name, "on_path": model.on_path}
    return {name: column.tolist() for name, column in columns.items()} | {"path": [rows.to_csv(index=False)]}


@settings(derandomize=True)
@given(rows(), st.sampled_from([WEEKS_NS, 1_700_000_000_000_000_000, 7]))
def test_the_time_of_the_recording_changes_nothing(trace: list[tiny.Row], by_ns: int) -> None:
    try:
        model = tiny.model(*trace)
    except InputError:
        return
    assert told(tiny.model(*moved(trace, by_ns)), by_ns) == told(model, 0)


def confidences(mechanism: str, model: Model) -> list[float]:
    found = model.dependencies
    return [round(float(share), 3) for share in found.confidence[found.mechanism == CODE[mechanism]]]


@pytest.mark.parametrize("by_ns", [0, WEEKS_NS])
def test_chance_counts_from_the_beginning_of_the_recording(by_ns: int) -> None:
    """Of ten ends in 1 ms, one by chance lies in a fifth of all stretches of 20 µs: in weeks none would."""
    calls = [call("l", 100 * i, 100 * i + 2, i + 1) for i in range(10)]
    work = [kernel("k", 100 * i + 6, 100 * i + 95, i + 1) for i in range(10)]
    trace = [*calls, *work, kernel("late", 1_000, 1_050, None, stream=9)]
    assert confidences(STREAM_RESUME, tiny.model(*moved(trace, by_ns))) == [0.64]


@pytest.mark.parametrize("by_ns", [0, WEEKS_NS])
def test_the_wait_that_a_recording_begins_in_is_as_sure_as_it_is_long(by_ns: int) -> None:
    """Work from before the recording ends 10 µs before the first event, which by chance is 160 µs of 1 ms."""
    earlier = [kernel("before", 0, 500, None), kernel("behind", 501, 990, None)]
    trace = [*earlier, event("op", 1_000, 1_100), call("l", 1_100, 1_110, 1), kernel("k", 1_115, 1_200, 1)]
    assert confidences(SILENT_SYNCHRONIZE, tiny.model(*moved(trace, by_ns))) == [0.798]
