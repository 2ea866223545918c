"""What the verdict says of the rows of two paths."""

import pandas as pd

from tracegraph.queries.catalog import find
from tracegraph.queries.module import in_types
from tracegraph.queries.runs import RunWindow
from tracegraph.workbench.diff.scope import Scope, Side
from tracegraph.workbench.diff.sections import sections_of
from tracegraph.workbench.diff.verdict import judge
from tracegraph.workbench.sections.blocks import Words

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
    verdict = judge(scope, path, inside, events)
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


def test_no_path_no_verdict() -> None:
    scope = Scope(Side("x", 0), Side("x", 1), None, None, ("no step",))
    events = frame(EVENTS.columns, []).astype({"category": object})
    assert judge(scope, None, None, events) == {}
    (head, blocks), *others = sections_of(scope, {}, None, None, events)
    assert head == "Difference"
    assert [len(found) for _, found in others] == [0, 1]
    assert isinstance(others[1][1][0], Words)
    assert "x, rank 1" in str(blocks)
