"""Several ranks as one graph: matching, clocks, rendezvous and replays, on jobs of a few rows."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rank_parts import read_part
from tiny import Row, call, event, kernel
from tiny_job import ALL_REDUCE, rows_of_rank, write_trace

from tracegraph.base.errors import InputError
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.path_rows import path_rows
from tracegraph.ingest.causal.graph.segments import WAIT
from tracegraph.ingest.causal.rules.edges import GAP_OF_MECHANISM
from tracegraph.ingest.integrity_findings import Finding
from tracegraph.ingest.ranks.agreement import agree
from tracegraph.ingest.ranks.clocks import RankClock, fit_clock
from tracegraph.ingest.ranks.communication_kinds import find_kind
from tracegraph.ingest.ranks.diagnosis import diagnose_job
from tracegraph.ingest.ranks.job import Job, build_job
from tracegraph.ingest.ranks.members import read_ranks
from tracegraph.ingest.ranks.rank_part import Part
from tracegraph.ingest.sources.rank_names import rank_in_name, ranks_in_names
from tracegraph.ingest.sources.source import Source
from tracegraph.vocabulary.collectives import stated_kind
from tracegraph.vocabulary.mechanisms import CODE, COLLECTIVE


def parts_of(folder: Path, *ranks: Sequence[Row]) -> list[Part]:
    return [
        read_part(write_trace(folder / f"rank{rank}.json", rows, rank)) for rank, rows in enumerate(ranks)
    ]


def job_of(folder: Path, *ranks: Sequence[Row]) -> Job:
    return build_job(parts_of(folder, *ranks))


def codes(job: Job) -> dict[str, Finding]:
    return {finding.code: finding for finding in diagnose_job(job)}


def spent(job: Job) -> dict[tuple[str, str], int]:
    """µs of each name on the path, by the name of its lane's rank."""
    rows = path_rows(job.model)
    ranks = job.model.lanes.rank[rows["lane"].to_numpy()]
    sums = (rows["end_ns"] - rows["start_ns"]).groupby([ranks, rows["name"]]).sum() // 1000
    return {(f"rank {rank}", str(name)): int(total) for (rank, name), total in sums.items()}


def test_the_path_goes_over_to_the_rank_that_came_last(tmp_path: Path) -> None:
    job = job_of(tmp_path, rows_of_rank(100), rows_of_rank(60))
    found = spent(job)
    assert found["rank 0", "work"] == 300
    assert ("rank 1", "work") not in found
    assert "waiting for another rank" not in {name for _, name in found}


@pytest.mark.parametrize("skew_us", [0, 1500, -700])
def test_clocks_are_put_right_by_the_ends_of_collectives(tmp_path: Path, skew_us: float) -> None:
    job = job_of(tmp_path, rows_of_rank(100), rows_of_rank(60, skew_us=skew_us))
    assert job.clocks[1].offset_ns == -1000 * skew_us
    assert job.files[1].rank_offset_ns == -1000 * skew_us
    assert ("rank_clock_shifted" in codes(job)) == (skew_us != 0)
    assert spent(job)["rank 0", "work"] == 300


def test_a_member_waits_until_the_last_one_arrives(tmp_path: Path) -> None:
    model = job_of(tmp_path, rows_of_rank(100), rows_of_rank(60)).model
    segments = model.segments
    waits = np.flatnonzero(~segments.on_thread & (segments.kind == WAIT) & (segments.end > segments.start))
    assert (segments.end - segments.start)[waits].tolist() == [40_000] * 3
    assert (model.lanes.rank[segments.lane[waits]] == 1).all()
    assert (segments.gap_name[waits] == GAP_OF_MECHANISM[CODE[COLLECTIVE]]).all()
    assert segments.work[waits].tolist() == [0] * 3


def test_what_is_gained_without_a_rank_s_work_ends_where_the_next_one_comes(tmp_path: Path) -> None:
    model = job_of(tmp_path, rows_of_rank(100, skew_us=250), rows_of_rank(60)).model
    segments = model.segments
    late = np.append(model.events.name.among("work"), False)[segments.event]
    late &= model.lanes.rank[segments.lane] == 0
    counts = np.ones(len(segments), dtype=bool)
    gain = model.window.end - model.replay.without(late, counts).end
    assert gain == 3 * 40_000


def test_ranks_without_numbers_are_matched_by_order(tmp_path: Path) -> None:
    plain = {"group": None, "group_ranks": None, "group_sequence": None}
    job = job_of(tmp_path, rows_of_rank(100, **plain), rows_of_rank(60, **plain))
    meetings = job.model.meetings
    assert meetings is not None
    assert len(meetings) == 3
    assert not meetings.recorded.any()
    assert codes(job)["operations_by_order"].count == 3
    assert spent(job)["rank 0", "work"] == 300


def test_different_numbers_of_unnumbered_collectives_are_not_matched(tmp_path: Path) -> None:
    plain = {"group": None, "group_ranks": None, "group_sequence": None}
    job = job_of(tmp_path, rows_of_rank(100, **plain), rows_of_rank(60, steps=2, **plain))
    assert codes(job)["operations_unmatched"].count == 5
    assert codes(job)["rank_unaligned"].count == 1


def test_members_without_a_file_are_named(tmp_path: Path) -> None:
    three = {"group_ranks": "[0, 1, 2]"}
    job = job_of(tmp_path, rows_of_rank(100, **three), rows_of_rank(60, **three))
    assert job.model.meetings is not None
    assert job.model.meetings.missing == [(2,)] * 3
    assert "rank 2" in codes(job)["members_missing"].message


def test_collectives_of_a_group_that_no_file_names_are_not_guessed(tmp_path: Path) -> None:
    rows = [row | {"group": None, "group_ranks": None, "group_sequence": None} for row in rows_of_rank(60)]
    parts = parts_of(tmp_path, rows, rows)
    members = [[member.__class__(**{**vars(member), "size": 4}) for member in part.members] for part in parts]
    job = build_job([part.__class__(**{**vars(part), "members": members[k]}) for k, part in enumerate(parts)])
    assert "which" in codes(job)["operations_unmatched"].message


def test_the_drift_of_a_gpu_is_told_from_the_start_of_the_job(tmp_path: Path) -> None:
    first, second = parts_of(tmp_path, rows_of_rank(100), rows_of_rank(60)[1:])  # begins to record later
    drifting = replace(second, file=replace(second.file, clock_offset_ns=900, clock_drift_ppb=10_000_000))
    job = build_job([first, drifting])
    before = second.scene.window.start + job.files[1].rank_offset_ns - job.model.window.start
    assert before > 0
    assert job.files[1].clock_offset_ns == 900 - round(before * 0.01)


def test_ids_of_two_files_never_meet(tmp_path: Path) -> None:
    model = job_of(tmp_path, rows_of_rank(100), rows_of_rank(60)).model
    launched = np.flatnonzero(model.launches.call >= 0)
    assert len(launched) == 6
    assert (model.events.rank[launched] == model.events.rank[model.launches.call[launched]]).all()
    assert len(model.lanes.frame) == 4
    assert set(model.lanes.frame["rank"]) == {0, 1}


def test_a_rank_is_there_once(tmp_path: Path) -> None:
    first, second = parts_of(tmp_path, rows_of_rank(100), rows_of_rank(60))
    with pytest.raises(InputError, match="hold the same"):
        agree([first, read_part(Path(first.file.path))])
    again = read_part(write_trace(tmp_path / "other.json", rows_of_rank(80), 0))
    with pytest.raises(InputError, match="both rank 0"):
        agree([first, again])
    assert [part.rank for part in agree([second, first])] == [0, 1]


def test_a_rank_that_a_file_does_not_state_is_in_its_name(tmp_path: Path) -> None:
    parts = [
        read_part(write_trace(tmp_path / f"trace_rank-{rank}.json", rows, None))
        for rank, rows in ((3, rows_of_rank(100)), (5, rows_of_rank(60)))
    ]
    placed = agree(parts)
    assert [part.rank for part in placed] == [3, 5]
    assert set(build_job(placed).model.events.rank.tolist()) == {3, 5}
    with pytest.raises(InputError, match="does not say which rank it is"):
        agree([read_part(write_trace(tmp_path / "trace.json", rows_of_rank(60), None)), parts[0]])


@pytest.mark.parametrize(
    ("path", "rank"),
    [
        ("rank3.json.gz", 3),
        ("logs/rank_3/trace.json", 3),
        ("trace.RANK-12.json", 12),
        ("frank.json", None),
        ("a/b.json", None),
    ],
)
def test_the_rank_in_a_name(path: str, rank: int | None) -> None:
    assert rank_in_name(path) == rank


@pytest.mark.parametrize(
    ("names", "ranks"),
    [
        (("profile_0.json", "profile_1.json"), (0, 1)),
        (("logs/worker1.91.json", "logs/worker0.82.json"), (1, 0)),
        (("gpu-2/trace.json", "gpu-0/trace.json", "gpu-1/trace.json"), (2, 0, 1)),
        (("1785-TP-0-DP-0.trace.json", "1785-TP-1-DP-0.trace.json"), (0, 1)),
        (("17.97-TP-0.trace.json.gz", "17.97-TP-3.trace.json.gz"), (0, 3)),
        (("a-TP-0-EP-0.json", "a-TP-1-EP-1.json"), (0, 1)),
        (("dp0_pp0_tp0_rank0.1.json", "dp0_pp0_tp1_rank1.2.json"), (0, 1)),
        (("a-DP-0.json", "a-DP-1.json"), (0, 1)),
        (("a-TP-5.json",), (5,)),
        # places that may be put together in several ways
        (("a-TP-0-DP-0.json", "a-TP-0-DP-1.json"), None),
        (("a-TP-0-DP-0.json", "a-TP-1-DP-1.json"), None),
        (("a-TP-0-PP-1.json", "a-TP-1-PP-1.json"), None),
        (("a-PP-0-DP-0.json", "a-PP-1-DP-0.json"), None),
        (("a-TP-0.json", "a-DP-1.json"), None),
        # numbers of something else
        (("profile_1.json", "profile_2.json"), None),
        (("step_0.json", "step_1.json"), None),
        (("host_11.170.pt.trace.json", "host_12.171.pt.trace.json"), None),
        (("node0.json", "node1.json"), None),
        (("a0b0.json", "a1b1.json"), None),
        (("a.json", "b.json"), None),
        (("steps/0.json", "steps/1.json"), None),
        (("run/0.json", "run/1.json"), (0, 1)),
        (("profile_0.json",), None),
    ],
)
def test_the_ranks_in_the_names_of_a_job(names: tuple[str, ...], ranks: tuple[int, ...] | None) -> None:
    assert ranks_in_names(names) == list(ranks or [None] * len(names))


def test_names_that_do_not_tell_ranks_are_refused_with_what_to_say(tmp_path: Path) -> None:
    files = [write_trace(tmp_path / f"a-TP-0-DP-{k}.json", rows_of_rank(60 + k), None) for k in range(2)]
    with pytest.raises(InputError) as refused:
        agree([read_part(file) for file in files])
    assert "--rank-of a-TP-0-DP-0.json=0" in str(refused.value.hint)
    assert [
        part.rank for part in agree([read_part(Source(str(file), k)) for k, file in enumerate(files)])
    ] == [0, 1]


def test_a_clock_that_drifts_is_followed_and_noise_is_no_offset() -> None:
    mine = np.arange(0, 10**10, 10**8)
    drifting = fit_clock(mine + 5_000 + mine // 50_000, mine)
    assert (drifting.offset_ns, drifting.drift_ppb) == (5_000, 20_000)
    noise = np.resize([-900, 1_000], len(mine))
    assert fit_clock(mine + noise, mine).offset_ns == 0
    assert fit_clock(mine + noise, mine).spread_ns == pytest.approx(1_409, abs=2)
    assert RankClock(7).put_right(np.array([NONE, 5])).tolist() == [NONE, 12]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (ALL_REDUCE, "all_reduce"),
        ("ncclKernel_ReduceScatter_RING_LL_Sum_half", "reduce_scatter"),
        ("nccl:_all_gather_base", "all_gather"),
        ("gloo:all_reduce", "all_reduce"),
        ("nccl:send 0->1", "send"),
        ("reduce_kernel_vectorized", None),
        ("aten::add", None),
    ],
)
def test_kinds_of_communication_by_name(name: str, kind: str | None) -> None:
    assert find_kind(name) == kind


def test_kinds_and_groups_as_arguments_state_them() -> None:
    assert [stated_kind(name) for name in ("all_to_allv", "_reduce_scatter_base", "")] == [
        "all_to_all",
        "reduce_scatter",
        None,
    ]
    assert read_ranks("[1, 0]") == (0, 1)
    assert [read_ranks(text) for text in (None, "", "[0, 1, ...]", "0-7")] == [None] * 4


def test_real_ranks_and_who_was_late(shared_trace: object) -> None:
    assert callable(shared_trace)
    files = [shared_trace(f"a2_megatron_tp2_v100_2rank/rank{rank}.pt.trace.json") for rank in (0, 1)]
    job = build_job(agree([read_part(path) for path in files]))
    meetings = job.model.meetings
    assert meetings is not None
    assert len(meetings) == 13
    waited = meetings.rendezvous[meetings.member_of] - meetings.arrival
    longest = int(waited.argmax())
    assert waited[longest] == pytest.approx(21_580_000, abs=50_000)
    assert job.model.events.rank[meetings.event[longest]] == 1


def begins_at(begin: float, first_kernel: float | None = None) -> list[Row]:
    """A rank whose file begins then; its first all-reduce may stand behind a kernel from before it."""
    rows = [event("begin", begin, begin + 50)]
    if first_kernel is not None:
        rows.append(kernel("earlier", first_kernel, 69_000, None))
    at, ends = 60_000.0, 70_000.0
    for number in range(3):
        came = 69_000 if number == 0 and first_kernel is not None else at + 15
        stated = {"group": "0", "group_ranks": "[0, 1]", "group_sequence": number}
        rows += [
            event("work", at, at + 10),
            call("cudaLaunchKernel", at + 10, at + 12, number + 1),
            kernel(ALL_REDUCE, came, ends, number + 1, **stated),
            call("cudaStreamSynchronize", at + 12, ends, 100 + number),
        ]
        at, ends = ends, ends + 40
    return rows


def test_before_a_rank_s_file_begins_is_apart_from_what_its_stream_held(tmp_path: Path) -> None:
    job = job_of(tmp_path, begins_at(0), begins_at(41_600, first_kernel=57_700))
    found = spent(job)
    assert found["rank 1", "outside this rank's recording"] == 41_600
    assert found["rank 1", "work from before the recording"] == 16_100
    assert ("rank 1", "unknown") not in found
    assert codes(job)["path_mostly_unrecorded"].share == pytest.approx(57_700 / 70_080)
    early = job_of(tmp_path, begins_at(0), begins_at(0, first_kernel=57_700))
    assert spent(early)["rank 1", "work from before the recording"] == 57_700
