"""`tracegraph report` on the files of several ranks, on a real server."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_job import rows_of_rank, write_trace

from tracegraph.queries.catalog import ask
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import Workspace
from tracegraph.workbench.bench import Workbench

pytestmark = pytest.mark.usefixtures("database")
Ask = Callable[..., tuple[int, str, str]]


@pytest.mark.exhaustive
def test_a_report_gains_what_its_selectors_gain(
    tmp_path: Path, workspace: Workspace, tracegraph: Ask
) -> None:
    """Of a job, where a name on the path of one rank goes on all of them."""
    ranks = rows_of_rank(100), rows_of_rank(90, skew_us=250)
    files = [write_trace(tmp_path / f"rank{rank}.json", rows, rank) for rank, rows in enumerate(ranks)]
    assert tracegraph("ingest", *files, "--run", "like_ranks")[0] == 0
    run = Workbench(workspace, ConnectionSettings()).run("like_ranks")
    gains = {
        row["selector"]: row["gain_ns"]
        for row in run.report().findings.potential
        if "under" in row["selector"]
    }
    assert gains["under=work"] > 90_000
    assert gains == {selector: run.what_if(selector).prediction.corrected.gain_ns for selector in gains}


def test_a_report_over_two_ranks(tmp_path: Path, tracegraph: Ask, database: Database) -> None:
    ranks = rows_of_rank(100), rows_of_rank(60, skew_us=250)
    files = [write_trace(tmp_path / f"rank{rank}.json", rows, rank) for rank, rows in enumerate(ranks)]
    out = tmp_path / "report"
    code, said, _ = tracegraph("report", *files, "--run", "two_ranks", "-o", out)
    assert code == 0
    assert "2 ranks" in said
    told = " ".join(said.split())
    assert (
        "rank 0: the others wait 120 µs for it together, 100.0 % of all waiting, up to 40 µs at once" in told
    )
    assert "late by 120 µs `work`" in told
    assert {"overlay.json.gz", "overlay_rank1.json.gz", "rank_waits.csv", "collectives.csv"} <= {
        path.name for path in out.iterdir()
    }
    with (out / "critical_path.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    work = [row for row in rows if row["name"] == "work"]
    assert [row["rank"] for row in work] == ["0"] * 3
    lengths = [int(row["end_ns"]) - int(row["start_ns"]) for row in rows]
    assert sum(lengths) == 345_000
    ends = [row["end_ns"] for row in rows]
    assert ends[:-1] == [row["start_ns"] for row in rows[1:]]
    stored = database.read(
        "MATCH (t:Trace {run: 'two_ranks'}) RETURN t.rank AS rank, t.rank_offset_ns AS moved ORDER BY rank"
    )
    assert stored.to_dict("list") == {"rank": [0, 1], "moved": [0, -250_000]}
    waits = database.read(
        "MATCH (s:Segment {run: 'two_ranks', kind: 'wait'}) "
        "WHERE s.name = 'waiting for another rank' AND s.end_ns > s.start_ns "
        "RETURN s.rank AS rank, sum(s.end_ns - s.start_ns) AS waited"
    )
    assert waits.to_dict("list") == {"rank": [1], "waited": [120_000]}
    code, said, _ = tracegraph("what-if", "--run", "two_ranks", "--remove", "name=work", "--overhead", "none")
    assert code == 0
    assert "300.000 µs" in said
    faster = ("--remove", "name=work,rank=0", "--overhead", "none", "--keep", "faster")
    assert tracegraph("what-if", "--run", "two_ranks", *faster)[0] == 0
    kept = ask(database, "rank_waits", run="faster", start_ns=0, end_ns=10**9)
    assert kept[["rank", "last", "caused_ns"]].to_numpy().tolist() == [[1, 3, 180_000], [0, 0, 0]]
    code, said, _ = tracegraph("what-if", "--run", "two_ranks", "--no-stragglers", "--overhead", "none")
    assert code == 0
    assert "345.000 µs become 225.000 µs" in said
    code, said, _ = tracegraph("what-if", "--run", "two_ranks", "--infinite-bandwidth", "--overhead", "none")
    assert code == 0
    assert "345.000 µs become 315.000 µs" in said
