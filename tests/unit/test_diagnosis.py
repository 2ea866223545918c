"""What the model finds odd: each finding on the smallest trace that has it, with its share of time."""

import pytest
import tiny

from tracegraph.ingest.integrity.diagnosis import diagnose
from tracegraph.ingest.integrity_findings import Finding, Integrity

CALL = tiny.call("cudaLaunchKernel", 0, 10, 1)


def launched(first: int, at: float, pid: str = "1") -> list[tiny.Row]:
    """Five calls with ids from `first`, each with a kernel that ends 5 µs after the start of its call."""
    return [
        row
        for i in range(5)
        for row in (
            tiny.call("cudaLaunchKernel", at + 10 * i, at + 10 * i + 2, first + i) | {"pid": pid},
            tiny.kernel("k", at + 10 * i + 3, at + 10 * i + 5, first + i),
        )
    ]


LAUNCHED, OF_ANOTHER, LATER = launched(1, 0), launched(11, 6, "2"), launched(40, 485)


def found(*rows: tiny.Row) -> dict[str, Finding]:
    integrity = Integrity("tiny.json")
    diagnose(tiny.model(*rows), integrity)
    return {finding.code: finding for finding in integrity}


@pytest.mark.parametrize(
    ("rows", "code", "count", "share"),
    [
        ([CALL, tiny.kernel("k", 20, 50, 1), tiny.kernel("o", 50, 60, 9)], "gpu_without_launch", 1, 0.25),
        ([CALL, tiny.kernel("o", 0, 10, 9), tiny.kernel("k", 20, 50, 1)], "begins_in_work", 1, 0.25),
        ([*LAUNCHED, tiny.call("cudaLaunchKernel", 60, 70, 7)], "ends_in_work", 1, None),
        ([tiny.event("a", 0, 10), tiny.step(1, 20, 100)], "begins_mid_step", 1, 0.2),
        (
            [tiny.step(1, 0, 20), tiny.event("a", 0, 10), tiny.kernel("k", 0, 5, 9)],
            "begins_mid_step",
            3,
            None,
        ),
        ([*LAUNCHED, *OF_ANOTHER], "device_shared", 1, 1.0),
        ([row | {"correlation": None} for row in LAUNCHED], "launches_unjoined", 5, 1.0),
        ([*LAUNCHED, *LATER], "recording_hole", 1, 440 / 530),
        ([CALL, tiny.kernel("a", 20, 40, 1), tiny.kernel("b", 26, 46, 1)], "stream_overlap", 1, 0.35),
        ([CALL, tiny.event("rest", 10, 50)], "gpu_work_missing", 1, None),
        (
            [CALL, tiny.kernel("k", 20, 50, 1), tiny.call("cudaLaunchKernel", 60, 70, 2)],
            "launch_without_gpu_work",
            1,
            None,
        ),
        ([CALL, tiny.kernel("k", 20, 50, 1)], "no_cuda_sync", 1, None),
        (
            [CALL, tiny.kernel("k", 20, 50, 1), tiny.call("hipStreamWaitEvent", 12, 14, 2)],
            "stream_waits_inferred",
            1,
            None,
        ),
        ([tiny.event("a", 0, 10)], "steps_missing", 1, None),
        ([tiny.event("a", 0, 10), tiny.event("b", 12, 20, thread=2)], "no_sequence_numbers", 1, 0.0),
        ([tiny.step(1, 0, 10), tiny.step(4, 10, 20)], "step_left_out", 2, None),
        ([tiny.step(1, 0, 10), tiny.step(1, 10, 20)], "step_repeated", 1, None),
        ([tiny.event("a", 0, 10), tiny.event("b", 90, 100)], "window_empty", 1, 0.8),
        ([tiny.event("a", 0, 10), tiny.event("b", 5, 15)], "outside_parent", 1, None),
        (
            [
                tiny.event("f", 0, 10, category="python_function"),
                tiny.event("g", 5, 10, category="python_function"),
            ],
            "frames_cut",
            2,
            None,
        ),
    ],
)
def test_what_is_found(rows: list[tiny.Row], code: str, count: int, share: float | None) -> None:
    finding = found(*rows)[code]
    assert (finding.count, finding.share) == (count, share)


def test_nothing_is_found_in_a_whole_trace() -> None:
    rows = [tiny.step(1, 0, 50), tiny.event("op", 1, 20), tiny.step(2, 50, 100), tiny.event("op", 51, 99)]
    assert found(*rows) == {}


def test_the_gpu_of_a_whole_trace_is_not_blamed() -> None:
    rows = [tiny.step(1, 0, 100), CALL, tiny.kernel("a", 20, 40, 1), tiny.kernel("b", 40, 60, 1)]
    assert set(found(*rows)) == {"no_cuda_sync"}
