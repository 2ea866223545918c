"""What lies in the segments of the allocator at the end of a snapshot, from blocks that are written here."""

import pickle
from io import BytesIO
from typing import Any

import pandas as pd
from memory_snapshots import BACKWARD, Recorder

from tracegraph.ingest.companions.memory.recording import Recording, recordings_in
from tracegraph.ingest.companions.memory.segments import MOST_SEGMENTS
from tracegraph.ingest.companions.memory.snapshot_columns import read_columns
from tracegraph.workbench.memory.pictures import segment_picture
from tracegraph.workbench.sections.blocks import Plot

START = 0x10_0000


def segment(*blocks: tuple[str, int], address: int = START, pool: str = "large") -> dict[str, Any]:
    """Write a segment of blocks, each a state and a size."""
    places = [address + sum(size for _, size in blocks[:place]) for place in range(len(blocks))]
    return {
        "device": 0,
        "address": address,
        "total_size": sum(size for _, size in blocks),
        "segment_type": pool,
        "blocks": [
            {"address": place, "size": size, "requested_size": size, "state": state, "frames": []}
            for place, (state, size) in zip(places, blocks, strict=True)
        ],
    }


def recorded(*segments: dict[str, Any]) -> Recording:
    """Read a snapshot of these segments, in which one gradient of 500 bytes was allocated, at `START`."""
    recorder = Recorder(address=START - (1 << 20))
    recorder.allocate(500, BACKWARD)
    recorder.free(recorder.allocate(7, BACKWARD), BACKWARD)
    snapshot = {**recorder.snapshot(), "segments": list(segments)}
    (found,) = recordings_in("s.pickle", "", read_columns(BytesIO(pickle.dumps(snapshot))))
    return found


def parts(recording: Recording) -> list[tuple[Any, ...]]:
    rows = recording.segments.astype(object)
    return list(rows.where(rows.notna(), None).itertuples(index=False, name=None))


USED, FREE, WAITS = "active_allocated", "inactive", "active_pending_free"


def test_neighbours_of_one_kind_are_one_part_and_the_largest_segment_is_first() -> None:
    found = recorded(
        segment((USED, 512), (FREE, 1024), (USED, 512), (USED, 1024), (WAITS, 512)),
        segment((FREE, 2048), (FREE, 4096), address=0x900_0000, pool="small"),
    )
    assert parts(found) == [
        (0, 6144, "small", 0, 6144, "cached whole", None, 2),
        (1, 3584, "large", 0, 512, "in use", "gradient", 1),
        (1, 3584, "large", 512, 1024, "split free", None, 1),
        (1, 3584, "large", 1536, 1536, "in use", "from before the recording", 2),
        (1, 3584, "large", 3072, 512, "waits for a stream", "from before the recording", 1),
    ]
    whole = found.pools[found.pools["pool"] == "all"].iloc[0]
    sums = found.segments.groupby("state")["bytes"].sum()
    assert (sums["split free"], sums["cached whole"]) == (
        whole["split_free_bytes"],
        whole["free_segment_bytes"],
    )


def test_the_picture_has_a_row_for_each_segment_and_says_what_it_leaves_out() -> None:
    many = [
        segment((USED, 512), (FREE, 512 * (1 + number % 3)), address=START + number * 8192)
        for number in range(MOST_SEGMENTS + 2)
    ]
    found = recorded(*many)
    (plot,) = segment_picture(found.segments, found.pools)
    assert isinstance(plot, Plot)
    assert plot.frame["_segment"].nunique() == MOST_SEGMENTS
    assert plot.frame["_part"].tolist()[:2] == ["from before the recording", "split free"]
    assert plot.note.endswith("Not drawn: 2 other segments, together 2.05 kB.")


def test_without_segments_nothing_is_drawn() -> None:
    assert list(segment_picture(pd.DataFrame(), pd.DataFrame())) == []
    assert recorded().segments.empty
