"""Reads the memory rows of a trace (`profile_memory=True`) as the lives of blocks, as a snapshot has them."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.companions.memory.labels import marks_in
from tracegraph.ingest.companions.memory.lives import ALLOCATED, BEFORE, FREED, Lives, blocks_of
from tracegraph.ingest.companions.memory.stacks import Stack
from tracegraph.ingest.companions.memory.trace_stacks import OPTIMIZER_STEP, number_threads, stacks_at
from tracegraph.ingest.data_frames import whole_frame
from tracegraph.ingest.text_columns import read_texts
from tracegraph.ingest.trace import TraceFile
from tracegraph.vocabulary.memory import device_number
from tracegraph.vocabulary.phases import ENGINE

_HINT = (
    "give a trace that is recorded with profile_memory=True and with_stack=True, a file of "
    "torch.cuda.memory._dump_snapshot, or one of export_memory_timeline (.raw.json.gz)"
)
_CPU = device_number("cpu")
_NONE_ACTIVE = pd.DataFrame({"address": [], "requested": [], "stack": []}, dtype="Int64")


def lives_in(trace: TraceFile) -> list[Lives]:
    """Return the lives of the blocks of each GPU of a trace, or, if no row is of a GPU, of the CPU.

    The n-th allocation of an address lives until the next free of it. What is freed without an allocation is
    from before the recording, and so is what the first total says beyond these.

    Raises
    ------
    InputError
        The trace has no memory rows, or they do not state addresses.
    """
    if not trace.memory.num_rows:
        raise InputError(f"{trace.path} is no recording of memory: it holds no [memory] rows", _HINT)
    if not trace.memory["address"].is_valid().combine_chunks().to_numpy(zero_copy_only=False).any():
        raise InputError(
            f"the [memory] rows of {trace.path} state no addresses (Addr): which blocks they free is unknown",
            "record it with a newer PyTorch, and profile_memory=True",
        )
    number, stacks = stacks_at(trace)
    rows = trace.memory.select(["at_ns", "device_type", "device", "bytes", "allocated", "address"])
    told = whole_frame(rows).assign(stack=number)
    told = told.dropna(subset="address")
    on_gpu = told["device_type"] != _CPU
    chosen = told[on_gpu] if on_gpu.any() else told
    by_device = chosen.groupby(["device_type", "device"])
    return [_lives(trace, own.reset_index(drop=True), stacks) for _, own in by_device]


def _lives(trace: TraceFile, rows: pd.DataFrame, stacks: Mapping[int, Stack]) -> Lives:
    born = rows["bytes"] > 0
    entries = rows.assign(action=np.where(born, ALLOCATED, FREED), bytes=rows["bytes"].abs())
    known = blocks_of(entries, _NONE_ACTIVE)
    blocks = pd.concat([known, _from_before(rows, known)], ignore_index=True)
    at_ns = rows["at_ns"].to_numpy(dtype=np.int64)
    mine = {number: stacks[number] for number in rows["stack"].unique().tolist()}
    marks = marks_in(trace, at_ns)
    steps = marks[marks["name"].str.startswith(OPTIMIZER_STEP)].reset_index(drop=True)
    device, most = int(rows["device"].iloc[0]), rows["allocated"].max()
    return Lives(
        device=None if device < 0 else device,
        blocks=blocks,
        at_ns=rows["at_ns"],
        steps=steps.assign(end=steps[["begin", "end"]].max(axis=1)),
        failed=pd.DataFrame(),
        stacks=mine,
        calls=_calls_in(trace, mine, at_ns),
        marks=marks,
        stated_bytes=None if pd.isna(most) else int(most),
    )


def _from_before(rows: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """Make one block of what the first total says beyond the `known` blocks that the recording frees."""
    first = rows[rows["allocated"].notna()].head(1)
    if first.empty:
        return pd.DataFrame()
    place = int(first.index[0])
    old = int(known.loc[known["begin"] == BEFORE, "bytes"].sum())
    change = int(rows["bytes"].iloc[: place + 1].sum())
    beyond = int(first["allocated"].iloc[0]) - change - old
    if beyond <= 0:
        return pd.DataFrame()
    return pd.DataFrame({"begin": [BEFORE], "end": [len(rows)], "bytes": [beyond]})


def _calls_in(trace: TraceFile, stacks: Mapping[int, Stack], at_ns: Ints) -> pd.DataFrame:
    """Return the calls of `stacks` in the columns of `Lives.calls`; `at_ns`: the times of the entries.

    Autograd numbers the operators of forward, and runs their steps of backward under the same numbers. The
    backward of a call begins with its last operator.
    """
    called = np.unique([call for stack in stacks.values() for call in stack.calls]).astype(np.int64)
    start, end = (trace.events[name].to_numpy() for name in ("start_ns", "end_ns"))
    last = np.searchsorted(at_ns, end[called], "right") - 1
    backward = np.full(len(called), len(at_ns), dtype=np.int64)
    name = read_texts(trace.events["name"])
    engine = name.matching(np.array([str(one).startswith(ENGINE) for one in name.values], dtype=bool))
    numbers = trace.events["sequence_number"].combine_chunks()
    numbered = numbers.is_valid().to_numpy(zero_copy_only=False)
    number = numbers.fill_null(-1).to_numpy()
    (threads,) = number_threads(trace.events)
    steps = np.flatnonzero(engine & numbered)
    steps = steps[np.lexsort((start[steps], number[steps]))]
    for thread in np.unique(threads[called]).tolist() if len(steps) else ():
        mine = threads[called] == thread
        operators = np.flatnonzero(~engine & numbered & (threads == thread))
        operators = operators[np.argsort(start[operators], kind="stable")]
        first = np.searchsorted(start[operators], start[called[mine]], "left")
        after = np.searchsorted(start[operators], end[called[mine]], "left")
        some = after > first
        lowest, highest = (number[operators[place[some]]] for place in (first, after - 1))
        place = np.searchsorted(number[steps], highest, "right") - 1
        begin = np.searchsorted(at_ns, start[steps[place]], "left")
        rows = np.flatnonzero(mine)[some]
        # Each thread numbers its own operators: what ran before the call ended belongs to another thread's.
        found = (place >= 0) & (number[steps[place]] >= lowest) & (begin > last[rows])
        backward[rows[found]] = begin[found]
    return pd.DataFrame({"end": last, "backward": backward}, index=called)
