"""The answer first: what a path is bound by, what to change, what is not known."""

from dataclasses import replace
from typing import Any

import pytest
from report_data import make_findings

from tracegraph.store.gaps import GAP_NAMES
from tracegraph.workbench.report.bottleneck import OF_GAP, shares
from tracegraph.workbench.report.findings import Findings, Job
from tracegraph.workbench.report.recommendations import recommend
from tracegraph.workbench.report.verdict import judge, worth

Row = tuple[int, int | None, str, str, int, int, str, str, str]


def rows(*parts: tuple[int, str, str, int]) -> list[Row]:
    """Rows of a path, one after the other: lane (2 is a stream), name, category and length."""
    found, at = [], 0
    for number, (lane, name, category, length) in enumerate(parts):
        source = None if category == "gap" else number
        found.append((lane, source, name, category, at, at + length, "SEQUENTIAL", "", "recorded"))
        at += length
    return found


def gain(name: str, category: str, gain_ns: int, **more: Any) -> dict[str, Any]:
    """A row of `potential` of a run of 100 ns."""
    return {
        **{"name": name, "category": category, "selector": f"under={name}", "path_ns": gain_ns},
        **{"gain_ns": gain_ns, "low_ns": gain_ns - 5, "high_ns": gain_ns + 5, "base_ns": 100, "inside": None},
        **{
            "speedup": 100 / (100 - gain_ns),
            "halved_ns": gain_ns // 2,
            "inferred_share": 0.0,
            "following": [],
        },
        **more,
    }


def found(parts: list[Row], *potential: dict[str, Any], **changes: Any) -> Findings:
    findings = make_findings(parts, step=None, **changes)
    return replace(findings, details=replace(findings.details, potential=potential))


@pytest.mark.parametrize(
    ("parts", "bottleneck"),
    [
        ([(0, "f", "python_function", 60), (2, "k", "kernel", 40)], "cpu"),
        ([(0, "f", "python_function", 40), (2, "k", "kernel", 50), (2, "stream queue", "gap", 10)], "gpu"),
        ([(0, "f", "python_function", 60), (0, "waiting for the GIL", "gap", 40)], "gil"),
        ([(0, "f", "python_function", 60), (0, "waiting for another rank", "gap", 40)], "other_rank"),
        (
            [(0, "f", "python_function", 60), (0, "cudaDeviceSynchronize", "cuda_runtime", 40)],
            "synchronisation",
        ),
        (
            [(0, "cudaLaunchKernel", "cuda_runtime", 30), (2, "k", "kernel", 50), (0, "f", "cpu_op", 20)],
            "launch",
        ),
        ([(0, "f", "cpu_op", 45), (0, "unknown", "gap", 55)], "unknown"),
    ],
)
def test_what_a_path_is_bound_by(parts: list[tuple[int, str, str, int]], bottleneck: str) -> None:
    findings = found(rows(*parts))
    assert judge(findings).bottleneck == bottleneck
    assert sum(shares(findings).values()) == pytest.approx(1)


def test_waits_of_threads_are_no_work() -> None:
    turn = (0, "CPU turn of another thread", "gap", 20)
    said = judge(found(rows((0, "f", "python_function", 80), turn))).sentences[0]
    assert said == (
        "The CPU determines the length: 80.0 % of the path is work of its threads "
        "and 20.0 % their waits for a turn or for each other."
    )


def test_every_gap_is_something() -> None:
    assert set(OF_GAP) == set(GAP_NAMES)


def test_what_is_inside_the_loader_is_data_loading() -> None:
    findings = found(rows((0, "a", "cpu_op", 40), (0, "b", "cpu_op", 60)))
    loading = findings.topics["data loading"].assign(lane=[], start_ns=[], end_ns=[])
    loading.loc[0] = [0, 50, 100]
    findings = replace(findings, topics={**findings.topics, "data loading": loading.astype(int)})
    assert shares(findings)["data_loading"] == 0.5
    assert judge(findings).bottleneck == "data_loading"


def test_the_sentences() -> None:
    parts = rows(
        (0, "decode", "user_annotation", 60), (0, "aten::mm", "cpu_op", 30), (0, "unknown", "gap", 10)
    )
    findings = found(
        parts,
        gain("decode", "user_annotation", 60),
        gain("parse", "python_function", 50, inside="decode"),
        gain("aten::mm", "cpu_op", 30),
        gain("stream queue", "gap", 90),
    )
    assert judge(findings).sentences == [
        "The CPU determines the length: 90.0 % of the path is work of its threads, 60.0 % inside `decode` "
        "and 30.0 % inside `aten::mm`.",
        "Without `decode` the run would be 2.5 times as fast: it gains 60 ns of 100 ns (55 ns to 65 ns).",
        "Not known: what runs in 70.0 % of the path, which was not recorded.",
    ]


def test_a_function_of_the_users_comes_before_a_library_and_before_the_whole_job() -> None:
    parts = rows((0, "f", "python_function", 100))
    findings = found(
        parts,
        gain("main.py(1): run_all", "python_function", 90),
        gain("torch/_tensor.py(5): backward", "python_function", 42),
        gain("train.py(7): forward", "python_function", 40),
    )
    assert [row["name"] for row in judge(findings).gains] == [
        "train.py(7): forward",
        "torch/_tensor.py(5): backward",
        "main.py(1): run_all",
    ]


def test_a_call_that_takes_most_of_the_path_by_itself_comes_first() -> None:
    sleep = ("<built-in function sleep>", "python_function", 80)
    findings = found(
        rows((0, *sleep), (0, "train.py(7): step", "python_function", 20)),
        gain("train.py(7): step", "python_function", 90),
        gain(*sleep, inside="train.py(7): step"),
    )
    assert judge(findings).gains[0]["name"] == "<built-in function sleep>"
    assert "inside `built-in sleep`." in judge(findings).sentences[0]


def test_a_gain_in_what_the_job_costs_and_yields() -> None:
    findings = found(rows((0, "f", "cpu_op", 100)), gain("f", "cpu_op", 50), job=Job(gpus=8, batch=32))
    assert worth(findings, findings.potential[0]) == {
        "gpu_hours_a_day": "96 GPU-hours a day",
        "samples_a_second": "3.2e+08 → 6.4e+08 samples a second",
    }
    assert "96 GPU-hours a day" in judge(findings).sentences[1]


def test_doubt_is_said() -> None:
    findings = found(rows((2, "k", "kernel", 100)), gain("k", "kernel", 50, inferred_share=0.8))
    odd = ({"level": "warning", "code": "hole", "count": 1, "message": "", "file": ""},)
    findings = replace(findings, details=replace(findings.details, integrity=odd))
    assert judge(findings).sentences[-1] == (
        "Not known: 80.0 % of that gain hangs on inferred dependencies; "
        "what 1 finding about the input may hide."
    )


@pytest.mark.parametrize(
    ("code", "share", "is_mixed"),
    [
        ("ranks_merged", None, True),
        ("stream_shared", None, True),
        ("device_shared", 0.4, True),
        ("device_shared", 0.02, False),
        ("launches_unjoined", 1.0, False),
    ],
)
def test_where_ranks_are_mixed_no_number_leads(code: str, share: float | None, is_mixed: bool) -> None:
    findings = found(rows((2, "k", "kernel", 90), (0, "f", "cpu_op", 10)), gain("k", "kernel", 50))
    odd = {"code": code, "level": "error", "count": 2, "message": "m", "share": share}
    findings = replace(findings, details=replace(findings.details, integrity=[odd]))
    verdict = judge(findings)
    assert (verdict.sentences[0].startswith("No verdict") and not verdict.gains) == is_mixed
    assert ("tracegraph convert FILE" in verdict.sentences[-1]) == is_mixed
    codes = [one.code for one in recommend(findings)]
    assert (codes == ["mixed-ranks"]) if is_mixed else ("mixed-ranks" not in codes)
