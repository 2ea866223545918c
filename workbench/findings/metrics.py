"""The measures behind the recommendations: each a share and the sentence that states it."""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracegraph.ingest.intervals import Spans, covered
from tracegraph.queries.shapes.category_roles import of_role
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.gaps import (
    BUSY_GPU,
    CPU_TURN,
    LAUNCH_LATENCY,
    NOT_IN_FILE,
    UNKNOWN,
    UNRECORDED_GRAPH,
    WAITING_FOR_GIL,
    WAITING_FOR_RANK,
    WAITING_FOR_THREAD,
)
from tracegraph.vocabulary.lane_kinds import STREAM
from tracegraph.vocabulary.mechanisms import COLLECTIVE
from tracegraph.workbench.findings.contradictions import contradiction, doubt_of_cpu
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.first_fix import named_part
from tracegraph.workbench.findings.gpu_use import IDLE, WAITING, gpu_shares, gpu_use
from tracegraph.workbench.findings.mixed_ranks import mixed_share
from tracegraph.workbench.findings.stragglers import compare_ranks
from tracegraph.workbench.findings.topics import COMMUNICATION, DATA_LOADING
from tracegraph.workbench.text.names import readable
from tracegraph.workbench.text.text import format_ns, format_share, plural

_ALLOCATION = re.compile(
    r"^(cuda|hip)(Malloc|Free|HostAlloc|HostFree)|^cuMem(Alloc|Free|Create|Map)", re.IGNORECASE
)
_LAUNCH = re.compile(r"launch", re.IGNORECASE)
_GRAPH = "GraphLaunch"
_NOT_IDLE, _MUCH_UNKNOWN = 0.5, 0.3
"""Shares, 0..1, from which on the file says too little.

`idle_gpu` says nothing if the unrecorded share of the path is `_NOT_IDLE` of the idle share: the GPU may have
run work without rows. `cpu_or_gpu` speaks if `_MUCH_UNKNOWN` of the path has no explanation. Both were chosen
by eye. `_MUCH_UNKNOWN` is where a verdict doubts itself, too (`_DOUBT`); larger ones would blame a GPU for
idling, or the CPU for its work, that may have waited.
"""
_SLOW_LAUNCH_NS = 1_000_000
"""A launching call of 1 ms or more is slow: it blocks, or loads code, rather than only queueing work. Of
22,000 launches of kernels in eleven recorded files the median took 3 to 11 µs, and 99 of 100 took less than
40 µs in every file with a hundred of them; but six took over 100 µs, five of them 1 ms or more."""
_MANY_RETURNS, _FEW_RETURNS, _RETURNS_PART = 1_000, 10, 0.2
"""Returns to the CPU that trigger `synchronization` at any share: this many; or a few, if they are a fifth of
the changes of lane. All were chosen by eye: fewer would advise against `.item()` in programs that read one
loss a step."""


@dataclass(frozen=True)
class Measured:
    """What a rule compares.

    `share`: 0..1. `number`: the sentence that states it. `triggers`: the rule applies even below its
    threshold.
    """

    share: float
    number: str
    triggers: bool = False


def mixed_ranks(findings: Findings) -> Measured | None:
    """Share of the GPU's work that may be of another rank than it seems."""
    share = mixed_share(findings)
    message = "work of several processes is mixed, and nothing proves whose is whose"
    return Measured(share, message) if share else None


def named_work(findings: Findings) -> Measured | None:
    """Share of the path inside the part of the code whose removal would gain most, in a report on a run."""
    row = None if findings.part or contradiction(findings) else named_part(findings)
    if row is None:
        return None
    where = f"inside {readable([row['name']])[row['name']]}"
    where += "" if findings.gpu.empty else ", GPU work launched there included"
    found = measured(findings, int(row["path_ns"]), where)
    gain = f"without it {format_ns(row['gain_ns'])} of {format_ns(row['base_ns'])} would go"
    return found and Measured(found.share, f"{found.number}; {gain}")


def data_loading(findings: Findings) -> Measured | None:
    """Share of the path in the DataLoader, with all that runs inside it."""
    return _about(findings, DATA_LOADING, "inside the DataLoader")


def communication(findings: Findings) -> Measured | None:
    """Share of the path in collectives and their calls, with all that runs inside them."""
    return _about(findings, COMMUNICATION, "in collectives and their calls")


def allocation(findings: Findings) -> Measured | None:
    """Share of the path in calls that allocate or free memory."""
    codes, names = pd.factorize(findings.path["name"])
    allocates = np.array([bool(_ALLOCATION.search(str(name))) for name in names], dtype=bool)
    spent = int(findings.durations[allocates[codes]].sum())
    return measured(findings, spent, "in calls that allocate or free memory")


def synchronization(findings: Findings) -> Measured | None:
    """Share of the path in calls that waited for the GPU and in the launch latency that follows them.

    The CPU time after a wait is only stated: how much of it a removed wait would hide is not measurable.
    Many returns trigger whatever the share.
    """
    on_gpu, path = _on_gpu(findings), findings.path
    moved = on_gpu.ne(on_gpu.shift(fill_value=bool(on_gpu.iloc[0])))
    of_ranks = path["mechanism"].eq(COLLECTIVE)
    waited = ~on_gpu & path["dependency"].eq("SYNCHRONIZATION") & ~of_ranks
    count = int((moved & waited).sum())
    if not count:
        return None
    block = moved.cumsum()
    after = block[moved & waited]
    latency = block.isin(after + 1) & _is_latency(findings)
    share = findings.share(int(findings.durations[waited | latency].sum()))
    most = findings.share(int(findings.durations[block.isin(after)].sum()))
    part = count / int(path["lane"].ne(path["lane"].shift()).iloc[1:].sum())
    number = (
        f"{format_share(share)} of the path in waits for the GPU and {LAUNCH_LATENCY} after them; "
        f"{plural(count, 'return')} to the CPU, {format_share(part)} of the changes of lane "
        f"(enough: {_MANY_RETURNS:,}, or {_FEW_RETURNS} that are {format_share(_RETURNS_PART)}); "
        f"at most {format_share(most)} of the path runs on the CPU after a wait"
    )
    many = count >= _MANY_RETURNS or (count >= _FEW_RETURNS and part >= _RETURNS_PART)
    return Measured(share, number, triggers=many)


def launch_overhead(findings: Findings) -> Measured | None:
    """Share of the path in launching calls and launch latency, but for slow launches."""
    calls, slow = _launching(findings)
    spent = int(findings.durations[calls & ~slow | _is_latency(findings)].sum())
    kernels = findings.durations[of_role(findings.path["category"], Role.KERNEL)]
    where = f"in launching calls and {LAUNCH_LATENCY}"
    if len(kernels):
        median = format_ns(kernels.median())
        where += f" ({plural(len(kernels), 'kernel')} on it, half of them shorter than {median})"
    return measured(findings, spent, where)


def slow_launches(findings: Findings) -> Measured | None:
    """Share of the path in launching calls of 1 ms or more, those of graphs apart."""
    calls, slow = _launching(findings)
    every = plural(int(calls.sum()), "launching call")
    where = f"in {slow.sum():,} of {every}, {format_ns(_SLOW_LAUNCH_NS)} or more each"
    return measured(findings, int(findings.durations[slow].sum()), where)


def thread_hand_over(findings: Findings) -> Measured | None:
    """Share of the path in waits of one thread for another, those for the GIL named with their confidence."""
    path = findings.path
    gil = findings.is_gap & path["name"].eq(WAITING_FOR_GIL)
    waits = gil | findings.is_gap & path["name"].eq(WAITING_FOR_THREAD)
    count = int(path["dependency"].eq("CROSS_THREAD").sum())
    where = f"in waits between threads ({plural(count, 'row')} after a hand-over)"
    held = findings.durations[gil]
    total = int(held.sum())
    if total:
        confidence = format_share(float((path["confidence"][gil] * held).sum()) / total)
        share = format_share(findings.share(total))
        where += f"; {share} for the GIL, inferred with a confidence of {confidence}"
    return measured(findings, int(findings.durations[waits].sum()), where)


def straggler(findings: Findings) -> Measured | None:
    """Share of the window in which each other rank waits for the late one, if the path leads through it."""
    ranks = compare_ranks(findings)
    late = next((one for one in ranks.stragglers if one.on_path), None) if ranks else None
    if late is None:
        return None
    each_ns = late.caused_ns / (findings.details.ranks - 1)
    share = findings.share(each_ns)
    number = (
        f"{format_share(share)} of the window ({format_ns(each_ns)}) each other rank waits for "
        f"rank {late.rank}, in the mean; it comes last to {late.last:,} of "
        f"{plural(late.operations, 'operation')}"
    )
    return Measured(share, number)


def rank_waits(findings: Findings) -> Measured | None:
    """Share of the path in collectives before all ranks took part."""
    return _in_gaps(findings, WAITING_FOR_RANK)


def unrecorded_graphs(findings: Findings) -> Measured | None:
    """Share of the path in which graph launches ran kernels that the file does not hold."""
    return _in_gaps(findings, UNRECORDED_GRAPH)


def missing_work(findings: Findings) -> Measured | None:
    """Share of the path in work that the file does not hold, but for that of graphs."""
    parts = {name: share for name, share in findings.unrecorded.items() if name != UNRECORDED_GRAPH}
    spent = sum(findings.by_gap_ns[name] for name in parts)
    return measured(findings, spent, f"in gaps named {' or '.join(parts)}")


def cpu_turns(findings: Findings) -> Measured | None:
    """Share of the path in which a thread was ready to run, but the system ran another one."""
    return _in_gaps(findings, CPU_TURN)


def busy_gpu(findings: Findings) -> Measured | None:
    """Share of the path in which work could have started, but its GPU ran other work."""
    return _in_gaps(findings, BUSY_GPU)


def idle_gpu(findings: Findings) -> Measured | None:
    """Share of the window in which the GPUs run nothing, or only kernels that wait for other ranks.

    None where much of it may be work without rows.
    """
    shares = gpu_shares(findings)
    if shares is None:
        return None
    idle = shares[IDLE] + shares[WAITING]
    if findings.unrecorded_share >= _NOT_IDLE * idle:
        return None
    return Measured(idle, f"{format_share(idle)} of the window: the GPU is {gpu_use(findings)}")


def cpu_bound(findings: Findings) -> Measured | None:
    """Share of the path on CPU threads, in a run that uses a GPU; None where the GPU may be the reason."""
    if findings.gpu.empty or doubt_of_cpu(findings):
        return None
    nobody_s = findings.is_gap & findings.path["name"].isin([UNKNOWN, *NOT_IN_FILE])
    on_threads = ~_on_gpu(findings) & ~nobody_s
    return measured(findings, int(findings.durations[on_threads].sum()), "on CPU threads")


def cpu_or_gpu(findings: Findings) -> Measured | None:
    """Share of the window in which a GPU works beside threads whose work it may explain."""
    doubt = contradiction(findings)
    if doubt is None:
        return _unknown_beside_gpu(findings)
    number = f"{format_share(doubt.busy)} of the window: a GPU works"
    if doubt.gain_ns is not None:
        name, gain = readable([doubt.name])[doubt.name], format_ns(doubt.gain_ns)
        number += f"; without {name} the run would be {gain} shorter"
    return Measured(doubt.busy, number)


def _unknown_beside_gpu(findings: Findings) -> Measured | None:
    """Measure the same if threads do what may be work or a wait for much of the path."""
    busy, unknown = findings.gpu_working_share, findings.is_gap & findings.path["name"].eq(UNKNOWN)
    share = findings.share(int(findings.durations[unknown & ~_on_gpu(findings)].sum()))
    if busy is None or share < _MUCH_UNKNOWN:
        return None
    number = f"{format_share(busy)} of the window: a GPU works; what threads do in {format_share(share)} of "
    return Measured(busy, f"{number}the path may be work or a wait for it")


def copies(findings: Findings) -> Measured | None:
    """Share of the path in copies between host and GPU."""
    path = findings.path
    host = of_role(path["category"], Role.COPY) & path["name"].str.contains(
        "HtoD|DtoH|HostTo|ToHost", case=False
    )
    spent = int(findings.durations[host].sum())
    return measured(findings, spent, f"in {plural(int(host.sum()), 'copy', 'copies')} between host and GPU")


def top_kernel(findings: Findings) -> Measured | None:
    """Share of the path in the kernel with the largest total; what communicates has rules of its own."""
    kernels = of_role(findings.path["category"], Role.KERNEL)
    totals = findings.durations[kernels].groupby(findings.path["name"][kernels], observed=True).sum()
    communicates = findings.topics[COMMUNICATION]["name"]
    totals = totals[~totals.index.isin(communicates)]
    if totals.empty:
        return None
    name = str(totals.idxmax())
    return measured(findings, int(totals.max()), f"in {readable([name])[name]}")


def profiler_overhead(findings: Findings) -> Measured | None:
    """Share of the path in rows that the profiler marks as its own overhead."""
    rows = of_role(findings.path["category"], Role.OVERHEAD)
    return measured(findings, int(findings.durations[rows].sum()), "in the profiler's own overhead")


def unknown_gaps(findings: Findings) -> Measured | None:
    """Share of the path in gaps without an explanation."""
    return _in_gaps(findings, UNKNOWN)


def inferred(findings: Findings) -> Measured | None:
    """Share of the hand-overs between lanes on the path that follow a timing rule."""
    path = findings.path
    moved = path["lane"].ne(path["lane"].shift()) & path["dependency"].ne("root")
    if not moved.any():
        return None
    count = int((moved & path["evidence"].eq("inferred")).sum())
    share = count / int(moved.sum())
    return Measured(share, f"{format_share(share)} of the changes of lane: {count:,} of {int(moved.sum()):,}")


def _about(findings: Findings, topic: str, where: str) -> Measured | None:
    """Measure the time on the path while an event of the topic is open on the same lane."""
    rows, events = (_spans(frame) for frame in (findings.path, findings.topics[topic]))
    return measured(findings, int(covered(rows, events).sum()), where)


def _spans(frame: pd.DataFrame) -> Spans:
    """Turn the rows into stretches of their lanes."""
    return Spans(*(frame[name].to_numpy(np.int64) for name in ("lane", "start_ns", "end_ns")))


def _on_gpu(findings: Findings) -> "pd.Series[bool]":
    """Mark the rows of the path that are on a stream."""
    streams = findings.lanes.loc[findings.lanes["kind"].eq(STREAM), "lane"]
    return findings.path["lane"].isin(streams)


def _launching(findings: Findings) -> tuple["pd.Series[bool]", "pd.Series[bool]"]:
    """Mark launching calls on the path, and those of them that launch no graph and take 1 ms or more."""
    path = findings.path
    calls = of_role(path["category"], Role.CALL) & path["name"].str.contains(_LAUNCH) & ~findings.is_gap
    is_graph = path["name"].str.contains(_GRAPH, regex=False)
    return calls, calls & ~is_graph & findings.durations.ge(_SLOW_LAUNCH_NS)


def _is_latency(findings: Findings) -> "pd.Series[bool]":
    """Mark the rows of the path that are launch latency."""
    return findings.is_gap & findings.path["name"].eq(LAUNCH_LATENCY)


def _in_gaps(findings: Findings, name: str) -> Measured | None:
    """Measure the gaps of a name on the path."""
    return measured(findings, findings.by_gap_ns.get(name, 0), f"in gaps named {name}")


def measured(findings: Findings, spent_ns: int, where: str) -> Measured | None:
    """Measure a time on the path; None if it is 0."""
    if spent_ns <= 0:
        return None
    share = findings.share(spent_ns)
    return Measured(share, f"{format_share(share)} of the path ({format_ns(spent_ns)}) {where}")
