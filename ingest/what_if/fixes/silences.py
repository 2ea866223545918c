"""End the silences of the host: time in which a thread records nothing, and no rule finds a wait."""

from collections.abc import Iterator

import numpy as np

from tracegraph.base.units import short_ns
from tracegraph.ingest.causal.graph.segments import GAP
from tracegraph.ingest.what_if.changes.change import Change
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene
from tracegraph.vocabulary.gaps import GAP_CODE, UNTRACED_CPU

# The length in ns (1 ms) from which on a silence is long, and the share (0..1) that long ones must have. The
# report has the same limit (`untraced_time.LEAST_NS`); half is a majority.
_LONG_NS, _MOST = 1_000_000, 0.5


def _find(scene: Scene) -> Iterator[Candidate]:
    segments = scene.graph.segments
    code = GAP_CODE[UNTRACED_CPU]
    silent = segments.on_thread & (segments.kind == GAP) & (segments.gap_name == code)
    on_path = silent & (scene.on_path_ns > 0)
    lengths = scene.on_path_ns[on_path]
    total, long = int(lengths.sum()), lengths[lengths >= _LONG_NS]
    # Short ones between recorded calls are what Python costs: fixes of the calls beside them end those.
    if total < scene.least_ns or long.sum() < _MOST * total:
        return
    last = "lasts" if len(long) == 1 else "last"
    yield Candidate(
        selector=UNTRACED_CPU,
        options=("--remove-wait", UNTRACED_CPU),
        change=Change(np.ones(len(segments)), (code,)),
        evidence=f"the host records nothing for {short_ns(total)} of the path, the longest time for "
        f"{short_ns(int(long.max()))}; {len(long):,} of these silences {last} 1 ms or more",
    )


FIX = Fix(
    name="silences",
    title="Find and end the silences of the host",
    recognised="threads on the path that record nothing while nothing says that they wait, most of it for "
    "1 ms and more at once",
    replayed="these silences end at once (`--remove-wait`)",
    how="record once more with_stack=True, or with record_function around what is suspected",
    refuted_by="a recording with stacks that shows work which the run needs",
    assumptions=("what the host does there need not be done, or not by this thread",),
    find=_find,
)
