"""End the silences of the host: time in which a thread records nothing, and nothing says that it waits."""

from collections.abc import Iterator

import numpy as np

from tracegraph.ingest.causal.segments import GAP
from tracegraph.ingest.what_if.change import Change
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene
from tracegraph.store.gaps import GAP_CODE, UNTRACED_CPU
from tracegraph.store.units import told


def _find(scene: Scene) -> Iterator[Candidate]:
    segments = scene.graph.segments
    code = GAP_CODE[UNTRACED_CPU]
    silent = segments.on_thread & (segments.kind == GAP) & (segments.gap_name == code)
    on_path = silent & (scene.on_path_ns > 0)
    lengths = scene.on_path_ns[on_path]
    if lengths.sum() < scene.least_ns:
        return
    long = np.sort(lengths)[::-1]
    yield Candidate(
        selector=UNTRACED_CPU,
        options=("--remove-wait", UNTRACED_CPU),
        change=Change(np.ones(len(segments)), (code,)),
        evidence=f"{len(lengths):,} silences of the host hold {told(int(lengths.sum()))} of the path, "
        f"the longest {told(int(long[0]))}",
    )


FIX = Fix(
    name="silences",
    title="Find and end the silences of the host",
    recognised="threads on the path that record nothing while nothing says that they wait",
    replayed="these silences end at once (`--remove-wait`)",
    how="record once more with_stack=True, or with record_function around what is suspected",
    refuted_by="a recording with stacks that shows work which the run needs",
    assumptions=("what the host does there need not be done, or not by this thread",),
    find=_find,
)
