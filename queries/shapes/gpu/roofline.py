"""How close operators come to the peaks of their device: arithmetic intensity against FLOP/s."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.queries.shapes.frame_rows import records
from tracegraph.queries.shapes.peak.devices import ceilings, device_names, device_of
from tracegraph.vocabulary.device_peaks import find_peaks
from tracegraph.vocabulary.evidence import EVIDENCE
from tracegraph.vocabulary.gaps import UNKNOWN

COMPUTE, MEMORY, LINK = "compute", "memory", "link"
"""What bounds an operator: the device's arithmetic, its memory, or the link between host and device."""
_OVER_LINK = ("HtoD", "DtoH", "HostToDevice", "DeviceToHost")
"""Parts of the names of copies between host and device."""
ROOFLINE_COLUMNS = (
    Column("rank", "INTEGER", False, "rank of the process"),
    Column("name", "STRING", True, "name of the operator, null for work launched outside of operators"),
    Column("shapes", "STRING", True, "shapes of its inputs, null where they were not recorded"),
    Column("dtype", "STRING", True, "element type in which it computes"),
    Column("calls", "INTEGER", False, "number of calls, of counters that of ranges"),
    Column("gpu_ns", "INTEGER", True, "time of its GPU work, overlapping activities added, ns"),
    Column("flops", "FLOAT", True, "floating point operations, null where unknown"),
    Column("bytes", "FLOAT", True, "bytes moved, by shapes the least possible, null where unknown"),
    Column("intensity", "FLOAT", True, "FLOPs a byte"),
    Column("flop_per_s", "FLOAT", True, "FLOPs a second of its GPU time"),
    Column(
        "compute_share",
        "FLOAT",
        True,
        "share of the device's peak for that element type; algorithms of fewer operations lift it above 1",
    ),
    Column(
        "memory_share", "FLOAT", True, "bytes a second as share of the memory's peak; caches lift it above 1"
    ),
    Column("bound", "STRING", False, f"`{COMPUTE}`, `{MEMORY}`, `{LINK}` (host and device) or `{UNKNOWN}`"),
    Column(
        "evidence", "STRING", True, "`recorded`: counters; `inferred`: from shapes; null: nothing is known"
    ),
    Column("confidence", "FLOAT", True, "of counters, how sure it is whose they are, 0..1"),
    Column("work", "STRING", True, "kind of work"),
    Column("device", "INTEGER", True, "GPU index"),
    Column("device_name", "STRING", True, "name of the device, null where the file does not tell"),
    Column("peak_flop_per_s", "FLOAT", True, "the device's peak for that element type, FLOP/s"),
    Column("peak_bytes_per_s", "FLOAT", True, "peak of the device's memory, B/s"),
)
"""Columns of `roofline`.

The peak of float32 on tensor cores is that of TF32, the most that may have run.
"""


def roofline(
    _: Mapping[str, Any], work: pd.DataFrame, counted: pd.DataFrame, files: pd.DataFrame
) -> pd.DataFrame:
    """Join the rows of `operator_work` and `counted_work` with the peaks of the devices in `traces`.

    If there are counters of an operator, the row from its shapes is left out. The longest GPU time comes
    first.
    """
    counters = counted[counted["flops"].notna() | counted["bytes"].notna()]
    told = set(zip(counters["rank"], counters["name"], strict=True))
    keys = zip(work["rank"], work["name"], strict=True)
    by_shapes = work[[key not in told for key in keys]]
    names = device_names(files)
    rows = [
        *(_row(one, names, EVIDENCE[1] if one["work"] else None) for one in records(by_shapes)),
        *(_row({**one, "calls": one["count"]}, names, EVIDENCE[0]) for one in records(counters)),
    ]
    columns = [column.name for column in ROOFLINE_COLUMNS]
    return pd.DataFrame(rows, columns=columns)


def _row(one: Mapping[str, Any], names: Mapping[int, list[str]], evidence: str | None) -> dict[str, Any]:
    device = device_of(names.get(int(one["rank"]), []), one.get("device"))
    peaks = find_peaks(device)
    flops, moved, length = one["flops"], one["bytes"], one["gpu_ns"]
    dtype, work, over_link = (
        one.get("dtype"),
        one.get("work"),
        any(way in (one.get("copy") or "") for way in _OVER_LINK),
    )
    roofs = ceilings(peaks, dtype, work)
    peak = max(roofs, default=None)
    bandwidth = None if peaks is None else peaks.bytes_per_s
    intensity = _by(flops, moved)
    rate, traffic = _by(flops, length, 1e9), _by(moved, length, 1e9)
    return {
        **{
            name: one.get(name)
            for name in ("rank", "name", "shapes", "calls", "work", "device", "confidence")
        },
        "dtype": dtype,
        "gpu_ns": length,
        "flops": flops,
        "bytes": moved,
        "intensity": intensity,
        "flop_per_s": rate,
        "compute_share": _by(rate, peak),
        "memory_share": None if over_link else _by(traffic, bandwidth),
        "bound": LINK if over_link else bound_by(intensity, roofs, bandwidth),
        "evidence": evidence,
        "device_name": device,
        "peak_flop_per_s": peak,
        "peak_bytes_per_s": bandwidth,
    }


def bound_by(intensity: float | None, roofs: list[float], bandwidth: float | None) -> str:
    """Tell what bounds an operator by its side of the ridge; unknown if that is not recorded.

    `intensity` is in FLOPs a byte, `roofs` are the peaks that it may have run at, in FLOP/s, and
    `bandwidth` is that of the device's memory, in B/s.
    """
    if intensity == 0:
        return MEMORY
    if intensity is None or not roofs or bandwidth is None:
        return UNKNOWN
    sides = {COMPUTE if intensity >= peak / bandwidth else MEMORY for peak in roofs}
    return sides.pop() if len(sides) == 1 else UNKNOWN


def _by(value: float | None, divisor: float | None, times: float = 1.0) -> float | None:
    return None if value is None or not divisor else float(value) * times / divisor
