"""The time of operators themselves, and the GPU work that is launched inside each event of a thread."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.events.ancestors import levels_upwards, nearest_above
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.vocabulary.categories import Role

# The number of GPU activities inside an event from which on they count as several.
_SEVERAL = 2


@dataclass(frozen=True)
class LaunchedInside:
    """One entry for each event, `NONE` if it says nothing.

    Attributes
    ----------
    operator_ns
        For operators: time in which no operator inside is open.
    own_gpu_ns
        For operators: length of the GPU work that they launched in that time.
    gpu_ns
        For operators and annotations: length of all GPU work launched inside.
    kernels
        Number of GPU activities launched inside, if there are several.
    inner_kernels
        The most of these inside one operator, annotation or function within.
    recursive
        Operators that run inside another one of their name.
    """

    operator_ns: Ints
    own_gpu_ns: Ints
    gpu_ns: Ints
    kernels: Ints
    inner_kernels: Ints
    recursive: Flags


def find_launched_inside(solved: Solution) -> LaunchedInside:
    """Sum up along the call tree what each event holds; GPU work counts in full, even if it overlaps."""
    events, stack, call = solved.events, solved.stack, solved.launches.call
    count = len(events)
    is_operator = events.of_role(Role.OPERATOR)
    innermost = nearest_above(np.where(is_operator, np.arange(count), -1), stack.parent)
    operator_ns, own_gpu, gpu, kernels, most = np.zeros((5, count), dtype=np.int64)
    inside = np.flatnonzero(events.on_thread & (innermost >= 0))
    np.add.at(operator_ns, innermost[inside], stack.self_time(events)[inside])
    work = np.flatnonzero(call >= 0)
    length = (events.end - events.start)[work]
    direct = innermost[call[work]]
    np.add.at(own_gpu, direct[direct >= 0], length[direct >= 0])
    np.add.at(gpu, call[work], length)
    np.add.at(kernels, call[work], 1)
    named = ~events.of_role(Role.CALL)
    for level in levels_upwards(stack.parent, kernels > 0):
        parent = stack.parent[level]
        np.add.at(gpu, parent, gpu[level])
        np.add.at(kernels, parent, kernels[level])
        np.maximum.at(most, parent, np.maximum(most[level], kernels[level] * named[level]))
    holds = is_operator | events.of_role(Role.ANNOTATION)
    several = events.on_thread & (kernels >= _SEVERAL)
    return LaunchedInside(
        operator_ns=np.where(is_operator, operator_ns, NONE),
        own_gpu_ns=np.where(is_operator & (own_gpu > 0), own_gpu, NONE),
        gpu_ns=np.where(holds & (gpu > 0), gpu, NONE),
        kernels=np.where(several, kernels, NONE),
        inner_kernels=np.where(several & (most >= _SEVERAL), most, NONE),
        recursive=_recursive(events.name.codes.astype(np.int64), is_operator, innermost, stack.parent),
    )


def _recursive(name: Ints, is_operator: Flags, innermost: Ints, parent: Ints) -> Flags:
    """Flag the operators that have one of the same name above them."""
    found = np.zeros(len(name), dtype=bool)
    rows = np.flatnonzero(is_operator)
    above = _outer(rows, innermost, parent)
    while len(rows):
        rows, above = rows[above >= 0], above[above >= 0]
        same = name[rows] == name[above]
        found[rows[same]] = True
        rows, above = rows[~same], _outer(above[~same], innermost, parent)
    return found


def _outer(operators: Ints, innermost: Ints, parent: Ints) -> Ints:
    """Find the next operator above each, -1 for none."""
    above = parent[operators]
    return np.where(above >= 0, innermost[above], -1)
