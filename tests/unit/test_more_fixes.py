"""Where fixes are recognised and what they gain, on traces whose every time is worked out by hand."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import tiny
from tiny import call, event, kernel, step

from tracegraph.base.errors import InputError
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.text_columns import TextColumn
from tracegraph.ingest.what_if.changes.change import whole_window
from tracegraph.ingest.what_if.fixes import (
    allocation,
    capture,
    fuse,
    precision,
    python,
    silences,
    turns,
    warm_up,
)
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene
from tracegraph.ingest.what_if.fixes.fix_rows import find_fixes
from tracegraph.ingest.what_if.fixes.registry import FIXES
from tracegraph.ingest.what_if.graph.facts import WorkFacts
from tracegraph.ingest.what_if.graph.graph import ReplayGraph, graph_of
from tracegraph.ingest.what_if.predictions.predict import Predictor
from tracegraph.ingest.what_if.resource_bounds import find_bounds
from tracegraph.queries.shapes.replay_rows import BOUND_COLUMNS, FIX_COLUMNS, bound_rows, fix_rows
from tracegraph.vocabulary import bounds
from tracegraph.vocabulary.mechanisms import MECHANISMS
from tracegraph.workbench.what_if.answer import Question, answer
from tracegraph.workbench.what_if.plan import make_plan


def graph(*rows: tiny.Row) -> ReplayGraph:
    return graph_of(tiny.model(*rows))


def found(of: ReplayGraph, fix: Fix) -> dict[str, Candidate]:
    return {
        one.selector: one for one in fix.find(Scene(of, of.replay.run(of.segments.work, of.counted).on_path))
    }


def gain_us(of: ReplayGraph, one: Candidate) -> float:
    return Predictor(of, whole_window(of)).gain(one.change).gain_ns / 1000


def norms(times: int) -> list[tiny.Row]:
    """A module that launches kernels of 10, 20 and 10, then a product of 50; the host is ahead, µs."""
    rows: list[tiny.Row] = []
    at, number, busy = 0.0, 0, 1000.0
    for one in range(times):
        begun = at
        for name, length in (("aten::pow", 10), ("aten::mean", 20), ("aten::mul", 10), ("aten::mm", 50)):
            number += 1
            rows += [
                event(name, at, at + 10),
                call("cudaLaunchKernel", at + 2, at + 6, number),
                kernel(f"k{length}<{number}>", busy, busy + length, number),
            ]
            at, busy = at + 10, busy + length
        rows.append(event(f"nn.Module: Norm_{one}", begun, at, category="python_function"))
    return rows


def test_small_kernels_below_a_module_are_fused_whatever_they_are_called() -> None:
    # Each time 40 become 20, the longest of the three; the product between is no part of it.
    of = graph(*norms(4))
    one = found(of, fuse.FIX)["under=nn.Module: Norm_*"]
    assert gain_us(of, one) == 80
    assert "4 times 3 small kernels in a row" in one.evidence
    asked = answer(of, "run", Question(fixes=(("fuse", "under=nn.Module: Norm_*"),), overhead="none"))
    assert asked.prediction.naive.gain_ns == 80_000


def test_a_fused_run_is_launched_once() -> None:
    # Two runs of three launches of 10 each: those of the last two of each three are left out.
    rows: list[tiny.Row] = []
    for number in range(6):
        at = 10.0 * number
        rows += [
            event("aten::mul", at, at + 10),
            call("cudaLaunchKernel", at + 4, at + 6, number + 1),
            kernel("k", at + 8, at + 9, number + 1),
        ]
    rows += [
        event("first", 0, 30, category="user_annotation"),
        event("second", 30, 60, category="user_annotation"),
    ]
    of = graph(*rows)
    edit = fuse.fuse(of, np.ones(len(of.segments), dtype=bool))
    left_out = of.segments.on_thread & (edit.factor == 0)
    assert of.segments.work[left_out].sum() == 40_000


def test_what_is_no_pass_over_data_or_happens_once_is_not_fused() -> None:
    assert found(graph(*norms(1)), fuse.FIX) == {}
    products = [{**row, "name": "aten::mm"} if row["category"] == "cpu_op" else row for row in norms(4)]
    assert found(graph(*products), fuse.FIX) == {}


def test_what_goes_through_tensors_one_by_one_is_not_fused() -> None:
    # An optimizer's kernels follow each other, but none goes on with what the one before wrote.
    def named(name: str) -> list[tiny.Row]:
        marks = {"name": name, "category": "user_annotation"}
        return [{**row, **marks} if row["category"] == "python_function" else row for row in norms(4)]

    assert set(found(graph(*named("norm")), fuse.FIX)) == {"under=norm"}
    assert found(graph(*named("Optimizer.step#SGD.step")), fuse.FIX) == {}
    assert found(graph(*(row for row in norms(4) if row["category"] != "python_function")), fuse.FIX) == {}


def test_a_pause_longer_than_a_queue_stays_where_a_step_is_captured() -> None:
    # The second kernel, launched long before, follows the first after 200 µs that nothing explains; the third
    # stands in the queue behind it and follows after 1 µs.
    of = graph(
        event("nn.Module: Block_0", 0, 40, category="python_function"),
        call("cudaLaunchKernel", 0, 10, 1),
        call("cudaLaunchKernel", 20, 30, 2),
        call("cudaLaunchKernel", 30, 40, 3),
        kernel("k", 40, 2050, 1),
        kernel("k", 2250, 2260, 2),
        kernel("k", 2261, 2271, 3),
        call("cudaDeviceSynchronize", 50, 2271, 4),
    )
    asked = answer(of, "run", Question(fixes=(("capture", "under=nn.Module: Block_0"),), overhead="none"))
    assert asked.prediction.naive.predicted_ns >= 2_200_000


def test_the_way_to_the_thread_of_autograd_stays_where_a_step_is_captured() -> None:
    # 90 of the operator become none, but not the 40 in which nothing is recorded until the backward pass: the
    # kernel, whose call is the one launch that stays, starts 90 earlier, and so does all that follows.
    of = graph(
        step(1, 0, 400),
        event("aten::mul", 10, 100, sequence_number=3, forward_thread=0),
        event("MulBackward0", 140, 210, thread=2, sequence_number=3, forward_thread=1),
        call("cudaLaunchKernel", 140, 150, 1, thread=2),
        kernel("k", 153, 300, 1),
        call("cudaDeviceSynchronize", 220, 302, 2),
    )
    assert "autograd hand-off" in {MECHANISMS[code].name for code in of.dependencies.mechanism.tolist()}
    whole = np.ones(len(of.segments), dtype=bool)
    edit, silent = capture.capture(of, whole), of.segments.start == 100_000
    assert edit.factor[silent & of.segments.on_thread].tolist() == [1.0]
    assert edit.factor[of.segments.start == 10_000].tolist() == [0.0]


def of_kernels(of: ReplayGraph, kernel_type: str) -> TextColumn:
    """The type of each event, as a file's kernels all are of one."""
    is_kernel = of.calls.category.among("kernel").astype(np.int32)
    return TextColumn(is_kernel, np.array(["", kernel_type], dtype=object))


def with_facts(of: ReplayGraph, dtype: str, flops: int, device: str) -> ReplayGraph:
    """Each kernel is the product of the operator that launched it."""
    calls = of.calls
    operators = np.flatnonzero(calls.category.among("cpu_op"))
    kernels = np.flatnonzero(calls.category.among("kernel"))
    operator = np.full(len(calls), -1, dtype=np.int64)
    operator[kernels] = operators
    is_operator = np.isin(np.arange(len(calls)), operators)
    facts = WorkFacts(
        operator=operator,
        kernel_type=of_kernels(of, "computation"),
        kind=TextColumn(is_operator.astype(np.int32), np.array(["", "matrix product"], dtype=object)),
        dtype=TextColumn(is_operator.astype(np.int32), np.array(["", dtype], dtype=object)),
        flops=np.where(is_operator, flops, NONE),
        moved_bytes=np.where(is_operator, 0, NONE),
        elements=np.full(len(calls), NONE),
        bytes=np.full(len(calls), NONE),
        group_size=np.full(len(calls), NONE),
        shapes=TextColumn(np.zeros(len(calls), dtype=np.int32), np.array([""], dtype=object)),
        devices={0: [device]},
    )
    return replace(of, facts=lambda: facts)


PRODUCT = (
    event("aten::mm", 0, 20),
    call("cudaLaunchKernel", 5, 10, 1),
    kernel("sgemm", 20, 1580, 1),
    call("cudaDeviceSynchronize", 20, 1580, 2),
)


def test_float32_products_take_what_the_peaks_say() -> None:
    # 19.5 to 156 and to 312 TFLOP/s: an eighth and a sixteenth of 1,560 µs.
    of = with_facts(graph(*PRODUCT), "float32", 20_000_000_000, "NVIDIA A100-SXM4-40GB")
    (tf32,) = found(of, precision.TF32_FIX).values()
    (bf16,) = found(of, precision.BF16_FIX).values()
    assert (gain_us(of, tf32), gain_us(of, bf16)) == (1560 - 195, 1560 - 97.5)
    assert tf32.options == ("--precision", "tf32", "category=kernel")


def test_what_the_peaks_say_is_the_most_and_one_precision_is_instead_of_another() -> None:
    of = with_facts(graph(*PRODUCT), "float32", 20_000_000_000, "NVIDIA A100-SXM4-40GB")
    told = find_fixes(Predictor(of, whole_window(of)))
    rows = {str(row["fix"]): row for row in told}
    for row in (rows["tf32"], rows["bf16"]):
        assert int(str(row["low_ns"])) <= int(str(row["gain_ns"])) == row["high_ns"]
    assert int(str(rows["tf32"]["low_ns"])) <= 1_560_000 - 2 * 195_000
    assert "made instead of bf16" in str(rows["tf32"]["assumptions"])
    for one in (*make_plan(of, "run", 3).steps, *make_plan(of, "run", 3).together):
        assert len({"Compute in bfloat16", "Let float32 products run in TF32"} & set(one.titles)) < 2


def test_a_device_without_bfloat16_is_told_float16() -> None:
    of = with_facts(graph(*PRODUCT), "float32", 20_000_000_000, "Tesla V100-SXM2-16GB")
    (one,) = found(of, precision.BF16_FIX).values()
    assert one.title == "Compute in float16"
    assert one.how is not None
    assert "no bfloat16" in one.how
    assert found(of, precision.TF32_FIX) == {}


def test_products_that_are_fast_already_and_unknown_devices_are_left() -> None:
    # 40 TFLOP/s cannot be those of the plain units: TF32 gains nothing, bf16 half.
    fast = with_facts(graph(*PRODUCT), "float32", 62_400_000_000, "NVIDIA A100-SXM4-40GB")
    assert found(fast, precision.TF32_FIX) == {}
    (bf16,) = found(fast, precision.BF16_FIX).values()
    assert gain_us(fast, bf16) == 780
    unknown = with_facts(graph(*PRODUCT), "float32", 20_000_000_000, "a device of tomorrow")
    assert found(unknown, precision.TF32_FIX) == found(graph(*PRODUCT), precision.TF32_FIX) == {}


def test_python_that_is_compiled_takes_no_time_but_what_it_calls_does() -> None:
    def frame(name: str, start: float, end: float) -> tiny.Row:
        return event(name, start, end, category="python_function")

    of = graph(
        frame("train.py(1): loop", 0, 100),
        frame("<built-in method decode of type object at 0x7f>", 10, 40),
        event("aten::mm", 40, 50),
    )
    one = found(of, python.FIX)["category=python_function"]
    assert gain_us(of, one) == 60


def test_calls_that_allocate_take_no_time_and_wait_for_nothing() -> None:
    of = graph(
        event("aten::empty", 0, 10),
        call("cudaLaunchKernel", 2, 4, 1),
        kernel("k", 8, 60, 1),
        call("cudaMalloc", 10, 30, 2),
        call("cudaFree", 30, 64, 3),
        event("aten::mul", 64, 100),
        call("cudaMallocAsync", 100, 101, 4),
    )
    (one,) = found(of, allocation.FIX).values()
    assert one.selector == "name=cudaFree, name=cudaMalloc"
    # The kernel runs to 60 in any case; the thread then ends at 10 + 36 + 1.
    assert gain_us(of, one) == 101 - 60


def test_a_first_call_that_warms_up_is_left_out() -> None:
    of = graph(
        step(1, 0, 200_000),
        call("cudaLaunchKernel", 0, 150_000, 1),
        step(2, 200_000, 300_000),
        call("cudaLaunchKernel", 200_000, 200_010, 2),
        event("aten::mul", 200_010, 300_000),
    )
    (one,) = found(of, warm_up.FIX).values()
    assert one.options == ("--remove", "name=cudaLaunchKernel,step=1")
    assert gain_us(of, one) == 150_000


def test_a_collective_on_a_thread_is_no_python() -> None:
    # Both annotations hold no calls; the one is a loop in Python, the other gloo's transfer.
    of = graph(
        event("count", 0, 50, category="user_annotation"),
        event("gloo:all_reduce", 50, 150, category="user_annotation"),
    )
    asked = Question(fixes=(("compile", "category=user_annotation"),), overhead="none")
    assert answer(of, "run", asked).prediction.naive.gain_ns == 50_000


def test_a_built_in_is_named_without_its_address() -> None:
    name = "<built-in method to of Tensor object at 0x7f01>"
    of = graph(
        event(name, 0, 150_000, category="python_function"),
        event(name, 200_000, 200_010, category="python_function"),
        event("aten::mul", 200_010, 300_000),
    )
    (one,) = found(of, warm_up.FIX).values()
    assert one.evidence.startswith("the first built-in to of Tensor of 2 takes 150 ms")
    assert one.options == ("--remove", f"name={name}")


def launches(*kernels: str) -> ReplayGraph:
    """Launches of kernels one after the other, of which the third takes 5 ms."""
    rows = []
    for place, name in enumerate(kernels):
        begin = 100 * place + (5_000 if place > 2 else 0)
        until = begin + (5_000 if place == 2 else 10)
        rows += [call("cudaLaunchKernel", begin, until, place), kernel(name, until, until + 5, place)]
    return graph(*rows, event("last", 5_400, 5_500))


def test_the_first_launch_of_a_kernel_may_load_its_code() -> None:
    of = launches("a", "b", "c", "c", "a")
    (one,) = found(of, warm_up.FIX).values()
    assert one.evidence == ("the first launch of c takes 5 ms, the next longest cudaLaunchKernel 10 µs")
    assert "the driver loads the kernel's code" in one.assumptions[0]
    assert 5_000 <= gain_us(of, one) <= 5_050


def test_a_later_launch_of_a_kernel_loads_nothing() -> None:
    assert found(launches("a", "b", "a", "c"), warm_up.FIX) == {}


def test_silences_of_the_host_end_at_once() -> None:
    of = graph(event("a", 0, 1_000), event("b", 1_100, 2_000), event("b", 6_000, 9_000))
    (one,) = found(of, silences.FIX).values()
    assert one.evidence == (
        "the host records nothing for 4.1 ms of the path, the longest time for 4 ms; 1 of these silences "
        "lasts 1 ms or more"
    )
    assert gain_us(of, one) == 4_100


def test_short_silences_between_calls_are_what_python_costs() -> None:
    of = graph(*(event("a", 500 * i, 500 * i + 100) for i in range(20)))
    assert found(of, silences.FIX) == {}


def test_nobody_else_has_turns_in_a_run_without_them() -> None:
    assert found(graph(event("a", 0, 10), event("b", 50, 100)), turns.FIX) == {}


def test_what_is_recognised_asks_for_itself() -> None:
    """The command of a candidate, asked, gains what was said of it."""
    for rows in (norms(4), list(PRODUCT)):
        of = graph(*rows)
        for fix in FIXES:
            for one in fix.find(Scene(of, of.replay.run(of.segments.work, of.counted).on_path)):
                pairs = list(zip(one.options[::2], one.options[1::2], strict=True))
                question = Question(
                    remove=[text for name, text in pairs if name == "--remove"],
                    remove_wait=[text for name, text in pairs if name == "--remove-wait"],
                    fixes=[
                        (name[2:], text) for name, text in pairs if name not in ("--remove", "--remove-wait")
                    ],
                    overhead="none",
                )
                assert answer(of, "run", question).prediction.naive.gain_ns == gain_us(of, one) * 1000


GPU_BOUND = (
    event("aten::mm", 0, 20),
    call("cudaLaunchKernel", 5, 10, 1),
    kernel("gemm", 20, 180, 1),
    call("cudaDeviceSynchronize", 20, 184, 2),
    event("log", 184, 204),
)


def test_bounds_are_the_run_without_each_resource() -> None:
    of = graph(*GPU_BOUND)
    told = find_bounds(Predictor(of, whole_window(of)))
    gains = {row["resource"]: row["gain_ns"] / 1000 for row in told["resources"]}  # type: ignore[attr-defined]
    # Without the kernel the call goes on 4 after it would begin.
    assert gains[bounds.GPU] == 160
    assert told["bottleneck"] == bounds.GPU
    assert told["bottlenecks"] == [bounds.GPU]
    assert told["base_ns"] == 204_000
    floors = {row["floor"]: row["length_ns"] for row in told["floors"]}  # type: ignore[attr-defined]
    assert floors[bounds.DEVICE] == 160_000
    assert floors[bounds.THREAD] <= 204_000


def test_a_bottleneck_has_its_place_in_the_code() -> None:
    def places(*rows: tiny.Row) -> object:
        of = graph(*rows)
        return find_bounds(Predictor(of, whole_window(of)))["places"]

    frame, step = "train.py(3): step", "ProfilerStep#1"
    called = [
        event(step, 0, 100),
        event(frame, 10, 90, category="python_function"),
        event("aten::mm", 20, 80),
    ]
    assert places(*called) == [{"resource": bounds.HOST, "place": frame, "share": 0.8}]
    # Without Python frames the operator is named; a step is no place.
    assert places(called[0], called[2]) == [{"resource": bounds.HOST, "place": "aten::mm", "share": 0.6}]
    # GPU work is where it was launched.
    assert places(*GPU_BOUND) == [{"resource": bounds.GPU, "place": "aten::mm", "share": 1.0}]
    assert places(event("nothing around", 0, 100, category="user_annotation")) == []


def test_a_run_that_two_resources_hold_names_both() -> None:
    of = graph(event("a", 0, 100), event("b", 200, 300))
    told = find_bounds(Predictor(of, whole_window(of)))
    assert told["bottleneck"] == bounds.HOST  # 200 of 300: twice what the silence gains
    even = graph(event("a", 0, 60), event("b", 160, 220))
    told = find_bounds(Predictor(even, whole_window(even)))
    assert told["bottleneck"] == bounds.SEVERAL
    assert told["bottlenecks"] == [bounds.HOST, bounds.UNRECORDED]


def test_collectives_of_a_back_end_for_the_cpu_are_transfers() -> None:
    of = graph(event("a", 0, 60), event("gloo:all_reduce", 60, 200, category="user_annotation"))
    told = find_bounds(Predictor(of, whole_window(of)))
    gains = {row["resource"]: row["gain_ns"] / 1000 for row in told["resources"]}  # type: ignore[attr-defined]
    assert (gains[bounds.TRANSFERS], gains[bounds.HOST]) == (140, 60)
    # What a user calls so is the host's.
    of = graph(event("a", 0, 60), event("nccl:all_reduce", 60, 200, category="user_annotation"))
    told = find_bounds(Predictor(of, whole_window(of)))
    assert told["bottleneck"] == bounds.HOST


def test_python_without_frames_is_what_annotations_hold_besides_operators() -> None:
    of = graph(
        event("count", 0, 100, category="user_annotation"), event("aten::mm", 20, 50), event("b", 100, 120)
    )
    asked = answer(of, "run", Question(fixes=(("compile", "name=count"),), overhead="none"))
    assert asked.prediction.naive.gain_ns == 70_000


def test_no_resource_gains_more_than_the_run_takes_and_none_makes_it_longer() -> None:
    for rows in (list(GPU_BOUND), norms(3)):
        of = graph(*rows)
        told = find_bounds(Predictor(of, whole_window(of)))
        for row in told["resources"]:  # type: ignore[attr-defined]
            assert 0 <= row["gain_ns"] <= told["base_ns"]
        for row in told["floors"]:  # type: ignore[attr-defined]
            assert row["length_ns"] <= told["base_ns"]


def test_a_plan_makes_the_best_fix_first_and_no_set_gains_less_than_the_one_before() -> None:
    rows: list[tiny.Row] = []
    at, number = 0.0, 0
    for one in range(4):
        begun = at
        rows.append(event("enumerate(DataLoader)#next", at, at + 100, category="user_annotation"))
        at += 100
        for _ in range(3):
            number += 1
            rows += [call("cudaLaunchKernel", at, at + 2, number), kernel("k", at + 6, at + 26, number)]
            at += 30
        rows += [call("cudaStreamSynchronize", at, at + 10, 100 + one)]
        at += 10
        rows.append(step(one + 1, begun, at))
    plan = make_plan(graph(*rows), "run", 3)
    gains = [one.gain_ns for one in plan.steps]
    assert plan.steps[0].titles[0].startswith("Load ahead")
    assert gains == sorted(gains)
    assert [len(one.titles) for one in plan.steps] == list(range(1, len(gains) + 1))
    assert all(one.length_ns == plan.base_ns - one.gain_ns for one in plan.steps)
    assert plan.as_json()["floors"]


def test_a_stored_fix_has_what_it_gains_with_the_first_which_is_no_sum() -> None:
    rows: list[tiny.Row] = []
    for one in range(4):
        at = 280.0 * one
        rows += [
            event("enumerate(DataLoader)#next", at, at + 100, category="user_annotation"),
            call("cudaLaunchKernel", at + 100, at + 102, one + 1),
            kernel("k", at + 106, at + 226, one + 1),
            call("cudaStreamSynchronize", at + 110, at + 230, 100 + one),
            event("aten::add", at + 230, at + 280),
            step(one + 1, at, at + 280),
        ]
    of = graph(*rows)
    first, second = find_fixes(Predictor(of, whole_window(of)))
    assert (first["fix"], first["with_first_ns"], second["fix"]) == ("unsync", None, "prefetch")
    assert second["with_first_ns"] == make_plan(of, "run", 2).steps[1].gain_ns
    assert int(str(second["with_first_ns"])) < int(str(first["gain_ns"])) + int(str(second["gain_ns"]))


def test_a_plan_of_no_fix_is_refused() -> None:
    with pytest.raises(InputError, match="without fixes"):
        make_plan(graph(*GPU_BOUND), "run", 0)


@pytest.mark.parametrize("kernel_type", ["computation", "communication"])
def test_what_communicates_is_what_the_run_calls_so(kernel_type: str) -> None:
    of = with_facts(graph(*PRODUCT), "float32", 10**9, "A100")
    assert of.facts is not None
    facts = replace(of.facts(), kernel_type=of_kernels(of, kernel_type))
    of = replace(of, facts=lambda: facts)
    expected = {"computation": bounds.GPU, "communication": bounds.TRANSFERS}
    assert find_bounds(Predictor(of, whole_window(of)))["bottleneck"] == expected[kernel_type]


def test_what_is_stored_of_a_run_is_asked_as_rows() -> None:
    of = graph(event("a", 0, 1_000), event("b", 5_000, 10_000))
    predictor = Predictor(of, whole_window(of))
    details = pd.DataFrame(
        {"bounds": [json.dumps(find_bounds(predictor))], "fixes": [json.dumps(find_fixes(predictor))]}
    )
    rows, fixes_found = bound_rows({}, details), fix_rows({}, details)
    assert list(rows.columns) == [column.name for column in BOUND_COLUMNS]
    assert rows[["name", "gain_ns", "bounds"]].values.tolist()[:2] == [
        [bounds.HOST, 6_000_000, True],
        [bounds.UNRECORDED, 4_000_000, False],  # two thirds of the most
    ]
    assert rows["kind"].tolist()[-1] == "floor"
    assert list(fixes_found.columns) == [column.name for column in FIX_COLUMNS]
    assert fixes_found[["fix", "gain_ns"]].values.tolist() == [["silences", 4_000_000]]


def test_an_older_run_has_no_rows() -> None:
    details = pd.DataFrame({"bounds": [None], "fixes": [None]})
    assert bound_rows({}, details).empty
    assert fix_rows({}, details).empty
