"""What kernels compute: on tensor cores or not, in which type, in which size, and what bounds them."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tracegraph.queries.shapes.frame_rows import records
from tracegraph.queries.shapes.gpu.roofline import MEMORY, bound_by
from tracegraph.queries.shapes.peak import checks
from tracegraph.queries.shapes.peak.checks import PeakCheck, Untold, Value
from tracegraph.queries.shapes.peak.devices import ceilings
from tracegraph.queries.shapes.peak.missing_inputs import KNOWN_ENOUGH
from tracegraph.queries.shapes.peak.products import Devices
from tracegraph.vocabulary.device_peaks import TF32, Peaks, find_peaks, has_tensor_cores
from tracegraph.vocabulary.kernel_types import ON_TENSOR_CORES, PLAIN_FLOAT32
from tracegraph.vocabulary.work_kinds import ON_MATRIX_UNITS

Row = Mapping[str, Any]
_PLAIN, _SMALL_NS, _NS_PER_S = "float32", 10_000, 1e9
_NO_SHAPES = "Operators, or the shapes of their inputs, are not in the file: record with record_shapes=True."
_NO_NAME = "The file does not name the GPU, so nobody can tell whether it has tensor cores: give --device."
_NO_PEAK = "The peak of the GPU is not known here: give --device, or --peak in TFLOP/s."
_BY_NAMES = "By the names of kernels; the file does not tell the types of operators."
_UNNAMED = "At least, as kernels of Triton and of your own may use them without saying so in their names."
_AT_LEAST = "At least, as FLOPs and bytes of some of the computing time are not known."


def of_computing(work: pd.DataFrame, devices: Devices) -> dict[PeakCheck, Value | Untold]:
    """Measure what GPUs compute, by its time, from the rows of `computing_work`; all ranks together."""
    work = work.assign(
        on_cores=work["name"].map(lambda one: ON_TENSOR_CORES.search(one) is not None).astype(bool),
        is_product=work["work"].isin(ON_MATRIX_UNITS),
        peaks=pd.Series([_peaks(devices, row) for row in records(work)], index=work.index, dtype=object),
    )
    return {
        checks.TENSOR_CORES: _lacks_cores(work) or _on_cores(work),
        checks.FLOAT32: _lacks_cores(work) or _in_float32(work),
        checks.SMALL: _small(work, devices),
        checks.MEMORY_BOUND: _by_memory(work),
    }


def _peaks(devices: Devices, row: Row) -> Peaks | None:
    return find_peaks(devices.name_of(row["rank"], row["device"]))


def _share(work: pd.DataFrame, chosen: "pd.Series[bool]") -> float:
    return float(work.loc[chosen, "gpu_ns"].sum() / max(1, work["gpu_ns"].sum()))


def _lacks_cores(work: pd.DataFrame) -> Untold | None:
    """Tell why nothing can be said of tensor cores: nobody knows of any, or there are none."""
    if work["on_cores"].any():
        return None
    known = [one for one in work["peaks"] if one is not None]
    if not known:
        return Untold(_NO_NAME)
    return None if any(has_tensor_cores(one) for one in known) else Untold("The GPU has no tensor cores.")


def _on_cores(work: pd.DataFrame) -> Value:
    share = _share(work, work["on_cores"])
    return Value(share, _UNNAMED, _advice(work, checks.TENSOR_CORES))


def _advice(work: pd.DataFrame, check: PeakCheck) -> str | None:
    """Return what is advised on devices none of which computes in TF32; None if one does or none is known."""
    known = [one for one in work["peaks"] if one is not None]
    return checks.IN_16_BITS[check] if known and not any(TF32 in one.flop_per_s for one in known) else None


def _in_float32(work: pd.DataFrame) -> Value | Untold:
    """Measure products in float32 on plain units, by the types of operators, else by the names of kernels."""
    typed = work["is_product"] & work["dtype"].notna()
    named = ~typed & work["name"].map(lambda one: PLAIN_FLOAT32.search(one) is not None).astype(bool)
    if not typed.any() and not named.any():
        return Untold(_NO_SHAPES)
    plain = named | (typed & work["dtype"].eq(_PLAIN))
    note = None if typed.any() else _BY_NAMES
    return Value(_share(work, plain & ~work["on_cores"]), note, _advice(work, checks.FLOAT32))


def _small(work: pd.DataFrame, devices: Devices) -> Value | Untold:
    """Measure the time of products whose FLOPs the peak does in less than `_SMALL_NS`."""
    known = work[work["is_product"] & work["flops"].notna()]
    if known.empty:
        return Untold(_NO_SHAPES)
    peaks = [devices.peak_of(row["rank"], row["device"], row["dtype"]) for row in records(known)]
    rated = known.assign(peak=pd.Series(peaks, index=known.index, dtype=float)).dropna(subset="peak")
    if rated.empty:
        return Untold(_NO_PEAK)
    return Value(_share(rated, rated["flops"].astype(float) / rated["peak"] * _NS_PER_S < _SMALL_NS))


def _by_memory(work: pd.DataFrame) -> Value | Untold:
    """Measure the time of operators that the memory bounds, by their FLOPs a byte and the device's peaks."""
    known = work["flops"].notna() & work["bytes"].fillna(0).gt(0)
    if not known.any():
        return Untold(_NO_SHAPES)
    if work["peaks"].isna().all():
        return Untold("The peaks of the GPU are not known here: give --device.")
    bounds = [_bound(row) if one else None for row, one in zip(records(work), known, strict=True)]
    share = _share(work, pd.Series(bounds, index=work.index, dtype=object).eq(MEMORY))
    return Value(share, None if _share(work, known) >= KNOWN_ENOUGH else _AT_LEAST)


def _bound(row: Row) -> str:
    peaks: Peaks | None = row["peaks"]
    bandwidth = None if peaks is None else peaks.bytes_per_s
    roofs = ceilings(peaks, row["dtype"], row["work"])
    return bound_by(float(row["flops"]) / float(row["bytes"]), roofs, bandwidth)
