"""Warm up: calls that take long at their first use only, or at the first launch of a kernel."""

from collections.abc import Iterator

import numpy as np

from tracegraph.base.units import short_ns
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.segments import WAIT, WORK
from tracegraph.ingest.what_if.changes.change import Change
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene, escaped
from tracegraph.ingest.what_if.graph.graph import Calls, ReplayGraph
from tracegraph.vocabulary.canonical_names import without_address
from tracegraph.vocabulary.categories import Role

# The length of a first call in ns (100 ms) and how many times the next longest it takes, at least; and how
# many calls are tried at most. Chosen by eye: a shorter one would name first calls that hardly delay a job,
# fewer times those that only had more data.
_LONG_NS, _TIMES, _MOST = 100_000_000, 20, 3
# The same for the first launch of a kernel (1 ms): the others are far shorter and alike. A usual launch takes
# 3 to 10 µs in recorded files (`long_calls`), so that 100 times as long is about 1 ms.
_LONG_LAUNCH_NS, _LAUNCH_TIMES = 1_000_000, 100
_LOADED = "the driver loads the kernel's code at its first launch, which no row of the file says"


def _find(scene: Scene) -> Iterator[Candidate]:
    segments, calls = scene.graph.segments, scene.graph.calls
    host = np.flatnonzero(segments.on_thread & (segments.kind == WORK) & (segments.event >= 0))
    own = np.bincount(segments.event[host], segments.work[host], len(calls)).astype(np.int64)
    long = np.flatnonzero((own >= _LONG_LAUNCH_NS) & calls.of_role(Role.CALL, Role.OPERATOR, Role.FRAME))
    long = _far_longer(own, calls.name.codes.astype(np.int64), long)
    found = (_candidate(scene.graph, own, at) for at in long[np.argsort(-own[long], kind="stable")].tolist())
    yield from [one for one in found if one is not None][:_MOST]


def _far_longer(own: Ints, names: Ints, events: Ints) -> Ints:
    """Keep those events whose own time no other event of their name comes near."""
    longest = np.zeros(names.max(initial=-1) + 1, np.int64)
    np.maximum.at(longest, names, own)
    near = np.bincount(names, own * _TIMES > longest[names])
    of = names[events]
    kept: Ints = events[(near[of] == 1) & (own[events] == longest[of])]
    return kept


def _candidate(graph: ReplayGraph, own: Ints, at: int) -> Candidate | None:
    """Make a candidate of an event that takes long; None if that is not its first use, or others do, too."""
    segments, calls = graph.segments, graph.calls
    alike = np.flatnonzero(calls.name.codes == calls.name.codes[at])
    others = alike[alike != at]
    if not len(others):
        return None
    longest = int(own[others].max())
    name = str(calls.name[at])
    shown = without_address(name)
    is_first = calls.start[at] <= calls.start[others].min() and own[at] >= _LONG_NS
    kernel = None if is_first else _first_launched(calls, at)
    if longest * (_TIMES if is_first else _LAUNCH_TIMES) > own[at] or not (is_first or kernel):
        return None
    selector, chosen = f"name={escaped(name)}", alike
    if calls.step[at] != NONE:
        selector += f",step={int(calls.step[at])}"
        chosen = alike[calls.step[alike] == calls.step[at]]
    # The selector names all of them; what is gained has to be this one's.
    if (own[chosen].sum() - own[at]) * _TIMES > own[at]:
        return None
    gone = np.isin(segments.event, chosen) & (segments.kind != WAIT)
    first = f"the first launch of {kernel}" if kernel else f"the first {shown} of {len(alike):,}"
    return Candidate(
        selector=selector,
        options=("--remove", selector),
        change=Change(np.where(gone, 0.0, 1.0)),
        evidence=f"{first} takes {short_ns(int(own[at]))}, the next longest {shown} {short_ns(longest)}",
        assumptions=(_LOADED,) if kernel else (),
    )


def _first_launched(calls: Calls, at: int) -> str | None:
    """Return the name of the GPU work that a call launches if it is the first of that name."""
    launched = np.flatnonzero(calls.call == at)
    if not len(launched):
        return None
    alike = np.flatnonzero(calls.name.codes == calls.name.codes[launched[0]])
    is_first = calls.start[launched[0]] == calls.start[alike].min()
    return str(calls.name[int(launched[0])]) if is_first else None


FIX = Fix(
    name="warm-up",
    title="Warm up before recording",
    recognised="a call that takes 100 ms and more the first time, and never a twentieth of that again; or the"
    " first launch of a kernel, if it takes 1 ms and more, and no such call a hundredth of that",
    replayed="this call is left out, with the short ones of its name in the step",
    how="record after a few steps: schedule(wait=1, warmup=3, active=3)",
    refuted_by="steps later on in which it takes as long again",
    assumptions=("a run that lasts longer than the recording has it once, so it gains nothing more",),
    find=_find,
)
