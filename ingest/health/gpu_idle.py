"""Why the GPUs of a rank run nothing: what the thread does meanwhile that launches the next work."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.window import Window
from tracegraph.ingest.causal.graph.model import RankModel
from tracegraph.ingest.causal.launches.awaited_work import LATE_NS
from tracegraph.ingest.causal.launches.launches import LONG_LAG_NS
from tracegraph.ingest.intervals import Spans, covered, ended_before, ungrouped
from tracegraph.vocabulary.phases import LOADING_NAMES

PACE_NS = 200_000
"""The longest idle time that counts as a pause between two launches, ns.

A thread of PyTorch launches a kernel every 5 to 20 µs, and every 100 to 200 µs where the profiler records its
Python functions, too. If the next launch takes longer than that, something else than launching goes on.
"""


@dataclass(frozen=True)
class IdleTime:
    """Idle time of the GPUs of a rank in its window, ns: `total`, and of it what the host did meanwhile.

    Attributes
    ----------
    loading
        The thread that launches the next work was loading data.
    after_waits
        A call had waited until the GPU had nothing to do, and nothing was launched since; without `loading`.
    launching
        Work follows work, and each is over before the next one is launched: pauses of at most `PACE_NS`,
        without those above.
    """

    total: int
    loading: int
    after_waits: int
    launching: int


def find_idle_time(model: RankModel, window: Window) -> IdleTime:
    """Find the idle time between GPU activities, before the first and after the last in the window."""
    events = model.events
    work = np.flatnonzero(events.is_gpu & (events.end > window.start) & (events.start < window.end))
    work = work[np.lexsort((work, events.start[work]))]
    done = ended_before(events.end[work], window.start).clip(window.start)
    idle = events.start[work] > done
    since, until, call = done[idle], events.start[work][idle], model.launches.call[work][idle]
    last = max(int(events.end[work].max(initial=window.start)), window.start)
    total = int((until - since).sum()) + max(0, window.end - last)
    told = call >= 0
    since, until, call = since[told], until[told], call[told]
    late_ns, loading = _host_late(model, since, until, call)
    rest = late_ns - loading
    waited = _ran_dry(model, since)
    return IdleTime(
        total=total,
        loading=int(loading.sum()),
        after_waits=int(rest[waited].sum()),
        launching=int(rest[~waited & (until - since <= PACE_NS)].sum()),
    )


def _host_late(model: RankModel, since: Ints, until: Ints, call: Ints) -> tuple[Ints, Ints]:
    """Find for how much of each idle time the call that ends it had not come, and the thread loaded data, ns.

    Work begins some microseconds after its call: up to `LONG_LAG_NS` of that belong to the call.
    """
    events = model.events
    is_late = events.start[call] + LONG_LAG_NS > since
    ready = np.minimum(until, events.end[call] + LONG_LAG_NS)
    late = Spans(events.lane[call], since, np.where(is_late, np.maximum(ready, since), since))
    named = np.array([str(name).startswith(LOADING_NAMES) for name in events.name.values], dtype=bool)
    loads = events.name.matching(named) & events.on_thread
    loading = Spans(events.lane[loads], events.start[loads], events.end[loads])
    return late.end - late.start, covered(late, loading)


def _ran_dry(model: RankModel, since: Ints) -> Flags:
    """Tell before which idle times a call waited for the GPU until it had nothing left to run."""
    call = np.unique(model.scene.host_waits.call)
    waits = ungrouped(model.events.start[call], model.events.end[call])
    ran_dry: Flags = covered(ungrouped(since - LATE_NS, since + 1), waits) > 0
    return ran_dry
