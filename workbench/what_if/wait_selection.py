"""Finds which waits a name means: of a gap or a rule, everywhere, at calls, or inside some events."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracegraph.base.errors import InputError
from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.what_if.changes.change import (
    Change,
    EndedWaits,
    find_ended,
    whole_window,
)
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.subtrees import nearest_above
from tracegraph.vocabulary.gaps import GAP_NAMES, IN_SHORT
from tracegraph.vocabulary.mechanisms import CODE, MECHANISMS
from tracegraph.workbench.text.names import match_names
from tracegraph.workbench.what_if.selection import Matched, frames_named
from tracegraph.workbench.what_if.selector import Selector

AT, A_CALL = " at ", "a call"
"""What follows the name of a gap: the name of the event in which a thread waits, or that of any call."""
_RULES = [rule.name for rule in MECHANISMS if rule.kind in ("SYNCHRONIZATION", "CROSS_THREAD")]


@dataclass(frozen=True)
class MatchedWaits:
    """Waits that a name means: how they end in a change, how many there are, and how long they take."""

    change: Change
    matched: Matched

    def added_to(self, change: Change) -> Change:
        """Return a change in which these waits end at once, too."""
        mine = self.change
        return replace(
            change,
            gaps=(*change.gaps, *mine.gaps),
            at_calls=(*change.at_calls, *mine.at_calls),
            waits=(*change.waits, *mine.waits),
        )


def match_waits(graph: ReplayGraph, wanted: str) -> MatchedWaits:
    """Find the waits that a name means: a gap or, if it is not one, a rule that ends waits.

    `GAP at NAME` means those of threads inside events of that name, `GAP at a call` those of all threads.

    Raises
    ------
    InputError
        Nothing in the run has the name, or it means work.
    """
    name, _, place = wanted.partition(AT)
    there = [name for name in GAP_NAMES if matched(graph, _everywhere(graph, name)).count]
    chosen = match_names(there, name)
    if chosen == [IN_SHORT]:
        raise InputError(
            f"{IN_SHORT!r} is no wait: it is all that a rank in short works on",
            "take the rank in full: tracegraph runs load RUN --rank N",
        )
    if len(chosen) == 1:
        change = _everywhere(graph, chosen[0])
        inside = _inside(graph, wanted, place)
        if place == A_CALL:
            change = replace(change, gaps=(), at_calls=change.gaps)
        elif inside is not None:
            change = replace(change, gaps=(), waits=(EndedWaits(inside, gap=change.gaps[0]),))
        said = chosen[0]
    else:
        said = _rule(graph, wanted, name, chosen, there)
        inside = _inside(graph, wanted, place)
        everywhere = np.ones(len(graph.segments), dtype=bool)
        one = EndedWaits(everywhere if inside is None else inside, mechanism=CODE[said])
        change = Change(np.ones(len(graph.segments)), waits=(one,))
    found = matched(graph, change)
    if not found.count:
        raise InputError(f"{wanted!r} is no wait of the run", f"{said!r} has others: leave out where")
    return MatchedWaits(change, replace(found, name=said if not place else f"{said}{AT}{place}"))


def matched(graph: ReplayGraph, change: Change) -> Matched:
    """Count the waits and lags that end at once in a change, and sum their length, without a name."""
    segments, found, span = graph.segments, graph.dependencies, whole_window(graph)
    ended = find_ended(graph, span, change)
    stretch = ended.stretches
    lag = ended.dependencies & found.binding & (found.gap > 0)
    # On a thread, the edge that ends a stretch only repeats what the stretch says.
    lag &= ~(segments.on_thread[found.effect] & stretch[found.effect - 1])
    own_ns = int((segments.end - segments.start)[stretch].sum() + found.gap[lag].sum())
    return Matched("", int(stretch.sum() + lag.sum()), own_ns)


def _everywhere(graph: ReplayGraph, gap: str) -> Change:
    return Change(np.ones(len(graph.segments)), (GAP_NAMES.index(gap),))


def _rule(graph: ReplayGraph, wanted: str, name: str, gaps: Sequence[str], there: Sequence[str]) -> str:
    """Find the rule that a name means if it is not the name of a gap."""
    mine = graph.dependencies.mechanism[graph.segments.on_thread[graph.dependencies.effect]]
    rules = [rule for rule in _RULES if (mine == CODE[rule]).any()]
    chosen = [] if gaps else match_names(rules, name)
    if len(chosen) == 1:
        return chosen[0]
    listed = gaps or chosen or [*there, *rules]
    raise InputError(
        f"{wanted!r} is {'several gaps' if gaps or chosen else 'no gap'} of the run",
        f"name one of: {', '.join(listed)}",
    )


def _inside(graph: ReplayGraph, wanted: str, place: str) -> Flags | None:
    """Mark the segments inside events of a name, by the call stacks; None for everywhere."""
    if not place or place == A_CALL:
        return None
    chosen = frames_named(graph, Selector(wanted, {}), place, "")
    inside: Flags = (nearest_above(graph.frames, chosen) >= 0)[graph.frames.of_segment]
    return inside
