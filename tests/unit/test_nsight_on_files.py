"""Real reports of Nsight Systems: what independent SQL found in them, and a path that tiles."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from model_checks import check_tiling

from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.causal.graph.model import Model, build_model
from tracegraph.ingest.causal.graph.path_rows import path_rows
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.intervals import union_length
from tracegraph.ingest.ranks.agreement import agree
from tracegraph.ingest.ranks.job import build_job
from tracegraph.ingest.ranks.rank_part import Part
from tracegraph.ingest.ranks.reading import read_parts
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.sources.expand import find_sources

F3, F5 = "f3_nsys_lm2.7b_nvtx.sqlite.gz", "f5_nsys_lm_schema_3.25.sqlite.gz"
Find = Callable[[str], Path]


@pytest.fixture(scope="module")
def model_of(shared_trace: Find) -> Callable[[str], Model]:
    known: dict[str, Model] = {}

    def build(name: str) -> Model:
        if name not in known:
            integrity = Integrity(name)
            trace = read_trace(shared_trace(name), integrity)
            assert not [finding for finding in integrity if finding.level != "info"]
            known[name] = build_model(*read_events(trace), integrity)
        return known[name]

    return build


def _length(events: Events, chosen: Flags) -> int:
    return int((events.end - events.start)[chosen].sum())


@pytest.mark.parametrize(("name", "busy_ns"), [(F3, 6564856884), (F5, 85162209)])
def test_busy_time_and_a_path_that_tiles(model_of: Callable[[str], Model], name: str, busy_ns: int) -> None:
    model = model_of(name)
    work = model.events.is_gpu
    assert union_length(model.events.start[work], model.events.end[work]) == busy_ns
    check_model(model)
    check_tiling(model)
    path = path_rows(model)
    assert (path["start_ns"].to_numpy()[1:] == path["end_ns"].to_numpy()[:-1]).all()
    assert int((path["end_ns"] - path["start_ns"]).sum()) == model.window.end - model.window.start


@pytest.mark.parametrize(
    ("name", "waits"),
    [
        (F3, {"Context Sync": (3, 941899822), "Stream Sync": (292, 11228634)}),
        (F5, {"Context Sync": (11, 96302), "Stream Sync": (113, 6424541)}),
    ],
)
def test_waits_by_what_waited(
    model_of: Callable[[str], Model], name: str, waits: dict[str, tuple[int, int]]
) -> None:
    events = model_of(name).events
    rows = events.category.among("cuda_sync")
    found = {
        str(kind): (int(chosen.sum()), _length(events, chosen))
        for kind in np.unique(events.name[rows].astype(str))
        for chosen in [rows & events.name.among(kind)]
    }
    assert found == waits


def test_launches_copies_and_span_of_f3(model_of: Callable[[str], Model]) -> None:
    model = model_of(F3)
    events, work = model.events, model.events.is_gpu
    assert int((model.launches.call[work] >= 0).sum()) == int(work.sum()) == 7622
    assert (events.start[work].min(), events.end[work].max()) == (32523211272, 40386112083)
    calls = events.category.among("cuda_runtime"), events.category.among("cuda_driver")
    assert [int(chosen.sum()) for chosen in calls] == [8669, 824]
    pageable = events.name.among("Memcpy HtoD (Pageable -> Device)")
    assert int(pageable.sum()) == 292
    assert _length(events, events.category.among("kernel")) == 3408380989


def test_bytes_of_the_copies_of_f3(shared_trace: Find) -> None:
    events = read_trace(shared_trace(F3), Integrity(F3)).events.to_pandas()
    copies = events[events["name"] == "Memcpy HtoD (Pageable -> Device)"]
    assert int(copies["bytes"].sum()) == 13627402240
    rate = copies["bytes"].sum() / (copies["end_ns"] - copies["start_ns"]).sum()
    assert round(float(rate), 6) == 4.317293


def test_module_loading_of_f5(model_of: Callable[[str], Model]) -> None:
    events = model_of(F5).events
    loading = events.name.among("Runtime Triggered Module Loading")
    assert (int(loading.sum()), _length(events, loading)) == (38, 157629716)


@pytest.mark.parametrize(
    ("name", "kernels", "length_ns"),
    [
        ("scaled dot product attention", 1408, 247165246),
        ("computing softmax", 640, 94015966),
        ("computing attention scores", 512, 85447185),
        ("final matmul", 256, 67702095),
    ],
)
def test_kernels_launched_in_a_range_of_f3(
    model_of: Callable[[str], Model], name: str, kernels: int, length_ns: int
) -> None:
    model = model_of(F3)
    events = model.events
    ranges = np.flatnonzero(events.name.among(name) & events.category.among("user_annotation"))
    work = np.flatnonzero(events.category.among("kernel"))
    call = model.launches.call[work]
    inside = np.zeros(len(work), dtype=bool)
    for one in ranges.tolist():
        same = events.lane[call] == events.lane[one]
        inside |= same & (events.start[call] >= events.start[one]) & (events.start[call] < events.end[one])
    assert (int(inside.sum()), int((events.end - events.start)[work[inside]].sum())) == (kernels, length_ns)


@pytest.fixture(scope="module")
def parts_of_f1(shared_trace: Find) -> list[Part]:
    sources = find_sources([str(shared_trace("f1_nsys_nccl_3node_9gpu"))])
    return read_parts([source.located for source in sources])


def test_nine_files_are_nine_ranks_in_the_order_of_nccl_s_log(parts_of_f1: list[Part]) -> None:
    assert [part.rank for part in parts_of_f1] == [1, 0, 2, 5, 3, 4, 8, 6, 7]
    assert all(part.rank_stated for part in parts_of_f1)
    assert {part.file.world_size for part in parts_of_f1} == {9}
    hosts = [part.file.clock for part in parts_of_f1]
    assert hosts == [f"ault{host}.cscs.ch" for host in (42, 42, 42, 43, 43, 43, 44, 44, 44)]


def test_arrivals_stay_as_the_files_clocks_have_them(parts_of_f1: list[Part]) -> None:
    """Ranks of one host leave 5.8 ms apart, so that ends cannot show a shift of the hosts below that."""
    job = build_job(agree(parts_of_f1))
    events = job.model.events
    kernels = np.flatnonzero(events.category.among("kernel"))
    arrived = {int(events.rank[k]): int(events.start[k]) for k in kernels}
    assert min(arrived, key=arrived.__getitem__) == 2
    assert max(arrived, key=arrived.__getitem__) == 5
    assert max(arrived.values()) - min(arrived.values()) == 23851147
    assert [job.clocks[rank].offset_ns for rank in range(9)] == [0] * 9
    assert {job.clocks[rank].spread_ns for rank in range(3, 9)} == {5796313}
    assert job.model.meetings is not None
    assert len(job.model.meetings) == 1
    check_tiling(job.model)
