"""What shows a fix in a job of several ranks says on which of them, since times of several add up."""

from pathlib import Path

from tiny import call, event
from tiny_job import rows_of_rank, write_trace

from tracegraph.ingest.ranks.job import build_job
from tracegraph.ingest.ranks.rank_part import read_all_parts
from tracegraph.ingest.sources.source import as_source
from tracegraph.ingest.what_if.fixes import allocation, unsync
from tracegraph.ingest.what_if.fixes.fix import Scene
from tracegraph.ingest.what_if.graph.graph import graph_of


def scene_of(folder: Path, *, frees: int) -> Scene:
    """Two ranks that work for 60 and 100 µs and meet, three times; the first `frees` free memory before."""
    files = []
    for rank, works in enumerate((60.0, 100.0)):
        rows = rows_of_rank(works, skew_us=50)
        if rank < frees:
            rows = [event("before", 0, 20), call("cudaFree", 20, 50, 500), *rows]
        files.append(write_trace(folder / f"rank{rank}.json", rows, rank))
    parts = [part for file in files for part in read_all_parts(as_source(file))]
    graph = graph_of(build_job(parts).model)
    return Scene(graph, graph.replay.run(graph.segments.work, graph.counted).on_path)


def test_times_of_several_ranks_are_said_to_be_theirs(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, frees=2)
    (freed,) = allocation.FIX.find(scene)
    assert freed.evidence == "2 calls of cudaFree on ranks 0, 1 take 60 µs"
    (waits,) = unsync.FIX.find(scene)
    # Each waits from 2 µs after its work until 115: 53 and 13 µs. Nothing follows the last time.
    assert waits.evidence == "4 calls on ranks 0, 1 wait 132 µs for the GPU in cudaStreamSynchronize"


def test_the_one_rank_that_does_it_is_named(tmp_path: Path) -> None:
    (freed,) = allocation.FIX.find(scene_of(tmp_path, frees=1))
    assert freed.evidence == "1 calls of cudaFree on rank 0 take 30 µs"
