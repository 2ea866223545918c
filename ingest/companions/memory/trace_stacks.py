"""What was open on the thread of each memory row of a trace: the stacks of a recording with `with_stack`."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.companions.memory.stacks import (
    CALLED,
    ENGINE,
    MODULE,
    NOTHING,
    OPTIMIZER,
    PYTHON,
    Stack,
)
from tracegraph.ingest.text_columns import distinct_pairs, read_texts
from tracegraph.ingest.trace import TraceFile
from tracegraph.vocabulary import phases
from tracegraph.vocabulary.categories import Role, has_role
from tracegraph.vocabulary.python_frames import MODULE as MODULE_NAME
from tracegraph.vocabulary.python_frames import frame_parts, is_library, module_class

OPTIMIZER_STEP = "Optimizer.step#"
"""How the annotations begin in which PyTorch runs a step of an optimizer."""


@dataclass(frozen=True)
class _Open:
    """What is open on a thread: the stack that a row would have there."""

    kind: str = NOTHING
    file: str | None = None
    line: int | None = None
    function: str | None = None
    modules: tuple[str, ...] = ()
    calls: tuple[int, ...] = ()

    def stack(self) -> Stack:
        return Stack(
            self.kind, self.file, self.line, self.function, CALLED.join(self.modules) or None, self.calls
        )


def stacks_at(trace: TraceFile) -> tuple[Ints, dict[int, Stack]]:
    """Find the stack of each memory row: what is open at its time on its thread.

    Returns
    -------
    numpy.ndarray, dict
        The number of the stack of each row, and what each of them tells. `Stack.calls` are the rows of
        `trace.events` of the calls of modules in it.
    """
    events, memory = trace.events, trace.memory
    kinds, kind_of = _kinds(events)
    chosen = np.flatnonzero(kind_of >= 0)
    of_event, of_row = number_threads(events.take(pa.array(chosen)), memory)
    start, end = (events[name].to_numpy()[chosen] for name in ("start_ns", "end_ns"))
    at = memory["at_ns"].to_numpy()
    # On each thread by time: what begins first opens before a row of the same moment, the longer one first.
    thread, opens = np.concatenate([of_event, of_row]), np.concatenate([start, at])
    closes = np.concatenate([end, at])
    is_row = np.repeat([False, True], [len(chosen), len(at)])
    order = np.lexsort((-closes, is_row, opens, thread))
    numbers = np.concatenate([kind_of[chosen], np.arange(len(at))])
    places = np.concatenate([chosen, np.full(len(at), -1)])
    found = np.zeros(len(at), dtype=np.int64)
    states, still_open, now = [_Open()], list[tuple[int, int]](), -1
    items = (column[order].tolist() for column in (thread, opens, closes, numbers, places))
    for own, begin, until, number, place in zip(*items, strict=True):
        if own != now:
            still_open, now = [], own
        while still_open and still_open[-1][0] <= begin:
            still_open.pop()
        state = still_open[-1][1] if still_open else 0
        if place < 0:
            found[number] = state
            continue
        inside = _inside(states[state], kinds[number], place)
        if inside is not states[state]:
            states.append(inside)
            state = len(states) - 1
        still_open.append((until, state))
    return found, {number: states[number].stack() for number in np.unique(found).tolist()}


def _kinds(events: pa.Table) -> tuple[list[_Open], Ints]:
    """Read what each name opens, and give each event the place of its name's; -1 for what opens nothing."""
    name, category = read_texts(events["name"]), read_texts(events["category"])
    pairs, place = distinct_pairs(name.codes, category.codes)
    kinds: list[_Open] = []
    number = np.full(len(pairs), -1, dtype=np.int64)
    for pair, (one, other) in enumerate(pairs):
        opened = _opened_by(str(name.values[one]), str(category.values[other]))
        if opened is not None:
            number[pair] = len(kinds)
            kinds.append(opened)
    return kinds, number[place]


def _opened_by(name: str, category: str) -> _Open | None:
    if name.startswith(phases.ENGINE):
        return _Open(ENGINE, function=name.removeprefix(phases.ENGINE).removeprefix(": ") or None)
    if name.startswith(OPTIMIZER_STEP):
        return _Open(OPTIMIZER)
    if not has_role(category, Role.FRAME):
        return None
    if name.startswith(MODULE_NAME):
        return _Open(MODULE, modules=(module_class(name).removeprefix(MODULE_NAME).removesuffix("_*"),))
    if is_library(name, category) or (parts := frame_parts(name)) is None:
        return _Open(PYTHON)
    return _Open(PYTHON, *parts)


_RANKS = {kind: rank for rank, kind in enumerate((NOTHING, PYTHON, MODULE, OPTIMIZER, ENGINE))}


def _inside(outer: _Open, opened: _Open, place: int) -> _Open:
    """Join what an event opens with what is open around it."""
    if opened.kind == ENGINE:
        return opened  # the frames around it called backward: they did not allocate
    kind = max(outer.kind, opened.kind, key=_RANKS.__getitem__)
    if opened.modules:
        modules, calls = (*outer.modules, *opened.modules), (*outer.calls, place)
        return replace(outer, kind=kind, modules=modules, calls=calls)
    if opened.function is not None:
        return replace(outer, kind=kind, file=opened.file, line=opened.line, function=opened.function)
    return outer if kind == outer.kind else replace(outer, kind=kind)


def number_threads(*tables: pa.Table) -> list[Ints]:
    """Give each row the number of its thread, by pid and tid; it is the same in all tables."""
    known: dict[tuple[str, str], int] = {}
    return [_numbered(table, known) for table in tables]


def _numbered(table: pa.Table, known: dict[tuple[str, str], int]) -> Ints:
    pid, tid = read_texts(table["pid"]), read_texts(table["tid"])
    pairs, place = distinct_pairs(pid.codes, tid.codes)
    named = ((str(pid.values[one]), str(tid.values[other])) for one, other in pairs)
    return np.array([known.setdefault(one, len(known)) for one in named], dtype=np.int64)[place]
