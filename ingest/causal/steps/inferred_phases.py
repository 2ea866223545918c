"""Evidence for phases that no annotation names: the autograd engine's work, gradients, updates."""

import re
from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.callstack import CallStack
from tracegraph.ingest.causal.events.events import NONE, Events, is_passive
from tracegraph.ingest.causal.launches.backward_passes import Passes
from tracegraph.vocabulary.categories import Role, has_role
from tracegraph.vocabulary.phases import ENGINE
from tracegraph.vocabulary.python_frames import MODULE

_BACKWARD_FRAME = re.compile(
    r"(?:.*/)?torch/(?:_?tensor|autograd/\w+)\.py\(\d+\): (?:backward|_engine_run_backward)"
    r"|<built-in method run_backward of .*>",
    re.DOTALL,
)
"""PyTorch's own frames that call the engine: a user's function of that name may do anything."""
_UPDATE = re.compile(r"aten::_(?:fused_(?:adamw?|sgd|adagrad)_?|foreach_(?:add|addcdiv|addcmul|lerp)_)")
"""Fused and multi-tensor operators that update parameters."""


@dataclass(frozen=True)
class BackwardPass:
    """A backward pass as its caller sees it, from `start` to `end`; ns.

    `engine`: the lane of the thread that works, from `begin` to `until`. `end_lane`: the lane that ends the
    pass.
    """

    start: int
    end: int
    end_lane: int
    engine: int
    begin: int
    until: int


@dataclass(frozen=True)
class ByTime:
    """Some of the events, by their starts in ns, so that those of a stretch are found without a search."""

    events: Ints
    start: Ints

    @classmethod
    def of(cls, events: Events, chosen: Flags) -> "ByTime":
        """Order the chosen events; those that start together keep their order."""
        found = np.flatnonzero(chosen)
        found = found[np.argsort(events.start[found], kind="stable")]
        return cls(found, events.start[found])

    def between(self, begin: int, until: int) -> Ints:
        """Return those that start at `begin` or later, and before `until`."""
        first, last = np.searchsorted(self.start, [begin, until])
        return self.events[first:last]


def is_engine(events: Events) -> Flags:
    """Tell which events are work of the autograd engine: backward operators, or what runs them."""
    told = np.array([str(name).startswith(ENGINE) for name in events.name.values], dtype=bool)
    linked = (events.forward_thread > 0) & (events.sequence_number != NONE)
    flags: Flags = events.of_role(Role.OPERATOR) & events.on_thread & (linked | events.name.matching(told))
    return flags


def backward_passes(events: Events, stack: CallStack, passes: Passes, lane: int) -> list[BackwardPass]:
    """Find the backward passes that a thread waits for, or runs itself, in order.

    If the Python frame of PyTorch that calls the engine is recorded, its times are those of the pass.

    Parameters
    ----------
    passes
        The passes of all threads, as `launches.backward_passes` finds them.
    lane
        The thread that waits, or runs the pass.
    """
    rows = [
        (int(passes.begin[k]), int(passes.end[k]), int(passes.engine[k]))
        for k in np.flatnonzero(passes.caller == lane).tolist()
    ]
    own = [(start, end, lane) for start, end in _own_passes(events, stack, lane)]
    rows += [one for one in own if not any(one[0] < end and one[1] > start for start, end, _ in rows)]
    first, last = _backward_frames(events, lane)
    found = []
    for begin, until, engine in sorted(rows):
        at = int(np.searchsorted(first, begin, "right")) - 1
        if at >= 0 and last[at] >= until:
            found.append(BackwardPass(int(first[at]), int(last[at]), lane, engine, begin, until))
        else:
            found.append(BackwardPass(begin, until, engine, engine, begin, until))
    return [one for k, one in enumerate(found) if not k or one.start >= found[k - 1].end]


def _own_passes(events: Events, stack: CallStack, lane: int) -> list[tuple[int, int]]:
    """Find when a thread itself works for the engine without other operators between, as without a GPU."""
    engine = is_engine(events)
    if not engine[events.lane == lane].any():
        return []
    top = outermost_operators(events, stack, lane)
    flags = engine[top]
    edge = np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8))
    first, last = top[np.flatnonzero(edge == 1)], top[np.flatnonzero(edge == -1) - 1]
    return list(zip(events.start[first].tolist(), events.end[last].tolist(), strict=True))


def outermost_operators(events: Events, stack: CallStack, lane: int) -> Ints:
    """Find the events of a thread that do work and are inside no other such event, by time."""
    works = ~is_passive(events)
    found = np.flatnonzero(events.on_thread & (events.lane == lane) & works)
    above = stack.parent[found]
    while (passive := (above >= 0) & ~works[above]).any():
        above = np.where(passive, stack.parent[above], above)
    top = found[above < 0]
    return top[np.argsort(events.start[top], kind="stable")]


def _backward_frames(events: Events, lane: int) -> tuple[Ints, Ints]:
    """Find starts and ends of the outermost Python frames of a thread that call the engine."""
    told = np.array(
        [_BACKWARD_FRAME.fullmatch(str(name)) is not None for name in events.name.values], dtype=bool
    )
    found = np.flatnonzero(events.of_role(Role.FRAME) & (events.lane == lane) & events.name.matching(told))
    return outermost(events.start[found], events.end[found])


def outermost(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Keep the stretches that begin in no other one, by time."""
    order = np.lexsort((-end, start))
    start, end = start[order], end[order]
    keep = start >= np.append(NONE, np.maximum.accumulate(end))[: len(start)]
    return start[keep], end[keep]


def forward_begin(
    events: Events,
    stack: CallStack,
    lane: int,
    of: BackwardPass,
    after: int,
    operators: ByTime,
    gradients: ByTime,
) -> int | None:
    """Find when the forward pass of a backward pass begins on a thread; None if unknown.

    It begins with the first operator whose gradient the engine computes, or with the module or operator
    around that.

    Parameters
    ----------
    after
        The earliest time at which it may begin, ns.
    operators
        The `numbered_operators` of the thread.
    gradients
        The `gradient_operators` of all threads.
    """
    work = gradients.between(of.begin, of.until)
    work = work[events.lane[work] == of.engine]
    flows = events.forward_flow[work]
    linked = flows[flows >= 0]
    if len(linked):
        found = linked[events.lane[linked] == lane]
        found = found[(events.start[found] >= after) & (events.start[found] < of.start)]
    else:
        found = operators.between(after, of.start)
        found = found[np.isin(events.sequence_number[found], events.sequence_number[work])]
        # Operators without a gradient carry the number of the next one with a gradient: of each the last.
        _, last = np.unique(events.sequence_number[found][::-1], return_index=True)
        found = found[::-1][last]
    if not len(found):
        return None
    return _around(events, stack, int(found[np.argmin(events.start[found])]), after)


def numbered_operators(events: Events, lane: int) -> ByTime:
    """Find operators of a thread with an autograd number that are not of a backward pass."""
    numbered = (events.sequence_number != NONE) & ~(events.forward_thread > 0)
    return ByTime.of(events, events.on_thread & (events.lane == lane) & numbered)


def gradient_operators(events: Events) -> ByTime:
    """Find the operators of all threads of which the file says that they compute gradients."""
    return ByTime.of(events, (events.forward_flow >= 0) | (events.forward_thread > 0))


def _around(events: Events, stack: CallStack, event: int, after: int) -> int:
    """Find the start of the outermost module or operator around an event, not before `after`."""
    begin, above = int(events.start[event]), int(stack.parent[event])
    while above >= 0 and events.start[above] >= after:
        is_operator = (
            has_role(str(events.category[above]), Role.OPERATOR) and events.step_number[above] == NONE
        )
        if is_operator or str(events.name[above]).startswith(MODULE):
            begin = int(events.start[above])
        above = int(stack.parent[above])
    return begin


def updates(events: Events, lane: int) -> ByTime:
    """Find the operators of a thread that update parameters."""
    told = np.array([_UPDATE.fullmatch(str(name)) is not None for name in events.name.values], dtype=bool)
    return ByTime.of(events, events.on_thread & (events.lane == lane) & events.name.matching(told))
