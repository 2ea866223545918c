"""What is predicted of a change: its gain, how far that may be off, and what is critical then."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.graph.longest_path import Outcome
from tracegraph.ingest.what_if.graph.overhead import Overhead
from tracegraph.ingest.what_if.predictions.gains import Bound, Gain
from tracegraph.ingest.what_if.predictions.replays import NAIVE

CORRECTED = "corrected"
"""The basis of a gain from which the cost of recording is taken off; without one it is `NAIVE`."""


@dataclass(frozen=True)
class Ranged:
    """A change's gain, corrected for what recording cost, and how far it may be off.

    Attributes
    ----------
    low, high
        The range that the cost of recording, inferred dependencies, work from before the recording, what a
        fix leaves open (`Edit.otherwise`) and what a replay does not know (caches, other processes) leave; it
        never exceeds `most_ns`, unless a fix leaves more open.
    wide
        Why the two are more than tenfold apart, empty if they are not.
    removed_ns, most_ns
        The time that the change removes, and the most that it may remove from as many other steps, ns.
    inferred_share
        The share (0..1) of the corrected gain that depends on inferred dependencies.
    """

    corrected: Gain
    low: Bound
    high: Bound
    wide: str
    removed_ns: int
    most_ns: int
    inferred_share: float


@dataclass(frozen=True)
class Prediction(Ranged):
    """Everything that is predicted of a change; `naive`: its gain as recorded.

    `overhead_ns`: what recording cost in the window, on all threads. `after`: the naive replay, `after_work`:
    the work of its segments. `following`: the hotspots of the path then.
    """

    naive: Gain
    overhead: Overhead
    overhead_ns: int
    after: Outcome
    after_work: Ints
    following: Sequence[Mapping[str, object]]

    @property
    def basis(self) -> str:
        """What `corrected` is: "corrected", or "naive" if no cost of recording is known to take off."""
        return CORRECTED if self.overhead.of_role else NAIVE


@dataclass(frozen=True)
class Glance:
    """A change's gain without its range, and whether it is corrected or naive: see `Prediction`."""

    basis: str
    corrected: Gain
    naive: Gain
    following: Sequence[Mapping[str, object]]
