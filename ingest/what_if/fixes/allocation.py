"""Stop allocating: calls that allocate or free memory, and what they wait for, take no time."""

import re
from collections.abc import Iterator

import numpy as np

from tracegraph.base.units import short_ns
from tracegraph.ingest.causal.graph.segments import WAIT
from tracegraph.ingest.what_if.changes.change import Change
from tracegraph.ingest.what_if.changes.threads import with_reasons
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene, asked_for, escaped
from tracegraph.ingest.what_if.fixes.unsync import unsync
from tracegraph.vocabulary.categories import Role

_ALLOCATES = re.compile(
    r"^[a-z]{1,5}_?(Mem)?(Host|Managed)?(Malloc|Alloc|Free)(Host|Managed|Pitch|Array|3D)?(_v\d)?$"
)
"""Calls of drivers and runtimes; not those of a stream's own pool (`...Async`), which block no thread."""


def _find(scene: Scene) -> Iterator[Candidate]:
    graph, segments = scene.graph, scene.graph.segments
    calls = graph.calls
    is_named = np.array([bool(_ALLOCATES.match(str(name))) for name in calls.name.values])
    mine = is_named[calls.name.codes] & calls.of_role(Role.CALL)
    chosen = segments.on_thread & (segments.event >= 0) & np.append(mine, False)[segments.event]
    lasting = (segments.end - segments.start)[chosen].sum()
    if lasting < scene.least_ns:
        return
    names = sorted({str(name) for name in calls.name[np.flatnonzero(mine)]})
    selectors = [f"name={escaped(name)}" for name in names]
    options = tuple(word for one in selectors for word in ("--remove", one)) + asked_for("unsync", selectors)
    yield Candidate(
        selector=", ".join(selectors),
        options=options,
        change=Change(
            np.where(chosen & (segments.kind != WAIT) & with_reasons(segments), 0.0, 1.0),
            edit=unsync(graph, chosen),
        ),
        evidence=f"{int(mine.sum()):,} calls of {', '.join(names)}{scene.on_ranks(chosen)} take "
        f"{short_ns(int(lasting))}",
    )


FIX = Fix(
    name="allocation",
    title="Stop allocating in the loop",
    recognised="calls that allocate or free memory of the device or pinned memory of the host",
    replayed="these calls, and what they wait for, take no time",
    how="PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, a smaller peak, fixed shapes, pinned buffers used "
    "again; no torch.cuda.empty_cache() in the loop",
    refuted_by="a recording after the first steps that has no such calls: the allocator had only to warm up",
    assumptions=("the memory is there without these calls",),
    find=_find,
)
