"""Which kernel each range of the profiler measured.

Kineto reads counters for each kernel (CUPTI's auto ranges) and gives the ranges names of kernels, in the
order of the launches; their times are none: it divides the recording among them evenly. So only names and
order tell, and only where nothing is missing: the kernels of one name of a device are paired in order where
there are as many as ranges, and where the file holds no kernels at all, as is usual, all ranges of a device
with the calls that launch kernels, where there are as many. Anything else stays unattributed.
"""

import re
from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.graph.model import RankModel
from tracegraph.ingest.findings import Integrity
from tracegraph.vocabulary.categories import Role

_LAUNCH = re.compile(r"(?:cu|cuda|hip)(?:Ext)?(?:Module)?Launch(?:Cooperative)?Kernel\w*")
_BY_NAME, _BY_ORDER, _BY_COUNT = 0.95, 0.9, 0.7
"""How sure: names agree; a file of one device; devices told apart by how many kernels threads launched."""


@dataclass(frozen=True)
class Ranges:
    """Ranges of a file, by event. `measured`: the kernel, or the call that launched it; -1 for unknown."""

    event: Ints
    measured: Ints
    confidence: "np.ndarray[tuple[int], np.dtype[np.float64]]"


def attribute_ranges(model: RankModel, device: Ints, integrity: Integrity) -> Ranges:
    """Pair the ranges of a file with what they measured, and state those that cannot be paired.

    `device`: of each event its number, for ranges that of the device they were read on.
    """
    events = model.events
    ranges = np.flatnonzero(events.of_role(Role.RANGE))
    measured = np.full(len(ranges), -1, dtype=np.int64)
    confidence = np.zeros(len(ranges))
    if len(ranges):
        kernels = np.flatnonzero(events.of_role(Role.KERNEL))
        if len(kernels):
            _pair_by_name(model, ranges, kernels, device, measured)
            confidence[measured >= 0] = _BY_NAME
        else:
            _pair_in_order(model, ranges, device, measured, confidence)
        _state(events, ranges, measured, integrity, has_kernels=len(kernels) > 0)
    return Ranges(ranges, measured, confidence)


def _pair_by_name(model: RankModel, ranges: Ints, kernels: Ints, device: Ints, measured: Ints) -> None:
    events, call = model.events, model.launches.call
    launched = np.where(call[kernels] >= 0, events.start[call[kernels]], events.start[kernels])
    kernels = kernels[np.lexsort((kernels, launched))]
    order = np.argsort(events.start[ranges], kind="stable")
    for key in np.unique(np.stack([device[ranges], events.name.codes[ranges]], axis=1), axis=0).tolist():
        mine = order[(device[ranges[order]] == key[0]) & (events.name.codes[ranges[order]] == key[1])]
        theirs = kernels[(device[kernels] == key[0]) & (events.name.codes[kernels] == key[1])]
        if len(mine) == len(theirs):
            measured[mine] = theirs


def _pair_in_order(
    model: RankModel, ranges: Ints, device: Ints, measured: Ints, confidence: np.ndarray
) -> None:
    events = model.events
    calls = np.flatnonzero(_launches_kernels(events) & ~_inside_launch(model))
    calls = calls[np.lexsort((calls, events.start[calls]))]
    order = np.argsort(events.start[ranges], kind="stable")
    of_device = {int(one): order[device[ranges[order]] == one] for one in np.unique(device[ranges])}
    if len(of_device) == 1:
        if len(calls) == len(ranges):
            measured[order], confidence[order] = calls, _BY_ORDER
        return
    of_thread = [calls[events.lane[calls] == lane] for lane in np.unique(events.lane[calls])]
    for mine in of_device.values():
        alike = [one for one in of_thread if len(one) == len(mine)]
        rivals = [one for one in of_device.values() if len(one) == len(mine)]
        if len(alike) == len(rivals) == 1:
            measured[mine], confidence[mine] = alike[0], _BY_COUNT


def _launches_kernels(events: Events) -> Flags:
    named = np.array([_LAUNCH.fullmatch(str(name)) is not None for name in events.name.values], dtype=bool)
    return events.name.matching(named) & events.of_role(Role.CALL)


def _inside_launch(model: RankModel) -> Flags:
    """Which events run in a launching call: the driver's call in the runtime's."""
    parent, launches = model.stack.parent, _launches_kernels(model.events)
    flags: Flags = (parent >= 0) & launches[parent]
    return flags


def _state(events: Events, ranges: Ints, measured: Ints, integrity: Integrity, *, has_kernels: bool) -> None:
    places = events.source_index[ranges]
    lost, found = places[measured < 0], places[measured >= 0]
    why = "kernels of their names" if has_kernels else "calls that launch kernels"
    what = f"ranges with hardware counters belong to no launch that can be told: there are not as many {why}"
    integrity.add_places("counters_unattributed", "warning", what, lost)
    how = "kernels of their names" if has_kernels else "the calls that launch kernels"
    what = f"ranges with hardware counters are paired with {how} in order: nothing else joins them"
    integrity.add_places("counters_by_order", "info", what, found)
