"""A small run's findings, as tables that fit on one screen."""

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from tracegraph.queries.catalog import find
from tracegraph.queries.module import in_types
from tracegraph.queries.run_part import WHOLE, RunPart
from tracegraph.workbench.findings.findings import GAP_COLUMNS, PATH_COLUMNS, Findings, RunDetails, Source
from tracegraph.workbench.findings.topics import TOPICS

LANES = pd.DataFrame(
    [
        (0, 0, "thread", "thread 11 (main)", "10", "11", None, None),
        (1, 0, "thread", "thread 12 (autograd)", "10", "12", None, None),
        (2, 0, "stream", "GPU 0 stream 7", "0", "7", 0, 7),
    ],
    columns=["lane", "rank", "kind", "name", "pid", "tid", "device", "stream"],
).astype({"device": "Int64", "stream": "Int64"})

# lane, source_index, name, category, start_ns, end_ns, dependency, mechanism, evidence
ROWS = (
    (0, 3, "ProfilerStep#5", "user_annotation", 1000, 1200, "root", "", ""),
    (0, 4, "aten::linear", "cpu_op", 1200, 1500, "SEQUENTIAL", "program order", "recorded"),
    (0, 5, "cudaLaunchKernel", "cuda_runtime", 1500, 1600, "SEQUENTIAL", "program order", "recorded"),
    (2, None, "launch latency", "gap", 1600, 1700, "INVOCATION", "correlation", "recorded"),
    (2, 6, "gemm<float>", "kernel", 1700, 2500, "INVOCATION", "correlation", "recorded"),
    (2, 7, "gemm<float>", "kernel", 2500, 2600, "SEQUENTIAL", "stream order", "recorded"),
    (0, None, "waiting for GPU", "gap", 2600, 2650, "SYNCHRONIZATION", "stream wait", "inferred"),
    (0, 8, "cudaStreamSynchronize", "cuda_runtime", 2650, 2800, "SYNCHRONIZATION", "stream wait", "inferred"),
    (0, None, "untraced CPU time", "gap", 2800, 3000, "SEQUENTIAL", "program order", "recorded"),
)

NEAR = pd.DataFrame(
    [("aten::add", "cpu_op", 1, "thread 12 (autograd)", 40, 120, 0.06, 3)],
    columns=["name", "category", "lane", "lane_name", "slack_ns", "duration_ns", "share", "count"],
)
SECOND = pd.DataFrame(
    [("gemm<float>", "kernel", 900, 1, 30, "gemm<float>", "stream order", "cudaLaunchKernel", "launch")],
    columns=[
        *("name", "category", "duration_ns", "count", "margin_ns"),
        *("cause", "mechanism", "second", "second_mechanism"),
    ],
).astype({"margin_ns": "Int64"})

WAITS = pd.DataFrame(
    [(1, "thread 12 (autograd)", "waiting for GPU", 700, 0.35, 2)],
    columns=["lane", "lane_name", "name", "duration_ns", "share", "count"],
)
OFF_PATH = pd.DataFrame(
    [("aten::add", "cpu_op", 300, 0.15, 0, 4, 40, "gemm<float>", "kernel", "GPU 0 stream 7", 0.8)],
    columns=[
        *("name", "category", "accumulated_ns", "share", "on_path_ns", "count", "slack_ns"),
        *("meanwhile", "meanwhile_category", "meanwhile_lane", "meanwhile_share"),
    ],
)
SILENCES = pd.DataFrame(
    columns=[
        *("lane", "lane_name", "start_ns", "end_ns"),
        *("duration_ns", "gpu_busy_ns", "threads_busy_ns"),
    ]
)


def alternative(assumption: str, inferred_ns: int, **gaps_ns: int) -> dict[str, object]:
    """A row of `alternatives` of a window of 2000 ns: what is not in gaps is operators."""
    gap = sum(gaps_ns.values())
    return {
        "assumption": assumption,
        "chosen": assumption == "evidence",
        "by_category_ns": {"cpu_op": 2000 - gap, "gap": gap},
        "by_gap_ns": gaps_ns,
        "inferred_ns": inferred_ns,
        "hotspots": [{"name": f"aten::{assumption}", "category": "cpu_op", "duration_ns": 1000}],
    }


ALTERNATIVES = (
    alternative("evidence", 600, **{"waiting for the GIL": 500}),
    alternative("serialise", 100, unknown=300),
    alternative("none", 0),
    alternative("recorded only", 0),
)
WHAT_NEXT = (
    {
        **{"name": "gemm<float>", "category": "kernel", "duration_ns": 900, "gain_ns": 850},
        "following": [{"name": "aten::linear", "category": "cpu_op", "duration_ns": 300}],
    },
)


def path_frame(rows: Sequence[Sequence[object]]) -> pd.DataFrame:
    """Return rows of a path with the columns of critical_path.csv."""
    given = [name for name in PATH_COLUMNS if name not in ("position", "rank", "confidence", "lag_ns")]
    frame = pd.DataFrame([list(row) for row in rows], columns=given)
    frame = frame.assign(position=range(len(frame)), rank=0, confidence=1.0, lag_ns=0)
    frame = frame.assign(margin_ns=None).astype(
        {"source_index": "Int64", "lag_ns": "Int64", "margin_ns": "Int64"}
    )
    return frame[[*PATH_COLUMNS, "margin_ns"]]


def listed(path: pd.DataFrame, gaps: bool, window_ns: int) -> pd.DataFrame:
    """Return the path's rows grouped as hotspots or gaps."""
    rows = path[path["source_index"].isna() == gaps]
    rows = rows.assign(duration_ns=rows["end_ns"] - rows["start_ns"])
    groups = rows.groupby(["name", "category"], as_index=False).agg(
        duration_ns=("duration_ns", "sum"), count=("source_index", "size" if gaps else "nunique")
    )
    groups = groups.assign(
        proportion=groups["duration_ns"] / groups["duration_ns"].sum(),
        prop_in_total=groups["duration_ns"] / window_ns,
    )
    return groups.sort_values("duration_ns", ascending=False, kind="stable")[list(GAP_COLUMNS)]


def told_beside(path: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """What sections ask beside the tables of the findings: each name of the path called from its lane."""
    lengths = (
        (path["end_ns"] - path["start_ns"]).groupby([path["lane"], path["name"], path["category"]]).sum()
    )
    roots = [(lane, None, 0, 0, LANES["name"][lane], LANES["kind"][lane], 0, None) for lane in LANES["lane"]]
    calls = [
        (place, lane, 1, 0, name, category, length, None)
        for place, ((lane, name, category), length) in enumerate(lengths.items(), len(LANES))
    ]
    columns = [column.name for column in find("path_frames").columns]
    frames = in_types(pd.DataFrame([*roots, *calls], columns=columns), find("path_frames").columns)
    shaped = {name: find(name).shaped({}, [frames]) for name in ("path_inside", "path_outline")}
    return {"off_path_hotspots": OFF_PATH, "path_frames": frames, **shaped}


def with_all_time(hotspots: pd.DataFrame) -> pd.DataFrame:
    """Hotspots of which as much again is not on the path."""
    return hotspots.assign(
        accumulated_ns=2 * hotspots["duration_ns"], accumulated_place=range(1, len(hotspots) + 1)
    )


def drawn_beside(path: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """What the lanes show beside the work: the chains of the path, and a frame around all on one lane."""
    path = path[path["category"].ne("gap")]
    moved = path["lane"].ne(path["lane"].shift())
    ends = path.groupby(moved.cumsum())["end_ns"].max().to_numpy()
    chains = path[moved].reset_index(drop=True).assign(end_ns=ends)
    chains["chain"] = chains.index
    chains["cause_chain"] = (chains.index.to_series() - 1).where(chains.index > 0).astype("Int64")
    chains["cause_lane"] = chains["lane"].shift().astype("Int64")
    chains["at_ns"] = chains["end_ns"].shift().astype("Int64")
    chains = chains.sort_values(["lane", "start_ns"])
    frame = path.head(1)[["lane", "start_ns"]].assign(
        end_ns=path["end_ns"].max(), name="train", category="python_function"
    )
    return {"chain_causes": chains, "stack_timeline": frame}


NO_EVENTS = pd.DataFrame(
    {name: [] for name in ("beginning", "kernel_type", "name", "lane", "start_ns", "end_ns")}
)


def gpu_time(length_ns: int, busy: float, computing: float, waiting: float = 0.0) -> pd.DataFrame:
    """How one GPU spends a window, as shares; what is busy and neither computes nor waits communicates."""
    parts = {"busy": busy, "computing": computing, "waiting": waiting}
    row = {f"{name}_ns": round(share * length_ns) for name, share in parts.items()}
    rest = row["busy_ns"] - row["computing_ns"] - row["waiting_ns"]
    row |= {"transferring_ns": rest, "communicating_ns": rest}
    return pd.DataFrame([{"rank": 0, "device": 0, "busy_share": busy, "count": 2, **row}])


def make_findings(rows: Sequence[Sequence[object]] = ROWS, **changes: object) -> Findings:
    """Findings of a path given as rows; by default the nine rows above."""
    path = path_frame(rows)
    start, end = int(path["start_ns"].iloc[0]), int(path["end_ns"].iloc[-1])
    details = RunDetails(
        name="tiny-0a1b2c3d",
        ranks=1,
        events=9,
        nodes=25,
        nodes_by_label={"Event": 9, "Segment": 12, "Run": 1},
        relationships={"SEQUENTIAL": 10, "INVOCATION": 2},
        integrity=(),
        timings_s={"read": 0.1},
        versions={"tracegraph": "0.1.0"},
        cross_thread="evidence",
        alternatives=ALTERNATIVES,
        what_next=WHAT_NEXT,
        sources=(Source("tiny.json", "00", 0, 0),),
    )
    events = path[path["category"].ne("gap")].assign(count=1, slack_ns=0)
    steps = {"rank": [0], "number": [5], "start_ns": [start], "end_ns": [end], "window_end_ns": [end]}
    steps |= {"name": ["ProfilerStep#5"], "marker": ["ProfilerStep#"]}
    findings = Findings(
        details=details,
        start_ns=start,
        end_ns=end,
        part=RunPart(5),
        path=path,
        hotspots=with_all_time(listed(path, False, end - start)),
        gaps=listed(path, True, end - start),
        lanes=LANES,
        timeline=events[["lane", "start_ns", "end_ns", "name", "category", "count", "slack_ns"]],
        waits=WAITS,
        gpu=gpu_time(end - start, 0.45, 0.45),
        steps=pd.DataFrame(steps),
        step_paths=pd.DataFrame(),
        recurring=pd.DataFrame(),
        near_critical=NEAR,
        second_causes=SECOND,
        silences=SILENCES,
        answers={**drawn_beside(path), **told_beside(path)},
        topics=dict.fromkeys(TOPICS, NO_EVENTS),
    )
    return replace(findings, **changes)  # type: ignore[arg-type]


def compared(*lengths: int) -> dict[str, object]:
    """Changes to findings of a run whose steps have these lengths; each is half kernel, half operator."""
    numbers = range(1, len(lengths) + 1)
    parts = [
        (0, number, name, category, category == "kernel", length // 2, 0)
        for number, length in zip(numbers, lengths, strict=True)
        for name, category in (("gemm<float>", "kernel"), (f"aten::op{number % 2}", "cpu_op"))
    ]
    columns = ["rank", "number", "name", "category", "on_gpu", "duration_ns", "inferred_ns"]
    hotspots = pd.DataFrame(parts, columns=columns)
    steps = pd.DataFrame({"rank": 0, "number": numbers, "start_ns": 0, "end_ns": 0, "window_end_ns": lengths})
    steps["name"], steps["marker"] = [f"ProfilerStep#{number}" for number in numbers], "ProfilerStep#"
    paths = find("step_paths").shaped({}, [steps, hotspots])
    recurring = find("recurring_hotspots").shaped({}, [hotspots, steps])
    return {"part": WHOLE, "step_paths": paths, "recurring": recurring}
