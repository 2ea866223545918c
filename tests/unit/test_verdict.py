"""The answer first: what a path is bound by, what to change, what is not known."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from report_data import gpu_time, make_findings

from tracegraph.queries.run_part import WHOLE
from tracegraph.queries.shapes.peak.job import Job
from tracegraph.vocabulary.gaps import GAP_NAMES
from tracegraph.workbench.findings.bottleneck import OF_GAP, shares
from tracegraph.workbench.findings.contradictions import contradiction
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.first_fix import worth
from tracegraph.workbench.findings.recommendations import recommend
from tracegraph.workbench.findings.verdict import judge

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


def about(*events: tuple[str, str | None, int, int, int]) -> pd.DataFrame:
    """Events that begin a topic: name, type of GPU work, lane, start and end."""
    columns = ["name", "kernel_type", "lane", "start_ns", "end_ns"]
    return pd.DataFrame(list(events), columns=columns)


def found(parts: list[Row], *potential: dict[str, Any], **changes: Any) -> Findings:
    findings = make_findings(parts, part=WHOLE, **changes)
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
    assert said == "The CPU determines the length: 80.0 % of the path is work of its threads."
    others = found(rows((0, "f", "python_function", 60), (0, "CPU turn of another thread", "gap", 40)))
    assert judge(others).bottleneck == "turns"


def test_every_gap_is_something() -> None:
    assert set(OF_GAP) == set(GAP_NAMES)


def test_what_is_inside_the_loader_is_data_loading() -> None:
    findings = found(rows((0, "a", "cpu_op", 40), (0, "b", "cpu_op", 60)))
    loading = about(("enumerate(DataLoader)", None, 0, 50, 100))
    findings = replace(findings, topics={**findings.topics, "data loading": loading})
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
        "The CPU determines the length: 90.0 % of the path is work of its threads.",
        "Without `decode` the run would be 2.5 times as fast: it gains 60 ns of 100 ns (55 ns to 65 ns).",
        "Not known: what runs in 70.0 % of the path (60.0 % inside annotations whose code was not recorded, "
        "10.0 % without an explanation).",
    ]


def test_a_function_of_the_users_comes_before_a_library_and_before_the_whole_job() -> None:
    parts = rows((0, "f", "python_function", 100))
    findings = found(
        parts,
        gain("main.py(1): run_all", "python_function", 90),
        gain("torch/_tensor.py(5): backward", "python_function", 42),
        gain("train.py(7): forward", "python_function", 40),
    )
    assert [row["name"] for row in judge(findings).gains] == ["train.py(7): forward"]


@pytest.mark.parametrize(
    ("whole", "category"),
    [
        ("step[EXTEND bs=4]", "user_annotation"),
        ("ProfilerStep#3", "user_annotation"),
        ("## forward ##", "user_annotation"),
        ("main.py(1): run_all", "python_function"),
        ("Torch-Compiled Region: 0/1", "cpu_op"),
    ],
)
def test_of_what_is_the_whole_program_the_deepest_part_with_most_of_it_is_named(
    whole: str, category: str
) -> None:
    findings = found(
        rows((0, "f", "python_function", 100)),
        gain(whole, category, 90),
        gain("layer", "user_annotation", 66, inside=whole, path_ns=80),
        gain("train.py(7): attention", "python_function", 62, inside="layer"),
        gain("train.py(9): norm", "python_function", 40, inside="train.py(7): attention"),
    )
    assert [row["name"] for row in judge(findings).gains] == ["train.py(7): attention"]
    alone = found(rows((0, "f", "python_function", 100)), gain(whole, category, 90))
    assert judge(alone).gains == []


@pytest.mark.parametrize(
    ("name", "category"),
    [("aten::linear", "cpu_op"), ("ampere_sgemm", "kernel"), ("cudaLaunchKernel", "cuda_runtime")],
)
def test_nobody_is_told_to_do_without_the_products(name: str, category: str) -> None:
    findings = found(rows((0, name, category, 100)), gain(name, category, 50))
    assert judge(findings).gains == []
    assert not any("Without" in sentence for sentence in judge(findings).sentences)


def test_a_call_that_takes_most_of_the_path_by_itself_comes_first() -> None:
    sleep = ("<built-in function sleep>", "python_function", 80)
    findings = found(
        rows((0, *sleep), (0, "train.py(7): step", "python_function", 20)),
        gain("train.py(7): step", "python_function", 90),
        gain(*sleep, inside="train.py(7): step"),
    )
    assert judge(findings).gains[0]["name"] == "<built-in function sleep>"
    assert judge(findings).sentences[1].startswith("Without `built-in sleep` the run would be")


def test_a_gain_in_what_the_job_costs_and_yields() -> None:
    findings = found(
        rows((0, "f", "cpu_op", 100)), gain("f", "user_annotation", 50), job=Job(gpus=8, batch=32)
    )
    assert worth(findings, findings.potential[0]) == {
        "gpu_hours_a_day": "96 GPU-hours a day",
        "samples_a_second": "320,000,000 → 640,000,000 samples a second",
    }
    assert "96 GPU-hours a day" in judge(findings).sentences[1]


def test_doubt_is_said() -> None:
    findings = found(rows((2, "k", "kernel", 100)), gain("f", "user_annotation", 50, inferred_share=0.8))
    odd = ({"level": "warning", "code": "hole", "count": 1, "message": "", "file": ""},)
    findings = replace(findings, details=replace(findings.details, integrity=odd))
    assert judge(findings).sentences[-1] == (
        "Not known: whether the inferred dependencies are right: 80.0 % of that gain rests on them, and its "
        "range assumes that they are; how far what is wrong with the input changes this answer (hole)."
    )


ALL_REDUCES = ("ncclDevKernel_AllReduce_Sum_f16", "cross_device_reduce_1stage<bf16>", "my_own_ring<4>")


@pytest.mark.parametrize("name", ALL_REDUCES)
def test_communication_is_what_the_run_calls_so_whatever_its_name(name: str) -> None:
    parts = rows((2, "gemm", "kernel", 20), (2, name, "kernel", 80))
    findings = found(parts, gain(name, "kernel", 60), gain("gemm", "kernel", 15))
    events = about((name, "communication", 2, 20, 100))
    findings = replace(findings, topics={**findings.topics, "communication": events})
    said = judge(findings)
    assert (said.bottleneck, said.share) == ("communication", 0.8)
    assert said.sentences[0] == (
        "Communication determines the length: 80.0 % of the path is in collectives and their calls."
    )
    codes = {one.code: one.number for one in recommend(findings)}
    assert "communication" in codes
    assert codes["top-kernel"].endswith("in gemm")


def test_a_kernel_that_the_user_calls_computation_does_not_communicate() -> None:
    name = "ncclDevKernel_AllReduce_Sum_f16"
    findings = found(rows((2, name, "kernel", 100)), gain(name, "kernel", 60))
    assert judge(findings).bottleneck == "gpu"


def beside_gpu(
    busy: float, *parts: tuple[int, str, str, int], gain_ns: int | None, waiting: float = 0.0
) -> Findings:
    """A path of 100 ms beside a GPU, with what a replay without its first name gains."""
    path = rows(*parts)
    what_next = {"name": parts[0][1], "category": parts[0][2], "following": []}
    mine = sum(length for _, name, _, length in parts if name == parts[0][1])
    findings = make_findings(path, part=WHOLE, gpu=gpu_time(path[-1][5], busy, busy - waiting, waiting))
    told = () if gain_ns is None else ({**what_next, "duration_ns": mine, "gain_ns": gain_ns},)
    return replace(findings, details=replace(findings.details, what_next=told, potential=()))


MS = 1_000_000
OPAQUE = (0, "wait_for_output", "cpu_op", 100 * MS)
SMALL = tuple((0, "aten::add", "cpu_op", MS) for _ in range(100))


@pytest.mark.parametrize(
    ("parts", "busy", "gain_ns", "told"),
    [
        ((OPAQUE,), 0.95, 2 * MS, False),
        ((OPAQUE,), 0.95, None, False),
        ((OPAQUE,), 0.80, 10 * MS, False),
        (SMALL, 0.95, 2 * MS, False),
        ((OPAQUE,), 0.80, 40 * MS, True),
        ((OPAQUE,), 0.80, None, True),
        ((OPAQUE,), 0.50, 2 * MS, True),
        (SMALL, 0.80, 10 * MS, True),
    ],
)
def test_a_cpu_beside_a_busy_gpu_determines_the_length_only_where_it_gains(
    parts: tuple[tuple[int, str, str, int], ...], busy: float, gain_ns: int | None, told: bool
) -> None:
    findings = beside_gpu(busy, *parts, gain_ns=gain_ns)
    potential = (gain(parts[0][1], "cpu_op", 5),)
    findings = replace(findings, details=replace(findings.details, potential=potential if gain_ns else ()))
    said, codes = judge(findings), {one.code for one in recommend(findings)}
    assert (said.bottleneck == "cpu") is told
    assert ("cpu-bound" in codes) is told
    assert ("cpu-or-gpu" in codes) is not told
    if not told:
        assert said.bottleneck == "unknown"
        assert not said.gains
        assert "cannot be told" in said.sentences[0]
        assert "which of the two determines the length" in said.sentences[-1]
        assert "named-work" not in codes


def test_nothing_is_in_doubt_where_the_gpu_determines_the_length() -> None:
    parts = ((2, "gemm", "kernel", 90 * MS), (0, "aten::mm", "cpu_op", 10 * MS))
    findings = beside_gpu(0.9, *parts, gain_ns=80 * MS)
    held = gain("attention", "user_annotation", 50 * MS, base_ns=100 * MS)
    findings = replace(findings, details=replace(findings.details, potential=(held,)))
    codes = {one.code for one in recommend(findings)}
    assert judge(findings).bottleneck == "gpu"
    assert "cpu-or-gpu" not in codes
    assert "named-work" in codes


def test_a_gpu_that_waits_for_other_ranks_does_not_work() -> None:
    findings = beside_gpu(0.95, OPAQUE, gain_ns=2 * MS, waiting=0.9)
    assert contradiction(findings) is None
    assert judge(findings).bottleneck == "cpu"
    idle = next(one for one in recommend(findings) if one.code == "idle-gpu")
    assert idle.number == (
        "95.0 % of the window: the GPU is computing for 5.0 % of the window, moving data for 0.0 %, "
        "waiting for other ranks for 90.0 %, idle for 5.0 %"
    )


def with_outlier(name: str, category: str, lane: int, held: int) -> Findings:
    """A path of 100 ns of which one of 400 events of a name holds a part."""
    parts = rows((lane, name, category, held), (0, "other", "cpu_op", 100 - held))
    told = {"name": name, "category": category, "rank": 0, "source_index": 0, "duration_ns": held}
    told |= {"median_ns": 1, "count": 400, "long_count": 1}
    findings = found(parts)
    return replace(findings, answers={**findings.answers, "outliers": pd.DataFrame([told])})


@pytest.mark.parametrize(
    ("name", "category", "lane"),
    [("cross_device_reduce", "kernel", 2), ("aten::item", "cpu_op", 0), ("Memcpy HtoD", "gpu_memcpy", 2)],
)
def test_one_event_that_holds_the_path_is_named_as_one(name: str, category: str, lane: int) -> None:
    said = judge(with_outlier(name, category, lane, 90)).sentences[0]
    assert said.endswith(
        f" One of 400 `{name}` takes 90 ns, the others 1 ns in the median: it alone holds 90.0 % of the path."
    )
    assert "One of" not in judge(with_outlier(name, category, lane, 20)).sentences[0]


def test_whether_an_outlier_waits_for_another_rank_is_said_as_far_as_it_is_known() -> None:
    findings = with_outlier("cross_device_reduce", "kernel", 2, 90)
    events = about(("cross_device_reduce", "communication", 2, 0, 90))
    findings = replace(findings, topics={**findings.topics, "communication": events})
    assert (
        judge(findings)
        .sentences[0]
        .endswith(
            "holds 90.0 % of the path; how much of that is waiting for another rank one file cannot tell."
        )
    )


@pytest.mark.parametrize(
    "gap",
    [
        "work from before the recording",
        "work whose rows are missing",
        "unrecorded graph work",
        "outside this rank's recording",
    ],
)
def test_work_that_is_not_in_the_file_is_nobody_s(gap: str) -> None:
    findings = found(rows((2, gap, "gap", 60), (2, "gemm", "kernel", 40)), gain("f", "user_annotation", 39))
    verdict = judge(findings)
    assert (verdict.bottleneck, verdict.share) == ("unknown", 0.6)
    assert verdict.gains == []
    assert verdict.sentences[0] == (
        f"What bounds the run, and what to change first, cannot be told: 60.0 % of the path is {gap}, not in "
        "the file."
    )
    assert f"what runs in 60.0 % of the path ({gap})" in verdict.sentences[-1]


def test_nothing_is_first_where_most_of_the_path_has_no_explanation() -> None:
    path = rows((0, "aten::mm", "cpu_op", 20), (0, "unknown", "gap", 80))
    findings = replace(found(path, gain("f", "user_annotation", 20)), gpu=gpu_time(100, 0.9, 0.9, 0.0))
    verdict = judge(findings)
    assert (verdict.bottleneck, verdict.gains) == ("unknown", [])
    assert verdict.sentences[0] == (
        "What bounds the run, and what to change first, cannot be told: "
        "80.0 % of the path has no explanation."
    )
    codes = {one.code: one.number for one in recommend(findings)}
    assert "cpu-bound" not in codes
    assert codes["cpu-or-gpu"] == (
        "90.0 % of the window: a GPU works; what threads do in 80.0 % of the path may be work or a wait "
        "for it"
    )


def test_a_gain_above_what_is_not_in_the_file_is_told() -> None:
    path = rows((2, "work whose rows are missing", "gap", 20), (2, "gemm", "kernel", 80))
    verdict = judge(found(path, gain("attention", "user_annotation", 59)))
    assert verdict.bottleneck == "gpu"
    assert verdict.sentences[1].startswith("Without `attention`")
    assert "what runs in 20.0 % of the path" in verdict.sentences[-1]
    little = judge(found(rows((2, "unrecorded graph work", "gap", 4), (2, "gemm", "kernel", 96))))
    assert little.sentences[-1] == "Not known: nothing, every part of the path is explained."


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
    findings = found(rows((2, "k", "kernel", 90), (0, "f", "cpu_op", 10)), gain("f", "user_annotation", 50))
    odd = {"code": code, "level": "error", "count": 2, "message": "m", "share": share}
    findings = replace(findings, details=replace(findings.details, integrity=[odd]))
    verdict = judge(findings)
    assert (verdict.sentences[0].startswith("No verdict") and not verdict.gains) == is_mixed
    assert ("tracegraph convert FILE" in verdict.sentences[-1]) == is_mixed
    codes = [one.code for one in recommend(findings)]
    assert (codes == ["mixed-ranks"]) if is_mixed else ("mixed-ranks" not in codes)


def bounded(*resources: tuple[str, int], base_ns: int = 100) -> dict[str, Any]:
    """What `bounds` holds of a run of 100 ns, by the gains of resources, the largest first."""
    most = resources[0][1]
    named = [name for name, gain_ns in resources if gain_ns >= 2 and gain_ns * 1.5 > most]
    told = [
        {"resource": name, "gain_ns": ns, "length_ns": base_ns - ns, "share": ns / base_ns}
        for name, ns in resources
    ]
    return {"base_ns": base_ns, "resources": told, "floors": [], "bottlenecks": named}


def with_fixes(findings: Findings, bounds: dict[str, Any], *fixes: dict[str, Any]) -> Findings:
    return replace(findings, details=replace(findings.details, bounds=bounds, fixes=fixes))


def fix(name: str, gain_ns: int, **more: Any) -> dict[str, Any]:
    """A row of `fixes` of a run of 100 ns."""
    row = gain("", "", gain_ns) | {"fix": name, "title": f"Do {name}", "evidence": f"seen {gain_ns} times"}
    return {**row, "how": "by hand", "command": f"what-if --{name} a", "assumptions": [], **more}


PATH = rows((0, "aten::mm", "cpu_op", 60), (2, "gemm", "kernel", 40))


@pytest.mark.parametrize(
    ("resources", "bottleneck", "said"),
    [
        (
            [("GPU computing", 60), ("host work", 30)],
            "gpu",
            "Computing on the GPU bounds the run: if kernels took no time, 40 ns of 100 ns would be left.",
        ),
        (
            [("turns of others", 40), ("unrecorded host time", 30), ("host work", 9)],
            "several",
            "No one thing bounds the run: without others' turns on the GPU or CPU or unrecorded host time, "
            "each alone, 60 ns or 70 ns of 100 ns would be left.",
        ),
        (
            [("host work", 99), ("GPU computing", 0)],
            "cpu",
            "The host bounds the run: nearly all of its 100 ns would go if its threads worked in no time.",
        ),
        (
            [("host work", 1)],
            "cpu",
            "The CPU determines the length: 60.0 % of the path is work of its threads; other work is as "
            "late, so that whatever takes no time alone, the run is less than 2 % shorter.",
        ),
    ],
)
def test_what_gains_most_when_it_is_free_bounds_the_run(
    resources: list[tuple[str, int]], bottleneck: str, said: str
) -> None:
    verdict = judge(with_fixes(found(PATH), bounded(*resources)))
    assert (verdict.bottleneck, verdict.sentences[0]) == (bottleneck, said)
    assert verdict.sentences[1] == "No fix that is known here gains 1 % of the run."
    assert verdict.share == (resources[0][1] / 100 if resources[0][1] > 1 else 0)


def test_the_fix_that_gains_most_is_first_in_the_verdict_and_in_what_to_try() -> None:
    bounds = bounded(("GPU computing", 60))
    findings = with_fixes(
        found(PATH, gain("f", "user_annotation", 50)), bounds, fix("fuse", 30), fix("unsync", 20)
    )
    said, advised = judge(findings), recommend(findings)
    assert said.sentences[1] == (
        "Do fuse: seen 30 times. That would gain 30 ns of 100 ns (25 ns to 35 ns), 1.43 times as fast."
    )
    assert [row["name"] for row in said.gains] == ["Do fuse", "Do unsync"]
    assert [one.code for one in advised[:3]] == ["fuse", "unsync", "named-work"]
    assert advised[0].number == (
        "seen 30 times. It would gain 30 ns of 100 ns (25 ns to 35 ns), 1.43 times as fast"
    )


def test_a_rule_that_says_the_same_as_a_fix_is_left_out() -> None:
    path = rows((0, "cudaMalloc", "cuda_runtime", 60), (2, "gemm", "kernel", 40))
    alone = with_fixes(found(path), bounded(("host work", 60)))
    assert "allocation" in [one.code for one in recommend(alone) if one.fix is None]
    findings = with_fixes(found(path), bounded(("host work", 60)), fix("allocation", 50))
    assert [one.code for one in recommend(findings)].count("allocation") == 1
    assert recommend(findings)[0].fix


def test_no_fix_is_offered_where_nobody_can_tell_what_bounds_the_run() -> None:
    path = rows((2, "unrecorded graph work", "gap", 70), (2, "gemm", "kernel", 30))
    findings = with_fixes(found(path), bounded(("GPU computing", 30)), fix("fuse", 20))
    verdict, advised = judge(findings), recommend(findings)
    assert (verdict.bottleneck, verdict.share, list(verdict.gains)) == ("unknown", 0.7, [])
    assert advised[0].code == "unrecorded-graphs"
    assert not any(one.fix for one in advised)
    beside = with_fixes(
        beside_gpu(0.95, OPAQUE, gain_ns=2 * MS), bounded(("host work", 5)), fix("compile", 4)
    )
    assert judge(beside).bottleneck == "unknown"
    assert not any(one.fix for one in recommend(beside))
