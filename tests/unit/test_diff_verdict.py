"""What the verdict says of the rows of two paths."""

import pandas as pd
import pytest

from tracegraph.queries.catalog import find
from tracegraph.queries.module import in_types
from tracegraph.queries.runs import RunWindow
from tracegraph.workbench.diff.kinship import kinship
from tracegraph.workbench.diff.scope import Scope, Side
from tracegraph.workbench.diff.sections import sections_of
from tracegraph.workbench.diff.verdict import UNRELATED, judge
from tracegraph.workbench.sections.blocks import Facts, Words

HOTSPOTS, GAPS, FRAMES, STEPS = (
    find(name).columns for name in ("hotspots", "path_gaps", "path_frames", "steps")
)
OWN, INSIDE, EVENTS = (find(name) for name in ("path_diff", "path_inside_diff", "trace_diff_matched"))
Row = tuple[str, str, int]


def frame(columns: tuple[object, ...], rows: list[dict[str, object]]) -> pd.DataFrame:
    names = [column.name for column in columns]  # type: ignore[attr-defined]
    return pd.DataFrame([{**dict.fromkeys(names, 0), **row} for row in rows], columns=names)


def modules(rows: list[Row], work: dict[str, int]) -> list[pd.DataFrame]:
    """What `hotspots` and `path_gaps` say of a path of these names."""
    told = [
        {"name": name, "category": category, "duration_ns": ns, "count": 1} for name, category, ns in rows
    ]
    events = [{**row, "accumulated_ns": work.get(str(row["name"]), row["duration_ns"])} for row in told]
    of_gaps = [row["category"] == "gap" for row in told]
    return [
        frame(HOTSPOTS, [row for row, gap in zip(events, of_gaps, strict=True) if not gap]),
        frame(GAPS, [row for row, gap in zip(told, of_gaps, strict=True) if gap]),
        frame(STEPS, []),
    ]


def frames(rows: list[Row]) -> pd.DataFrame:
    root = {"frame": 0, "parent": None, "name": "main", "category": "thread", "lag": None}
    own = [
        {
            "frame": at,
            "parent": 0,
            "depth": 1,
            "name": name,
            "category": category,
            "duration_ns": ns,
            "lag": None,
        }
        for at, (name, category, ns) in enumerate(rows, start=1)
    ]
    return in_types(frame(FRAMES, [root, *own]), FRAMES)


def said(a: list[Row], b: list[Row], more_work: dict[str, int] | None = None) -> dict[str, str]:
    """The verdict on two paths; `more_work`: all own time of a name in A, on the path or not."""
    path = OWN.shaped({"limit": 99}, [*modules(a, more_work or {}), *modules(b, {})])
    inside = INSIDE.shaped({"limit": 99}, [frames(a), frames(b)])
    lengths = [sum(ns for _, _, ns in rows) for rows in (a, b)]
    scope = Scope(Side("x"), Side("y"), RunWindow(0, lengths[0], 0), RunWindow(9, 9 + lengths[1], 0), ())
    events = frame(EVENTS.columns, []).astype({"category": object})
    verdict = judge(scope, path, inside, events, None)
    shown = sections_of(scope, verdict, path, inside, events)
    assert [title for title, blocks in shown if blocks] == [title for title, _ in shown]
    return verdict


def test_what_grew_and_what_shrank() -> None:
    a = [("mm", "cpu_op", 500_000), ("gemm", "kernel", 300_000), ("stream queue", "gap", 200_000)]
    b = [("mm", "cpu_op", 450_000), ("gemm", "kernel", 700_000), ("stream queue", "gap", 250_000)]
    assert said(a, b) == {
        "difference": "B is 400.000 µs (40.0 %) longer than A: 1.400 ms instead of 1.000 ms.",
        "path": "On the critical path: work of the GPU +400.000 µs, work of threads -50.000 µs, "
        "waits and gaps +50.000 µs.",
        "mostly": "Most of it: gemm grew (+400.000 µs), stream queue grew (+50.000 µs); 100.0 % of all that "
        "grew, +450.000 µs, against -50.000 µs elsewhere.",
        "operators": "With all that runs inside or was launched there: mm -50.000 µs.",
    }
    assert (
        said(b, a)["difference"] == "B is 400.000 µs (28.6 %) shorter than A: 1.000 ms instead of 1.400 ms."
    )
    assert "shrank (-400.000 µs)" in said(b, a)["mostly"]


def test_the_same_paths() -> None:
    rows = [("mm", "cpu_op", 500)]
    assert said(rows, rows) == {
        "difference": "B is as long as A: 500 ns.",
        "path": "The critical paths are made of the same.",
    }


def test_as_long_but_of_something_else() -> None:
    found = said(
        [("mm", "cpu_op", 900), ("add", "cpu_op", 100)], [("mm", "cpu_op", 500), ("add", "cpu_op", 500)]
    )
    assert found["difference"] == "B is as long as A: 1.000 µs."
    assert found["path"] == "On the critical path work only changed places."
    assert found["mostly"].startswith(
        "Most of it: add grew (+400 ns); 100.0 % of all that grew, +400 ns, against"
    )


def test_names_that_only_one_has() -> None:
    found = said(
        [("sm90", "kernel", 900), ("mm", "cpu_op", 100)], [("Cijk", "kernel", 600), ("mm", "cpu_op", 100)]
    )
    assert (
        found["mostly"]
        == "Much has other names: 900 ns is under names of A only, 600 ns under names of B only."
    )


def test_a_wait_that_is_new_is_no_other_name() -> None:
    found = said([("waiting for GPU", "gap", 900)], [("untraced CPU time", "gap", 950)])
    assert found["mostly"].startswith("Most of it: untraced CPU time is new on it (+950 ns)")


def test_work_that_nothing_covers_any_more() -> None:
    a, b = [("gemm", "kernel", 100), ("op", "cpu_op", 800)], [("gemm", "kernel", 900), ("op", "cpu_op", 850)]
    found = said(a, b, {"gemm": 880, "op": 800})
    assert (
        found["exposed"]
        == "Hardly more work, but more of it on the path, as nothing covers it any more: gemm."
    )
    assert "exposed" not in said(a, b)


def named(**counts: tuple[int, int]) -> pd.DataFrame:
    """Rows of `trace_diff_matched`: how often A and B have each operator; calls and copies both have."""
    rows = [
        {"name": name, "category": "cpu_op", "count_a": of_a, "count_b": of_b}
        for name, (of_a, of_b) in counts.items()
    ]
    others = [("cudaLaunchKernel", "cuda_runtime"), ("Memcpy HtoD", "gpu_memcpy")]
    rows += [{"name": name, "category": category, "count_a": 9, "count_b": 9} for name, category in others]
    return frame(EVENTS.columns, rows)


def test_different_programs_are_named_first_and_nothing_is_explained() -> None:
    scope = Scope(Side("x"), Side("y"), RunWindow(0, 10, 0), RunWindow(0, 30, 0), ())
    path = OWN.shaped(
        {"limit": 99}, [*modules([("mm", "cpu_op", 10)], {}), *modules([("mv", "cpu_op", 30)], {})]
    )
    inside = INSIDE.shaped({"limit": 99}, [frames([("mm", "cpu_op", 10)]), frames([("mv", "cpu_op", 30)])])
    events = named(mm=(5, 0), add=(1, 0), mv=(0, 7))
    verdict = judge(scope, path, inside, events, None)
    assert verdict == {
        UNRELATED: "A and B look like different programs: A has 2 names of operators and kernels and B 1, "
        "and they share none. Their lengths stand side by side below, and nothing is said of what made the "
        "difference; compare recordings of one program."
    }
    ((_, (head,)),) = sections_of(scope, verdict, path, inside, events)
    assert isinstance(head, Facts)
    assert [(fact.word, fact.tone) for fact in head.facts] == [(UNRELATED, "warning"), ("A", ""), ("B", "")]


@pytest.mark.parametrize(
    ("kernels", "operators", "related"),
    [(None, 0.09, False), (None, 0.1, True), (0.0, 0.98, True), (0.5, 0.01, True), (0.05, 0.05, False)],
)
def test_versions_of_one_program_spend_time_under_shared_names(
    kernels: float | None, operators: float, related: bool
) -> None:
    """Half of the names are shared; all of the time of A is under them, and of B a share of each kind."""
    rows = [
        {
            "name": f"{category} {name}",
            "category": category,
            "count_a": name == "both",
            "count_b": 1,
            "duration_a_ns": 100 * (name == "both"),
            "duration_b_ns": round(100 * (share if name == "both" else 1 - share)),
        }
        for category, share in (("kernel", kernels), ("cpu_op", operators))
        if share is not None
        for name in ("both", "of B")
    ]
    found = kinship(frame(EVENTS.columns, rows))  # type: ignore[arg-type]
    assert found.is_related == related
    assert found.shared_time == max(operators, kernels or 0)


@pytest.mark.parametrize(
    ("of_a", "of_b", "shared", "related"),
    [(20, 20, 1, False), (20, 20, 2, True), (200, 10, 1, True), (200, 11, 1, False), (0, 30, 0, True)],
)
def test_versions_of_one_program_share_a_tenth_of_the_names(
    of_a: int, of_b: int, shared: int, related: bool
) -> None:
    own_a = {f"a{at}": (1, 0) for at in range(of_a - shared)}
    own_b = {f"b{at}": (0, 1) for at in range(of_b - shared)}
    both = {f"both{at}": (1, 1) for at in range(shared)}
    found = kinship(named(**own_a, **own_b, **both))
    assert (found.of_a, found.of_b, found.shared) == (of_a, of_b, shared)
    assert found.is_related == related


def test_no_path_no_verdict() -> None:
    scope = Scope(Side("x", 0), Side("x", 1), None, None, ("no step",))
    events = frame(EVENTS.columns, []).astype({"category": object})
    assert judge(scope, None, None, events, None) == {}
    (head, blocks), *others = sections_of(scope, {}, None, None, events)
    assert head == "Difference"
    assert [len(found) for _, found in others] == [0, 1]
    assert isinstance(others[1][1][0], Words)
    assert "x, rank 1" in str(blocks)
