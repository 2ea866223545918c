"""A recorded wait keeps its edge whatever a correction of clocks does to the order of times."""

import pytest
import tiny
from tiny import Row, call, event, kernel, sync

from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.causal.graph.model import Model


def early_gpu(*, ends_before: float, recorded: bool) -> list[Row]:
    """Launches whose kernels start 8 µs before their calls do, waits that return 22 µs after them, and one of
    a second.

    The copy that this one waits for ends `ends_before` µs before it returns.
    """
    rows: list[Row] = []
    for i in range(20):
        at = i * 100
        rows += [event("op", at, at + 31), call("cudaLaunchKernel", at + 10, at + 30, i + 1)]
        rows.append(kernel("k", at + 2, at + 40, i + 1))
        rows.append(call("cudaStreamSynchronize", at + 32, at + 62, 100 + i))
    back = 1_010_000
    rows += [
        call("cudaMemcpyAsync", 2_020, 2_030, 50),
        kernel("copy", 2_100, back - ends_before, 50, category="gpu_memcpy"),
        call("cudaStreamSynchronize", 2_100, back, 51),
        event("after", back + 5, back + 500),
    ]
    if recorded:
        rows.append(sync("Stream Sync", 2_100, back, 51, stream=7))
    return rows


def last_cause(model: Model) -> str:
    """What binds the moment from which the thread goes on after its wait."""
    found = tiny.dependencies(model, "SYNCHRONIZATION", binding=True)
    return next(rule for cause, rule, _ in found if cause.startswith("copy"))


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("ends_before", [14, 9, 3, 0])
def test_work_that_a_correction_moves_behind_the_return_is_awaited_all_the_same(
    ends_before: float, recorded: bool
) -> None:
    model = tiny.model(*early_gpu(ends_before=ends_before, recorded=recorded))
    check_model(model)
    assert model.clock_offset_ns > 13_000
    assert last_cause(model) == "stream synchronize"
    assert "copy@" in " ".join(tiny.path(model))
    waits = model.found.waits
    assert int((waits.end - waits.start).max()) > 1_000_000_000


def test_a_wait_ends_with_its_call_however_late_the_news_usually_comes() -> None:
    rows: list[Row] = []
    for i in range(20):
        at = i * 1_000
        rows += [
            call("cudaLaunchKernel", at, at + 4, 2 * i + 1),
            kernel("k", at + 7, at + 500, 2 * i + 1),
            call("cudaStreamSynchronize", at + 10, at + (520 if i < 19 else 500), 2 * i + 2),
            event("op", at + 525, at + 990),
        ]
    model = tiny.model(*rows)
    check_model(model)
    found = tiny.dependencies(model, "SYNCHRONIZATION", binding=True)
    assert ("k@19007", "stream synchronize", "(untraced CPU time)@19500") in found


def test_a_copy_that_clocks_put_behind_the_return_leaves_the_wait_to_the_work_before_it() -> None:
    rows = [
        call("cudaLaunchKernel", 0, 4, 1),
        kernel("gemm", 7, 30_002, 1),
        call("cudaMemcpyAsync", 10, 15, 2),
        kernel("copy", 30_006, 30_009, 2, category="gpu_memcpy"),
        call("cudaStreamSynchronize", 20, 30_000, 3),
        event("op", 30_004, 30_500),
    ]
    model = tiny.model(*rows)
    check_model(model)
    found = tiny.dependencies(model, "SYNCHRONIZATION", binding=True)
    assert [(cause, rule) for cause, rule, _ in found] == [("gemm@7", "stream synchronize")]
