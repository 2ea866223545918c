"""Reports of several processes: which are ranks, which rank each is, and on which clock."""

from pathlib import Path

import nsight_reports
import pytest
from nsight_reports import CALL, KERNEL, PROCESS, Report, thread

from tracegraph.base.errors import InputError
from tracegraph.base.progress import silent
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.ingest.ranks.clocks import align_ranks
from tracegraph.ingest.ranks.matching import Operation
from tracegraph.ingest.ranks.members import Member
from tracegraph.ingest.sources.ranks_given import with_ranks
from tracegraph.ingest.sources.reading import read_ranks
from tracegraph.ingest.sources.source import Source
from tracegraph.ingest.trace import TraceFile

Parts = list[tuple[TraceFile, Integrity]]
GIVEN = (("b.sqlite", 41), ("a.sqlite", 9), ("b.sqlite", 9), ("a.sqlite", 40))
"""Processes of two reports in the order of their ranks, as a user may say it."""
LOG = "node:{pid}:{pid} [0] NCCL INFO ncclCommInitRank comm 0x55 rank {rank} nranks {size} - Init COMPLETE\n"


def _report(*pids: int) -> Report:
    """A report in which each process launches one kernel, all with the same ids."""
    report = nsight_reports.Report()
    for pid in pids:
        process = PROCESS & ~0xFFFFFFFFFFFF | pid << 24
        place = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": process, "correlationId": 1}
        report.add(KERNEL, start=30, end=50 + pid, **place, demangledName=report.text("k"))
        at = {"start": 10, "end": 20, "globalTid": thread(5, process)}
        report.add(CALL, **at, eventClass=0, nameId=report.text("cudaLaunchKernel"), correlationId=1)
    return report


def _read(report: Report, folder: Path, **ranks: int) -> Parts:
    path = report.write(folder / "report.sqlite")
    given = {f"report.sqlite#{pid[1:]}": rank for pid, rank in ranks.items()}
    source = with_ranks([Source(str(path))], given)[0]
    return read_ranks(source, Integrity("report.sqlite"))


def _ranks(parts: Parts) -> list[tuple[str, int, bool]]:
    """The name of each part, its rank, and whether that is known."""
    return [
        (trace.part, trace.rank, "rank_missing" not in {finding.code for finding in own})
        for trace, own in parts
    ]


def test_each_process_with_work_on_a_gpu_is_a_rank_with_its_own_rows(tmp_path: Path) -> None:
    report = _report(40, 9)
    stranger = {"start": 1, "end": 5, "globalTid": thread(5, 77 << 24)}
    report.add("OSRT_API", **stranger, nameId=report.text("poll"))
    parts = _read(report, tmp_path)
    assert _ranks(parts) == [("9", 0, False), ("40", 1, False)]
    assert [trace.events["end_ns"].to_pylist() for trace, _ in parts] == [[20, 59], [20, 90]]


def test_the_log_of_nccl_names_ranks_by_process_and_the_largest_communicator_counts(tmp_path: Path) -> None:
    report = _report(9, 40)
    lines = [
        LOG.format(pid=pid, rank=rank, size=size) for pid, rank, size in ((9, 5, 8), (40, 3, 8), (9, 1, 2))
    ]
    report.add("ProcessStreams", globalPid=PROCESS, contentId=report.text("text before " + "".join(lines)))
    parts = _read(report, tmp_path)
    assert _ranks(parts) == [("40", 3, True), ("9", 5, True)]
    assert {trace.world_size for trace, _ in parts} == {8}


def test_a_rank_that_two_processes_claim_is_neither_s(tmp_path: Path) -> None:
    report = _report(9, 40, 41)
    lines = [LOG.format(pid=pid, rank=rank, size=3) for pid, rank in ((9, 1), (40, 1), (41, 0))]
    report.add("ProcessStreams", globalPid=PROCESS, contentId=report.text("".join(lines)))
    assert _ranks(_read(report, tmp_path)) == [("41", 0, True), ("9", 1, False), ("40", 2, False)]


def test_a_report_of_several_processes_is_a_job(tmp_path: Path) -> None:
    path = _report(9, 40).write(tmp_path / "report.sqlite")
    tables, manifest = ingest_run([path], "run", silent)
    assert [source["rank"] for source in manifest["sources"]] == [0, 1]  # type: ignore[attr-defined]
    assert tables.nodes["Trace"].num_rows == 2


def _of_a_node(folder: Path, node: str, ranks: dict[int, int], later: int) -> Path:
    """A report of a node whose clock is `later` ns ahead, with the rank of each process in NCCL's log."""
    report = nsight_reports.Report()
    name = report.text("ncclKernel_AllReduce_TREE_LL_Sum_float")
    for pid in ranks:
        process = PROCESS & ~0xFFFFFFFFFFFF | pid << 24
        place = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": process, "correlationId": 1}
        report.add(KERNEL, start=later + 30, end=later + 5000 + pid, **place, demangledName=name)
        at = {"start": later + 10, "end": later + 20, "globalTid": thread(5, process)}
        report.add(CALL, **at, eventClass=0, nameId=report.text("cudaLaunchKernel"), correlationId=1)
    log = "".join(LOG.format(pid=pid, rank=rank, size=4) for pid, rank in ranks.items())
    report.add("ProcessStreams", globalPid=PROCESS, contentId=report.text(log))
    report.add("TARGET_INFO_SYSTEM_ENV", name="Hostname", value=node)
    report.add("META_DATA_EXPORT", name="EXPORT_PARAM_TIME_NORMALIZE", value="true")
    return report.write(folder / f"{node}.sqlite")


def test_reports_of_several_nodes_are_one_job_whose_hosts_are_shifted(tmp_path: Path) -> None:
    """Processes on two nodes may have the same numbers."""
    nodes = [_of_a_node(tmp_path, "a", {9: 2, 40: 0}, 0), _of_a_node(tmp_path, "b", {9: 1, 41: 3}, 90_000)]
    tables, manifest = ingest_run(nodes, "run", silent)
    assert [source["rank"] for source in manifest["sources"]] == [0, 1, 2, 3]  # type: ignore[attr-defined]
    rows = tables.nodes["Trace"].sort_by("rank")
    offsets = rows["rank_offset_ns"].to_pylist()
    assert offsets == pytest.approx([0, -90_000, 0, -90_000], abs=50)
    assert offsets[1] == offsets[3]


def test_processes_of_several_reports_that_state_no_rank_are_not_guessed(tmp_path: Path) -> None:
    nodes = [_report(9, 40).write(tmp_path / "a.sqlite"), _report(9, 41).write(tmp_path / "b.sqlite")]
    with pytest.raises(InputError, match="does not say which rank it is") as caught:
        ingest_run(nodes, "run", silent)
    assert "--rank-of 'a.sqlite#9'=0" in caught.value.hint
    given = {f"{node}#{pid}": rank for rank, (node, pid) in enumerate(GIVEN)}
    _, manifest = ingest_run(with_ranks([Source(str(node)) for node in nodes], given), "run", silent)
    assert [source["path"][-8:] for source in manifest["sources"]] == [  # type: ignore[attr-defined]
        f"{node}" for node, _ in GIVEN
    ]


def test_the_environment_names_the_rank_of_the_only_process(tmp_path: Path) -> None:
    for pids, expected in (((9,), [("", 3, True)]), ((9, 40), [("9", 0, False), ("40", 1, False)])):
        report = _report(*pids)
        for value in ('SLURM_PROCID="7"', 'RANK="3"', 'WORLD_SIZE="8"', 'SECRET="1"'):
            report.add("META_DATA_CAPTURE", name="PROCESS_0:ENVIRONMENT_VARIABLE", value=value)
        assert _ranks(_read(report, tmp_path)) == expected


def test_the_user_names_ranks_by_process(tmp_path: Path) -> None:
    parts = _read(_report(9, 40), tmp_path, p9=1, p40=0)
    assert _ranks(parts) == [("40", 0, True), ("9", 1, True)]
    with pytest.raises(InputError, match="#7: there is no such process") as caught:
        _read(_report(9, 40), tmp_path, p7=1)
    assert "9, 40" in caught.value.hint


def test_one_rank_for_a_report_of_several_is_refused(tmp_path: Path) -> None:
    path = _report(9, 40).write(tmp_path / "report.sqlite")
    with pytest.raises(InputError, match="holds 2 ranks") as caught:
        read_ranks(Source(str(path), rank=3), Integrity("report.sqlite"))
    assert "--rank-of FILE#PROCESS=N" in caught.value.hint


@pytest.mark.parametrize(("normalised", "shared"), [("true", True), ("false", False)])
def test_reports_of_one_machine_share_a_clock_if_their_times_are_utc(
    tmp_path: Path, normalised: str, shared: bool
) -> None:
    clocks = set()
    for pid in (9, 40):
        report = _report(pid)
        report.add("TARGET_INFO_SYSTEM_ENV", name="Hostname", value="node7")
        report.add("META_DATA_EXPORT", name="EXPORT_PARAM_TIME_NORMALIZE", value=normalised)
        clocks.add(_read(report, tmp_path)[0][0].clock)
    assert (len(clocks) == 1) == shared
    assert all(clock.startswith("node7") for clock in clocks)


def _left(*ends: int) -> Operation:
    members = {
        rank: Member(0, "all_reduce", "k", *(None,) * 9, start=0, end=end) for rank, end in enumerate(ends)
    }
    return Operation(members, None, recorded=True, confidence=1.0)


@pytest.mark.parametrize(
    ("ends", "offset", "spread"),
    [
        ((1_000, 1_200, 91_000, 91_100), -90_000, 200),  # hosts are apart, their ranks nearly together
        ((1_000, 95_000, 91_000, 91_100), 0, 94_000),  # ranks of one clock leave farther apart than hosts are
    ],
)
def test_hosts_are_shifted_not_ranks_and_only_beyond_what_one_clock_shows(
    ends: tuple[int, ...], offset: int, spread: int
) -> None:
    found = align_ranks(range(4), [_left(*ends)] * 3, ["a", "a", "b", "b"])
    assert [found[rank].offset_ns for rank in range(2)] == [0, 0]
    assert {found[rank] for rank in (2, 3)} == {found[2]}
    assert found[2].offset_ns == pytest.approx(offset, abs=200)
    assert found[2].spread_ns == spread
