"""The lives of blocks of memory in a recording: when each was allocated, and when it was free again."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pyarrow as pa

from tracegraph.ingest.companions.memory.stacks import Stack, read_stacks
from tracegraph.ingest.data_frames import whole_frame

ALLOCATED, FREED, _FAILED = "alloc", "free_completed", "oom"
_ACTIVE = "active"
"""How the states of blocks begin whose memory cannot be given to others."""
BEFORE = -1
"""The place of what happened before the recording."""


@dataclass(frozen=True)
class Lives:
    """The blocks of one device, and what else the recording says of it.

    Attributes
    ----------
    device
        Its index; None for the CPU.
    blocks
        begin, end (places among the device's entries; -1: before the recording; their number: alive at its
        end), bytes (as requested), stack, freed_stack (null where not recorded).
    at_ns
        When each entry was, ns since 1970; null in recordings of old versions.
    steps
        begin, end (places), start_ns, end_ns, name: steps of optimizers that PyTorch marked.
    failed
        at, at_ns, bytes, free_bytes, stack: allocations that failed.
    stacks
        What each stack tells.
    calls
        Of a trace, by the numbers in `Stack.calls`: `end`, the place of the last entry in the call, and
        `backward`, that of the first entry of its backward; the number of entries where none is recorded.
    marks
        Of a trace, annotations on threads: begin, end (places of the first and last entry inside; end is less
        where there is none), start_ns, end_ns, name.
    stated_bytes
        Of a trace, the most that its rows say is in use at once; None where they do not say it.
    """

    device: int | None
    blocks: pd.DataFrame
    at_ns: "pd.Series[int]"
    steps: pd.DataFrame
    failed: pd.DataFrame
    stacks: Mapping[int, Stack]
    calls: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=["end", "backward"]))
    marks: pd.DataFrame = field(
        default_factory=lambda: pd.DataFrame(columns=["begin", "end", "start_ns", "end_ns", "name"])
    )
    stated_bytes: int | None = None

    @property
    def entries(self) -> int:
        """The number of entries recorded of the device."""
        return len(self.at_ns)


def lives_of(snapshot: Mapping[str, pa.Table]) -> list[Lives]:
    """Return the lives of the blocks of each device that the snapshot tells anything of.

    The recording keeps the newest entries only, and holds the sizes that were requested. So a block that is
    active at the end without an entry, and one that is freed without one, are from before it. Memory is
    counted as used until `free_completed`: between the request and that, nobody else can have it.
    """
    events, blocks, segments, annotations = (
        whole_frame(snapshot[name]) for name in ("events", "blocks", "segments", "annotations")
    )
    placed = blocks.merge(segments[["segment", "device"]], on="segment")
    stacks = read_stacks(snapshot["frames"])
    found = []
    for device in sorted({*events["device"], *segments["device"]}):
        own = events[events["device"] == device].reset_index(drop=True)
        active = placed[(placed["device"] == device) & placed["state"].str.startswith(_ACTIVE)]
        failed = own[own["action"] == _FAILED].rename_axis("at").reset_index()
        failed = failed[["at", "at_ns", "bytes", "free_bytes", "stack"]]
        steps = _steps(annotations[annotations["device"] == device], own["at_ns"])
        found.append(Lives(int(device), blocks_of(own, active), own["at_ns"], steps, failed, stacks))
    return found


def blocks_of(events: pd.DataFrame, active: pd.DataFrame) -> pd.DataFrame:
    """Pair the allocations and frees of one device, in the columns of `Lives.blocks` and `address`.

    Parameters
    ----------
    events
        action, address, bytes and stack of each entry, in their order.
    active
        address, requested and stack of the blocks that are in use at the end.
    """
    born = events[events["action"] == ALLOCATED].rename_axis("begin").reset_index()
    gone = events[events["action"] == FREED].rename_axis("end").reset_index()
    # The n-th allocation of an address lives until the first free after it.
    both = pd.concat([born.assign(place=born["begin"]), gone.assign(place=gone["end"])]).sort_values("place")
    both["life"] = both["begin"].notna().groupby(both["address"]).cumsum()
    first = both[both["begin"].notna()].drop(columns="end")
    first = first.assign(next=first.groupby("address")["begin"].shift(-1))
    last = both[both["begin"].isna()].drop(columns="begin").drop_duplicates(["address", "life"])
    joined = first.merge(last, on=["address", "life"], how="outer", suffixes=("", "_freed"))
    end = joined["end"].fillna(joined["next"])  # a free that was not recorded came before the next one
    lives = pd.DataFrame(
        {
            "address": joined["address"],
            "begin": joined["begin"].fillna(BEFORE).astype(np.int64),
            "end": end.fillna(len(events)).astype(np.int64),
            "bytes": joined["bytes"].fillna(joined["bytes_freed"]),
            "stack": joined["stack"],
            "freed_stack": joined["stack_freed"],
        }
    )
    ended = end.notna()
    alive = lives.loc[~ended, "address"]
    old = active[~active["address"].isin(alive)]
    kept = pd.DataFrame(
        {
            "address": old["address"],
            "begin": BEFORE,
            "end": len(events),
            "bytes": old["requested"],
            "stack": old["stack"],
        }
    )
    return pd.concat([lives, kept], ignore_index=True).astype({"bytes": np.int64})


def _steps(annotations: pd.DataFrame, at_ns: "pd.Series[int]") -> pd.DataFrame:
    """Pair the starts and ends of optimizers' steps in their order; the last may have no end."""
    own = annotations[annotations["name"].str.startswith("Optimizer.step")]
    starts, ends = (own[own["stage"] == stage].sort_values("at_ns") for stage in ("START", "END"))
    rows = []
    for start, name in zip(starts["at_ns"], starts["name"], strict=True):
        end = next((end for end in ends["at_ns"] if end >= start), None)
        first = int(at_ns.lt(start).sum())
        last = len(at_ns) - 1 if end is None else int(at_ns.le(end).sum()) - 1
        rows.append((first, max(first, last), start, end, name))
    return pd.DataFrame(rows, columns=["begin", "end", "start_ns", "end_ns", "name"])
