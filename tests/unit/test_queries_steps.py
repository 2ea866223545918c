"""Steps compared with each other, and what recurs on their paths."""

import pandas as pd
import pytest

from tracegraph.queries.catalog import find
from tracegraph.queries.shapes.path.sums import with_steps_merged
from tracegraph.workbench.findings.step_summary import summarise_steps

NOTHING = pd.DataFrame(
    columns=["rank", "number", "name", "category", "on_gpu", "duration_ns", "inferred_ns"]
).astype({"on_gpu": bool, "duration_ns": "int64", "inferred_ns": "int64"})


STEPS, RECURRING = find("step_paths"), find("recurring_hotspots")


def steps_of(*lengths: int) -> pd.DataFrame:
    """Steps of these lengths that begin at 0."""
    numbers = range(len(lengths))
    rows = pd.DataFrame({"rank": 0, "number": numbers, "start_ns": 0, "end_ns": 0, "window_end_ns": lengths})
    return rows.assign(name=[f"ProfilerStep#{number}" for number in numbers], marker="ProfilerStep#")


@pytest.mark.parametrize(
    ("lengths", "outliers", "typical"),
    [
        ([100, 102, 98, 101, 180], [4], 3),
        ([100, 102, 98, 101, 107], [4], 3),
        ([100, 102, 98, 101, 105], [], 3),
        ([20, 102, 98, 101, 100], [0], 4),
        ([100, 100, 100, 500], [], 0),
        ([100, 110], [], 0),
        ([7], [], 0),
    ],
)
def test_outliers_and_the_typical_step(lengths: list[int], outliers: list[int], typical: int) -> None:
    rows = STEPS.shaped({}, [steps_of(*lengths), NOTHING])
    assert rows.loc[rows["outlier"], "number"].tolist() == outliers
    assert rows.loc[rows["typical"], "number"].tolist() == [typical]


def test_iterations_are_compared_within_their_type() -> None:
    """Decodes of 10 among prefills of 100: one decode of 20 is the outlier."""
    types = ["prefill", "prefill", "prefill", *["decode"] * 5]
    lengths = [100, 101, 99, 10, 11, 10, 9, 20]
    listed = steps_of(*lengths).assign(type=types, batch=4, tokens=None)
    rows = STEPS.shaped({}, [listed, NOTHING])
    assert rows.loc[rows["outlier"], "number"].tolist() == [7]
    assert rows.loc[rows["typical"], "number"].tolist() == [0, 3]
    summary = summarise_steps(rows)
    assert summary is not None
    assert [(one.type, one.count, one.outliers, one.batch) for one in summary.types] == [
        ("prefill", 3, (), (4, 4)),
        ("decode", 5, (7,), (4, 4)),
    ]
    assert summary.typical == 0


def test_no_steps() -> None:
    assert list(STEPS.shaped({}, [steps_of(), NOTHING])) == [column.name for column in STEPS.columns]
    recurring = RECURRING.shaped({}, [NOTHING, steps_of()])
    assert recurring.empty
    assert list(recurring) == [column.name for column in RECURRING.columns]


def test_annotations_of_steps_recur_as_one_name() -> None:
    rows = [(0, n, f"ProfilerStep#{n}", "user_annotation", False, 10 * n, 0) for n in (1, 2, 3)]
    rows += [(0, 3, "aten::mm", "cpu_op", False, 30, 0)]
    found = RECURRING.shaped({}, [pd.DataFrame(rows, columns=NOTHING.columns), steps_of()]).set_index("name")
    assert found.loc["ProfilerStep#", ["steps", "mean_ns", "min_ns", "max_ns"]].tolist() == [3, 20, 10, 30]
    assert found.loc["ProfilerStep#", "std_ns"] == pytest.approx((200 / 3) ** 0.5)
    assert found.loc["ProfilerStep#", "mean_share"] == pytest.approx((1 + 1 + 0.5) / 3)
    assert found.loc["aten::mm", ["steps", "mean_ns", "min_ns", "max_ns"]].tolist() == [1, 10, 0, 30]


def test_annotations_of_several_steps_are_one_hotspot() -> None:
    rows = [
        ("gemm", "kernel", 50, 0.5, 0.5, 3, 90, 1),
        ("ProfilerStep#5", "user_annotation", 30, 0.3, 0.3, 1, 31, 2),
    ]
    columns = [column.name for column in find("hotspots").columns]
    one = pd.DataFrame(rows, columns=columns)
    assert with_steps_merged(one, steps_of()) is one
    several = pd.DataFrame(
        [*rows, ("ProfilerStep#6", "user_annotation", 25, 0.2, 0.2, 1, 25, 2)], columns=columns
    )
    assert [*with_steps_merged(several, steps_of()).itertuples(index=False, name=None)] == [
        ("ProfilerStep#", "user_annotation", 55, 0.5, 0.5, 2, 56, 2),
        rows[0],
    ]


def test_marked_steps_recur_as_one_name() -> None:
    steps = pd.DataFrame({"name": ["train 1", "train 2"], "marker": "train *"})
    rows = [(0, n, name, "user_annotation", False, 10, 0) for n in (1, 2) for name in (f"train {n}", "other")]
    found = RECURRING.shaped({}, [pd.DataFrame(rows, columns=NOTHING.columns), steps]).set_index("name")
    assert found["steps"].to_dict() == {"other": 2, "train *": 2}
    sums = [(f"train {n}", "user_annotation", 30, 0.3, 0.3, 1, 31, 2) for n in (1, 2)]
    listed = pd.DataFrame(sums, columns=[column.name for column in find("hotspots").columns])
    assert with_steps_merged(listed, steps)["name"].tolist() == ["train *"]


def test_steps_are_compared_within_their_rank() -> None:
    listed = pd.concat([steps_of(100, 102, 98, 101), steps_of(500, 510, 490, 505).assign(rank=1)])
    rows = STEPS.shaped({}, [listed.reset_index(drop=True), NOTHING])
    assert not rows["outlier"].any()
    assert rows.loc[rows["typical"], ["rank", "number"]].to_numpy().tolist() == [[0, 0], [1, 0]]
