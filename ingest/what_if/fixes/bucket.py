"""Other buckets of gradients: data-parallel ranks reduce them when they are full, by the fitted transfer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.base.gradient_buckets import FIRST_MB, USUAL_MB, Sized, fill_buckets, reduced_at
from tracegraph.base.least_squares import NOT_RISING, Line, fit_line, why_not_fitted
from tracegraph.base.units import short_ns
from tracegraph.ingest.arrays import Floats, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.what_if.changes.edit import Edit, no_edit
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene, made_in
from tracegraph.ingest.what_if.graph.bucket_passes import BucketPass, all_reduces, bucket_passes
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.transfers import transferring
from tracegraph.ingest.what_if.settings import Settings

_FILES = "buckets are those of DistributedDataParallel: give the files of a job that uses it"
_SIZES = (
    "record buckets of several sizes, as a small bucket_cap_mb has; tracegraph query ddp_bucket_sizes takes "
    "measurements of NCCL's tests, too"
)
_RANKS = "give the files of all ranks"
_ROUNDING_NS = 1
"""A bucket whose last gradient is ready so soon after another one is ready with it."""


@dataclass(frozen=True)
class _Buckets:
    """The recorded passes of a run, the fitted time of its all-reduces, and the time that each took, ns."""

    passes: Sequence[BucketPass]
    line: Line
    work: Ints

    @property
    def cost(self) -> tuple[float, float]:
        """Latency in ns, and ns a byte."""
        return max(self.line.alpha_ns, 0.0), self.line.slope_ns


def bucket(graph: ReplayGraph, size_mb: float) -> Edit:
    """Let gradients fill buckets of another size, MiB; each is reduced as the fit of the file's own says.

    Raises
    ------
    InputError
        If no buckets of known size are in the file, or if latency and bandwidth do not follow from them.
    """
    if not 0 < size_mb < float("inf"):
        raise InputError(f"{size_mb:g} is no size of a bucket", "give MiB, as bucket_cap_mb of DDP")
    return _rebucketed(graph, _read(graph), size_mb)


def _read(graph: ReplayGraph) -> _Buckets:
    passes = [] if graph.facts is None else list(bucket_passes(graph))
    if not passes:
        raise _no_buckets(graph)
    segments = graph.segments
    works = np.append(all_reduces(graph), False)[segments.event] & transferring(graph)
    work = np.bincount(segments.event[works], segments.work[works], len(graph.calls)).astype(np.int64)
    return _Buckets(passes, _fit(graph, passes, work), work)


def _no_buckets(graph: ReplayGraph) -> InputError:
    """Make the error about a run in which no gradients are reduced, as far as its files say."""
    reduced = np.flatnonzero(all_reduces(graph))
    if not len(reduced):
        return InputError("the run has no all-reduce, so there are no buckets to change", _FILES)
    unknown = len(reduced) if graph.facts is None else int((graph.facts().bytes[reduced] == NONE).sum())
    if unknown:
        return InputError(
            f"the files do not state the data of {unknown:,} of {len(reduced):,} all-reduces, so its buckets "
            "are not known",
            "record with PyTorch 2.2 or later, the calls that launch the kernels included",
        )
    return InputError(
        "no all-reduce of gradients begins in a backward pass: those of the run begin elsewhere, or forward "
        "passes reduce as much, as in tensor parallelism",
        _FILES,
    )


def _fit(graph: ReplayGraph, passes: Sequence[BucketPass], work: Ints) -> Line:
    """Fit the median time of each size, of all all-reduces in groups as large as that of the buckets."""
    assert graph.facts is not None  # there are sizes
    facts, reduced = graph.facts(), np.flatnonzero(all_reduces(graph))
    groups = facts.group_size[np.concatenate([one.event for one in passes])]
    reduced = reduced[(facts.bytes[reduced] > 0) & np.isin(facts.group_size[reduced], groups)]
    missing = (graph.rendezvous[reduced] == NONE).any() or groups.max() > len(np.unique(graph.lanes.rank))
    sizes, place = np.unique(facts.bytes[reduced], return_inverse=True)
    times = [np.percentile(work[reduced[place == k]], 50, method="inverted_cdf") for k in range(len(sizes))]
    refused = list(why_not_fitted(sizes.astype(np.float64), waits_inside=bool(missing)))
    line = None if refused else fit_line(sizes.astype(np.float64), np.maximum(times, 1).astype(np.float64))
    if line is None:
        said = " ".join(refused or [NOT_RISING]).rstrip(".")
        raise InputError(
            f"no other size of buckets is predicted without latency and bandwidth. {said}",
            f"{_RANKS}; {_SIZES}" if missing else _SIZES,
        )
    return line


def _rebucketed(graph: ReplayGraph, found: _Buckets, size_mb: float) -> Edit:
    """Let each recorded all-reduce take as much more or less as the model says of it."""
    factor = np.ones(len(graph.calls) + 1)
    for one in found.passes:
        recorded = np.maximum(found.work[one.event], 1)
        factor[one.event] = _works(graph, found, one, _shifts(found, one, size_mb)) / recorded
    works = transferring(graph)
    return replace(no_edit(len(graph.segments)), factor=np.where(works, factor[graph.segments.event], 1.0))


def _shifts(found: _Buckets, one: BucketPass, size_mb: float) -> Floats:
    """Compute how much later than recorded each all-reduce of a pass ends by the model, ns.

    A recorded all-reduce stands for all new buckets that are full by the time it could begin, and ends when
    the last of them does. NaN where no bucket is full since the one before: it has nothing to reduce.
    """
    buckets = fill_buckets(one.gradients, FIRST_MB, size_mb)
    new, old = (list(reduced_at(some, *found.cost)) for some in (buckets, _as_recorded(one)))
    last = np.searchsorted([at for _, at in buckets], np.array(one.ready) + _ROUNDING_NS, "right") - 1
    last[-1] = len(new) - 1
    stands = np.diff(last, prepend=-1) > 0
    return np.where(stands, np.array(new)[last] - np.array(old), np.nan)


def _works(graph: ReplayGraph, found: _Buckets, one: BucketPass, shifts: Floats) -> Floats:
    """Compute how long each all-reduce of a pass then takes, ns, so that it ends as much later as it should.

    It begins as recorded, but where it stood behind another one on its thread or stream, or now does: then it
    begins when that one is done.
    """
    calls, works, done = graph.calls, np.zeros(len(shifts)), dict[int, tuple[float, float]]()
    since = np.maximum(graph.rendezvous[one.event], calls.start[one.event]).astype(np.float64)
    for place, event in enumerate(one.event.tolist()):
        before, free = done.get(int(calls.lane[event]), (-np.inf, -np.inf))
        ready = one.ready[place] if one.ready[place] < before else since[place]
        later = max(ready, free) - max(ready, before)
        if not np.isnan(shifts[place]):
            works[place] = max(float(found.work[event]) + shifts[place] - later, 0.0)
        end = float(calls.end[event])
        done[int(calls.lane[event])] = end, end + later + works[place] - float(found.work[event])
    return works


def _as_recorded(one: BucketPass) -> Sized:
    return list(zip(one.sizes, one.ready, strict=True))


def _best(found: _Buckets) -> float | None:
    """Find the usual size with which reducing ends earliest, MiB; None if it does so as recorded."""
    ends = [_ends(found, [_as_recorded(one) for one in found.passes])]
    for size_mb in USUAL_MB:
        ends.append(_ends(found, [fill_buckets(one.gradients, FIRST_MB, size_mb) for one in found.passes]))
    best = int(np.argmin(ends))
    return USUAL_MB[best - 1] if best else None


def _ends(found: _Buckets, passes: list[Sized]) -> float:
    """Sum up when reducing ends in each pass, ns."""
    return sum(max(reduced_at(buckets, *found.cost)) for buckets in passes)


def _find(scene: Scene) -> Iterator[Candidate]:
    """Yield the best of the usual sizes, where a fit is possible and all-reduces are on the path."""
    graph = scene.graph
    if graph.facts is None or not len(graph.phases):
        return
    on_path = np.append(all_reduces(graph), False)[graph.segments.event]
    spent = int(scene.on_path_ns[on_path].sum())
    if spent < max(scene.least_ns, 1):
        return
    try:
        found = _read(graph)
    except InputError:
        return
    size_mb = _best(found)
    if size_mb is None:
        return
    count = sum(len(one.event) for one in found.passes)
    even = not all(one.is_recorded for one in found.passes)
    yield Candidate(
        selector=f"{size_mb:g} MiB",
        options=(f"--{FIX.name}", f"{size_mb:g}"),
        change=made_in(graph, _rebucketed(graph, found, size_mb)),
        evidence=f"{count:,} all-reduces in {len(found.passes):,} backward passes, {short_ns(spent)} of the "
        f"path; each takes {short_ns(round(found.cost[0]))} before it moves anything, then moves "
        f"{found.line.bytes_per_s / 1e9:.3g} GB/s",
        assumptions=("gradients come evenly between recorded buckets",) if even else (),
    )


def _edit(graph: ReplayGraph, chosen: object, settings: Settings) -> Edit:
    return bucket(graph, settings.number)


FIX = Fix(
    name="bucket",
    title="Send gradients in buckets of another size",
    recognised="all-reduces of known size in backward passes, some of them on the path, of four sizes or "
    "more that differ 16-fold, with the files of all ranks",
    replayed="gradients fill buckets of this size (MiB), each of which is reduced once it is full and the "
    "one before is done, in the latency and bandwidth fitted to the file's own",
    how="DistributedDataParallel(bucket_cap_mb=…)",
    refuted_by="a size outside of the fitted ones, or cores that gloo's threads share with the job",
    assumptions=(
        "a bucket takes the fitted latency and bandwidth, also where its size was not recorded",
        "DDP closes the first bucket at 1 MiB, and the calls that hand buckets over take as long as before",
    ),
    find=_find,
    asked="with gradients in buckets of {} MiB",
    edit=_edit,
    unit="MB",
    instead_of=("coalesce",),
)
