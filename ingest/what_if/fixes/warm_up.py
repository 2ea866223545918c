"""Warm up: calls that take long at their first use only."""

from collections.abc import Iterator

import numpy as np

from tracegraph.base.units import told
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.segments import WAIT, WORK
from tracegraph.ingest.what_if.changes.change import Change
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene, escaped
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.common_names import without_address

# The length of a first call in ns (100 ms) and how many times the next longest it takes, at least; and how
# many calls are tried at most.
_LONG_NS, _TIMES, _MOST = 100_000_000, 20, 3


def _find(scene: Scene) -> Iterator[Candidate]:
    segments, calls = scene.graph.segments, scene.graph.calls
    host = np.flatnonzero(segments.on_thread & (segments.kind == WORK) & (segments.event >= 0))
    own = np.bincount(segments.event[host], segments.work[host], len(calls)).astype(np.int64)
    long = np.flatnonzero((own >= _LONG_NS) & calls.of_role(Role.CALL, Role.OPERATOR, Role.FRAME))
    for at in long[np.argsort(-own[long], kind="stable")][:_MOST].tolist():
        alike = np.flatnonzero(calls.name.codes == calls.name.codes[at])
        others = alike[alike != at]
        is_first = not len(others) or calls.start[at] <= calls.start[others].min()
        if not len(others) or not is_first or own[others].max() * _TIMES > own[at]:
            continue
        selector = f"name={escaped(str(calls.name[at]))}"
        chosen = segments.event == at
        if calls.step[at] != NONE:
            selector += f",step={int(calls.step[at])}"
            chosen = np.isin(segments.event, alike[calls.step[alike] == calls.step[at]])
        elif own[others].sum() * _TIMES > own[at]:
            continue
        else:
            chosen = np.isin(segments.event, alike)
        yield Candidate(
            selector=selector,
            options=("--remove", selector),
            change=Change(np.where(chosen & (segments.kind != WAIT), 0.0, 1.0)),
            evidence=f"the first {without_address(str(calls.name[at]))} of {len(alike):,} takes "
            f"{told(int(own[at]))}, the next longest {told(int(own[others].max()))}",
        )


FIX = Fix(
    name="warm-up",
    title="Warm up before recording",
    recognised="a call that takes 100 ms and more the first time, and never a twentieth of that again",
    replayed="this call is left out",
    how="record after a few steps: schedule(wait=1, warmup=3, active=3)",
    refuted_by="steps later on in which it takes as long again",
    assumptions=("a run that lasts longer than the recording has it once, so it gains nothing more",),
    find=_find,
)
