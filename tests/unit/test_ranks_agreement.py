"""Whether several files are the ranks of one job: stated sizes, gaps, files with nothing in common."""

from pathlib import Path

import pytest
from rank_parts import read_part
from tiny_job import rows_of_rank, write_trace

from tracegraph.base.errors import InputError
from tracegraph.ingest.integrity_findings import Finding
from tracegraph.ingest.ranks.agreement import agree
from tracegraph.ingest.ranks.diagnosis import diagnose_job
from tracegraph.ingest.ranks.job import build_job
from tracegraph.ingest.ranks.rank_part import Part
from tracegraph.ingest.sources.source import Source


def part(folder: Path, rank: int, size: int, *, skew_us: float = 0, **more: object) -> Part:
    rows = rows_of_rank(60 + rank, skew_us=skew_us, **more)
    return read_part(write_trace(folder / f"rank{rank}_of_{size}.json", rows, rank, size))


def findings(*parts: Part) -> dict[str, Finding]:
    return {finding.code: finding for finding in diagnose_job(build_job(agree(parts)))}


def test_ranks_that_no_file_holds_are_named(tmp_path: Path) -> None:
    found = findings(*(part(tmp_path, rank, 8) for rank in (0, 1, 3, 4, 6, 7)))
    assert found["ranks_missing"].count == 2
    assert found["ranks_missing"].message.startswith("ranks 2, 5 of 8 are not here")
    assert "ranks_missing" not in findings(part(tmp_path, 0, 2), part(tmp_path, 1, 2))


def test_many_missing_ranks_are_counted(tmp_path: Path) -> None:
    found = findings(part(tmp_path, 0, 1024), part(tmp_path, 1, 1024))
    assert found["ranks_missing"].count == 1022
    assert "2, 3, 4, 5, 6, 7, 8, 9 and 1014 more of 1024" in found["ranks_missing"].message


def test_files_of_jobs_of_different_sizes_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"0_of_2\.json is of a job of 2 ranks, .*1_of_4\.json of one of 4"):
        agree([part(tmp_path, 0, 2), part(tmp_path, 1, 4)])


def test_a_rank_beyond_the_job_is_found(tmp_path: Path) -> None:
    files = [write_trace(tmp_path / f"rank{rank}.json", rows_of_rank(60 + rank), rank) for rank in (0, 1)]
    found = findings(read_part(files[0]), read_part(Source(str(files[1]), 5)))
    assert found["rank_beyond_job"].count == 1
    assert "rank1.json (rank 5)" in found["rank_beyond_job"].message
    assert found["ranks_missing"].count == 1


def test_files_without_time_or_operations_in_common_may_be_of_two_jobs(tmp_path: Path) -> None:
    alone = {"group": "7", "group_ranks": "[1, 9]"}
    found = findings(part(tmp_path, 0, 2), part(tmp_path, 1, 2, skew_us=50_000, **alone))
    assert found["rank_of_other_job"].count == 1
    assert "rank1_of_2.json (rank 1)" in found["rank_of_other_job"].message
    beside = findings(part(tmp_path, 0, 2), part(tmp_path, 1, 2, **alone))
    assert "rank_of_other_job" not in beside
    assert beside["rank_unaligned"].count == 1


@pytest.mark.parametrize("size", [0, -3, True, "8", 2.0, None])
def test_a_size_that_is_none_is_as_if_it_were_not_there(tmp_path: Path, size: object) -> None:
    path = write_trace(tmp_path / "rank0.json", rows_of_rank(60), 0, size)  # type: ignore[arg-type]
    assert read_part(path).file.world_size is None
