"""Which rule triggers on which path, and with which number."""

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from report_data import make_findings

from tracegraph.base.errors import InputError
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.recommendations import RULES, recommend
from tracegraph.workbench.findings.thresholds import read_thresholds
from tracegraph.workbench.findings.topics import COMMUNICATION, DATA_LOADING, TOPICS

MS = 1_000_000


def work(
    lane: int, name: str, category: str, start: int, end: int, dependency: str = "SEQUENTIAL"
) -> tuple[object, ...]:
    source_index = None if category == "gap" else start
    return (lane, source_index, name, category, start * MS, end * MS, dependency, "", "recorded")


def no_gpu(*rows: tuple[object, ...]) -> Findings:
    findings = make_findings(rows)
    return make_findings(rows, gpu=findings.gpu.head(0))


def found(findings: Findings) -> dict[str, str]:
    return {one.code: one.number for one in recommend(findings)}


CASES = {
    "launch-overhead": (
        [
            work(0, "aten::mm", "cpu_op", 0, 80),
            work(0, "cudaGraphLaunch", "cuda_runtime", 80, 88),
            work(2, "launch latency", "gap", 88, 92, "INVOCATION"),
            work(2, "tiny", "kernel", 92, 100, "INVOCATION"),
        ],
        "12.0 % of the path (12.000 ms) in launching calls and launch latency (1 kernel on it, half of them "
        "shorter than 8.000 ms)",
    ),
    "slow-launches": (
        [
            work(0, "aten::mm", "cpu_op", 0, 80),
            work(0, "cudaLaunchKernel", "cuda_runtime", 80, 92),
            work(2, "tiny", "kernel", 92, 100, "INVOCATION"),
        ],
        "12.0 % of the path (12.000 ms) in 1 of 1 launching call, 1.000 ms or more each",
    ),
    "thread-hand-over": (
        [
            work(0, "a", "cpu_op", 0, 90),
            work(1, "waiting for another thread", "gap", 90, 96, "CROSS_THREAD"),
            work(1, "b", "cpu_op", 96, 100, "CROSS_THREAD"),
        ],
        "6.0 % of the path (6.000 ms) in waits between threads (2 rows after a hand-over)",
    ),
    "rank-wait": (
        [
            work(0, "a", "cpu_op", 0, 93),
            work(1, "waiting for another rank", "gap", 93, 100, "SYNCHRONIZATION"),
        ],
        "7.0 % of the path (7.000 ms) in gaps named waiting for another rank",
    ),
    "busy-gpu": (
        [work(0, "a", "cpu_op", 0, 94), work(2, "GPU busy with other work", "gap", 94, 100, "INVOCATION")],
        "6.0 % of the path (6.000 ms) in gaps named GPU busy with other work",
    ),
    "cpu-turns": (
        [work(0, "a", "cpu_op", 0, 94), work(0, "CPU turn of another thread", "gap", 94, 100)],
        "6.0 % of the path (6.000 ms) in gaps named CPU turn of another thread",
    ),
    "unrecorded-graphs": (
        [work(0, "a", "cpu_op", 0, 94), work(2, "unrecorded graph work", "gap", 94, 100)],
        "6.0 % of the path (6.000 ms) in gaps named unrecorded graph work",
    ),
    "untraced-python": (
        [
            work(0, "ProfilerStep#1", "user_annotation", 0, 15),
            work(0, "untraced CPU time", "gap", 15, 20),
            work(0, "a", "cpu_op", 20, 100),
        ],
        "20.0 % of the path: 15.0 % inside annotations, 5.0 % with no event open",
    ),
    "copies": (
        [work(0, "a", "cpu_op", 0, 94), work(2, "Memcpy HtoD (Pageable -> Device)", "gpu_memcpy", 94, 100)],
        "6.0 % of the path (6.000 ms) in 1 copy between host and GPU",
    ),
    "allocation": (
        [work(0, "a", "cpu_op", 0, 97), work(0, "cudaMalloc", "cuda_runtime", 97, 100)],
        "3.0 % of the path (3.000 ms) in calls that allocate or free memory",
    ),
    "top-kernel": (
        [
            work(0, "a", "cpu_op", 0, 80),
            work(2, "gemm", "kernel", 80, 97, "INVOCATION"),
            work(2, "b", "kernel", 97, 100),
        ],
        "17.0 % of the path (17.000 ms) in gemm",
    ),
    "profiler-overhead": (
        [work(0, "a", "cpu_op", 0, 97), work(0, "Activity Buffer Request", "overhead", 97, 100)],
        "3.0 % of the path (3.000 ms) in the profiler's own overhead",
    ),
    "unknown-gaps": (
        [work(0, "a", "cpu_op", 0, 90), work(0, "unknown", "gap", 90, 100)],
        "10.0 % of the path (10.000 ms) in gaps named unknown",
    ),
}


@pytest.mark.parametrize("code", CASES)
def test_rule_triggers_with_its_number(code: str) -> None:
    rows, number = CASES[code]
    assert found(no_gpu(*rows)) == {code: number}


def silent(*silences: tuple[int, int, int], **labels: int) -> Findings:
    """A path of 100 ms, half of it silent; silences as length, the GPU's work and the threads', ms."""
    rows = [work(0, "a", "cpu_op", 0, 50), work(0, "untraced CPU time", "gap", 50, 100)]
    findings = no_gpu(*rows)
    columns = ["duration_ns", "gpu_busy_ns", "threads_busy_ns"]
    details = replace(findings.details, nodes_by_label=labels)
    frame = pd.DataFrame(silences, columns=columns, dtype="int64") * MS
    return replace(findings, silences=frame, details=details)


@pytest.mark.parametrize(
    ("silences", "expected"),
    [
        ([], {"untraced-python": "50.0 % of the path: 0.0 % inside annotations, 50.0 % with no event open"}),
        (
            [(10, 5, 0), (20, 20, 20)],
            {
                "silent-beside-gpu": "30.0 % of the path (30.000 ms) in 2 silences of 1.000 ms or more in "
                "which a GPU worked half of the time or more",
                "untraced-python": "20.0 % of the path: 0.0 % inside annotations, 20.0 % with no event open "
                "(without 30.0 % in which the GPU worked or nothing ran)",
            },
        ),
        (
            [(50, 4, 4)],
            {
                "idle": "50.0 % of the path (50.000 ms) in 1 silence of 1.000 ms or more in which GPUs and "
                "other threads worked less than 10.0 % of the time"
            },
        ),
        (
            [(10, 1, 0), (10, 0, 1), (20, 9, 9)],  # neither: something else ran, and may hold the GIL
            {"untraced-python": "50.0 % of the path: 0.0 % inside annotations, 50.0 % with no event open"},
        ),
    ],
)
def test_silences_are_told_apart(silences: list[tuple[int, int, int]], expected: dict[str, str]) -> None:
    assert found(silent(*silences)) == expected


def test_stacks_are_not_advised_where_they_were_recorded() -> None:
    (one,) = recommend(silent(PythonFunction=3))
    assert one.code == "untraced-code"
    assert "with_stack" not in one.advice


def test_just_below_the_threshold_nothing_triggers() -> None:
    rows = [work(0, "a", "cpu_op", 0, 951), work(0, "unknown", "gap", 951, 1000)]
    assert found(no_gpu(*rows)) == {}


def test_waits_for_the_gil_are_named_with_their_confidence() -> None:
    rows = [
        work(0, "a", "cpu_op", 0, 90),
        work(1, "waiting for the GIL", "gap", 90, 93, "CROSS_THREAD"),
        work(1, "b", "cpu_op", 93, 95, "CROSS_THREAD"),
        work(0, "waiting for another thread", "gap", 95, 99, "CROSS_THREAD"),
        work(0, "waiting for the GIL", "gap", 99, 100, "CROSS_THREAD"),
    ]
    findings = no_gpu(*rows)
    findings = replace(findings, path=findings.path.assign(confidence=[1, 0.8, 0.8, 1, 0.4]))
    assert found(findings) == {
        "thread-hand-over": "8.0 % of the path (8.000 ms) in waits between threads (4 rows after a "
        "hand-over); 4.0 % for the GIL, inferred with a confidence of 70.0 %"
    }


def test_a_wait_for_a_rank_is_no_wait_for_the_gpu() -> None:
    findings = make_findings()
    path = findings.path.assign(mechanism="collective")
    assert "synchronization" not in found(replace(findings, path=path))


def test_gpu_rules() -> None:
    numbers = found(make_findings())
    assert numbers["idle-gpu"] == (
        "55.0 % of the window: the GPU is computing for 45.0 % of the window, moving data for 0.0 %, "
        "idle for 55.0 %"
    )
    assert numbers["cpu-bound"] == "50.0 % of the path (1.000 µs) on CPU threads"
    assert numbers["inferred"] == "50.0 % of the changes of lane: 1 of 2"
    assert numbers["synchronization"] == (
        "10.0 % of the path in waits for the GPU and launch latency after them; 1 return to the CPU, 50.0 % "
        "of the changes of lane (enough: 1,000, or 10 that are 20.0 %); at most 20.0 % of the path runs on "
        "the CPU after a wait"
    )


def test_launching_counts_without_a_kernel_on_the_path() -> None:
    rows = [work(0, "a", "cpu_op", 0, 31), work(0, "hipLaunchKernel", "cuda_runtime", 31, 100)]
    assert found(no_gpu(*rows)) == {
        "slow-launches": "69.0 % of the path (69.000 ms) in 1 of 1 launching call, 1.000 ms or more each"
    }


def round_trips(count: int) -> Findings:
    """A path that goes to the GPU and waits for it `count` times; 96 % of it is Python after the waits."""
    rows = []
    for at in range(0, 100 * count, 100):
        rows += [
            work(2, "launch latency", "gap", at, at + 1, "INVOCATION"),
            work(2, "tiny", "kernel", at + 1, at + 3, "INVOCATION"),
            work(0, "hipStreamSynchronize", "cuda_runtime", at + 3, at + 4, "SYNCHRONIZATION"),
            work(0, "a", "cpu_op", at + 4, at + 100),
        ]
    return make_findings(rows)


@pytest.mark.parametrize(("count", "listed"), [(9, False), (10, True)])
def test_many_short_waits_are_said_without_the_time_after_them(count: int, listed: bool) -> None:
    codes = {one.code: one for one in recommend(round_trips(count))}
    assert ("synchronization" in codes) is listed
    if listed:
        assert codes["synchronization"].share < 0.02
        assert "at most 97.0 % of the path" in codes["synchronization"].number
        assert list(codes) == ["synchronization", "cpu-bound", "idle-gpu"]


def test_without_a_gpu_nothing_is_said_about_one() -> None:
    assert not {"idle-gpu", "cpu-bound", "synchronization", "top-kernel"} & set(
        found(no_gpu(work(0, "a", "cpu_op", 0, 100)))
    )


@pytest.mark.parametrize(
    ("topic", "code"), [(DATA_LOADING, "data-loading"), (COMMUNICATION, "communication")]
)
def test_topics_count_what_runs_inside_their_events(topic: str, code: str) -> None:
    rows = [work(0, "a", "cpu_op", 0, 40), work(0, "sleep", "python_function", 40, 100)]
    inside = pd.DataFrame(
        {"lane": [0, 0, 1], "start_ns": [50 * MS, 55 * MS, 0], "end_ns": [70 * MS, 80 * MS, 100 * MS]}
    ).assign(beginning=TOPICS[topic][0], kernel_type=None, name="begins")
    findings = make_findings(rows)
    findings = make_findings(rows, gpu=findings.gpu.head(0), topics=findings.topics | {topic: inside})
    assert found(findings)[code].startswith("30.0 % of the path (30.000 ms)")


def test_the_largest_share_comes_first() -> None:
    change = {rule.code for rule in RULES if rule.kind == "change"}
    shares = [one.share for one in recommend(make_findings()) if one.code in change]
    assert shares == sorted(shares, reverse=True)
    assert len(shares) > 2


@pytest.mark.parametrize(("unknown", "last"), [(20, True), (80, False)])
def test_what_is_about_trust_comes_last_unless_nothing_can_be_told(unknown: int, last: bool) -> None:
    rows = [
        (0, 1, "a", "cpu_op", 0, 100 - unknown, "root", "", ""),
        (2, None, "unknown", "gap", 100 - unknown, 100, "", "", "inferred"),
    ]
    codes = [one.code for one in recommend(make_findings(rows))]
    assert {*(codes[-2:] if last else codes[:2])} == {"inferred", "unknown-gaps"}
    assert len(codes) > 2


def test_rules_have_codes_of_their_own() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)
    assert all(0 < rule.threshold < 1 for rule in RULES)


def test_a_threshold_of_ones_own() -> None:
    findings = replace(make_findings(), thresholds={"idle-gpu": 0.56, "cpu-bound": 0.1})
    codes = {one.code: one.threshold for one in recommend(findings)}
    assert "idle-gpu" not in codes
    assert codes["cpu-bound"] == 0.1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "are no JSON object; write one JSON object, such as"),
        ("{", "cannot read the thresholds in"),
        ('{"lazy": 0.5}', "there is no rule 'lazy'; there are: named-work, "),
        ('{"idle-gpu": 30}', "the threshold 30 of idle-gpu is no share; give a number from 0 to 1"),
        ('{"idle-gpu": true}', "the threshold True of idle-gpu is no share"),
    ],
)
def test_thresholds_that_are_none(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "thresholds.json"
    file.write_text(text)
    with pytest.raises(InputError, match=re.escape(said)):
        read_thresholds(file)


def test_thresholds_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "thresholds.json"
    file.write_text('{"idle-gpu": 1, "copies": 0.5}')
    assert read_thresholds(file) == {"idle-gpu": 1.0, "copies": 0.5}
