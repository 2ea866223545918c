"""What the recording lacks, and what that costs: launches, links, stretches, beginning or end."""

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import NONE, is_call_named
from tracegraph.ingest.causal.events.lane_times import Keys
from tracegraph.ingest.causal.graph.model import RankModel
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.causal.launches.recording_holes import working_calls
from tracegraph.ingest.integrity.unrecorded_path import lost_share
from tracegraph.ingest.integrity_findings import Integrity, percent
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.iterations import ITERATION
from tracegraph.vocabulary.mechanisms import MECHANISMS

LONG_WAIT_NS = 1_000_000
"""Calls named after synchronising are looked at from this length in ns on: 1 ms. Chosen by eye: a shorter one
would list calls that only return at once with nothing to wait for."""
_WAITS = tuple(code for code, rule in enumerate(MECHANISMS) if rule.kind == "SYNCHRONIZATION")
_MID_STEP_SHARE = 0.1
"""Events that lead the first step by this share of a usual step show that a step before it was cut. Chosen by
eye: a smaller one would say it of recordings that only begin a little before their first step."""


def unheld_waits(solved: Solution) -> Ints:
    """Find calls named after synchronising of 1 ms or longer in which no wait for GPU work ends."""
    events, segments, found = solved.events, solved.segments, solved.dependencies
    long = events.end - events.start >= LONG_WAIT_NS
    call = np.flatnonzero(is_call_named(events, "Synchronize") & events.on_thread & long)
    effect = found.effect[np.isin(found.mechanism, _WAITS)]
    effect = effect[segments.on_thread[effect]]
    window, lanes = solved.window, len(solved.lanes.frame)
    keys = Keys(window.start, window.end, lanes)
    released = np.sort(keys.of(segments.lane[effect], segments.start[effect]))
    start, end = (times[call].clip(window.start, window.end) for times in (events.start, events.end))
    begun = np.searchsorted(released, keys.of(events.lane[call], start), "right")
    ended = np.searchsorted(released, keys.of(events.lane[call], end), "right")
    # One that ends with the window holds nothing up.
    unheld: Ints = call[(begun == ended) & (end < window.end)]
    return unheld


def diagnose_missing(model: RankModel, integrity: Integrity) -> None:
    """Add the findings about what is not in the file, or cannot be distinguished."""
    _diagnose_holes(model, integrity)
    _diagnose_beginning(model, integrity)
    if model.events.is_gpu.any():
        _diagnose_shared(model, integrity)
        _diagnose_work(model, integrity)
        _diagnose_waits(model, integrity)
    _diagnose_calls(model, integrity)


def place_of(model: RankModel, index: int) -> str:
    """Name the event as the place of the first case, for a message."""
    events = model.events
    return f"first: traceEvents[{events.source_index[index]}] {events.name[index]!s:.60}"


def length_of(model: RankModel, chosen: Flags | Ints) -> float:
    """Sum up the duration of events in ns, as a float, since a sum over many long events may pass 64 bits."""
    return float((model.events.end[chosen] - model.events.start[chosen]).astype(np.float64).sum())


def _diagnose_holes(model: RankModel, integrity: Integrity) -> None:
    start, end = model.scene.doubts[0].holes
    if len(start):
        share = float((end - start).sum()) / max(model.window.end - model.window.start, 1)
        message = (
            f"stretches ({percent(share)} of the window) lost their events, as skipped correlation ids and "
            f"launches without work around them show; the first from {start[0]} to {end[0]} ns"
        )
        integrity.add("recording_hole", len(start), message, share)


def _diagnose_shared(model: RankModel, integrity: Integrity) -> None:
    events, shared = model.events, model.scene.doubts[0].shared
    mine = np.flatnonzero(events.is_gpu & shared[events.lane])
    if len(mine):
        share = length_of(model, mine) / max(length_of(model, events.is_gpu), 1.0)
        message = (
            f"streams run work that several processes launched ({percent(share)} of the GPU's time): each "
            f"process has streams of its own, which cannot be told apart; {place_of(model, int(mine[0]))}"
        )
        integrity.add("device_shared", int(shared.sum()), message, share)


def _diagnose_work(model: RankModel, integrity: Integrity) -> None:
    """State GPU work without a call: all of it, or that of the beginning and the rest.

    A file that says what follows what, as an operation log does, needs no calls.
    """
    if len(model.scene.stated.orders):
        return
    events, orphan = model.events, model.events.is_gpu & (model.launches.call < 0)
    total = max(length_of(model, events.is_gpu), 1.0)
    if model.scene.doubts[0].unjoined:
        lost = np.flatnonzero(orphan)
        share = length_of(model, lost) / total
        message = (
            f"GPU activities have neither a correlation id nor a flow to the call that launched them "
            f"({percent(share)} of the GPU's time): when they could have started is not known"
        )
        integrity.add("launches_unjoined", len(lost), message, share)
        return
    early = _before_recording(model, orphan)
    for code, chosen, message in (
        ("begins_in_work", early, "GPU activities at the beginning were launched before the recording"),
        ("gpu_without_launch", orphan & ~early, "GPU activities without a launching call"),
    ):
        found = np.flatnonzero(chosen)
        if len(found):
            share = length_of(model, found) / total
            told = f"their cause is unknown ({percent(share)} of the GPU's time)"
            integrity.add(code, len(found), f"{message}; {told}; {place_of(model, int(found[0]))}", share)


def _diagnose_waits(model: RankModel, integrity: Integrity) -> None:
    """State long calls that wait for the GPU without any work that they can have waited for."""
    calls = unheld_waits(model)
    if len(calls):
        share = length_of(model, calls) / max(model.window.end - model.window.start, 1)
        message = (
            f"calls of 1 ms and more wait for the GPU, and no work in the file ends in them "
            f"({percent(share)} of the window): what they wait for is not known; "
            f"{place_of(model, int(calls[0]))}"
        )
        integrity.add("wait_for_nothing", len(calls), message, share)


def _before_recording(model: RankModel, orphan: Flags) -> Flags:
    """Flag the work without a call that comes before all work with a call on its stream."""
    events = model.events
    first = np.full(len(model.lanes.frame), NONE, dtype=np.int64)
    launched = np.flatnonzero(events.is_gpu & ~orphan)
    order = launched[np.argsort(events.start[launched], kind="stable")[::-1]]
    first[events.lane[order]] = events.start[order]
    early: Flags = orphan & (events.start < first[events.lane])
    return early


def _diagnose_beginning(model: RankModel, integrity: Integrity) -> None:
    """State that a recording begins in mid-step: events precede the first step, or are cut at the start."""
    events, steps, begin = model.events, model.steps, model.window.start
    if not len(steps.number) or events.step_marker == ITERATION:
        return  # between its iterations a server does other work, before the first as well
    lead = float(steps.start[0] - begin)
    on_lane = events.on_thread & np.isin(events.lane, steps.lane)
    early = np.flatnonzero(on_lane & (events.start < steps.start[0]) & (events.start >= begin))
    if len(early) and lead >= _MID_STEP_SHARE * float(np.median(steps.end - steps.start)):
        share = lead / max(model.window.end - begin, 1)
        message = (
            f"events before the first step ({percent(share)} of the window): the recording begins in mid-step"
        )
        integrity.add("begins_mid_step", len(early), message, share)
        return
    cut = np.flatnonzero((events.start == begin) & (events.on_thread | events.is_gpu))
    if len(np.unique(events.lane[cut])) > 1 and len(cut) > 2:
        message = f"events of several lanes begin in the first nanosecond, step {steps.number[0]} among them"
        integrity.add("begins_mid_step", len(cut), f"{message}: they were cut there")


def _diagnose_calls(model: RankModel, integrity: Integrity) -> None:
    """State launches without GPU work: at the end, elsewhere, or all of them."""
    events = model.events
    has = model.launches.launching
    launches = is_call_named(events, "Launch")
    idle = launches & ~has
    if not idle.any() and not len(model.scene.missing.call):
        return
    if not events.is_gpu.any():
        message = "launches, and no GPU work at all: the GPU's time is not in the file"
        message = f"{message}; {place_of(model, int(np.flatnonzero(idle)[0]))}"
        integrity.add("gpu_work_missing", int(idle.sum()), message)
        return
    calls = np.flatnonzero(events.on_thread & events.of_role(Role.CALL))
    lacks = np.zeros(len(events), dtype=bool)
    lacks[calls] = working_calls(events, model.launches, calls)[1]
    lost = model.scene.missing.call
    if len(lost):
        message = (
            f"of {int((launches | has).sum())} launches lost their GPU work, although work launched after "
            "them has its rows, or a call that waited for theirs returned: rows are missing, and how long "
            f"their work ran is not known; {place_of(model, int(lost[0]))}"
        )
        integrity.add("gpu_rows_missing", len(lost), message, lost_share(model))
    lacks[lost] = idle[lost] = False
    late = lacks & (events.start > events.start[has].max(initial=NONE))
    if late.any():
        message = (
            "launches at the end have no GPU work in the file: the recording ended before it did; "
            f"{place_of(model, int(np.flatnonzero(late)[0]))}"
        )
        integrity.add("ends_in_work", int(late.sum()), message)
    rest = np.flatnonzero(idle & ~late)
    if len(rest) and not model.scene.doubts[0].unjoined:
        message = f"of {int(launches.sum())} launches have no GPU work in the file"
        message = f"{message}; {place_of(model, int(rest[0]))}"
        integrity.add("launch_without_gpu_work", len(rest), message)
