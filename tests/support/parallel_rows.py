"""Rows of the queries about kinds of parallelism, as few as show each section of the report about them."""

from dataclasses import replace
from typing import Any

import pandas as pd
from report_data import make_findings

from tracegraph.queries.catalog import find
from tracegraph.queries.module import in_types
from tracegraph.queries.run_part import WHOLE
from tracegraph.workbench.findings.findings import Findings

Row = dict[str, Any]
PARALLEL = ("pipeline", "transfers", "ddp_buckets", "layer_communication", "gathers")
"""The sections."""
FIT: Row = {
    **{"kind": "all_reduce", "ranks": 4, "bytes_per_s": 1e9, "alpha_ns": 1000, "is_alpha_known": True},
    **{"sizes": 5, "valid_from": 1000, "valid_to": 100_000, "mean_error": 0.01, "source": "nccl-tests"},
    "is_least": False,
}
POINTS: list[Row] = [
    {"kind": "all_reduce", "ranks": 4, "source": "nccl-tests", "is_least": False, "bytes": size, "count": 1}
    | {"time_ns": 1000 + size}
    for size in (1000, 10_000, 100_000)
]


def stage(place: int, bubble: float, forward: int = 100) -> Row:
    """The row of a stage in a step of 1,000 ns."""
    return {
        **{"rank": place, "stage": place, "step": 3, "span_ns": 1000, "micro_batches": 4},
        **{"forward_ns": forward, "backward_ns": 2 * forward, "bubble_ns": round(1000 * bubble)},
        **{"bubble_share": bubble, "expected_1f1b": 0.2, "excess": bubble - 0.2, "is_most": True},
    }


def doing(place: int, what: str, start: int, end: int) -> Row:
    """A stretch of a stage."""
    return {"rank": place, "stage": place, "step": 3, "doing": what, "start_ns": start, "end_ns": end}


def size(mb: float | None, step: int, **other: Any) -> Row:
    """The row of a size of buckets, as recorded without one."""
    of_both = {"rank": 0, "bucket_mb": mb, "buckets": 3, "step_ns": step}
    predicted = {"least_ns": step - 10, "most_ns": step + 10, "gain_ns": 1000 - step, "is_within": True}
    return of_both | ({} if mb is None else predicted) | other


BUCKET: Row = {
    "rank": 0,
    "step": 1,
    "pass": 1,
    "bucket": 0,
    "bytes": 40,
    "ready_ns": 0,
    "start_ns": 10,
    "end_ns": 30,
}


def layer(number: int | None, phase: str, computing: int, talking: int, **other: Any) -> Row:
    """The row of a layer that runs once."""
    return {
        **{"rank": 0, "layer": f"layer {number}", "number": number, "phase": phase, "times": 1},
        **{"computing_ns": computing, "communication_ns": talking, "exposed_ns": talking // 2},
        **{"share": talking / (talking + computing), "calls": 1 if talking else 0},
        **{"told_by": "kernel pattern", "evidence": "inferred"},
        **other,
    }


def gather(module: str | None, lead: int | None, stall: int | None, ahead: int | None) -> Row:
    """The row of a gather."""
    return {
        **{"rank": 0, "step": 1, "phase": "forward", "module": module, "begins_ns": 100, "ends_ns": 200},
        **{"first_use_ns": None if lead is None else 200, "lead_ns": lead, "stall_ns": stall},
        **{"modules_ahead": ahead, "hidden_share": 0.25, "lacks": "Nothing tells." if lead is None else None},
    }


FULL: dict[str, list[Row]] = {
    "pipeline": [stage(0, 0.3), stage(1, 0.1, 200)],
    "pipeline_timeline": [
        *(doing(0, "forward", 500, 700), doing(0, "waiting", 700, 1500)),
        *(doing(1, "waiting", 500, 700), doing(1, "backward", 700, 1500)),
    ],
    "transfer_fit": [FIT],
    "transfer_points": POINTS,
    "ddp_buckets": [BUCKET, {**BUCKET, "step": 2, "end_ns": 50}],
    "ddp_bucket_sizes": [size(None, 1000), size(1.0, 990), size(25.0, 800)],
    "layer_communication": [layer(0, "forward", 30, 10), layer(1, "forward", 30, 30)],
    "gathers": [gather("block.0", 50, 0, 1), gather("block.1", -20, 90, 0), gather(None, None, None, None)],
}


def answers(rows: dict[str, list[Row]]) -> Findings:
    """Findings of a small run in which these queries have these rows."""
    found = make_findings(part=WHOLE)
    frames = {}
    for name, listed in rows.items():
        columns = find(name).columns
        frames[name] = in_types(pd.DataFrame(listed, columns=[one.name for one in columns]), columns)
    return replace(found, answers={**found.answers, **frames})
