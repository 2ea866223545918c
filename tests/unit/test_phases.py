"""Phases on tiny traces: those that annotations name, and those that can be told from what ran."""

import pytest
import tiny
from hypothesis import given, settings
from hypothesis import strategies as st
from phase_checks import check_phases, listed, without_sink
from random_traces import rows
from tiny import Row, call, event, kernel, model, step

from tracegraph.ingest.causal.steps.phase_names import phase_of
from tracegraph.vocabulary.phases import BACKWARD, DATA_LOADING, FORWARD, OPTIMIZER, ZERO_GRAD

ENGINE = "autograd::engine::evaluate_function: "


def mark(name: str, start: float, end: float, *, thread: int = 1) -> Row:
    return event(name, start, end, category="user_annotation", thread=thread)


def frame(name: str, start: float, end: float) -> Row:
    return event(name, start, end, category="python_function")


def forward(name: str, start: float, end: float, number: int) -> Row:
    return event(name, start, end, sequence_number=number, forward_thread=0)


def backward(start: float, end: float, number: int, *, thread: int = 2) -> Row:
    name = f"{ENGINE}MmBackward0"
    return event(name, start, end, sequence_number=number, forward_thread=1, thread=thread)


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        ("## forward ##", FORWARD),
        ("DistributedDataParallel.forward", FORWARD),
        ("forward_step", FORWARD),
        ("[Strategy]DDPStrategy.training_step", FORWARD),
        ("[param|pytorch.model.alex_net|0|0|0|measure|forward]", FORWARD),
        ("## backward ##", BACKWARD),
        ("[Strategy]SingleDeviceStrategy.backward", BACKWARD),
        ("bwd_step", BACKWARD),
        ("Optimizer.step#AdamW.step", OPTIMIZER),
        ("## optimizer ##", OPTIMIZER),
        ("[LightningModule]Net.optimizer_step", OPTIMIZER),
        ("Optimizer.zero_grad#SGD.zero_grad", ZERO_GRAD),
        ("## zero_grad ##", ZERO_GRAD),
        ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", DATA_LOADING),
        ("## data_load ##", DATA_LOADING),
        # Parts of a phase, both at once, and others.
        ("## forward:sparse_arch ##", None),
        ("forward_backward", None),
        ("train_step", None),
        ("FullyShardedDataParallel.forward", FORWARD),
        ("FullyShardedDataParallel._pre_forward", None),
        ("FSDP::root_pre_forward", None),
        ("FSDP::post_forward (layers.0)", None),
        ("FSDP::pre_backward", None),
        ("nccl:all_reduce", None),
        ("straightforward", None),
        ("forward" + " " * 400 + "x", None),
    ],
)
def test_names(name: str, phase: str | None) -> None:
    assert phase_of(name, is_annotation=True) == phase


def test_an_operator_names_a_phase_only_as_pytorch_writes_it() -> None:
    assert phase_of("Optimizer.step#SGD.step", is_annotation=False) == OPTIMIZER
    assert phase_of("aten::native_layer_norm_backward", is_annotation=False) is None


def test_annotations_name_phases_and_windows_hold_the_gpu_work_launched_in_them() -> None:
    found = model(
        step(7, 0, 100),
        mark("zero_grad", 1, 3),
        mark("forward", 5, 40),
        mark("Net.forward", 6, 39),  # inside another one: a part of it
        call("cudaLaunchKernel", 10, 12, 1),
        kernel("gemm", 20, 60, 1),
        mark("## backward ##", 45, 70),
        call("cudaLaunchKernel", 50, 52, 2),
        kernel("gemm", 60, 80, 2),
        mark("Optimizer.step#SGD.step", 72, 90),
        mark("forward", 8, 9, thread=2),  # another thread than the steps'
    )
    assert listed(found) == [
        (7, ZERO_GRAD, 1, 1, 3, 3, "recorded"),
        (7, FORWARD, 1, 5, 40, 60, "recorded"),
        (7, BACKWARD, 1, 45, 70, 80, "recorded"),
        (7, OPTIMIZER, 1, 72, 90, 90, "recorded"),
    ]
    check_phases(found)
    assert not without_sink(found)


def on_two_threads(at: float = 0, number: int = 1) -> list[Row]:
    """A forward and a backward pass with their GPU work, and what the thread then does."""
    return [
        # What has no gradient carries the next number.
        event("aten::to", at + 2, at + 8, sequence_number=number, forward_thread=0),
        event("aten::linear", at + 10, at + 30, sequence_number=number, forward_thread=0),
        forward("aten::addmm", at + 12, at + 28, number),
        call("cudaLaunchKernel", at + 14, at + 16, number),
        kernel("gemm", at + 18, at + 60, number),
        forward("aten::mse_loss", at + 32, at + 36, number + 1),
        backward(at + 40, at + 50, number + 1),
        event(f"{ENGINE}AccumulateGrad", at + 52, at + 70, thread=2),
        backward(at + 50, at + 52, number),
        call("cudaLaunchKernel", at + 42, at + 44, number + 1, thread=2),
        kernel("gemm", at + 60, at + 90, number + 1),
        event("aten::add_", at + 75, at + 78),
    ]


def test_a_backward_pass_is_told_by_the_engine_and_its_forward_by_the_gradients() -> None:
    found = model(step(1, 0, 80), *on_two_threads())
    assert listed(found) == [
        (1, FORWARD, 1, 10, 40, 60, "inferred"),
        (1, BACKWARD, 1, 40, 70, 90, "inferred"),
    ]
    assert found.phases.confidence.tolist() == [0.9, 0.98]
    check_phases(found)
    assert not without_sink(found)


def test_a_pass_that_no_gpu_work_outlasts_ends_with_the_engines_work() -> None:
    found = model(step(1, 0, 80), *(row for row in on_two_threads() if "kernel" not in str(row["category"])))
    assert found.phases.end_lane.tolist() == [0, 1]
    assert not without_sink(found)


def test_without_steps_phases_are_in_none_and_counted() -> None:
    found = listed(model(*on_two_threads(), *on_two_threads(100, 11)))
    assert [one[:4] for one in found] == [
        (None, FORWARD, 1, 10),
        (None, BACKWARD, 1, 40),
        (None, FORWARD, 2, 110),
        (None, BACKWARD, 2, 140),
    ]


def test_micro_batches_are_occurrences_of_a_step() -> None:
    rows_ = [step(3, 0, 200)]
    for begin, number in ((0, 1), (80, 5)):
        rows_ += [
            forward("aten::mm", begin + 5, begin + 20, number),
            backward(begin + 30, begin + 50, number),
        ]
    assert [one[:3] for one in listed(model(*rows_))] == [
        (3, FORWARD, 1),
        (3, BACKWARD, 1),
        (3, FORWARD, 2),
        (3, BACKWARD, 2),
    ]


def test_without_a_gpu_the_thread_is_its_own_engine() -> None:
    found = model(
        step(1, 0, 100),
        mark("Optimizer.zero_grad#SGD.zero_grad", 1, 2),
        frame("nn.Module: Net_0", 4, 30),
        forward("aten::mm", 6, 20, 1),
        forward("aten::mse_loss", 31, 34, 2),
        frame("torch/_tensor.py(566): backward", 36, 70),
        backward(40, 50, 2, thread=1),
        backward(50, 60, 1, thread=1),
        mark("Optimizer.step#SGD.step", 80, 95),
    )
    assert listed(found) == [
        (1, ZERO_GRAD, 1, 1, 2, 2, "recorded"),
        (1, FORWARD, 1, 4, 36, 36, "inferred"),
        # The frame that calls the engine tells its times.
        (1, BACKWARD, 1, 36, 70, 70, "inferred"),
        (1, OPTIMIZER, 1, 80, 95, 95, "recorded"),
    ]
    check_phases(found)
    assert not without_sink(found)


def test_hooks_of_sharded_modules_are_no_phases_but_tell_how_long_a_pass_lasts() -> None:
    found = model(
        step(1, 0, 100),
        mark("FSDP::root_pre_forward", 2, 3),
        mark("FSDP::pre_forward (0)", 4, 8),  # gathers
        forward("aten::mm", 9, 20, 1),
        mark("FSDP::post_forward (0)", 21, 22),
        backward(40, 50, 1, thread=1),
        mark("FSDP::pre_backward (0)", 41, 45),
        mark("FSDP::pre_forward (0)", 46, 47),  # computed again
        mark("FSDP::root_post_backward_callback", 52, 70),  # reduces
        mark("FSDP::post_backward_reduce (0)", 54, 69),
        mark("Optimizer.step#SGD.step", 80, 95),
    )
    assert listed(found) == [
        (1, FORWARD, 1, 2, 40, 40, "inferred"),
        (1, BACKWARD, 1, 40, 70, 70, "inferred"),
        (1, OPTIMIZER, 1, 80, 95, 95, "recorded"),
    ]
    check_phases(found)


def test_hooks_alone_tell_forward_passes_of_inference() -> None:
    marks = [
        mark(name, at + 10 * turn, at + 10 * turn + 1)
        for turn in range(2)
        for name, at in (("FSDP::root_pre_forward", 1), ("FSDP::pre_forward", 3), ("FSDP::post_forward", 7))
    ]
    found = listed(model(step(1, 0, 30), *marks, event("aten::mm", 5, 6)))
    assert [one[1:5] for one in found] == [(FORWARD, 1, 1, 8), (FORWARD, 2, 11, 18)]


def test_a_function_of_the_users_own_tells_no_times() -> None:
    found = model(
        step(1, 0, 100),
        frame("train.py(56): backward", 2, 70),
        mark("Optimizer.zero_grad#SGD.zero_grad", 3, 4),
        forward("aten::mm", 6, 20, 1),
        backward(40, 60, 1, thread=1),
    )
    assert [one[1:5] for one in listed(found)] == [
        (ZERO_GRAD, 1, 3, 4),
        (FORWARD, 1, 6, 40),
        (BACKWARD, 1, 40, 60),
    ]


def test_a_forward_pass_ends_where_the_next_phase_begins() -> None:
    marked = mark("Optimizer.zero_grad#SGD.zero_grad", 37, 39)
    found = listed(model(step(1, 0, 80), *on_two_threads(), marked))
    assert [one[1:5] for one in found] == [
        (FORWARD, 1, 10, 37),
        (ZERO_GRAD, 1, 37, 39),
        (BACKWARD, 1, 40, 70),
    ]


def test_an_optimizer_is_told_by_operators_that_update_parameters() -> None:
    updates = [event("aten::_foreach_addcdiv_", 72, 74), event("aten::_foreach_add_", 76, 79)]
    clip = event("aten::_foreach_norm", 70, 71)
    found = model(step(1, 0, 80), *on_two_threads()[:-1], clip, *updates)
    assert listed(found)[-1] == (1, OPTIMIZER, 1, 72, 79, 79, "inferred")
    named = mark("Optimizer.step#SGD.step", 71.5, 79.5)
    assert listed(model(step(1, 0, 80), *on_two_threads()[:-1], *updates, named))[-1][-1] == "recorded"


def test_a_phase_beyond_its_step_is_in_none() -> None:
    found = model(step(1, 0, 20), mark("forward", 5, 30), step(2, 25, 60), mark("backward", 35, 40))
    assert [one[:2] for one in listed(found)] == [(None, FORWARD), (2, BACKWARD)]


def test_inference_has_no_phases() -> None:
    assert not listed(
        model(step(1, 0, 20), event("aten::mm", 2, 9), call("l", 3, 4, 1), kernel("k", 5, 9, 1))
    )


MARKS = ("forward", "## backward ##", "Optimizer.step#S.step", f"{ENGINE}X", "zero_grad")


@settings(derandomize=True, deadline=None)
@given(
    rows().filter(lambda found: any(row["start_ns"] != row["end_ns"] for row in found)),
    st.lists(
        st.tuples(
            st.sampled_from(
                ["forward", "## backward ##", "Optimizer.step#S.step", f"{ENGINE}X", "zero_grad"]
            ),
            st.integers(0, 60),
            st.integers(0, 25),
            st.integers(1, 3),
        ),
        max_size=8,
    ),
)
def test_random_phases(events: list[Row], marks: list[tuple[str, int, int, int]]) -> None:
    annotations = [mark(name, at, at + length, thread=thread) for name, at, length, thread in marks]
    lasting = [row for row in events if row["category"] != "cuda_sync" and row["start_ns"] != row["end_ns"]]
    if lasting:
        check_phases(tiny.model(*events, *annotations))
