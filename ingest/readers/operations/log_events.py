"""From the rows of an operation log to a trace: workers are ranks, their queues are streams."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tracegraph.base.errors import InputError
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.operations.program import Program
from tracegraph.ingest.operations.replay import Steps, arrange
from tracegraph.ingest.readers.source_file import SourceFile
from tracegraph.ingest.trace import (
    EVENT_SCHEMA,
    FLOW_SCHEMA,
    OPERATION_SCHEMA,
    ORDER_SCHEMA,
    TraceFile,
    table_in,
)
from tracegraph.vocabulary import operation_types as types
from tracegraph.vocabulary.categories import Role, names_of
from tracegraph.vocabulary.operation_types import OPERATION_TYPE
from tracegraph.vocabulary.step_names import STEP_PREFIX

_SHOWN = 8
"""How many ranks the name of a group lists."""
(_KERNEL,), (_MARK,) = names_of(Role.KERNEL), names_of(Role.GPU_ANNOTATION)


def build_log(source: SourceFile, rows: pd.DataFrame, integrity: Integrity) -> TraceFile:
    """Build the trace of a log.

    Parameters
    ----------
    rows
        The operations in the columns of OPERATION_SCHEMA, with times from the begin of their step.
    """
    _check_places(source, rows)
    rows = rows.sort_values("source_index", kind="stable").reset_index(drop=True)
    steps = arrange(rows) if len(rows) else None
    if steps is None or len(steps.left_out):
        _state_odd(rows, steps, integrity)
    begins = _begins(rows)
    rows = rows.assign(**{name: rows[name] + rows["step"].map(begins) for name in ("start_ns", "end_ns")})
    members = None if steps is None else _members(rows, steps)
    events = _events(rows, members)
    ranks = sorted(rows["rank"].unique().tolist())
    return TraceFile(
        path=str(source.path),
        sha256=source.sha256,
        rank=int(ranks[0]) if ranks else 0,
        events=events,
        flows=FLOW_SCHEMA.empty_table(),
        operations=_table(OPERATION_SCHEMA, rows),
        orders=ORDER_SCHEMA.empty_table() if steps is None else _orders(rows, steps),
        rank_of={_pid(rank): int(rank) for rank in ranks},
    )


def _check_places(source: SourceFile, rows: pd.DataFrame) -> None:
    """Raise InputError if a rank stands at two places of the job, or a place has two ranks."""
    places = rows[["rank", "data_rank", "stage"]].drop_duplicates()
    for name in (["rank"], ["data_rank", "stage"]):
        twice = places[places.duplicated(name, keep=False)]
        if len(twice):
            shown = "; ".join(
                f"rank {at.rank} at dp_rank {at.data_rank}, stage {at.stage}"
                for at in twice.head(2).itertuples()
            )
            raise InputError(
                f"{source.path} holds a worker twice: {shown}",
                "write the operations of one worker of each tensor-parallel group, under its own rank",
            )


def _state_odd(rows: pd.DataFrame, steps: Steps | None, integrity: Integrity) -> None:
    if steps is None:
        message = "steps hold operations in no order that a pipeline runs: what each waits for is unknown"
        integrity.add("operations_unordered", rows["step"].nunique(), message)
        return
    shown = ", ".join(map(str, steps.left_out[:8].tolist()))
    message = f"steps lack operations that most have, or have others ({shown}): what they wait for is unknown"
    integrity.add("operations_incomplete", len(steps.left_out), message)


def _pid(rank: int) -> str:
    return f"rank {rank}"


def _begins(rows: pd.DataFrame) -> "pd.Series[int]":
    """Place the steps one after the other, since the file states the times within each alone; ns."""
    by_step = rows.groupby("step")
    first = by_step["start_ns"].min()
    length = by_step["end_ns"].max() - first
    return length.cumsum().shift(fill_value=0) - first


_Members = Mapping[str, list[Any]]
"""What is said of members of messages and collectives: columns of EVENT_SCHEMA, None in all other rows."""
_OF_MEMBERS = ("collective", "group", "group_ranks", "group_sequence", "sender", "receiver")


def _rows_by_place(rows: pd.DataFrame, steps: Steps) -> Ints:
    """Find the row of each operation of the program: operations × steps × data-parallel ranks."""
    program = steps.program
    places = pd.MultiIndex.from_frame(rows[["step", "data_rank", "type", "sequence", "stage"]])
    count = len(program)
    repeats = len(steps.numbers) * len(steps.data_ranks)
    keys = [
        np.tile(np.repeat(steps.numbers, len(steps.data_ranks)), count),
        np.tile(steps.data_ranks, count * len(steps.numbers)),
        np.repeat(np.array(program.type, dtype=object), repeats),
        np.repeat(program.sequence, repeats),
        np.repeat(program.stage, repeats),
    ]
    found = places.get_indexer(pd.MultiIndex.from_arrays(keys))
    return found.reshape(count, len(steps.numbers), len(steps.data_ranks)).astype(np.int64)


def _members(rows: pd.DataFrame, steps: Steps) -> _Members:
    program, row_of = steps.program, _rows_by_place(rows, steps)
    rank = rows["rank"].to_numpy(np.int64)[row_of[:, 0, :]]
    found: _Members = {name: [None] * len(rows) for name in _OF_MEMBERS}
    for unit in program.units:
        if OPERATION_TYPE[program.type[unit[0]]].collective is None:
            continue
        if program.all_ranks[unit[0]]:
            _say(found, program, unit, rank[unit], row_of[unit])
            continue
        for place in range(len(steps.data_ranks)):
            own = slice(place, place + 1)
            _say(found, program, unit, rank[unit, own], row_of[unit, :, own])
    return found


def _say(found: _Members, program: Program, unit: Ints, rank: Ints, row_of: Ints) -> None:
    """Say of the rows of a unit which operation they are a part of.

    `rank`: of its operations × data-parallel ranks; `row_of`: the rows, by operation, step and rank.
    """
    if rank.size < 2:
        return
    ranks, count = sorted(rank.reshape(-1).tolist()), int(program.sequence.max()) + 1
    kinds = [OPERATION_TYPE[program.type[at]] for at in unit.tolist()]
    of = ", ".join(map(str, ranks[:_SHOWN])) + (", …" if len(ranks) > _SHOWN else "")
    name = f"{kinds[0].counted_as or kinds[0].name} of ranks {of}"
    ends = {kind.collective: int(rank[k, 0]) for k, kind in enumerate(kinds)}
    listed, send, receive = json.dumps(ranks), ends.get("send"), ends.get("recv")
    sequences = program.sequence[unit].tolist()
    for kind, sequence, rows in zip(kinds, sequences, row_of, strict=True):
        for step, own in enumerate(rows.tolist()):
            said = (kind.collective, name, listed, step * count + sequence, send, receive)
            for row in own:
                for column, value in zip(_OF_MEMBERS, said, strict=True):
                    found[column][row] = value


def _orders(rows: pd.DataFrame, steps: Steps) -> pa.Table:
    """List what follows what: by the program, and from the end of each step on to the begin of the next."""
    program, row_of = steps.program, _rows_by_place(rows, steps)
    pairs = [
        (row_of[cause], row_of[at]) for at, causes in enumerate(program.causes) for cause in causes.tolist()
    ]
    first = np.array([not len(causes) for causes in program.causes], dtype=bool)
    for stage in np.unique(program.stage).tolist():
        mine = np.flatnonzero(program.stage == stage)
        last = mine[np.argmax(steps.end[mine].max(axis=(1, 2)))]
        pairs += [(row_of[last, :-1], row_of[at, 1:]) for at in mine[first[mine]].tolist()]
    likely = [(row_of[cause], row_of[at]) for cause, at in program.launched_behind]
    index = rows["source_index"].to_numpy(np.int64)
    cause, effect = (
        index[np.concatenate([one.reshape(-1) for one in side])] for side in zip(*pairs, *likely, strict=True)
    )
    stated = np.arange(len(cause)) < sum(before.size for before, _ in pairs)
    return pa.table([pa.array(cause), pa.array(effect), pa.array(stated)], schema=ORDER_SCHEMA)


def _events(rows: pd.DataFrame, members: _Members | None) -> pa.Table:
    """Make an event of each operation, and one that marks each step on each rank."""
    kinds = rows["type"].map(OPERATION_TYPE)
    pid = rows["rank"].map(_pid)
    begin, end = rows.groupby("step")["start_ns"].min(), rows.groupby("step")["end_ns"].max()
    marks = rows[["rank", "step"]].drop_duplicates().sort_values(["step", "rank"])
    after = int(rows["source_index"].max()) + 1 if len(rows) else 0
    columns = {
        "source_index": [*rows["source_index"], *range(after, after + len(marks))],
        "name": [*rows["type"], *(STEP_PREFIX + marks["step"].astype(str))],
        "category": [*([_KERNEL] * len(rows)), *([_MARK] * len(marks))],
        "pid": [*pid, *marks["rank"].map(_pid)],
        "tid": [*(kind.stream for kind in kinds), *([types.COMPUTATION] * len(marks))],
        "start_ns": [*rows["start_ns"], *marks["step"].map(begin)],
        "end_ns": [*rows["end_ns"], *marks["step"].map(end)],
        "device": [0] * (len(rows) + len(marks)),
    }
    if members is not None:
        columns |= {name: [*values, *([None] * len(marks))] for name, values in members.items()}
    arrays = {
        name: pa.array(values, pa.string()).dictionary_encode()
        if pa.types.is_dictionary(EVENT_SCHEMA.field(name).type)
        else pa.array(values, pa.int64())
        for name, values in columns.items()
    }
    return table_in(EVENT_SCHEMA, arrays)


def _table(schema: pa.Schema, rows: pd.DataFrame) -> pa.Table:
    arrays = {
        name: pa.array(rows[name]).dictionary_encode() if name == "type" else pa.array(rows[name], pa.int64())
        for name in schema.names
    }
    return table_in(schema, arrays)
