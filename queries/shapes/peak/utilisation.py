"""Which share of the peak of their devices ranks reach in each step: MFU and HFU."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.peak.job import Job, stated_job
from tracegraph.queries.shapes.peak.missing_inputs import Facts, lacking
from tracegraph.queries.shapes.peak.model_flops import PASSES, Model, read_model
from tracegraph.queries.shapes.peak.products import Devices, device_numbers, devices_of, run_again
from tracegraph.queries.shapes.peak.step_windows import step_windows
from tracegraph.vocabulary.gaps import UNKNOWN
from tracegraph.vocabulary.phases import BACKWARD

BY_PARAMETERS, BY_CONFIG, BY_SHAPES, BY_NOTHING = "parameters", "config", "shapes", UNKNOWN
UTILISATION_COLUMNS = (
    Column("rank", "INTEGER", False, "rank of the process"),
    Column("step", "INTEGER", True, "number of the step, null for the whole window where there are no steps"),
    Column(
        "step_ns", "INTEGER", False, "what it adds: from the end of the step before, if that is later, ns"
    ),
    Column("device_name", "STRING", True, "name of its GPUs, null where nobody tells it or they differ"),
    Column("dtype", "STRING", True, "element type of most of its products' FLOPs"),
    Column("peak_flop_per_s", "FLOAT", True, "peak of its GPUs together for that type, FLOP/s"),
    Column("model_flops", "INTEGER", True, "FLOPs of the model on this rank, without what runs once more"),
    Column("counted_flops", "INTEGER", True, "FLOPs of the products that it launched, by recorded shapes"),
    Column("recomputed_flops", "INTEGER", True, "how many of these ran once more, inside backward passes"),
    Column("mfu", "FLOAT", True, "FLOPs of the model as a share of what the peak allows, 0..1"),
    Column("hfu", "FLOAT", True, "FLOPs that ran as a share of what the peak allows, 0..1"),
    Column("known_share", "FLOAT", True, "share of the computing GPU time whose FLOPs are known, 0..1"),
    Column(
        "source",
        "STRING",
        False,
        f"what tells the model's FLOPs: `{BY_PARAMETERS}`, `{BY_CONFIG}`, `{BY_SHAPES}`, `{BY_NOTHING}`; "
        "after a colon what is missing, and what to give or record",
    ),
)
"""Columns of `utilisation`."""
_SUMS = ["computing_ns", "known_ns", "owned_ns", "communication_ns"]
_NS_PER_S = 1e9


def utilisation(
    values: Values,
    known: pd.DataFrame,
    calls: pd.DataFrame,
    steps: pd.DataFrame,
    phases: pd.DataFrame,
    files: pd.DataFrame,
    details: pd.DataFrame,
) -> pd.DataFrame:
    """Compare the FLOPs of each step of each rank with its peak.

    The rows are those of `known_work`, `product_calls`, `steps`, `phases`, `traces` and `run_details`. Work
    counts for the step that launched it. Where the host runs ahead, the window of a step holds work of steps
    before, too; so a step counts from the end of the one before it, and all of them sum to the run.
    """
    job = stated_job(values)
    devices = devices_of(files, job)
    calls = calls.assign(sum_flops=[sum(one) for one in calls["flops"]], again=run_again(calls))
    of_model = per_rank(job, len(files), partial=_is_partial(files, known, details))
    backward = _ByStep(phases[phases["phase"].eq(BACKWARD)])
    windows = step_windows(values, steps, known["rank"])
    calls_of, work_of = _ByStep(calls), _ByStep(known)
    rows = []
    for one in windows.assign(step_ns=list(_added(windows))).to_dict("records"):
        own_calls, own_work = calls_of.rows(one), work_of.rows(one)
        is_training = len(backward.rows(one)) > 0 or bool(own_calls["backward"].any())
        step = _Step(one, own_calls, own_work, is_training)
        rows.append(_row(step, devices, of_model))
    return pd.DataFrame(rows, columns=[column.name for column in UTILISATION_COLUMNS])


@dataclass(frozen=True)
class OfModel:
    """What the user says of the model: its FLOPs of a forward pass on one GPU; None without that."""

    source: str
    forward_flops: int | None
    job: Job
    partial: bool


@dataclass(frozen=True)
class _Step:
    """A step of a rank with the products that it launched and its sums of known work."""

    window: dict[Any, Any]
    calls: pd.DataFrame
    work: pd.DataFrame
    is_training: bool


def _row(step: _Step, devices: Devices, of_model: OfModel) -> dict[str, Any]:
    rank, length_s = int(step.window["rank"]), step.window["step_ns"] / _NS_PER_S
    numbers = device_numbers(step.work["device"]) or [None]
    names = {devices.name_of(rank, one) for one in numbers}
    name = names.pop() if len(names) == 1 else None
    spent = {column: int(step.work[column].sum()) for column in _SUMS}
    counted = int(step.calls["sum_flops"].sum()) if len(step.calls) else None
    again = int(step.calls.loc[step.calls["again"], "sum_flops"].sum()) if len(step.calls) else None
    dtype = _main_type(step.calls)
    peak = devices.peak_of_rank(rank, numbers, dtype)
    whole = None if peak is None else peak * length_s
    source, flops = of_model.source, None
    if of_model.forward_flops is not None:
        # Of a file without operators nobody can tell: the user who states a model for training is believed.
        is_training = step.is_training or not spent["owned_ns"]
        flops = of_model.forward_flops * len(numbers) * (PASSES if is_training else 1)
    elif counted is not None and again is not None:
        source, flops = BY_SHAPES, counted - again
    share = spent["known_ns"] / spent["computing_ns"] if spent["computing_ns"] else None
    facts = Facts(
        of_model.job,
        name,
        dtype,
        peak,
        share,
        flops,
        counted,
        of_model.partial,
        step.is_training,
        has_operators=spent["owned_ns"] > 0,
        by_model=of_model.forward_flops is not None,
    )
    said = " ".join(lacking(facts))
    return {
        "rank": rank,
        "step": step.window["step"],
        "step_ns": step.window["step_ns"],
        "device_name": name,
        "dtype": dtype,
        "peak_flop_per_s": peak,
        "model_flops": flops,
        "counted_flops": counted,
        "recomputed_flops": again,
        "mfu": _by(flops, whole),
        "hfu": _by(counted, whole),
        "known_share": share,
        "source": f"{source}: {said}" if said else source,
    }


def _main_type(calls: pd.DataFrame) -> str | None:
    """Return the element type of most FLOPs; None without products whose type is known."""
    spent: Counter[str] = Counter()
    for dtype, flops in zip(calls["dtype"], calls["sum_flops"], strict=True):
        if isinstance(dtype, str):
            spent[dtype] += flops
    return max(sorted(spent), key=spent.__getitem__, default=None)


def per_rank(job: Job, ranks: int, *, partial: bool) -> OfModel:
    """Compute the FLOPs of a forward pass of the stated model on one GPU; `partial`: ranks are missing."""
    model = None if job.model is None else read_model(job.model)
    source = BY_CONFIG if job.params is None else BY_PARAMETERS
    gpus = job.gpus or (None if partial else ranks)
    if job.tokens is None or gpus is None or (job.params is None and model is None):
        return OfModel(BY_NOTHING, None, job, partial)
    return OfModel(source, job.tokens * _token_flops(job, model) // gpus, job, partial)


def _token_flops(job: Job, model: Model | None) -> int:
    """FLOPs of a forward pass for a token: 2 a parameter and those of attention scores, or by layers."""
    sequence = job.tokens // job.batch if job.tokens and job.batch else None
    if job.params is None and model is not None:
        return model.token_flops(sequence)
    scores = 0 if model is None else model.layers * model.score_flops(sequence)
    return 2 * (job.params or 0) + scores


class _ByStep:
    """Rows with a rank and a step, found by these: a run may have hundreds of steps."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self._rows = rows
        self._of_rank = rows.groupby("rank").indices
        self._of_step = rows.groupby(["rank", "step"]).indices

    def rows(self, window: Mapping[Any, Any]) -> pd.DataFrame:
        """Return the rows of the step of a rank; all of the rank where it has no steps."""
        rank, step = window["rank"], window["step"]
        found = self._of_rank.get(rank, ()) if pd.isna(step) else self._of_step.get((rank, step), ())
        return self._rows.iloc[list(found)]


def _is_partial(files: pd.DataFrame, known: pd.DataFrame, details: pd.DataFrame) -> bool:
    """Tell whether ranks of the job are not here: its files say so, or the only rank communicates."""
    codes = {str(one.get("code")) for text in details["integrity"] for one in json.loads(text or "[]")}
    alone = len(files) == 1 and int(known["communication_ns"].sum()) > 0
    return "ranks_missing" in codes or alone


def _added(windows: pd.DataFrame) -> Iterator[int]:
    """Yield what each step adds to those of its rank before it, ns; one inside another is counted whole."""
    last: dict[int, int] = {}
    columns = (windows[name].tolist() for name in ("rank", "start_ns", "end_ns"))
    for rank, start, end in zip(*columns, strict=True):
        since = max(start, last.get(rank, start))
        yield end - since if since < end else end - start
        last[rank] = max(end, last.get(rank, end))


def missing_of(source: str) -> list[str]:
    """Return the sentences that a `source` says of what is missing."""
    _, _, said = source.partition(": ")
    return [f"{one}." for one in said.removesuffix(".").split(". ") if one]


def _by(flops: int | None, whole: float | None) -> float | None:
    return None if flops is None or not whole else flops / whole
