"""Stop waiting: the host continues where it waited for the GPU, and what it reads arrives as before."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from tracegraph.base.units import short_ns
from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.causal.graph.segments import WAIT
from tracegraph.ingest.what_if.changes.edit import Edit, no_edit
from tracegraph.ingest.what_if.changes.threads import host_waits
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene, asked_for, escaped, made_in
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.vocabulary.categories import Role, has_role
from tracegraph.vocabulary.mechanisms import ALLOCATOR_FLUSH, CODE, IMPLICIT_SYNCHRONIZE, SILENT_SYNCHRONIZE
from tracegraph.vocabulary.python_frames import MODULE, is_library

# The number of names whose waits are tried at most.
_MOST = 3
_FREEING = (CODE[ALLOCATOR_FLUSH], CODE[IMPLICIT_SYNCHRONIZE])


def caller_of(graph: ReplayGraph, event: int) -> str:
    """Write ` in NAME, from LINE` as far as the file has it, else nothing."""
    calls, operator, line = graph.calls, None, None
    at = event
    while at >= 0 and line is None:
        name, category = str(calls.name[at]), str(calls.category[at])
        if has_role(category, Role.OPERATOR) and operator is None:
            operator = name
        if has_role(category, Role.FRAME) and not name.startswith(MODULE) and not is_library(name, category):
            line = name
        at = int(calls.parent[at])
    called = str(calls.name[event])
    parts = [f" in {called}" if operator in (None, called) else f" in {called} of {operator}"]
    return "".join([*parts, f", from {line}" if line else ""])


def unsync(graph: ReplayGraph, chosen: Flags) -> Edit:
    """End at once the waits for the GPU in chosen segments; what they await is done when it was."""
    edit = no_edit(len(graph.segments))
    effect = graph.dependencies.effect[host_waits(graph)]
    # A call that came late enough has no wait before it: what it would wait for must be done as it begins.
    late = chosen[effect] & (graph.segments.kind[effect - 1] != WAIT)
    freed = edit.freed.copy()
    freed[effect[chosen[effect - 1] | late]] = True
    return replace(edit, freed=freed)


def _find(scene: Scene) -> Iterator[Candidate]:
    """Yield the calls in which threads wait longest, and silent waits, and all of them together."""
    graph, segments, found = scene.graph, scene.graph.segments, scene.graph.dependencies
    edge = host_waits(graph)
    # Calls that free memory wait only in passing: another fix is to stop allocating.
    edge = edge[found.binding[edge] & ~np.isin(found.mechanism[edge], _FREEING)]
    wait = found.effect[edge] - 1
    lasting = segments.kind[wait] == WAIT
    wait, silent = wait[lasting], (found.mechanism[edge] == CODE[SILENT_SYNCHRONIZE])[lasting]
    code = np.where(silent | (segments.event[wait] < 0), -1, graph.calls.name.codes[segments.event[wait]])
    rows = pd.DataFrame({"code": code, "ns": (segments.end - segments.start)[wait]})
    sums = rows.groupby("code")["ns"].agg(["sum", "count"]).sort_values("sum", ascending=False)
    sums = sums[sums["sum"] >= scene.least_ns][:_MOST]
    selectors, whole = [], np.zeros(len(segments), dtype=bool)
    for name, spent, count in sums.itertuples():
        mine = wait[code == name]
        where = scene.on_ranks(mine)
        chosen = _chosen(graph, int(name), mine)
        selector = (
            f"wait={SILENT_SYNCHRONIZE}" if name < 0 else f"name={escaped(graph.calls.name.values[name])}"
        )
        if name < 0:
            evidence = (
                f"{count:,} times a thread{where} goes on as the GPU has caught up, {short_ns(spent)} in all"
            )
        else:
            longest = segments.event[mine[(segments.end - segments.start)[mine].argmax()]]
            evidence = (
                f"{count:,} calls{where} wait {short_ns(spent)} for the GPU{caller_of(graph, int(longest))}"
            )
        selectors.append(selector)
        whole |= chosen
        yield _candidate(graph, [selector], chosen, evidence)
    if len(selectors) > 1:
        where, lasted = scene.on_ranks(whole), short_ns(int(sums["sum"].sum()))
        evidence = f"{int(sums['count'].sum()):,} waits{where} for the GPU last {lasted}"
        yield _candidate(graph, selectors, whole, evidence)


def _chosen(graph: ReplayGraph, name: int, waits: "np.typing.NDArray[np.int64]") -> Flags:
    """Flag the segments of all calls of a name, or, if `name` is negative, the segments `waits`."""
    segments = graph.segments
    chosen = np.zeros(len(segments), dtype=bool)
    if name < 0:
        chosen[waits] = True
        return chosen
    is_named: Flags = (segments.event >= 0) & (graph.calls.name.codes[segments.event] == name)
    return is_named


def _candidate(graph: ReplayGraph, selectors: list[str], chosen: Flags, evidence: str) -> Candidate:
    return Candidate(
        selector=", ".join(selectors),
        options=asked_for(FIX.name, selectors),
        change=made_in(graph, unsync(graph, chosen)),
        evidence=evidence,
    )


FIX = Fix(
    name="unsync",
    title="Stop waiting for the GPU",
    recognised="calls, copies and silent threads that wait for the GPU, by the call and its line",
    replayed="the host goes on; what it waited for is done when it was",
    how="keep values on the GPU (log them every n steps), copy with non_blocking=True from pinned memory; no "
    "torch.cuda.synchronize(), .item(), .cpu(), nonzero or boolean mask in the loop",
    refuted_by="a run without these waits that is as long: the GPU, or a later wait, held it as long",
    assumptions=("nothing that the host does next needs the value that it waited for",),
    find=_find,
    asked="without waiting for the GPU in {}",
    edit=lambda graph, chosen, settings: unsync(graph, chosen),
)
