"""What a user says of the job at ingest counts in later questions, on a real server."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_job import rows_of_rank, write_trace

from tracegraph.queries.shapes.peak.job import Job
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import Workspace
from tracegraph.workbench.bench import Workbench
from tracegraph.workbench.run import Run

pytestmark = pytest.mark.usefixtures("database")
Ask = Callable[..., tuple[int, str, str]]
SAID = {"gpus": 4, "tokens": 1000, "params": 10**9, "peak": 100.0}


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "rank0.json", rows_of_rank(100), 0)


@pytest.fixture
def stored(tmp_path: Path, workspace: Workspace, tracegraph: Ask, trace: Path) -> Run:
    said = tmp_path / "job.json"
    said.write_text(json.dumps({name: value for name, value in SAID.items() if name != "peak"}))
    assert tracegraph("ingest", trace, "--run", "said", "--job", said, "--peak", 100)[0] == 0
    return Workbench(workspace, ConnectionSettings()).run("said")


def test_queries_and_reports_use_it(stored: Run, tracegraph: Ask) -> None:
    assert stored.stated_job() == Job(**SAID)
    row = stored.utilisation().iloc[0]
    assert row["model_flops"] == 6 * 10**9 * 1000 // 4
    assert row["peak_flop_per_s"] == 100e12
    findings = stored.report(drawn=False).findings
    assert findings.job == Job(**SAID)
    assert findings.answers["utilisation"]["model_flops"].tolist() == [row["model_flops"]]
    _, out, err = tracegraph("report", "--run", "said", "-v")
    assert "Said of the job at ingest: gpus 4, tokens 1,000, params 1,000,000,000, peak 100.0." in out
    assert "counts" not in err


def test_what_is_given_now_counts_and_is_said(stored: Run, tracegraph: Ask) -> None:
    instead = "As given now, gpus 8 counts; at ingest it was gpus 4."
    code, out, err = tracegraph("query", "utilisation", "--run", "said", "-p", "gpus=8", "--format", "json")
    assert code == 0
    assert json.loads(out)[0]["model_flops"] == 6 * 10**9 * 1000 // 8
    assert instead in err
    code, out, err = tracegraph("report", "--run", "said", "--gpus", 8, "-v")
    assert code == 0
    assert instead in err
    assert instead in " ".join(out.split())
    assert stored.report(job=Job(gpus=8), drawn=False).findings.job == Job(**{**SAID, "gpus": 8})
    assert stored.stated_job().gpus == 4


def test_without_a_word_it_stays_and_a_new_word_replaces_it(
    stored: Run, tracegraph: Ask, trace: Path
) -> None:
    assert tracegraph("report", trace, "--run", "said")[0] == 0
    assert stored.stated_job() == Job(**SAID)
    assert tracegraph("ingest", trace, "--run", "said", "--gpus", 16)[0] == 0
    assert stored.stated_job() == Job(gpus=16)
    assert stored.utilisation()["source"].str.contains("give --params and --tokens").all()


def test_health_of_the_same_file_uses_it(stored: Run, tracegraph: Ask, trace: Path) -> None:
    _, out, err = tracegraph("health", trace, "--format", "json", "--gpus", 8)
    mfu = next(one for one in json.loads(out)["checks"] if one["check"] == "mfu")
    assert "The files hold fewer than two steps." in mfu["words"]  # and not that tokens or a peak are missing
    assert "Said of the job at ingest: tokens 1,000, params 1,000,000,000, peak 100.0." in err
    assert "As given now, gpus 8 counts; at ingest it was gpus 4." in err
