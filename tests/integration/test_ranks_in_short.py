"""`--detail path` and `runs load`: a few ranks in full and the others in short, on a real server."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny import event
from tiny_job import rows_of_rank, write_trace

from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import Workspace
from tracegraph.workbench.bench import Workbench

pytestmark = pytest.mark.usefixtures("database")
Ask = Callable[..., tuple[int, str, str]]
WORKS_US = (60, 50, 100, 40, 70, 30)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Six ranks, of which the third is late and the last one ends last."""
    folder = tmp_path / "job"
    folder.mkdir()
    for rank, work in enumerate(WORKS_US):
        rows = rows_of_rank(work, group_ranks="[0, 1, 2, 3, 4, 5]")
        rows += [event("save", 345, 350)] if rank == len(WORKS_US) - 1 else []
        write_trace(folder / f"rank{rank}.json", rows, rank, len(WORKS_US))
    return folder


def test_ranks_in_short_and_loaded(job: Path, workspace: Workspace, tracegraph: Ask) -> None:
    """The late rank and its cause are those of all ranks in full, and ranks that are loaded are in full."""
    assert tracegraph("ingest", job, "--run", "six_full")[0] == 0
    code, said, _ = tracegraph("report", job, "--detail", "path", "--run", "six", "-o", job.parent / "out")
    told = " ".join(said.split())
    assert code == 0
    assert "6 ranks (4 in full)" in told
    assert "in full ranks 0, 1, 2, 3: what is said of work" in told
    assert "rank 2: the others wait 750 µs for it together, 100.0 % of all waiting" in told
    assert "late by 150 µs `work`" in told
    assert not (job.parent / "out" / "overlay_rank5.json.gz").exists()
    bench = Workbench(workspace, ConnectionSettings())
    full, short = bench.run("six_full"), bench.run("six")
    for query in ("path_ranks", "collectives"):
        ours, theirs = getattr(full, query)(), getattr(short, query)()
        assert ours.equals(theirs), query
    waits = short.rank_waits().set_index("rank")
    plain = ["operations", "last", "waited_ns", "caused_ns", "longest_ns"]
    assert waits[plain].equals(full.rank_waits().set_index("rank")[plain])
    assert waits.index[waits["in_short"]].tolist() == [4, 5]
    assert waits["exposed_wait_ns"].isna().tolist() == waits["in_short"].tolist()
    assert short.traces().set_index("rank")["in_short"].sum() == 2
    code, said, _ = tracegraph("diff", "six_full", "six")
    assert code == 0
    assert "in full are all ranks of A and ranks 0, 1, 2, 3 of B: names" in " ".join(said.split())
    assert tracegraph("runs", "load", "six", "--rank", "5")[0] == 0
    assert not short.traces().set_index("rank")["in_short"][5]
    assert (workspace.manifest("six") or {})["in_full"] == [0, 1, 2, 3, 5]
    assert tracegraph("runs", "load", "six", "--rank", "4")[0] == 0
    assert "in_full" not in (workspace.manifest("six") or {})
    assert short.rank_work().equals(full.rank_work())
    assert "in full are" not in tracegraph("diff", "six_full", "six")[1]


def test_kernels_are_of_the_types_that_were_said_first(
    job: Path, workspace: Workspace, tracegraph: Ask
) -> None:
    types, made = job.parent / "types.txt", ("ingest", job, "--detail", "path", "--run", "six_types")
    types.write_text("communication ^my_ring\n")
    assert tracegraph(*made, "--kernel-types", types)[0] == 0
    types.unlink()
    said = (workspace.manifest("six_types") or {})["kernel_types"]
    assert [(one["kernel_type"], one["pattern"]) for one in said] == [("communication", "^my_ring")]
    assert tracegraph("runs", "load", "six_types", "--rank", "5")[0] == 0
    assert (workspace.manifest("six_types") or {})["kernel_types"] == said


def test_a_file_that_is_gone_or_changed_is_named(job: Path, tracegraph: Ask) -> None:
    assert tracegraph("ingest", job, "--detail", "path", "--run", "six_gone")[0] == 0
    for words, text in ((("--rank", "1"), "is in full"), (("--rank", "7"), "has no rank 7")):
        code, _, err = tracegraph("runs", "load", "six_gone", *words)
        assert code
        assert text in err
    file = job / "rank4.json"
    kept = file.read_text()
    file.write_text(json.dumps({**json.loads(kept), "more": 1}))
    code, _, err = tracegraph("runs", "load", "six_gone", "--rank", "5")
    assert code
    assert f"{file} is not what it was" in err
    file.unlink()
    code, _, err = tracegraph("runs", "load", "six_gone", "--rank", "5")
    assert code
    assert f"{file}, of which the run was made, is gone" in err


def test_a_what_if_says_what_stays(job: Path, tracegraph: Ask) -> None:
    assert tracegraph("ingest", job, "--detail", "path", "--run", "six_if")[0] == 0
    code, said, _ = tracegraph("what-if", "--no-stragglers", "--run", "six_if")
    assert code == 0
    assert "2 ranks are in short: what they work on stays as recorded" in " ".join(said.split())
    code, _, err = tracegraph("what-if", "--remove-wait", "work of a rank in short", "--run", "six_if")
    assert code
    assert "'work of a rank in short' is no wait" in err
    assert "tracegraph runs load" in err
