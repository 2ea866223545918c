"""Lower precision: products of float32 on devices with faster units for shorter element types."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tracegraph.base.units import short_ns
from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.what_if.changes.edit import Edit, no_edit
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene, made_in
from tracegraph.ingest.what_if.graph.facts import WorkFacts
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.settings import Settings
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.device_peaks import TF32, Peaks, find_peaks
from tracegraph.vocabulary.work_kinds import ON_MATRIX_UNITS

_PLAIN, _ELEMENT_BYTES = "float32", 4
_SHORT = {"tf32": (TF32,), "bf16": ("bfloat16", "float16")}
"""Element types that count as each of the two shorter types, by the names of these in commands."""
_BYTES = {"tf32": 4, "bf16": 2}
# FLOPs from which on a product is large enough to show the rate that a device reaches.
_ENOUGH_FLOPS, _NS_PER_S = 1_000_000_000, 1e9
_SELECTOR = "category=kernel"
_IN_FLOAT16 = (
    'torch.autocast("cuda", dtype=torch.float16) with torch.amp.GradScaler: this device has no bfloat16, '
    "and bf16 in the command stands for both types of 16 bits"
)


@dataclass(frozen=True)
class _Products:
    """GPU segments that are one float32 product each, with their work, and what their device can do."""

    segment: Ints
    flops: Floats
    moved_bytes: Floats
    peaks: Peaks


def _products(graph: ReplayGraph) -> _Products | None:
    """Find the float32 products; None without shapes, without products, or if the peaks are not known."""
    facts = graph.facts() if graph.facts is not None else None
    if facts is None:
        return None
    peaks = _peaks(graph, facts)
    if peaks is None:
        return None
    segment = np.flatnonzero(_matrix_work(graph, facts, (_PLAIN,)))
    operator = facts.operator[graph.segments.event[segment]]
    # The work of an operator is divided among its kernels in proportion to their times.
    work = graph.segments.work[segment].astype(float)
    total = np.bincount(operator, work, len(facts.flops))[operator]
    share = work / np.maximum(total, 1)
    moved = np.where(facts.moved_bytes[operator] == NONE, 0, facts.moved_bytes[operator])
    found = _Products(segment, facts.flops[operator] * share, moved * share, peaks)
    return found if len(segment) else None


def _matrix_work(graph: ReplayGraph, facts: WorkFacts, types: tuple[str, ...]) -> Flags:
    """Flag the kernels of products that compute in one of some element types."""
    segments = graph.segments
    operator = np.append(facts.operator, -1)[segments.event]
    kernels = np.append(graph.calls.of_role(Role.KERNEL), False)[segments.event] & ~segments.on_thread
    kind = np.append(facts.kind.among(*ON_MATRIX_UNITS) & facts.dtype.among(*types), False)
    known = np.append(facts.flops >= _ENOUGH_FLOPS / 1000, False)
    chosen: Flags = kernels & (operator >= 0) & (kind & known)[operator]
    return chosen


def _peaks(graph: ReplayGraph, facts: WorkFacts) -> Peaks | None:
    """Find the peaks of the devices that the files name, if all have the same."""
    names = {name for devices in facts.devices.values() for name in devices}
    found = {peaks.pattern: peaks for peaks in map(find_peaks, names) if peaks is not None}
    return next(iter(found.values())) if len(found) == 1 else None


def _rate(graph: ReplayGraph, kind: str, peaks: Peaks) -> float | None:
    """Measure the FLOP/s of the file's own large products in a shorter type; None if it has none."""
    assert graph.facts is not None  # there are products
    facts = graph.facts()
    mine = np.flatnonzero(_matrix_work(graph, facts, _SHORT[kind]))
    operator = facts.operator[graph.segments.event[mine]]
    large = facts.flops[operator] >= _ENOUGH_FLOPS
    spent = int(graph.segments.work[mine[large]].sum())
    distinct = np.unique(operator[large])
    return float(facts.flops[distinct].sum()) / spent * _NS_PER_S if spent else None


def in_precision(kind: str, graph: ReplayGraph, chosen: Flags) -> Edit:
    """Let chosen float32 products take the time of a shorter type, by the file's rate, else by the peaks.

    No product gets longer, nor shorter than the transfer of its data takes. A product that is faster than
    float32 units can be runs on TF32 units already: its gain counts from their peak.
    """
    edit, found = no_edit(len(graph.segments)), _products(graph)
    if found is None or (plain := found.peaks.flop_per_s.get(_PLAIN)) is None:
        return edit
    short = max((found.peaks.flop_per_s.get(one, 0.0) for one in _SHORT[kind]), default=0.0)
    work = graph.segments.work[found.segment].astype(float)
    reached = found.flops / np.maximum(work, 1) * _NS_PER_S
    on_fast_units = (reached > plain) | _says_tf32(graph, found.segment)
    now = np.where(on_fast_units, found.peaks.flop_per_s.get(TF32, plain), plain)
    own = _rate(graph, kind, found.peaks)
    later = found.flops / own * _NS_PER_S if own else work * now / max(short, 1.0)
    if found.peaks.bytes_per_s:
        moved = found.moved_bytes * _BYTES[kind] / _ELEMENT_BYTES
        later = np.maximum(later, moved / found.peaks.bytes_per_s * _NS_PER_S)
    mine = (chosen[found.segment]) & (short > now) & (work > 0)
    factor = edit.factor.copy()
    factor[found.segment[mine]] = np.minimum(1.0, later[mine] / work[mine])
    return replace(edit, factor=factor)


def _says_tf32(graph: ReplayGraph, segment: Ints) -> Flags:
    """Flag kernels whose name says that they compute in TF32."""
    names = np.array([TF32 in str(one).lower() for one in graph.calls.name.values])
    return names[graph.calls.name.codes[graph.segments.event[segment]]]


def _find(kind: str, scene: Scene) -> Iterator[Candidate]:
    """Yield all float32 products of the run together."""
    graph = scene.graph
    found = _products(graph)
    if found is None or scene.on_path_ns[found.segment].sum() < scene.least_ns:
        return
    everything = np.ones(len(graph.segments), dtype=bool)
    edit = in_precision(kind, graph, everything)
    mine = found.segment[edit.factor[found.segment] < 1]
    spent = int(graph.segments.work[mine].sum())
    if spent < scene.least_ns:
        return
    own = _rate(graph, kind, found.peaks)
    by = "the rate of the file's own products in it" if own else f"the peaks of {found.peaks.source}"
    half = replace(edit, factor=np.where(edit.factor < 1, np.minimum(1.0, 2 * edit.factor), edit.factor))
    only_half = kind != "tf32" and "bfloat16" not in found.peaks.flop_per_s
    yield Candidate(
        selector=_SELECTOR,
        options=("--precision", kind, _SELECTOR),
        change=made_in(graph, edit),
        evidence=f"{len(mine):,} kernels of float32 products take {short_ns(spent)} of GPU time; by {by}",
        assumptions=()
        if own
        else ("at most: products reach as much of the higher peak as now of the lower; half of it at least",),
        title="Compute in float16" if only_half else None,
        how=_IN_FLOAT16 if only_half else None,
        least=None if own else made_in(graph, half),
    )


def _edit(kind: str, graph: ReplayGraph, chosen: Flags, settings: Settings) -> Edit:
    return in_precision(kind, graph, chosen)


def _fix(kind: str, title: str, how: str) -> Fix:
    return Fix(
        name=kind,
        title=title,
        recognised="kernels of matrix products, convolutions and attention in float32, by the shapes and "
        "types of their operators, on a device that is faster in the shorter type",
        replayed="each takes as long as the file's own products in that type do, else as the peaks say, and "
        "as long as what it moves at least",
        how=how,
        refuted_by="a loss that differs too much, or products that are too small for the faster units",
        assumptions=("the result may be rounded more",),
        find=partial(_find, kind),
        asked="with the float32 products of {} in " + kind,
        edit=partial(_edit, kind),
        option=("--precision", kind),
        instead_of=tuple(other for other in _SHORT if other != kind),
    )


TF32_FIX = _fix(
    "tf32",
    "Let float32 products run in TF32",
    'torch.set_float32_matmul_precision("high"), torch.backends.cudnn.allow_tf32 = True',
)
BF16_FIX = _fix(
    "bf16", "Compute in bfloat16", 'torch.autocast("cuda", dtype=torch.bfloat16), or model.bfloat16()'
)
