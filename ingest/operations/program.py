"""What each operation of a training step follows, and which operations are one message or collective.

The model is that of *Understanding Stragglers in Large Model Training Using What-if Analysis* (OSDI 2025; its
code is github.com/ByteDance-Seed/StragglerAnalysis): all steps and all data-parallel ranks run one program.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.operations.messages import match_messages
from tracegraph.vocabulary import operation_types as types

_TAIL = (types.GARBAGE, types.LAYER_NORM, types.EMBEDDING)
"""What a stage does in turn after its last backward computation."""


@dataclass(frozen=True)
class Program:
    """One step of one data-parallel rank, an entry an operation, in the order of the rows it was read from.

    Attributes
    ----------
    causes
        The operations, by position, after whose ends each one begins.
    units
        Operations that end together, members of a message or collective, each as positions; work alone is a
        unit of one. A unit stands after all that it follows.
    in_message
        Whether the operation is a member of a message or collective: it ends when the transfer is over that
        begins as the last member has come.
    all_ranks
        Whether the members of all data-parallel ranks take part in it.
    launched_behind
        Pairs of a computation and a receive that the worker may launch behind it: that before the computation
        which needs what is received. The published model leaves this out; times must show it.
    """

    type: Sequence[str]
    stage: Ints
    sequence: Ints
    causes: Sequence[Ints]
    units: Sequence[Ints]
    in_message: Flags
    all_ranks: Flags
    launched_behind: Sequence[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.type)


def find_program(step: pd.DataFrame) -> Program | None:
    """Find the program of a step.

    Parameters
    ----------
    step
        The operations of one step of one data-parallel rank, in the columns of OPERATION_SCHEMA.

    Returns
    -------
    Program | None
        None if its operations would wait for each other in a circle: then they are not of such a job.
    """
    rows = step.reset_index(drop=True)
    order = _Order(rows)
    stages = sorted(rows["stage"].unique())
    for stage in stages:
        _order_stage(order, rows[rows["stage"] == stage])
    messages = match_messages(rows)
    for before, after in messages.orders:
        order.add(before, after)
    groups = [*messages.groups, *_collectives(rows, stages)]
    units = _in_turn(len(rows), order.causes, groups)
    if units is None:
        return None
    in_message = np.zeros(len(rows), dtype=bool)
    in_message[[position for group in groups for position in group]] = True
    together = [*types.BETWEEN_DATA_PARALLEL, types.CLIP.name]
    return Program(
        type=rows["type"].tolist(),
        stage=rows["stage"].to_numpy(np.int64),
        sequence=rows["sequence"].to_numpy(np.int64),
        causes=[np.array(sorted(own), dtype=np.int64) for own in order.causes],
        units=units,
        in_message=in_message,
        all_ranks=rows["type"].isin(together).to_numpy(dtype=bool),
        launched_behind=_launched_behind(rows, order.causes),
    )


def _launched_behind(rows: pd.DataFrame, causes: Sequence[set[int]]) -> list[tuple[int, int]]:
    computes = rows["type"].isin([types.FORWARD.name, types.BACKWARD.name]).tolist()
    receives = rows["type"].isin([receive.name for *_, receive, _ in types.PASSES]).tolist()
    return [
        (before, at)
        for needs, own in enumerate(causes)
        if computes[needs]
        for at in own
        if receives[at]
        for before in own
        if computes[before] and before not in causes[at]
    ]


class _Order:
    """Collects for each operation those that it follows."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.causes: list[set[int]] = [set() for _ in range(len(rows))]

    def add(self, before: int, after: int) -> None:
        self.causes[after].add(before)

    def chain(self, rows: Iterable[int]) -> None:
        """Let each of the operations follow the one before it."""
        for before, after in pairwise(rows):
            self.add(before, after)


def _positions(rows: pd.DataFrame) -> list[int]:
    return [int(at) for at in rows.index.to_numpy()]


def _last_to_end(rows: pd.DataFrame) -> int:
    return _positions(rows)[int(rows["end_ns"].to_numpy(np.int64).argmax())]


def _by_start(rows: pd.DataFrame, *kinds: types.OperationType) -> pd.DataFrame:
    """Return the operations of some types as their worker began them."""
    chosen = rows[rows["type"].isin([kind.name for kind in kinds])]
    return chosen.sort_values(["start_ns", "sequence", "type"], kind="stable")


def _order_stage(order: _Order, rows: pd.DataFrame) -> None:
    """Order the queues of a worker, its data-parallel messages, and the end of its step."""
    computing = _by_start(rows, types.FORWARD, types.BACKWARD)
    order.chain(_positions(computing))
    for _, send, receive, _ in types.PASSES:
        order.chain(_positions(_by_start(rows, send)))
        order.chain(_positions(_by_start(rows, receive)))
    order.chain(_positions(_by_start(rows, types.GATHER, types.REDUCE_SCATTER)))
    _begin_backward(order, rows, computing)
    _gather_first(order, rows)
    scatters = _by_start(rows, types.REDUCE_SCATTER).sort_values("sequence")
    separate = _by_start(rows, types.SEPARATE_REDUCE)
    tail = [at for kind in _TAIL for at in _positions(_by_start(rows, kind))]
    if len(separate):  # gradients are reduced beside the backward computations
        _scatter_beside(order, scatters, computing)
        late = _positions(separate)
        behind = [at for at in (*tail, *late) if rows["type"][at] != types.GARBAGE.name]
        if len(scatters):
            order.add(_positions(scatters)[-1], behind[0])
    else:
        late = _positions(scatters)
    last = [_last_to_end(computing)] if len(computing) else []
    ends = [at for kind in (types.CLIP, types.OPTIMIZER) for at in _positions(_by_start(rows, kind))]
    order.chain([*last, *tail, *late, *ends])


def _begin_backward(order: _Order, rows: pd.DataFrame, computing: pd.DataFrame) -> None:
    """Let the first backward messages follow the forward computation before the last one ahead of them."""
    backward = np.flatnonzero(computing["type"] == types.BACKWARD.name)
    if not len(backward) or backward[0] < 2:
        return
    before = int(computing.index[backward[0] - 2])
    for kind in (types.BACKWARD_SEND, types.BACKWARD_RECEIVE):
        own = rows[(rows["type"] == kind.name) & (rows["sequence"] == 0)]
        for at in _positions(own):
            order.add(before, at)


def _gather_first(order: _Order, rows: pd.DataFrame) -> None:
    """Let the first forward computation of each chunk follow the last gathering of its parameters."""
    gathers = _by_start(rows, types.GATHER).sort_values("sequence")
    forward = _by_start(rows, types.FORWARD)
    for chunk, own in gathers.groupby("chunk"):
        uses = forward[forward["chunk"] == chunk]
        if len(uses):
            order.add(_positions(own)[-1], _positions(uses)[0])


def _scatter_beside(order: _Order, scatters: pd.DataFrame, computing: pd.DataFrame) -> None:
    """Let the first reduction of each chunk's gradients follow its last backward computation."""
    backward = computing[computing["type"] == types.BACKWARD.name]
    for chunk, own in scatters.groupby("chunk"):
        made = backward[backward["chunk"] == chunk]
        if len(made):
            order.add(_last_to_end(made), _positions(own)[0])


def _collectives(rows: pd.DataFrame, stages: Sequence[int]) -> list[list[int]]:
    """List the collectives: those of one stage alone, the embedding's at both ends, and the clip of all."""
    alone = _positions(rows[rows["type"].isin(types.BETWEEN_DATA_PARALLEL)])
    ends = rows["stage"].isin([stages[0], stages[-1]])
    embedding = rows[(rows["type"] == types.EMBEDDING.name) & ends]
    clip = rows[rows["type"] == types.CLIP.name]
    shared = [_positions(own) for part in (embedding, clip) for _, own in part.groupby("sequence")]
    return [*([at] for at in alone), *shared]


def _in_turn(count: int, causes: Sequence[set[int]], groups: Iterable[Sequence[int]]) -> list[Ints] | None:
    """Sort the units so that each comes after what its members follow; None if there is a circle."""
    unit = list(range(count))
    members = {at: [at] for at in range(count)}
    for group in groups:
        first = group[0]
        for at in group[1:]:
            unit[at] = first
            del members[at]
        members[first] = list(group)
    follows = {first: {unit[cause] for at in own for cause in causes[at]} for first, own in members.items()}
    try:
        turn = list(TopologicalSorter(follows).static_order())
    except CycleError:
        return None
    return [np.array(members[first], dtype=np.int64) for first in turn]
