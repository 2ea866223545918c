"""The checklist of a low share of the peak: each check with its value, or with what to record for it."""

import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.peak import checks, losses
from tracegraph.queries.shapes.peak.checks import CHECKS, LOST, Untold, Value, judged
from tracegraph.queries.shapes.peak.computing import of_computing
from tracegraph.queries.shapes.peak.job import stated_job
from tracegraph.queries.shapes.peak.products import devices_of, run_again
from tracegraph.queries.shapes.peak.shares import peak_losses
from tracegraph.vocabulary.kernel_types import COMMUNICATION

CHECK_COLUMNS = (
    Column("check", "STRING", False, "what is checked"),
    Column("state", "STRING", False, f"`{checks.OK}`, `{checks.FAILED}` or `{checks.NOT_JUDGED}`"),
    Column("value", "FLOAT", True, "the share that was measured, null where it cannot be told, 0..1"),
    Column("threshold", "FLOAT", False, "the most that it may be, or the least if `is_floor`, 0..1"),
    Column("is_floor", "BOOLEAN", False, "whether it fails below its threshold"),
    Column("what", "STRING", False, "of what it is a share, and of which part"),
    Column(
        "note", "STRING", True, "what must be known to read it, or what to record where it cannot be told"
    ),
    Column("advice", "STRING", True, "what to do; null unless it failed"),
)
"""Columns of `mfu_checklist`."""
_UNSEEN = (losses.UNRECORDED, losses.UNKNOWN)


def mfu_checklist(
    values: Values,
    work: pd.DataFrame,
    idle: pd.DataFrame,
    calls: pd.DataFrame,
    steps: pd.DataFrame,
    files: pd.DataFrame,
    computing: pd.DataFrame,
) -> pd.DataFrame:
    """Judge each check over all ranks and steps that are asked for.

    The rows are those of `peak_losses`' modules and of `computing_work`. Without GPU work there are no rows.
    """
    parts = peak_losses(values, work, idle, calls, steps, files)
    found = {
        **of_computing(computing, devices_of(files, stated_job(values))),
        checks.RECOMPUTATION: _again(calls),
        **_of_losses(parts, talks=bool(work["what"].eq(COMMUNICATION).any()), is_alone=len(files) == 1),
    }
    rows = [judged(check, found[check]) for check in CHECKS] if len(parts) else []
    return pd.DataFrame(rows, columns=[column.name for column in CHECK_COLUMNS])


def _again(calls: pd.DataFrame) -> Value | Untold:
    """Compute which share of the FLOPs ran once more."""
    flops = calls["flops"].map(sum).astype(float)
    if not flops.sum():
        return Untold("The FLOPs of no product are known: record with record_shapes=True.")
    return Value(float(flops[run_again(calls)].sum() / flops.sum()))


def _of_losses(parts: pd.DataFrame, *, talks: bool, is_alone: bool) -> dict[checks.PeakCheck, Value | Untold]:
    """Compute the shares of all windows; idle time whose cause is not known leaves some of them open."""
    whole = max(1, int(parts.drop_duplicates(["rank", "step"])["window_ns"].sum()))
    spent = parts.groupby("loss")["duration_ns"].sum() / whole
    unseen = float(sum(spent.get(name, 0.0) for name in _UNSEEN))
    found: dict[checks.PeakCheck, Value | Untold] = {}
    for check in LOST:
        share = float(spent.get(check.loss, 0.0))
        is_idle = losses.DOMAIN_OF[check.loss] == losses.ORCHESTRATION
        if check.loss == losses.RANKS and talks and is_alone:
            found[check] = Untold("Whether communication waits needs the files of all ranks.")
        elif is_idle and share <= check.threshold < share + unseen:
            found[check] = Untold(
                "The GPUs are idle for longer than that, and what goes on meanwhile is not in the file: "
                "record the CPU's activities, with_stack=True, too."
            )
        else:
            found[check] = Value(share)
    return found
