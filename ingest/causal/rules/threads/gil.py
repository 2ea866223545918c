"""CROSS_THREAD by the GIL (rule 10): a thread is silent while another thread runs Python."""

import numpy as np
import pandas as pd

from tracegraph.ingest.array_tables import join_rows
from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.launches.usual_work import median_by_name
from tracegraph.ingest.causal.rules.context import Context
from tracegraph.ingest.causal.rules.edges import Found, Waits, inferred_waits, make_edges, on_thread
from tracegraph.ingest.intervals import Spans, covered
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.mechanisms import GIL_HOLDER, GIL_WAIT

SHORTEST_WAIT_NS = 50_000
"""The shortest silence that counts, and the shortest wait in it. Chosen by eye: less than
`SHORTEST_SILENCE_NS`, since here another thread is seen to run Python meanwhile. Python lets another thread
have the GIL after 5 ms, or sooner where its holder waits."""
_TIMES_USUAL = 5
"""How many times its usual length a silence must last to be a wait: below that it may just do more than
usual. Chosen by eye."""
_FRAME, _BUILTIN, _OPERATOR = 0.8, 0.6, 0.5
"""Confidences (estimates: the simulator has no case): see `gil_waits`."""


def gil_waits(context: Context, found: Found) -> Found:
    """Find waits for the GIL: the path stays on the thread that waits; the holder is its second cause.

    Entering and leaving a Python frame needs the GIL. So while another thread of the process does so and this
    one does not, this one is without the GIL: it waits for it, or computes without it. It is taken to wait if
    its innermost event lasts at least 50 µs and five times as long as usual, from the first to the last of
    the other thread's steps. The confidence depends on the silent event: Python code can do nothing without
    the GIL (0.8), a built-in function may release it (0.6), an operator may truly run in parallel (0.5).
    """
    events = context.events
    pieces = _silent_pieces(events, context.stack, context.lanes, found.waits)
    lane, begin, end = (pieces[name].to_numpy(np.int64) for name in ("lane", "first", "last"))
    confidence = _confidence(events, pieces["event"].to_numpy(np.int64))
    wait = make_edges(
        GIL_WAIT, on_thread(lane, begin), on_thread(lane, end), end, recorded=False, confidence=confidence
    )
    holder = make_edges(
        GIL_HOLDER,
        on_thread(pieces["holder"].to_numpy(np.int64), begin),
        on_thread(lane, end),
        begin,
        recorded=False,
        confidence=confidence,
    )
    event = pieces["event"].to_numpy(np.int64)
    return Found(join_rows([wait, holder]), inferred_waits(GIL_WAIT, lane, begin, end, event))


def _confidence(events: Events, silent: Ints) -> Floats:
    frame = events.of_role(Role.FRAME)[silent]
    builtin = np.array([str(name).startswith("<built-in") for name in events.name[silent]], dtype=bool)
    return np.where(frame & ~builtin, _FRAME, np.where(frame, _BUILTIN, _OPERATOR))


def _silent_pieces(events: Events, stack: CallStack, lanes: Lanes, explained: Waits) -> pd.DataFrame:
    """Find stretches of one event in which other threads run Python: lane, event, first, last, holder."""
    long_enough = stack.piece_end - stack.piece_start >= SHORTEST_WAIT_NS
    chosen = np.flatnonzero(long_enough & (stack.piece_event >= 0))
    chosen = chosen[events.of_role(Role.FRAME, Role.OPERATOR)[stack.piece_event[chosen]]]
    frames = events.on_thread & events.of_role(Role.FRAME)
    process_of = lanes.process
    parts = [
        pd.DataFrame({name: [] for name in ("lane", "event", "first", "last", "holder")}, dtype=np.int64)
    ]
    for process in np.unique(process_of[events.lane[frames]]).tolist():
        steps = np.flatnonzero(frames & (process_of[events.lane] == process))
        if len(np.unique(events.lane[steps])) > 1:
            mine = chosen[process_of[stack.piece_lane[chosen]] == process]
            parts.append(_between_steps(events, stack, steps, mine))
    found = pd.concat(parts)
    stretches = Spans(*(found[name].to_numpy(np.int64) for name in ("lane", "first", "last")))
    told: Flags = covered(stretches, Spans(explained.lane, explained.start, explained.end)) > 0
    return found[~told]


def _between_steps(events: Events, stack: CallStack, steps: Ints, pieces: Ints) -> pd.DataFrame:
    """Keep the unusually long pieces, with the first and the last step of another thread inside."""
    time = np.concatenate([events.start[steps], events.end[steps]])
    by_time = np.argsort(time, kind="stable")
    time, lane = time[by_time], np.tile(events.lane[steps], 2)[by_time]
    first = np.searchsorted(time, stack.piece_start[pieces], "right")
    last = np.searchsorted(time, stack.piece_end[pieces], "left") - 1
    # A piece has no step of its own thread inside, so all of them are of others.
    several = last > first
    pieces, first, last = pieces[several], first[several], last[several]
    found = pd.DataFrame(
        {
            "lane": stack.piece_lane[pieces],
            "event": stack.piece_event[pieces],
            "first": time[first],
            "last": time[last],
            "holder": lane[first],
        }
    )
    long_enough = found["last"] - found["first"] >= SHORTEST_WAIT_NS
    lasted = stack.piece_end[pieces] - stack.piece_start[pieces]
    return found[long_enough & (lasted >= _TIMES_USUAL * _usual(events, stack, found["event"].to_numpy()))]


def _usual(events: Events, stack: CallStack, of: Ints) -> Ints:
    """Find the median length, in ns, of the pieces of all events with the name of each."""
    name = np.append(events.name.codes, -1)[stack.piece_event]
    lasted = stack.piece_end - stack.piece_start
    return median_by_name(lasted, name, events.name.codes[of]).astype(np.int64)
