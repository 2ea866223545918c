"""Order inside and around graph launches."""

import tiny
from tiny import Model, Row, call, kernel


def inner_order(model: Model, count: int, period: int) -> set[tuple[str, str]]:
    """Order inside the launches of a graph, one every `period` µs."""
    edges = {(c, e) for c, m, e in tiny.dependencies(model, "SEQUENTIAL") if m == "graph order"}
    launch = {edge: [int(float(end.split("@")[1]) // period) for end in edge] for edge in edges}
    return {edge for edge in edges if launch[edge][0] == launch[edge][1] < count}


def test_one_graph_launch_has_many_kernels_and_only_the_first_waits_for_it() -> None:
    model = tiny.model(call("cudaGraphLaunch", 0, 4, 9), kernel("a", 6, 8, 9), kernel("b", 9, 12, 9))
    assert tiny.dependencies(model, "INVOCATION") == {("cudaGraphLaunch@0", "graph launch", "a@6")}
    assert ("a@6", "stream order", "b@9") in tiny.dependencies(model, "SEQUENTIAL", binding=True)


def fork_and_join(at: float, number: int, side: float, main: float) -> list[Row]:
    """A graph with root, side (on another stream) beside main, and the work that joins both."""
    begin, joined = at + 31, at + 32 + max(side, main)
    return [
        call("cudaGraphLaunch", at, at + 5, number),
        kernel("root", at + 10, at + 30, number),
        kernel("side", begin, begin + side, number, stream=20),
        kernel("main", begin, begin + main, number),
        kernel("join", joined, joined + 20, number),
    ]


def test_forks_and_joins_repeat_over_the_launches_of_a_graph() -> None:
    lengths = [(30, 20), (15, 25), (40, 20), (10, 30), (20, 40), (35, 15)]
    rows = [row for i, (s, m) in enumerate(lengths) for row in fork_and_join(300 * i, i + 1, s, m)]
    model = tiny.model(*rows)
    expected = set()
    for i, (side, main) in enumerate(lengths):
        at = 300 * i
        expected |= {
            (f"root@{at + 10}", f"side@{at + 31}"),
            (f"side@{at + 31}", f"join@{at + 32 + max(side, main)}"),
        }
    assert inner_order(model, len(lengths), 300) == expected
    binding = tiny.dependencies(model, "SEQUENTIAL", binding=True)
    assert ("side@31", "graph order", "join@62") in binding
    assert ("main@331", "stream order", "join@357") in binding


def test_branches_that_ran_beside_each_other_in_one_launch_have_no_order() -> None:
    rows = [
        row
        for i, end in enumerate((60, 45, 70, 50, 80))
        for row in (
            call("cudaGraphLaunch", 200 * i, 200 * i + 5, i + 1),
            kernel("a", 200 * i + 10, 200 * i + end, i + 1),
            kernel("x", 200 * i + 10, 200 * i + 35, i + 1, stream=20),
            kernel("y", 200 * i + 55, 200 * i + 65, i + 1, stream=20),
        )
    ]
    assert inner_order(tiny.model(*rows), 5, 200) == set()


def test_work_after_a_graph_waits_for_its_works_on_other_streams() -> None:
    model = tiny.model(
        call("l", 0, 2, 1),
        kernel("before", 5, 20, 1),
        call("cudaGraphLaunch", 3, 6, 2),
        kernel("a", 25, 200, 2, stream=164),
        kernel("b", 201, 400, 2, stream=164),
        call("l", 7, 9, 3),
        kernel("after", 405, 420, 3),
    )
    assert tiny.dependencies(model, "SEQUENTIAL", binding=True) >= {
        ("b@201", "graph order", "after@405"),
        ("before@5", "graph order", "a@25"),
    }


def test_a_kernel_of_a_running_graph_follows_what_ended_last_in_it() -> None:
    model = tiny.model(
        call("cudaGraphLaunch", 0, 4, 9),
        kernel("a", 10, 50, 9),
        kernel("b", 20, 90, 9),
        kernel("c", 51, 80, 9, stream=20),
    )
    assert ("a@10", "graph order", "c@51") in tiny.dependencies(model, "SEQUENTIAL", binding=True)
    assert ("cudaGraphLaunch@0", "graph launch", "b@20") in tiny.dependencies(model, "INVOCATION")


def test_a_graph_launch_is_judged_by_the_latency_of_graph_launches() -> None:
    kernels = [
        row
        for i in range(20)
        for row in (call("l", 100 * i, 100 * i + 2, i + 1), kernel("k", 100 * i + 5, 100 * i + 9, i + 1))
    ]
    graphs = [
        row
        for i in range(5)
        for row in (
            call("cudaGraphLaunch", 2000 + 100 * i, 2010 + 100 * i, 100 + i),
            kernel("first", 2018 + 100 * i, 2030 + 100 * i, 100 + i),
            kernel("second", 2031 + 100 * i, 2040 + 100 * i, 100 + i),
        )
    ]
    race = [
        call("l", 2980, 2982, 200),
        kernel("before", 2985, 3015, 200),
        call("cudaGraphLaunch", 3000, 3010, 201),
        kernel("racer", 3018, 3030, 201),
        kernel("second", 3031, 3040, 201),
    ]
    bound = tiny.dependencies(tiny.model(*kernels, *graphs, *race), "INVOCATION", binding=True)
    assert ("cudaGraphLaunch@3000", "graph launch", "racer@3018") in bound
