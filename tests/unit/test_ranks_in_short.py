"""Ranks of which only their operations are kept: they meet the others when they do in full."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tiny import Row, call, event, kernel
from tiny_job import ALL_REDUCE, rows_of_rank, write_trace

from tracegraph.base.errors import InputError
from tracegraph.base.progress import silent
from tracegraph.ingest.causal.graph.path_rows import find_stretches, path_rows
from tracegraph.ingest.detail import PATH
from tracegraph.ingest.options import IngestOptions
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.ingest.ranks.agreement import agree
from tracegraph.ingest.ranks.diagnosis import diagnose_job
from tracegraph.ingest.ranks.job import Job, build_job
from tracegraph.ingest.ranks.rank_part import Part, read_all_parts
from tracegraph.ingest.ranks.reading import read_parts
from tracegraph.ingest.ranks.short.in_full import choose_in_full, read_in_short
from tracegraph.ingest.sources.source import Source, as_source
from tracegraph.ingest.what_if.changes.between_ranks import without_stragglers
from tracegraph.ingest.what_if.changes.change import Change, whole_window
from tracegraph.ingest.what_if.fixes.registry import fixes_of
from tracegraph.ingest.what_if.graph.graph import graph_of
from tracegraph.ingest.what_if.predictions.predict import Predictor
from tracegraph.vocabulary.gaps import IN_SHORT

SIX = "[0, 1, 2, 3, 4, 5]"
GOAL_NS = 1_000
"""How far a replay of ranks in short may be off one of all in full: 1 µs, of steps of some milliseconds."""
WORKS_US = (60, 50, 100, 40, 70, 30)
"""What each of six ranks works in a step: rank 2 is late."""


def parts_of(files: Sequence[Path], *, in_short: bool) -> list[Part]:
    return agree([part for file in files for part in read_all_parts(as_source(file), in_short=in_short)])


def files_of(folder: Path, ranks: Sequence[Sequence[Row]]) -> list[Path]:
    return [
        write_trace(folder / f"rank{rank}.json", rows, rank, len(ranks)) for rank, rows in enumerate(ranks)
    ]


def six(folder: Path) -> list[Path]:
    return files_of(folder, [rows_of_rank(work, group_ranks=SIX) for work in WORKS_US])


def turns(job: Job) -> list[tuple[int, int, int]]:
    """Which rank the path is on, from when until when."""
    rows = find_stretches(job.model)
    found: list[tuple[int, int, int]] = []
    ranks = job.model.lanes.rank[job.model.segments.lane[rows.segment]].tolist()
    for rank, start, end in zip(ranks, rows.start.tolist(), rows.end.tolist(), strict=True):
        since = found.pop()[1] if found and found[-1][0] == rank else start
        found.append((rank, since, end))
    return found


def end_without(job: Job, rank: int) -> int:
    """How long the job would take if the threads of a rank that is in full took no time, ns."""
    graph = graph_of(job.model)
    segments, lanes = graph.segments, graph.lanes
    idle = segments.on_thread & (lanes.rank[segments.lane] == rank) & ~lanes.in_short[segments.lane]
    assert segments.work[idle].any()
    predictor = Predictor(graph, whole_window(graph))
    return predictor.gain(Change(np.where(idle, 0.0, 1.0))).predicted_ns


def check_alike(full: Job, short: Job) -> None:
    """The ranks meet at the same times, the path visits the same ranks, and a replay gives each start."""
    assert short.model.window == full.model.window
    assert turns(short) == turns(full)
    ours, theirs = full.model.meetings, short.model.meetings
    assert ours is not None
    assert theirs is not None
    for name in ("rendezvous", "member_of", "arrival", "end"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name))
    assert graph_of(short.model).replay  # raises where a start is another one


def test_a_rank_is_its_operations_and_the_lags_before_them(tmp_path: Path) -> None:
    late, other = parts_of(files_of(tmp_path, [rows_of_rank(100), rows_of_rank(60)]), in_short=True)
    assert late.file.in_short
    assert late.scene.events.name[np.arange(3)].tolist() == [ALL_REDUCE] * 3
    assert set(late.scene.lanes.frame["kind"]) == {"in short"}
    assert not late.scene.events.is_gpu.any()
    edges = other.found["evidence"].edges
    lags = (edges.effect_time - edges.cause_time).tolist()
    # All that was before leads to the first one; the others begin 65 µs after the end of the one before. The
    # thread alone, which works 60 µs and launches for 2, would be ready 62 and 124 µs after the first.
    first, second, third = other.scene.events.start.tolist()
    assert lags[:3] == [0, 65_000, 65_000]
    assert edges.cause_time.tolist()[1:3] == other.scene.events.end.tolist()[:2]
    sooner = sorted(zip(edges.effect_time.tolist(), edges.arrival.tolist(), strict=True))
    assert sooner == [
        *((first, first), (second, first + 62_000), (second, second)),
        *((third, first + 124_000), (third, second + 62_000), (third, third)),
    ]


def test_the_path_is_that_of_the_ranks_in_full(tmp_path: Path) -> None:
    files = files_of(tmp_path, [rows_of_rank(100), rows_of_rank(60)])
    full, short = (build_job(parts_of(files, in_short=in_short)) for in_short in (False, True))
    check_alike(full, short)
    rows = path_rows(short.model)
    spent = (rows["end_ns"] - rows["start_ns"]).groupby(rows["name"]).sum().to_dict()
    assert spent == {IN_SHORT: 315_000, ALL_REDUCE: 30_000}


@pytest.mark.parametrize("skew_us", [1500, -700])
def test_clocks_are_put_right_as_in_full(tmp_path: Path, skew_us: float) -> None:
    files = files_of(tmp_path, [rows_of_rank(100), rows_of_rank(60, skew_us=skew_us)])
    full, short = (build_job(parts_of(files, in_short=in_short)) for in_short in (False, True))
    assert short.clocks == full.clocks
    check_alike(full, short)


def test_a_rank_may_work_after_its_last_operation(tmp_path: Path) -> None:
    long_tail = [*rows_of_rank(60), event("save", 400, 900)]
    files = files_of(tmp_path, [rows_of_rank(100), long_tail])
    full, short = (build_job(parts_of(files, in_short=in_short)) for in_short in (False, True))
    check_alike(full, short)
    assert turns(short)[-1][0] == 1


def test_operations_that_overlap_get_lanes_of_their_own(tmp_path: Path) -> None:
    def rows(work: float) -> list[Row]:
        found = [event("work", 0, work)]
        for number, stream in enumerate((7, 8)):
            begin = work + 10 * number
            found += [
                call("cudaLaunchKernel", begin, begin + 2, number + 1),
                kernel(
                    ALL_REDUCE, begin + 5, 200 + number, number + 1, stream=stream,
                    group="0", group_ranks="[0, 1]", group_sequence=number,
                ),
            ]  # fmt: skip
        return found

    files = files_of(tmp_path, [rows(100), rows(60)])
    full, short = (build_job(parts_of(files, in_short=in_short)) for in_short in (False, True))
    check_alike(full, short)


def test_a_rank_without_operations_is_a_stretch_of_work(tmp_path: Path) -> None:
    files = files_of(tmp_path, [rows_of_rank(100), [event("alone", 0, 500)]])
    full, short = (build_job(parts_of(files, in_short=in_short)) for in_short in (False, True))
    assert short.model.window == full.model.window
    assert turns(short) == turns(full)


def test_those_in_full_are_the_late_one_and_three_from_the_middle(tmp_path: Path) -> None:
    job = build_job(parts_of(six(tmp_path), in_short=True))
    assert choose_in_full(job.model, dict.fromkeys(range(6), 1)) == [0, 1, 2, 3]
    # Rank 2 is late; of the others those that wait neither least (rank 4) nor longest (rank 5).
    assert choose_in_full(job.model, dict.fromkeys(range(6), 1 << 40)) == [1, 2, 3]
    # Of large files fewer: the late one, the one in the middle of the others, and one more.


def test_a_run_says_which_ranks_are_in_full(tmp_path: Path) -> None:
    options = IngestOptions(detail=PATH)
    tables, manifest = ingest_run(six(tmp_path), "six", silent, options)
    traces = tables.nodes["Trace"]
    assert dict(zip(traces["rank"].to_pylist(), traces["in_short"].to_pylist(), strict=True)) == {
        0: False, 1: False, 2: False, 3: False, 4: True, 5: True,
    }  # fmt: skip
    assert manifest["in_full"] == [0, 1, 2, 3]
    lanes = tables.nodes["Lane"]
    short = [rank for rank, kind in zip(lanes["rank"], lanes["kind"], strict=True) if str(kind) == "in short"]
    assert {rank.as_py() for rank in short} == {4, 5}
    member = tables.relationships["MEMBER_OF"]
    assert member["exposed_wait_ns"].null_count == 6


def test_ranks_may_be_asked_for(tmp_path: Path) -> None:
    sources = [as_source(file) for file in six(tmp_path)]

    def read(given: Sequence[Source], *, in_short: bool = False) -> list[Part]:
        return read_parts(given, in_short=in_short)

    parts = read_in_short(sources, read, IngestOptions(detail=PATH, in_full=[5]))
    assert [part.rank for part in parts if not part.file.in_short] == [5]
    with pytest.raises(InputError, match="no file is of rank 9"):
        read_in_short(sources, read, IngestOptions(detail=PATH, in_full=[5, 9]))


def test_findings_name_the_ranks_in_full(tmp_path: Path) -> None:
    files = six(tmp_path)
    full, short = (parts_of(files, in_short=in_short) for in_short in (False, True))
    mixed = build_job([*full[:2], *short[2:]])
    (found,) = (one for one in diagnose_job(mixed) if one.code == "ranks_in_short")
    assert found.count == 4
    assert "in full are ranks 0, 1" in found.message
    assert not [one for one in diagnose_job(build_job(full)) if one.code == "ranks_in_short"]


def test_what_compares_ranks_leaves_out_those_in_short(tmp_path: Path) -> None:
    files = six(tmp_path)
    full, short = (parts_of(files, in_short=in_short) for in_short in (False, True))
    graph = graph_of(build_job([*full[:3], *short[3:]]).model)
    factor = without_stragglers(graph)
    late = np.unique(graph.lanes.rank[graph.segments.lane[factor < 1]])
    assert late.tolist() == [2]
    assert (factor[graph.lanes.in_short[graph.segments.lane]] == 1).all()
    assert [fix.name for fix in fixes_of(graph)] == ["balance"]


@pytest.mark.parametrize(
    "words",
    [
        ("--straggler", "2:3000", "--skew", "2000", "--seed", "5"),
        ("--jitter", "--skew", "100", "--seed", "9"),
        ("--no-seq", "--prefetch-thread", "--straggler", "1:2000", "--seed", "2"),
        ("--int-us", "--stack", "--seed", "3"),
    ],
)
def test_simulated_ranks_meet_as_in_full(oracle_folder: Path, tmp_path: Path, words: Sequence[str]) -> None:
    simulator = oracle_folder / "synth_kineto.py"
    size = ("--ranks", "5", "--events", "1500", "--steps", "3")
    subprocess.run([sys.executable, str(simulator), str(tmp_path / "job"), *size, *words], check=True)
    files = sorted(tmp_path.glob("job_rank*.json"))
    full, short = (parts_of(files, in_short=in_short) for in_short in (False, True))
    whole = build_job(full)
    check_alike(whole, build_job(short))
    mixed = build_job([ranks[place % 2] for place, ranks in enumerate(zip(full, short, strict=True))])
    check_alike(whole, mixed)
    for rank in (0, 2):
        ends = [end_without(job, rank) for job in (whole, mixed)]
        assert ends[0] == pytest.approx(ends[1], abs=GOAL_NS)
