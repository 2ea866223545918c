"""What a file cannot tell about causes: holes, streams of several processes, work that nothing joins."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.causal.events.events import Events, is_call_named
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.launches.launches import Launches
from tracegraph.ingest.causal.launches.recording_holes import Stretches, find_holes

_LEAST_PART, _FEWEST = 0.01, 3
"""A second process shares a stream if it launched at least this share of its work, and this many activities;
a file has launches if it has this many. Both were chosen by eye: one or two activities, or less than a
hundredth of them, may have got a wrong call by an id that was used again."""
JOINED = 0.1
"""Work and calls are not joined if less than this share of the work has a call. Chosen by eye: a larger one
would doubt files most of whose work was launched before the recording."""


@dataclass(frozen=True)
class Doubts:
    """What one file cannot tell.

    Attributes
    ----------
    holes
        Stretches whose events were lost: starts and ends, ns.
    shared
        Which lanes are streams on which several processes launch work.
    unjoined
        Whether nothing joins launches with GPU work.
    lanes
        Which lanes are of this file.
    """

    holes: Stretches
    shared: Flags
    unjoined: bool
    lanes: Flags


def find_doubts(events: Events, lanes: Lanes, launches: Launches) -> Doubts:
    """Look for what makes the evidence for causes unreliable."""
    return Doubts(
        find_holes(events, launches),
        _shared_streams(events, lanes, launches),
        _is_unjoined(events, launches),
        np.ones(len(lanes.frame), dtype=bool),
    )


def _shared_streams(events: Events, lanes: Lanes, launches: Launches) -> Flags:
    """Tell on which streams a second process launched at least 1 % of the work, and three activities."""
    work = np.flatnonzero(launches.call >= 0)
    process = lanes.process
    count = np.zeros((len(lanes.frame), int(process.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(count, (events.lane[work], process[events.lane[launches.call[work]]]), 1)
    second = count.sum(axis=1) - count.max(axis=1)
    shared: Flags = (second >= _FEWEST) & (second >= _LEAST_PART * count.sum(axis=1))
    return shared


def _is_unjoined(events: Events, launches: Launches) -> bool:
    """Tell whether there are launches and GPU work, and under a tenth of the work has a call."""
    launching = int(is_call_named(events, "Launch").sum())
    joined = int((launches.call[events.is_gpu] >= 0).sum())
    return launching >= _FEWEST and joined < JOINED * int(events.is_gpu.sum())
