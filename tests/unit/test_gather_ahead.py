"""What gathering sharded parameters ahead gains, where every time is worked out by hand."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
from fix_graphs import found, gain_us, graph
from tiny import call, event, kernel, sync

from tracegraph.base.errors import InputError
from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.graph.model import build_model
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.what_if.fixes import gather_ahead
from tracegraph.ingest.what_if.graph.graph import graph_of
from tracegraph.workbench.what_if.answer import Question, answer

DATA = Path(__file__).parents[1] / "data"
GATHER = "ncclDevKernel_AllGather_RING_LL"
GATHERS, COMPUTES = 20, 7
"""Streams."""
EVEN, LATE = (40, 40, 40, 40), (10, 10, 60, 10)
"""How long the gather of each module takes, µs."""


def forward(gathers: Sequence[float], ahead: int = 0, *, waits: bool = True) -> list[tiny.Row]:
    """A forward pass that asks for gathers some modules ahead; without `waits` the host does not wait.

    Work begins 2 µs after its call. A module takes over for 5 and computes for 30; then the host goes on.
    """
    at, free = 0.0, {GATHERS: 0.0, COMPUTES: 0.0}
    ready: dict[int, float] = {}
    rows: list[tiny.Row] = []

    def ask(module: int, begin: float, length: float) -> None:
        one, called = 10 * module + 10, begin + length - 1
        start = max(called + 2, free[GATHERS])
        ready[module] = free[GATHERS] = start + gathers[module]
        rows.append(event(f"FSDP::all_gather ({module})", begin, begin + length, category="user_annotation"))
        rows.append(call("cudaLaunchKernel", called - 1, called, one))
        rows.append(kernel(GATHER, start, ready[module], one, stream=GATHERS, elements=1000 * (module + 1)))

    for number in range(len(gathers)):
        if number not in ready:
            ask(number, at, 4)
        for place, module in enumerate(range(number + 1, min(number + 1 + ahead, len(gathers)))):
            if module not in ready:
                ask(module, at + 8 + 2 * place, 2)
        one = 10 * number + 10
        start = max(ready[number], at + 9, free[COMPUTES])
        begin = max(start + 5, at + 16)
        free[COMPUTES] = begin + 30
        held = {"wait_on_stream": GATHERS, "wait_on_record": one + 1}
        rows += [
            event(f"FSDP::all_gather_copy_out ({number})", at + 4, at + 8, category="user_annotation"),
            call("cudaEventRecord", at + 4, at + 4.5, one + 1),
            call("cudaStreamWaitEvent", at + 4.5, at + 5, one + 2),
            sync("Stream Wait Event", at + 5, at + 5, one + 2, stream=COMPUTES, **held),
            call("cudaLaunchKernel", at + 5, at + 7, one + 3),
            kernel("copy", start, start + 5, one + 3, stream=COMPUTES),
            call("cudaLaunchKernel", at + 12, at + 14, one + 4),
            kernel("gemm", begin, begin + 30, one + 4, stream=COMPUTES),
        ]
        if waits:
            rows.append(call("cudaStreamSynchronize", at + 15, begin + 32, one + 5))
        at = begin + 32 if waits else at + 16
    return [event("## forward ##", 0, at, category="user_annotation"), *rows]


def length_us(rows: list[tiny.Row]) -> float:
    return max(int(str(row["end_ns"])) for row in rows if row["category"] != "user_annotation") / 1000


def test_a_gather_hides_behind_the_module_before() -> None:
    # Each module takes 82: 5 to begin, 40 for its gather, 35, and 2 to go on. Ahead, all but the first take
    # 48: computing is launched at 14 and begins at 16. The next gather, from 12 to 52, is done before 48 + 9.
    of = graph(*forward(EVEN))
    assert gain_us(of, ("gather-ahead", "1")) == 3 * (82 - 48)
    # Gathers of 100 follow each other without a pause: each module but the first takes 100 in place of 142.
    assert gain_us(graph(*forward([100] * 4)), ("gather-ahead", "1")) == 3 * (142 - 100)
    assert gain_us(of, ("gather-ahead", "1,rank=0")) == 3 * (82 - 48)


def test_a_long_gather_needs_two_modules_to_hide() -> None:
    # Recorded 52, 52, 102, 52. One ahead, the third is gathered from 52 + 12 to 124, 24 after its module
    # came: 52, 48, 61, 48. Two ahead, it is gathered from 25 to 85, and all but the first module take 48.
    of = graph(*forward(LATE))
    assert gain_us(of, ("gather-ahead", "1")) == 258 - 209
    assert gain_us(of, ("gather-ahead", "2")) == 258 - 196
    assert gain_us(of, ("gather-ahead", "3")) == 258 - 196


@pytest.mark.parametrize("gathers", [EVEN, LATE, (100, 100, 100), (3, 3, 3), (90, 5, 5, 70, 5)])
@pytest.mark.parametrize("ahead", [1, 2])
@pytest.mark.parametrize("waits", [True, False])
def test_it_is_as_long_as_a_pass_that_gathers_ahead(
    gathers: Sequence[float], ahead: int, *, waits: bool
) -> None:
    before, after = forward(gathers, waits=waits), forward(gathers, ahead, waits=waits)
    predicted = length_us(before) - gain_us(graph(*before), ("gather-ahead", str(ahead)))
    assert predicted == pytest.approx(length_us(after), abs=2 * len(gathers))


def test_no_gain_is_claimed_where_the_host_is_ahead_or_gathers_are() -> None:
    # The host asks for all gathers before the first has ended, so they follow each other already.
    assert gain_us(graph(*forward(EVEN, waits=False)), ("gather-ahead", "1")) == pytest.approx(0, abs=1)
    already = graph(*forward(EVEN, 1))
    with pytest.raises(InputError, match="1 module ahead already"):
        gain_us(already, ("gather-ahead", "1"))
    assert gain_us(already, ("gather-ahead", "2")) == pytest.approx(0, abs=1)


def test_the_places_that_a_run_shows_are_found() -> None:
    places = found(graph(*forward(LATE)), gather_ahead.FIX)
    assert list(places) == ["1 module ahead", "2 modules ahead"]
    one = places["1 module ahead"]
    assert one.options == ("--gather-ahead", "1")
    assert one.evidence == "3 gathers of parameters are asked for later; gathers are 90 µs of the path"
    assert found(graph(*forward(EVEN, 1)), gather_ahead.FIX) == {}


def test_the_answer_says_how_much_memory_it_takes() -> None:
    of = graph(*forward(EVEN))
    asked = answer(of, "run", Question(fixes=(("gather-ahead", "2,phase=forward"),), overhead="none"))
    assert str(asked.question) == "with parameters gathered ahead (modules: 2,phase=forward)"
    # 3,000 and 4,000 elements of four bytes.
    of_two = "there is memory for the parameters of 2 modules more on each GPU"
    assert asked.assumptions[-1] == f"{of_two}, 28 kB at most"
    assert [(one.name, one.count) for one in asked.matched] == [(GATHER, 3)]
    unsized = replace(asked, graph=replace(of, facts=None))
    assert unsized.assumptions[-1] == f"{of_two}: how many bytes these are is not recorded"


def test_without_such_gathers_it_is_refused_with_the_reason() -> None:
    unnamed = [row for row in forward(EVEN) if "FSDP" not in str(row["name"])]
    untold = [row for row in forward(EVEN) if "copy_out" not in str(row["name"])]
    for rows, reason in (
        (unnamed, "no all-gather of this run is asked for inside annotations"),
        (untold, "which work needs it first"),
    ):
        with pytest.raises(InputError, match=reason):
            gain_us(graph(*rows), ("gather-ahead", "1"))
        assert found(graph(*rows), gather_ahead.FIX) == {}
    for text, reason in (
        ("0", "0 is no number of modules"),
        ("1.5", "1.5 is no"),
        ("phase=forward", "no number"),
    ):
        with pytest.raises(InputError, match=reason):
            gain_us(graph(*forward(EVEN)), ("gather-ahead", text))


@pytest.mark.parametrize("recorded", [0, 1, 2])
def test_threads_that_gather_are_waited_for_so_nothing_is_gained(recorded: int) -> None:
    trace = read_trace(DATA / f"fsdp_prefetch_{recorded}" / "rank0.json.gz", Integrity(""))
    model = build_model(*read_events(trace), Integrity(""))
    with pytest.raises(InputError, match="threads gather here"):
        gain_us(graph_of(model), ("gather-ahead", "1"))
    events = model.events
    names = [str(name) for name in events.name]
    asks = [at for at, name in enumerate(names) if name.startswith("FSDP::all_gather") and "copy" not in name]
    ends = sorted(int(events.end[at]) for at, name in enumerate(names) if name == "gloo:all_gather")
    asks.sort(key=lambda at: int(events.start[at]))
    assert len(asks) == len(ends) == 22
    # Each is done before the annotation ends in which it was asked for.
    assert all(events.start[at] < end < events.end[at] for at, end in zip(asks, ends, strict=True))
