"""Ranks that a tool merged into one file: told apart where that can be proved, else said to be mixed."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tiny_job import rows_of_rank, write_trace

from tracegraph.base.errors import InputError
from tracegraph.ingest.convert import convert_trace
from tracegraph.ingest.inspection import Inspection, JobInspection, inspect_traces
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.sources.reading import read_ranks
from tracegraph.ingest.sources.source import Source

Entry = dict[str, object]
Change = Callable[[Entry, int], object]
HOST, DEVICE = "1", "0"


def merged(
    folder: Path, change: Change, *, in_time: bool = False, works: Sequence[float] = (100, 60)
) -> Path:
    """The files of ranks in one, each entry changed as a tool would."""
    entries: list[Entry] = []
    for rank, work in enumerate(works):
        path = write_trace(folder / f"rank{rank}.json", rows_of_rank(work, skew_us=3 * rank), None)
        for entry in json.loads(path.read_text())["traceEvents"]:
            change(entry, rank)
            entries.append(entry)
    if in_time:
        entries.sort(key=lambda entry: float(str(entry["ts"])))
    path = folder / "merged.json"
    path.write_text(json.dumps({"traceEvents": entries}))
    return path


def tag(form: str) -> Change:
    def change(entry: Entry, rank: int) -> None:
        entry["pid"] = form.format(rank=rank, pid=entry["pid"])

    return change


def own_ids(entry: Entry, rank: int) -> None:
    """As tools do that make pids and ids unique."""
    entry["pid"] = int(str(entry["pid"])) + 1000 * rank
    arguments = entry["args"]
    assert isinstance(arguments, dict)
    if "correlation" in arguments:
        arguments["correlation"] += 10_000 * rank


def own_pids(entry: Entry, rank: int) -> None:
    entry["pid"] = f"{entry['pid']}{rank}"


def one_device(entry: Entry, rank: int) -> None:
    entry["pid"] = 0 if entry["pid"] == DEVICE else 100 + rank


def as_it_is(entry: Entry, rank: int) -> None:
    """One pid for all ranks."""


def ranks(path: Path) -> tuple[list[int], set[str], list[int]]:
    """The ranks that are told apart, the codes of the first, and how many events each has."""
    integrity = Integrity(path.name)
    found = read_ranks(Source(str(path)), integrity)
    codes = {finding.code for finding in integrity}
    return [trace.rank for trace, _ in found], codes, [trace.events.num_rows for trace, _ in found]


@pytest.mark.parametrize(
    ("change", "in_time"),
    [
        *(
            (tag(form), True)
            for form in ("[TP0{rank}] {pid}", "rank {rank}: {pid}", "{rank}_{pid}", "{pid} (Rank{rank})")
        ),
        (own_ids, True),
        (own_ids, False),
        (own_pids, False),
        (one_device, False),
    ],
)
def test_ranks_are_told_apart_and_read_as_a_job(tmp_path: Path, change: Change, in_time: bool) -> None:
    path = merged(tmp_path, change, in_time=in_time)
    found, codes, events = ranks(path)
    assert (found, events) == ([0, 1], [12, 12])
    assert "ranks_split" in codes
    assert not {"stream_shared", "several_processes", "correlation_repeated", "ranks_merged"} & codes
    (one,), job = inspect_traces([Source(str(path))])
    assert isinstance(one, Inspection)
    assert one.ranks == (0, 1)
    assert isinstance(job, JobInspection)
    assert job.operations == 3


@pytest.mark.parametrize(
    "change", [own_pids, one_device, as_it_is], ids=["own pids", "one device", "one pid"]
)
def test_where_nothing_proves_whose_work_is_whose_that_is_an_error(tmp_path: Path, change: Change) -> None:
    works = (100, 60, 80)
    found, codes, _ = ranks(merged(tmp_path, change, in_time=True, works=works))
    assert found == [0]
    assert "ranks_merged" in codes


def test_places_in_groups_are_numbered_in_order(tmp_path: Path) -> None:
    assert ranks(merged(tmp_path, tag("[TP00-PP0{rank}] {pid}")))[0] == [0, 1]
    assert ranks(merged(tmp_path, tag("[TP0{rank}-EP0{rank}] {pid}")))[0] == [0, 1]


def test_tags_that_contradict_the_ids_prove_nothing(tmp_path: Path) -> None:
    """The devices' tags are those of the other rank, whose calls come later."""

    def crossed(entry: Entry, rank: int) -> None:
        own_ids(entry, rank)
        device = int(str(entry["pid"])) % 1000 == 0
        entry["pid"] = f"[TP0{1 - rank if device else rank}] {entry['pid']}"

    found, codes, _ = ranks(merged(tmp_path, crossed))
    assert found == [0]
    assert "ranks_merged" in codes


def test_one_rank_beside_a_process_of_workers_is_one_rank(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "one.json", rows_of_rank(100), None)
    document = json.loads(path.read_text())
    worker = [
        {**entry, "pid": 9, "args": {}} for entry in document["traceEvents"] if entry["cat"] == "cpu_op"
    ]
    path.write_text(json.dumps({"traceEvents": document["traceEvents"] + worker}))
    found, codes, _ = ranks(path)
    assert found == [0]
    assert not {"ranks_merged", "ranks_split"} & codes


def test_among_other_files_a_file_of_several_ranks_is_refused(tmp_path: Path) -> None:
    path = merged(tmp_path, tag("[TP0{rank}] {pid}"))
    found, _ = inspect_traces([Source(str(path)), Source(str(tmp_path / "rank1.json"))])
    assert isinstance(found[0], InputError)
    assert "holds 2 ranks itself" in found[0].message


def test_convert_writes_the_processes_of_one_rank(tmp_path: Path) -> None:
    path = merged(tmp_path, tag("[TP0{rank}] {pid}"), in_time=True)
    target = tmp_path / "rank1_alone.json"
    assert convert_trace(path, target, processes=["[TP01] *"]).events == 12
    assert {entry["pid"] for entry in json.loads(target.read_text())["traceEvents"]} == {
        "[TP01] 0",
        "[TP01] 1",
    }
    with pytest.raises(InputError, match="no entry of a process 7"):
        convert_trace(path, tmp_path / "none.json", processes=["7"])
    assert not (tmp_path / "none.json").exists()
    with pytest.raises(InputError, match="cannot be converted"):
        convert_trace(path, tmp_path / "same.json")
