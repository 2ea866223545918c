"""The steps of an operation log as arrays, and their replay with other durations.

All steps and data-parallel ranks run one program, so that one pass over its operations replays all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.operations.program import Program, find_program
from tracegraph.vocabulary import operation_types as types

_NOISE_NS = 10_000_000
"""By how much a transfer may seem to end before it began, ns, as clocks differ.

By more, it takes no time; both are as in the published model.
"""
_KEY = ["type", "sequence", "stage"]


@dataclass(frozen=True)
class Steps:
    """The steps of a log that run one program; times in ns.

    Attributes
    ----------
    numbers, data_ranks
        Those of the steps, and of the data-parallel ranks.
    start, end
        When each operation began and ended: an array of operations × steps × data-parallel ranks.
    left_out
        The numbers of steps that lack operations, or have others than most do.
    """

    program: Program
    numbers: Ints
    data_ranks: Ints
    start: Ints
    end: Ints
    left_out: Ints

    @cached_property
    def own(self) -> Floats:
        """What each operation takes by itself, ns: its duration, or its transfer from the last arrival on."""
        took = (self.end - self.start).astype(np.float64)
        for unit in self.program.units:
            if self.program.in_message[unit[0]]:
                since = _last_of(self.program, unit, self.start)
                took[unit] = self.end[unit] - since
        took[took <= -_NOISE_NS] = 0
        return took

    @property
    def lengths(self) -> Floats:
        """How long each step was, ns."""
        length: Ints = self.end.max(axis=(0, 2)) - self.start.min(axis=(0, 2))
        return length.astype(np.float64)


def arrange(operations: pd.DataFrame) -> Steps | None:
    """Arrange a log, in the columns of OPERATION_SCHEMA, by its program; None where it has none.

    The program is that of most steps; steps that differ on any data-parallel rank are left out.
    """
    rows = operations.sort_values(["step", "data_rank", *_KEY], kind="stable").reset_index(drop=True)
    code = pd.MultiIndex.from_frame(rows[_KEY]).factorize()[0]
    shapes = pd.Series(code).groupby([rows["step"], rows["data_rank"]]).agg(tuple).unstack()
    usual = shapes.stack().mode().iloc[0]
    kept = (shapes.map(lambda shape: shape == usual)).all(axis=1)
    numbers, data_ranks = shapes.index[kept].to_numpy(np.int64), shapes.columns.to_numpy(np.int64)
    if not len(numbers) or len(set(usual)) < len(usual):
        return None
    rows = rows[rows["step"].isin(numbers)]
    first = rows.iloc[: len(usual)]
    program = find_program(first)
    if program is None:
        return None
    shape = (len(numbers), len(data_ranks), len(usual))
    start, end = (
        np.moveaxis(rows[name].to_numpy(np.int64).reshape(shape), 2, 0) for name in ("start_ns", "end_ns")
    )
    return Steps(program, numbers, data_ranks, start, end, shapes.index[~kept].to_numpy(np.int64))


def _last_of(program: Program, unit: Ints, start: Ints | Floats) -> Floats:
    """Find when the last member of a message or collective came, in each step and data-parallel rank."""
    since = start[unit].max(axis=0)
    if program.all_ranks[unit[0]]:
        since = np.broadcast_to(since.max(axis=1, keepdims=True), since.shape)
    last: Floats = since.astype(np.float64)
    return last


def replay(program: Program, own: Floats) -> Floats:
    """Run the program without any delay: every operation begins as what it follows has ended.

    Parameters
    ----------
    own
        What each operation takes by itself, ns: operations × steps × data-parallel ranks.

    Returns
    -------
    Floats
        When each operation ends, ns after the begin of its step, in the same shape.
    """
    start, end = np.zeros_like(own), np.zeros_like(own)
    for unit in program.units:
        for at in unit.tolist():
            causes = program.causes[at]
            if len(causes):
                start[at] = end[causes].max(axis=0) if len(causes) > 1 else end[causes[0]]
        if program.in_message[unit[0]]:
            end[unit] = _last_of(program, unit, start) + own[unit]
        else:
            end[unit[0]] = start[unit[0]] + own[unit[0]]
    return end


def is_last(program: Program) -> Flags:
    """Flag the operations with which a step ends: the optimizer's, or all where there is none."""
    flags = np.array([name == types.OPTIMIZER.name for name in program.type], dtype=bool)
    return flags if flags.any() else ~flags


def ideal(program: Program, own: Floats) -> Floats:
    """Give all operations of a type one time, ns: the mean of work, the median of transfers."""
    names: Sequence[str] = program.type
    found = np.empty(len(program))
    for name in dict.fromkeys(names):
        mine = np.array([one == name for one in names], dtype=bool)
        middle = np.median if types.OPERATION_TYPE[name].communicates else np.mean
        found[mine] = middle(own[mine])
    return np.broadcast_to(found[:, None, None], own.shape)
