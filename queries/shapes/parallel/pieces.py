"""The pieces of work of a rank, one a row, from the lists of `layer_work`, with what launched them."""

import numpy as np
import pandas as pd

from tracegraph.queries.shapes.peak.time_sums import Ints, Union, each_entry, nothing, open_beyond, unfolded
from tracegraph.vocabulary.collectives import stated_kind
from tracegraph.vocabulary.kernel_types import COMMUNICATION
from tracegraph.vocabulary.phases import BACKWARD, FORWARD, OPTIMIZER

UNKNOWN = -1
"""What `layer_work` has for a time or step that is not known: lists of the server hold no nulls."""
WAITING = "wait"
"""What `layer_work` calls the waits of threads inside of operators."""
_LISTS = ["step", "begin_ns", "end_ns", "launched_ns", "waited_ns", "exposed_ns"]


def pieces_of(own: pd.DataFrame) -> pd.DataFrame:
    """Make a row of each piece of a rank's work on its GPUs, on threads where it has none.

    Communication that a thread of its own runs has the launch, step and names of the operator that handed it
    over; these operators are left out.
    """
    on_gpu = bool(own["on_gpu"].any())
    kept = own[own["on_gpu"].eq(on_gpu) & own["what"].ne(WAITING)]
    pieces = _each(kept)
    if not on_gpu:
        pieces = _taken_over(pieces.sort_values("begin_ns", kind="stable", ignore_index=True))
    return pieces.sort_values(["launched_ns", "begin_ns"], kind="stable", ignore_index=True)


def _each(rows: pd.DataFrame) -> pd.DataFrame:
    """Make a row of each entry of the lists; a step that is not known is null."""
    found = each_entry(rows, _LISTS)
    return found.assign(step=found["step"].astype("Int64").mask(found["step"].eq(UNKNOWN)))


class Away:
    """When the threads of a rank call communication or wait for it inside of operators: no computing."""

    def __init__(self, own: pd.DataFrame) -> None:
        found = own[~own["on_gpu"] & (own["hands_over"] | own["what"].eq(WAITING))]
        self._of_lane = {
            lane: Union(unfolded(rows["begin_ns"]), unfolded(rows["end_ns"]))
            for lane, rows in found.groupby("lane")
        }

    def left_of(self, pieces: pd.DataFrame) -> Union:
        """Return when pieces run, without the time in which their threads were away."""
        found = Union(nothing(), nothing())
        for lane, rows in pieces.groupby("lane", dropna=False):
            begin, end = rows["begin_ns"].to_numpy("int64"), rows["end_ns"].to_numpy("int64")
            if lane in self._of_lane:
                begin, end = _without(Union(begin, end), self._of_lane[lane])
            found = found.joined(begin, end)
        return found


def _without(stretches: Union, less: Union) -> tuple[Ints, Ints]:
    inside = less.end - less.begin == stretches.inside(less.begin, less.end)
    return open_beyond(stretches.begin, stretches.end, less.begin[inside], less.end[inside])


def hand_overs(own: pd.DataFrame, kind: str) -> pd.DataFrame:
    """List the operators of a rank that hand over communication of a kind, by time."""
    found = _each(own[own["hands_over"] & _kinds(own).eq(kind)])
    return found.sort_values("begin_ns", ignore_index=True)


def _kinds(pieces: pd.DataFrame) -> pd.Series:
    return pieces["name"].map(lambda name: stated_kind(str(name).rpartition(":")[2])).astype(object)


def _taken_over(pieces: pd.DataFrame) -> pd.DataFrame:
    """Give communication the launch of the operator that handed it over.

    A back end takes operations of a kind in their order, so the n-th belongs to the n-th. If their numbers
    differ, as where the recording cuts one off, it is the last operator before it that handed any over.
    """
    hand = pieces["hands_over"].to_numpy(bool)
    talk = pieces["what"].eq(COMMUNICATION).to_numpy() & ~hand
    kinds, places = _kinds(pieces), np.arange(len(pieces))
    last = np.maximum.accumulate(np.where(hand, places, -1))
    source = np.where(talk & (last >= 0), last, places)
    for kind in kinds[talk].dropna().unique():
        same = kinds.eq(kind).to_numpy()
        if (same & hand).sum() == (same & talk).sum():
            source[same & talk] = places[same & hand]
    taken = pieces[["around", "launched_ns", "step"]].take(source).set_axis(pieces.index)
    return pieces.assign(**{str(name): taken[name] for name in taken})[~hand]


def with_phases(pieces: pd.DataFrame, phases: pd.DataFrame) -> pd.DataFrame:
    """Add the phase in which each piece was launched, null for none, and which pass it is, -1 for none."""
    kept = phases[phases["phase"].isin([FORWARD, BACKWARD, OPTIMIZER])].sort_values("start_ns", kind="stable")
    start, end = (kept[name].to_numpy("int64") for name in ("start_ns", "end_ns"))
    launched = pieces["launched_ns"].fillna(UNKNOWN).to_numpy("int64")
    at = np.searchsorted(start, launched, "right") - 1
    turn = np.where((at >= 0) & (launched < np.append(end, 0)[at]), at, -1)
    return pieces.assign(phase=np.array([*kept["phase"], None], dtype=object)[turn], turn=turn)
