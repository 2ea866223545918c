"""Measures unrecorded time on the path by what it may be: Python, other code, a wait, idling."""

import pandas as pd

from tracegraph.vocabulary.categories import Role, labels_of
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.metrics import Measured, measured
from tracegraph.workbench.text.text import format_ns, format_share, plural

LEAST_NS, MOST = 1_000_000, 200
"""Which silences are asked for: from which length on, and how many of the longest. Between recorded calls
Python works for tens of microseconds without a row, which 1 ms is far above. The number bounds the answer:
silences beyond it are not counted."""
_WORKS, _IDLES = 0.5, 0.1
"""A GPU works in a silence from this share of it on; a lane idles below the second share. A half is the
majority; the tenth was chosen by eye, so that a lane with little work, such as a watchdog's, does not count
as active."""


def python(findings: Findings) -> Measured | None:
    """Share of the path in self time of annotations and in CPU time with no event open that may be Python.

    None where Python functions were recorded.
    """
    return None if _has_frames(findings) else _untraced(findings)


def code(findings: Findings) -> Measured | None:
    """Share of the path in self time of annotations and in CPU time with no event open that may be code.

    None where no Python function was recorded.
    """
    return _untraced(findings) if _has_frames(findings) else None


def beside_gpu(findings: Findings) -> Measured | None:
    """Share of the path in silences of a thread, of 1 ms or more, in which a GPU worked half of the time."""
    return _in_silences(findings, _beside_gpu(findings), "in which a GPU worked half of the time or more")


def idle(findings: Findings) -> Measured | None:
    """Share of the path in silences of a thread, of 1 ms or more, beside which hardly anything else ran."""
    where = f"in which GPUs and other threads worked less than {format_share(_IDLES)} of the time"
    return _in_silences(findings, _idle(findings), where)


def _untraced(findings: Findings) -> Measured:
    silences = findings.silences[_beside_gpu(findings) | _idle(findings)]
    left_out = findings.share(int(silences["duration_ns"].sum()))
    inside, outside = findings.untraced_share, max(0.0, findings.untraced_cpu_share - left_out)
    number = (
        f"{format_share(inside + outside)} of the path: {format_share(inside)} inside annotations, "
        f"{format_share(outside)} with no event open"
    )
    if left_out:
        number += f" (without {format_share(left_out)} in which the GPU worked or nothing ran)"
    return Measured(inside + outside, number)


def _in_silences(findings: Findings, chosen: "pd.Series[bool]", where: str) -> Measured | None:
    silences = findings.silences[chosen]
    count = f"in {plural(len(silences), 'silence')} of {format_ns(LEAST_NS)} or more {where}"
    return measured(findings, int(silences["duration_ns"].sum()), count)


def _beside_gpu(findings: Findings) -> "pd.Series[bool]":
    silences = findings.silences
    return silences["gpu_busy_ns"] >= _WORKS * silences["duration_ns"]


def _idle(findings: Findings) -> "pd.Series[bool]":
    silences = findings.silences
    busiest = silences[["gpu_busy_ns", "threads_busy_ns"]].max(axis=1)
    return busiest < _IDLES * silences["duration_ns"]


def _has_frames(findings: Findings) -> bool:
    return any(findings.details.nodes_by_label.get(label) for label in labels_of(Role.FRAME))
