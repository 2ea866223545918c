"""Where the peak of the devices goes: the time of each step in parts that sum to it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.queries.shapes.category_roles import of_role
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.peak import losses
from tracegraph.queries.shapes.peak.job import stated_job
from tracegraph.queries.shapes.peak.missing_inputs import lacking_of_losses
from tracegraph.queries.shapes.peak.products import Devices, device_numbers, devices_of, run_again
from tracegraph.queries.shapes.peak.step_windows import step_windows
from tracegraph.queries.shapes.peak.time_sums import Ints, Union, nothing, open_beyond, unfolded
from tracegraph.vocabulary import bounds
from tracegraph.vocabulary.categories import GAP, GPU_WORK, Role
from tracegraph.vocabulary.evidence import EVIDENCE
from tracegraph.vocabulary.kernel_types import COMMUNICATION, COMPUTATION, MEMORY

_NAMES, _DOMAINS = (", ".join(f"`{one}`" for one in listed) for listed in (losses.DOMAIN_OF, losses.DOMAINS))
LOSS_COLUMNS = (
    Column("rank", "INTEGER", False, "rank of the process"),
    Column("step", "INTEGER", True, "number of the step, null for the whole window where there are no steps"),
    Column("loss", "STRING", False, f"part of the step: {_NAMES}"),
    Column("domain", "STRING", False, f"what the GPUs do meanwhile: {_DOMAINS}"),
    Column("duration_ns", "INTEGER", False, "its time; those of a step sum to its window, ns"),
    Column("share", "FLOAT", False, "its share of the step's window, 0..1"),
    Column("evidence", "STRING", True, "`recorded` or `inferred`; null where no cause is known"),
    Column("confidence", "FLOAT", True, "of idle time: how sure its causes are, 0..1, by their time"),
    Column("window_ns", "INTEGER", False, "length of the step's window, ns"),
    Column("lacks", "STRING", True, "what must be known to read it, or what to give or record"),
)
"""Columns of `peak_losses`."""
_RECORDED, _INFERRED = EVIDENCE
_NS_PER_S = 1e9
_SPLIT = (losses.USEFUL, losses.RECOMPUTATION, losses.BELOW_PEAK)
Spans = tuple[Ints, Ints]


@dataclass(frozen=True)
class _Rank:
    """A rank: when it does what, by part, and what its products would take at the peak.

    Attributes
    ----------
    spans
        Begins and ends of the stretches of each part, ns; `BELOW_PEAK` stands for all products of known peak.
    at_peak
        Of useful products and of those that run once more: begin, ns, and what each would take, ns.
    evidence, confidence
        Of parts of idle time.
    lacks
        What must be known to read a part, or what to give or record.
    """

    spans: Mapping[str, Spans]
    at_peak: Mapping[str, tuple[Ints, "np.ndarray[Any, np.dtype[np.float64]]"]]
    evidence: Mapping[str, str]
    confidence: Mapping[str, float]
    lacks: Mapping[str, str]


def peak_losses(
    values: Values,
    work: pd.DataFrame,
    idle: pd.DataFrame,
    calls: pd.DataFrame,
    steps: pd.DataFrame,
    files: pd.DataFrame,
) -> pd.DataFrame:
    """Share out the window of each step of each rank, from its GPU work and from what idle GPUs wait for.

    The rows are those of `gpu_stretches`, `idle_stretches`, `product_calls`, `steps` and `traces`. A moment
    that several parts could have goes to the first of them in the order of `LOSSES`.
    """
    devices = devices_of(files, stated_job(values))
    calls = calls.assign(again=run_again(calls))
    causes = idle.assign(loss=idle_losses(idle))
    windows = step_windows(values, steps, work["rank"])
    rows: list[dict[str, Any]] = []
    for rank, own in windows.groupby("rank"):
        of_rank = [frame[frame["rank"].eq(rank)] for frame in (work, causes, calls)]
        alone = len(files) == 1
        found = _read(int(str(rank)), devices, *of_rank, is_alone=alone)
        rows += _rows(found, own, is_alone=alone)
    return pd.DataFrame(rows, columns=[column.name for column in LOSS_COLUMNS])


def idle_losses(idle: pd.DataFrame) -> "pd.Series[Any]":
    """Tell which part of a step's time each row of `idle_stretches` belongs to."""
    is_gap = idle["category"].eq(GAP)
    names = idle["cause"].astype(str)
    found = pd.Series(losses.HOST, index=idle.index, dtype=object)
    calls = of_role(idle["category"], Role.CALL)
    for part, resource in bounds.OF_CALL:
        found[calls & names.str.contains(part, regex=False)] = losses.OF_RESOURCE[resource]
    found[of_role(idle["category"], *GPU_WORK)] = losses.UNKNOWN
    found[is_gap] = names[is_gap].map(losses.OF_GAP).fillna(losses.UNKNOWN)
    found[idle["loads"]] = losses.LOADING
    found[idle["cause_rank"].ne(idle["rank"])] = losses.OTHER_RANK
    return found


def _read(
    rank: int,
    devices: Devices,
    work: pd.DataFrame,
    idle: pd.DataFrame,
    calls: pd.DataFrame,
    *,
    is_alone: bool,
) -> _Rank:
    numbers = device_numbers(work["device"])
    peaks = {one: devices.peak_of_rank(rank, numbers, one) for one in {*work["dtype"], *calls["dtype"]}}
    rated = work["dtype"].map(lambda one: peaks[one] is not None).astype(bool)
    is_product = work["is_product"].astype(bool)
    talk, wait = (_spans(work[work["what"].eq(what)]) for what in (COMMUNICATION, "wait"))
    spans = {
        losses.BELOW_PEAK: _spans(work[is_product & rated]),
        losses.UNRATED: _spans(work[is_product & ~rated]),
        losses.OTHER_COMPUTING: _spans(work[work["what"].eq(COMPUTATION) & ~is_product]),
        losses.TRANSFER: open_beyond(*talk, *wait),
        losses.RANKS: talk,
        losses.EXPOSED_MEMORY: _spans(work[work["what"].eq(MEMORY)]),
    }
    told: dict[str, tuple[str, float]] = {}
    for loss, rows in idle.groupby("loss"):
        spans[str(loss)] = _spans(rows)
        if loss not in (losses.UNRECORDED, losses.UNKNOWN):  # nothing tells what went on
            told[str(loss)] = _sure(rows)
    at_peak = {
        name: _at_peak(calls[calls["again"].eq(name == losses.RECOMPUTATION)], peaks) for name in _SPLIT[:2]
    }
    unrated = [one for one in peaks if peaks[one] is None and isinstance(one, str)]
    name = devices.name_of(rank, next(iter(numbers), None))
    return _Rank(
        spans,
        at_peak,
        {k: v[0] for k, v in told.items()},
        {k: v[1] for k, v in told.items()},
        lacking_of_losses(name, unrated, is_known=len(calls) > 0, is_alone=is_alone),
    )


def _spans(rows: pd.DataFrame) -> Spans:
    return unfolded(rows["begin_ns"]), unfolded(rows["end_ns"])


def _sure(rows: pd.DataFrame) -> tuple[str, float]:
    """Return the evidence of some idle time, and the mean of its confidence by time."""
    # Sums of times of day may be above what 64 bits hold: Python subtracts them before they become an array.
    of_row = [sum(end) - sum(begin) for end, begin in zip(rows["end_ns"], rows["begin_ns"], strict=True)]
    # Whole ns add up to the same in any order and however rows are cut: products with confidences would not.
    spent = pd.Series(of_row, dtype="int64").groupby(rows["confidence"].to_numpy()).sum()
    evidence = _INFERRED if rows["evidence"].eq(_INFERRED).any() else _RECORDED
    return evidence, float(np.average(spent.index, weights=np.maximum(spent, 1)))


def _at_peak(calls: pd.DataFrame, peaks: Mapping[Any, float | None]) -> tuple[Ints, Any]:
    """Find when calls begin, and how long each would take at the peak of its type, ns, in order of time."""
    begin, cost = [nothing()], [np.empty(0)]
    for row in calls.itertuples():
        peak = peaks[row.dtype]
        if peak is not None:
            begin.append(np.asarray(row.begin_ns, dtype=np.int64))
            cost.append(np.asarray(row.flops, dtype=np.float64) / peak * _NS_PER_S)
    at, spent = np.concatenate(begin), np.concatenate(cost)
    order = np.argsort(at, kind="stable")
    return at[order], np.append(0.0, np.cumsum(spent[order]))


def _rows(found: _Rank, windows: pd.DataFrame, *, is_alone: bool) -> Iterator[dict[str, Any]]:
    """Yield the parts of each window of a rank that take time."""
    start, end = (windows[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    spent = _spent(found, start, end)
    for place, window in enumerate(windows.to_dict("records")):
        for loss in losses.LOSSES:
            taken = int(spent[loss.name][place])
            if taken:
                yield {
                    "rank": window["rank"],
                    "step": window["step"],
                    "loss": loss.name,
                    "domain": loss.domain,
                    "duration_ns": taken,
                    "share": taken / int(end[place] - start[place]),
                    "evidence": _evidence(found, loss, is_alone=is_alone),
                    "confidence": found.confidence.get(loss.name),
                    "window_ns": int(end[place] - start[place]),
                    "lacks": found.lacks.get(loss.name),
                }


def _spent(found: _Rank, start: Ints, end: Ints) -> dict[str, Ints]:
    """Compute how much of each window each part takes, ns: what it adds to the union of those before it."""
    spent: dict[str, Ints] = {}
    before, union = np.zeros(len(start), dtype=np.int64), Union(nothing(), nothing())
    for loss in losses.LOSSES:
        if loss.name in found.spans:
            union = union.joined(*found.spans[loss.name])
        inside = union.inside(start, end)
        spent[loss.name] = inside - before
        before = inside
    spent[losses.UNKNOWN] = spent[losses.UNKNOWN] + (end - start) - before
    left = spent[losses.BELOW_PEAK]
    for name in _SPLIT[:2]:
        at, until = found.at_peak[name]
        took = until[np.searchsorted(at, end, "left")] - until[np.searchsorted(at, start, "left")]
        # Algorithms of fewer operations, or a peak that is stated too low, would take more than there is.
        spent[name] = np.minimum(np.rint(took).astype(np.int64), left)
        left = left - spent[name]
    return {**spent, losses.BELOW_PEAK: left}


def _evidence(found: _Rank, loss: losses.Loss, *, is_alone: bool) -> str | None:
    """Tell how a part is known; of a rank alone nobody knows how long its communication waits for others."""
    if loss.name in _SPLIT or (loss.name == losses.TRANSFER and is_alone):
        return _INFERRED
    return found.evidence.get(loss.name) if loss.domain == losses.ORCHESTRATION else _RECORDED
