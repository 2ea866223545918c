"""What the causal model finds odd in a trace: losses and contradictions that limit a report."""

import shlex

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.events import NONE, is_call_named
from tracegraph.ingest.causal.events.step_marks import suggest_marker
from tracegraph.ingest.causal.graph.model import RankModel
from tracegraph.ingest.integrity.incomplete_recording import diagnose_missing, length_of, place_of
from tracegraph.ingest.integrity.unrecorded_path import diagnose_path
from tracegraph.ingest.integrity_findings import Integrity, percent
from tracegraph.ingest.intervals import pauses
from tracegraph.vocabulary.categories import Role, names_of
from tracegraph.vocabulary.mechanisms import CODE, HAND_OVER, RESUME, STREAM_WAIT_EVENT
from tracegraph.vocabulary.step_names import STEP_PREFIX

_EMPTY_SHARE = 0.5
"""A window that is empty for a larger share in one stretch rather has wrong times than a long wait. A half:
then a pause is longer than all that was recorded."""


def diagnose(model: RankModel, integrity: Integrity) -> None:
    """Add the findings that need the call tree, the launches, the steps and the window."""
    _diagnose_nesting(model, integrity)
    if model.events.is_gpu.any():
        _diagnose_gpu(model, integrity)
    diagnose_missing(model, integrity)
    _diagnose_threads(model, integrity)
    _diagnose_steps(model, integrity)
    _diagnose_window(model, integrity)
    diagnose_path(model, integrity)


def _diagnose_nesting(model: RankModel, integrity: Integrity) -> None:
    stack, events = model.stack, model.events
    if stack.overruns:
        message = (
            "events outlive the one they start in, as annotations do with the frame that opens them; "
            f"the youngest open one counts; {place_of(model, stack.first_overrun)}"
        )
        integrity.add("outside_parent", stack.overruns, message)
    frames = np.flatnonzero(events.of_role(Role.FRAME))
    if len(frames):
        last = frames[events.end[frames] == events.end[frames].max()]
        place = place_of(model, int(last[0]))
        message = f"Python frames were open when the recording ended, which cut them; {place}"
        integrity.add("frames_cut", len(last) * (len(last) > 1), message)


def _diagnose_gpu(model: RankModel, integrity: Integrity) -> None:
    events = model.events
    total = max(length_of(model, events.is_gpu), 1.0)
    if not events.of_role(Role.SYNC).any() and events.on_thread.any():
        (rows,) = names_of(Role.SYNC)
        message = f"no {rows} rows: what a call waits for is inferred from its name and from times"
        integrity.add("no_cuda_sync", 1, message)
    _diagnose_stream_waits(model, integrity)
    overlapping, overlap = _overlapping(model)
    if len(overlapping):
        share = overlap / total
        message = (
            f"GPU activities overlap the one before on their stream ({percent(share)} of the GPU's time is "
            f"there twice); {place_of(model, int(overlapping[0]))}"
        )
        integrity.add("stream_overlap", len(overlapping), message, share)


def _diagnose_threads(model: RankModel, integrity: Integrity) -> None:
    """State how much of the path rests on inferred hand-overs between threads.

    This concerns files without sequence numbers in which several threads of a process run operators.
    """
    events, segments, edges = model.events, model.segments, model.dependencies
    if (events.sequence_number != NONE).any() or (events.forward_flow >= 0).any():
        return
    busy = np.unique(events.lane[events.of_role(Role.OPERATOR) & events.on_thread])
    processes = model.lanes.process[busy]
    if len(busy) == len(np.unique(processes)):
        return
    inferred = np.isin(edges.mechanism, [CODE[RESUME], CODE[HAND_OVER]]) & edges.binding
    crossed = int((inferred & model.on_path[edges.effect]).sum())
    main = segments.lane == segments.lane[model.sink]
    others = model.on_path & segments.on_thread & ~main
    share = float(
        (segments.end - segments.start)[others].sum() / max(model.window.end - model.window.start, 1)
    )
    message = (
        f"no operator has a sequence number, and no flow joins the passes: {crossed} hand-overs between "
        f"threads on the path are inferred from times, and {percent(share)} of it hangs on them"
    )
    integrity.add("no_sequence_numbers", 1, message, share)


def _diagnose_stream_waits(model: RankModel, integrity: Integrity) -> None:
    events, found = model.events, model.dependencies
    calls = np.flatnonzero(is_call_named(events, "StreamWaitEvent"))
    rows = np.flatnonzero(events.of_role(Role.SYNC) & events.name.among("Stream Wait Event"))
    told = np.isin(events.correlation[calls], events.correlation[rows])
    if told.all():
        return
    inferred = (found.mechanism == CODE[STREAM_WAIT_EVENT]) & ~found.recorded
    message = (
        f"calls make a stream wait for another, and no row names the two: {int(inferred.sum())} waits are "
        f"inferred, {int((inferred & found.binding).sum())} of which held work; "
        f"{place_of(model, int(calls[~told][0]))}"
    )
    integrity.add("stream_waits_inferred", int((~told).sum()), message)


def _diagnose_steps(model: RankModel, integrity: Integrity) -> None:
    stated = int((model.events.step_number != NONE).sum())
    numbers = np.sort(model.steps.number)
    marker = suggest_marker(model.events)
    what = "the file holds no ProfilerStep"
    if model.events.step_marker != STEP_PREFIX:
        what = f"no annotation is named as {model.events.step_marker!r}, which marks steps"
    message = f"{what}: call the profiler's step() to tell steps apart"
    if marker is not None:
        command = shlex.join(["tracegraph", "report", integrity.file, "--step-marker", marker])
        message += f", or take annotations that repeat as steps do: {command}"
    integrity.add("steps_missing", int(not len(numbers)), message)
    again = "steps stand more than once under one number; the first of each counts"
    integrity.add("step_repeated", stated - len(numbers), again)
    holes = np.flatnonzero(np.diff(numbers) > 1)
    if len(holes):
        message = f"step numbers are left out, the first after {numbers[holes[0]]}"
        integrity.add("step_left_out", int((np.diff(numbers)[holes] - 1).sum()), message)


def _diagnose_window(model: RankModel, integrity: Integrity) -> None:
    events, window = model.events, model.window
    span = max(window.end - window.start, 1)
    placed = events.on_thread | events.is_gpu
    for code, what, beyond in (
        ("after_window", "end after the last one that matters", events.end - window.end),
        ("before_window", "start before the first that matters", window.start - events.start),
    ):
        outside = events.on_thread & (beyond > 0)
        if outside.any():
            most = int(beyond[outside].max())
            message = f"events {what}; cut there ({percent(most / (most + span))} of the file's time)"
            integrity.add(code, int(outside.sum()), message)
    begin, until = pauses(events.start[placed], events.end[placed])
    share = float((until - begin).max(initial=0)) / span
    message = f"one stretch of {percent(share)} of the window holds no event at all: some times may be wrong"
    integrity.add("window_empty", int(share > _EMPTY_SHARE), message, share)


def _overlapping(model: RankModel) -> tuple[Ints, float]:
    """Find GPU activities that start before an earlier one of their stream ended, and their overlap in ns."""
    segments = model.segments
    on_stream = np.flatnonzero(~segments.on_thread)
    start, end = segments.start[on_stream], segments.end[on_stream]
    streams = pd.Series(end).groupby(segments.lane[on_stream])
    ended = streams.cummax().groupby(segments.lane[on_stream]).shift(fill_value=model.window.start).to_numpy()
    chosen = start < ended
    overlap = (np.minimum(end, ended) - start)[chosen].astype(np.float64).sum()
    overlapping: Ints = segments.event[on_stream][chosen]
    return overlapping, float(overlap)
