"""What operators take themselves and what is launched inside events, against a walk up from each event."""

import tiny
from hypothesis import assume, given
from random_traces import rows
from tiny import call, event, kernel

from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.stack_frames import find_frames
from tracegraph.ingest.tables.launched_inside import find_launched_inside
from tracegraph.vocabulary.categories import Role

Row = tuple[int | None, int | None, int | None, int | None, int | None, bool]


def found(model: Model) -> list[Row]:
    inside = find_launched_inside(model)
    names = ("operator_ns", "own_gpu_ns", "gpu_ns", "kernels", "inner_kernels")
    columns = [[None if v == NONE else v for v in getattr(inside, name).tolist()] for name in names]
    return list(zip(*columns, inside.recursive.tolist(), strict=True))


def walked(model: Model) -> list[Row]:
    """The same, one event and one launch after the other."""
    events, parent, launched_by = model.events, model.stack.parent.tolist(), model.launches.call.tolist()
    count = range(len(events))
    is_operator = events.of_role(Role.OPERATOR).tolist()
    holds = (events.of_role(Role.OPERATOR) | events.of_role(Role.ANNOTATION)).tolist()
    is_call = events.of_role(Role.CALL).tolist()
    own = model.stack.self_time(events).tolist()

    def line(at: int) -> list[int]:
        """The event and all above it."""
        return [] if at < 0 else [at, *line(parent[at])]

    operator_ns, own_gpu, gpu, kernels, most = ([0] * len(events) for _ in range(5))
    for at in count:
        above = [one for one in line(at) if is_operator[one]]
        if above and events.on_thread[at]:
            operator_ns[above[0]] += own[at]
    for work in count:
        if launched_by[work] < 0:
            continue
        length = int(events.end[work] - events.start[work])
        chain = line(launched_by[work])
        for at in chain:
            gpu[at] += length
            kernels[at] += 1
        for at in [one for one in chain if is_operator[one]][:1]:
            own_gpu[at] += length
    for at in count:
        for above_it in line(at)[1:] if not is_call[at] and events.on_thread[at] else []:
            most[above_it] = max(most[above_it], kernels[at])
    return [
        (
            operator_ns[at] if is_operator[at] else None,
            own_gpu[at] or None if is_operator[at] else None,
            gpu[at] or None if holds[at] else None,
            kernels[at] if kernels[at] > 1 and events.on_thread[at] else None,
            most[at] if most[at] > 1 and kernels[at] > 1 else None,
            is_operator[at]
            and any(is_operator[o] and events.name[o] == events.name[at] for o in line(at)[1:]),
        )
        for at in count
    ]


@given(rows())
def test_sums_are_those_of_a_walk(given_rows: list[tiny.Row]) -> None:
    assume(any(row["end_ns"] != row["start_ns"] for row in given_rows))
    model = tiny.model(*given_rows)
    assert found(model) == walked(model)


def test_an_operator_has_what_is_launched_inside_it() -> None:
    model = tiny.model(
        event("train", 0, 100, category="user_annotation"),
        event("linear", 0, 60),
        event("addmm", 10, 40),
        event("linear", 12, 30),
        event("f", 14, 26, category="python_function"),
        call("cudaLaunchKernel", 15, 20, 1),
        call("cudaLaunchKernel", 20, 25, 2),
        call("cudaLaunchKernel", 50, 55, 3),
        kernel("gemm", 30, 50, 1),
        kernel("add", 50, 55, 2),
        kernel("relu", 60, 61, 3),
    )
    calls = [(None, None, None, None, None, False)] * 6
    assert found(model) == [
        (None, None, 26_000, 3, 3, False),
        (30_000, 1_000, 26_000, 3, 2, False),
        (12_000, None, 25_000, 2, 2, False),
        (18_000, 25_000, 25_000, 2, 2, True),
        (None, None, None, 2, None, False),
        *calls,
    ]


def test_frames_know_the_innermost_operator() -> None:
    model = tiny.model(
        event("train", 0, 100, category="user_annotation"),
        event("linear", 10, 60),
        event("f", 14, 26, category="python_function"),
        call("cudaLaunchKernel", 15, 20, 1),
        kernel("gemm", 30, 50, 1),
    )
    frames = find_frames(model)
    operators = {
        str(frames.name[at]): str(frames.name[operator]) if operator >= 0 else None
        for at, operator in enumerate(frames.operator.tolist())
        if frames.depth[at] > 0
    }
    named = {name: operators[name] for name in ("train", "linear", "f", "cudaLaunchKernel", "gemm")}
    inside = dict.fromkeys(("linear", "f", "cudaLaunchKernel", "gemm"), "linear")
    assert named == {"train": None, **inside}
