"""How near operators come to the peaks of their device."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from tracegraph.queries.shapes.gpu.roofline import COMPUTE, MEMORY
from tracegraph.vocabulary.device_peaks import TF32, find_peaks
from tracegraph.vocabulary.gaps import UNKNOWN
from tracegraph.vocabulary.work_kinds import ON_MATRIX_UNITS
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Plot, Table, Words
from tracegraph.workbench.sections.section import GPU, Parameters, Scope, Section
from tracegraph.workbench.text.text import format_amount, format_share

_MOST_DRAWN, _MOST_LISTED = 300, 40
"""How many operators the plot draws and the table lists."""
_OUTSIDE = "work outside of operators"
_COLOURS = {COMPUTE: "#e8871e", MEMORY: "#4878a8", UNKNOWN: "note"}
_NAME = Column("name", "operator", "name")
_SHAPES, _DTYPE = Column("shapes", "shapes"), Column("dtype", "computes in")
_CALLS, _TIME = Column("calls", "calls", "count"), Column("gpu_ns", "GPU time", "duration")
_SHARES = (
    Column("compute_share", "of the compute peak", "share"),
    Column("memory_share", "of the bandwidth", "share"),
)
_INTENSITY = Column("intensity", "FLOPs a byte", "amount")
_RATE = Column("flop_per_s", "FLOP/s", "amount")
_BOUND = Column("bound", "bound by")
_LISTED = (
    Column("rank", "rank", "number", roomy=True),
    _NAME,
    Column("shapes", "shapes", roomy=True),
    Column("dtype", "computes in", roomy=True),
    _CALLS,
    _TIME,
    Column("flops", "FLOPs", "amount", roomy=True),
    Column("bytes", "bytes", "bytes", roomy=True),
    _INTENSITY,
    _RATE,
    *_SHARES,
    _BOUND,
)
_NOTE = (
    "FLOPs and bytes by the recorded shapes: each input read once and each result written once, so that "
    "caches can lift the share of the bandwidth above 100 %. Algorithms that multiply less, such as "
    "Winograd's, lift that of the compute peak."
)


def _content(findings: Findings) -> Sequence[Block]:
    rows = findings.answers.get("roofline")
    if rows is None:
        return []
    if rows.empty:
        return [Words("no GPU work was recorded, and no hardware counters: there is nothing to compare")]
    known = rows[rows["flops"].notna() & rows["gpu_ns"].notna()]
    if known.empty:
        return (
            [Words(_why_unknown(rows), "note"), _table(rows)]
            if rows["flops"].notna().any()
            else [Words(_why_unknown(rows), "note")]
        )
    drawn = known[(known["intensity"] > 0) & (known["flop_per_s"] > 0)].head(_MOST_DRAWN)
    blocks: list[Block] = [Words(_coverage(rows, known))]
    names = [str(name) for name in rows["device_name"].dropna().unique()]
    if rows["peak_bytes_per_s"].isna().all():
        device = f"the peaks of {', '.join(names)}" if names else "the device, which the file does not name,"
        blocks.append(Words(f"No roof is drawn: {device} {'are' if names else 'is'} not known.", "note"))
    if len(drawn):
        blocks.append(_plot(drawn))
    return [*blocks, _table(rows)]


def _why_unknown(rows: pd.DataFrame) -> str:
    if rows["evidence"].eq("recorded").any():
        return "Counters tell FLOPs, but the file holds no times of kernels, so that FLOP/s are unknown."
    if rows["shapes"].isna().all():
        return "No shapes were recorded: record with record_shapes=True to see FLOPs and bytes."
    return "Of no operator the FLOPs are known."


def _coverage(rows: pd.DataFrame, known: pd.DataFrame) -> str:
    total, told = int(rows["gpu_ns"].sum()), int(known["gpu_ns"].sum())
    listed = rows[rows["flops"].isna()].groupby("name", dropna=False, sort=False)["gpu_ns"].sum()
    largest = listed.sort_values(ascending=False).head(3)
    others = ", ".join(_OUTSIDE if pd.isna(name) else str(name) for name in largest.index)
    text = f"FLOPs are known of {format_share(told / max(total, 1))} of the GPU time"
    return f"{text}; most of the rest: {others}." if others else f"{text}."


def _table(rows: pd.DataFrame) -> Table:
    listed = rows.head(_MOST_LISTED)
    named = listed.assign(name=listed["name"].fillna(_OUTSIDE))
    return Table(named, _LISTED, "By GPU time:", _NOTE, long=True)


def _plot(drawn: pd.DataFrame) -> Plot:
    devices = sorted(set(drawn["device_name"].dropna()))
    on = f" on {', '.join(devices)}" if devices else ""
    return Plot(
        f"FLOP/s of each operator by its FLOPs a byte{on}; larger points take more GPU time",
        drawn.reset_index(drop=True),
        "points",
        _INTENSITY,
        _RATE,
        colour="bound",
        colours=_COLOURS,
        told=(_NAME, _SHAPES, _DTYPE, _CALLS, _TIME, *_SHARES),
        size="gpu_ns",
        roofs=dict(_roofs(drawn)),
        note="Left of the ridge of its roof an operator is bound by memory, right of it by arithmetic.",
    )


def _roofs(drawn: pd.DataFrame) -> Iterator[tuple[str, Sequence[tuple[float, float]]]]:
    """Yield a roof for each peak among the rows, as wide as the points: up along the bandwidth, then flat."""
    known = drawn[drawn["peak_flop_per_s"].notna() & drawn["peak_bytes_per_s"].notna()]
    left, right = float(drawn["intensity"].min()) / 2, float(drawn["intensity"].max()) * 2
    several = known["device_name"].nunique() > 1
    for (device, _), same in known.groupby(["device_name", "peak_flop_per_s"], sort=True):
        peak, bandwidth = float(same["peak_flop_per_s"].iloc[0]), float(same["peak_bytes_per_s"].iloc[0])
        name = f"{format_amount(peak)}FLOP/s ({_units(str(device), peak, same)})"
        yield f"{device}: {name}" if several else name, _corners(peak, bandwidth, left, right)


def _units(device: str, peak: float, same: pd.DataFrame) -> str:
    """Say what reaches a peak: types on matrix units, or what does not run on them."""
    products = same[same["work"].isin(ON_MATRIX_UNITS)]
    peaks = find_peaks(device)
    if peaks is not None and products["dtype"].eq("float32").all() and len(products):
        return TF32.upper() if peaks.flop_per_s.get(TF32) == peak else "float32"
    return ", ".join(sorted(set(products["dtype"]))) or "vector units"


def _corners(peak: float, bandwidth: float, left: float, right: float) -> Sequence[tuple[float, float]]:
    ridge = peak / bandwidth
    end = max(right, 2 * ridge)
    return [(min(left, ridge), min(left, ridge) * bandwidth), (ridge, peak), (end, peak)]


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    return {"roofline": scope.between} if scope.drawn else {}


SECTION = Section(133, "Roofline", _content, _asks, group=GPU)
