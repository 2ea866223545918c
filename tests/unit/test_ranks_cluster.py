"""Ranks read by the workers of a Dask cluster: a real one of two processes on this machine."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dask
import pytest
import trustme
from distributed import LocalCluster, Security
from rank_parts import read_part
from tiny_job import rows_of_rank, write_trace

from tracegraph.base.errors import InputError
from tracegraph.base.progress import silent
from tracegraph.cli.main import main
from tracegraph.ingest.options import IngestOptions
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.ingest.ranks import dask_cluster as cluster_module
from tracegraph.ingest.ranks.dask_cluster import read_on
from tracegraph.ingest.ranks.reading import read_parts
from tracegraph.ingest.ranks.worker import Task
from tracegraph.ingest.sources.source import Source

ALONE = IngestOptions(compared=False)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
    ) as found:
        yield found.scheduler_address


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    ranks = rows_of_rank(100), rows_of_rank(60)
    return [write_trace(tmp_path / f"rank{rank}.json", rows, rank) for rank, rows in enumerate(ranks)]


def test_workers_give_the_same_run(files: list[Path], address: str) -> None:
    apart, apart_manifest = ingest_run(files, "job", silent, IngestOptions(scheduler=address))
    here, here_manifest = ingest_run(files, "job", silent)
    assert apart.count_relationships() == here.count_relationships()
    assert apart_manifest["sources"] == here_manifest["sources"]
    assert apart_manifest["integrity"] == here_manifest["integrity"]
    for label, table in here.nodes.items():
        if label != "Run":
            assert apart.nodes[label].equals(table)


def test_an_error_of_a_worker_is_that_of_the_file(files: list[Path], address: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"nodes": []}')
    sources = [Source(str(file)) for file in (*files, broken)]
    with pytest.raises(InputError, match=r"broken\.json .*execution trace"):
        read_parts(sources, ALONE, read_all=read_on(address))
    with pytest.raises(InputError, match="does not exist"):
        read_parts([Source(str(tmp_path / "none.json"))], ALONE, read_all=read_on(address))


def test_a_file_that_workers_do_not_see_is_told_from_one_that_is_not_there(files: list[Path]) -> None:
    outcome = InputError(f"{files[0]} does not exist")
    told = cluster_module._explained(outcome, Source(str(files[0])), "tcp://host:1")
    assert "is not there on a worker of tcp://host:1; give a path on a disk that all workers share" in str(
        told
    )


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("tcp://127.0.0.1:9", "Timed out"),
        ("nonsense", "missing port"),
        ("ftp://127.0.0.1:9", "unknown address scheme"),
    ],
)
def test_a_scheduler_that_cannot_be_reached_is_one_line_soon(
    files: list[Path],
    asked: str,
    reason: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster_module, "PATIENCE_S", 1.0)
    begun = time.monotonic()
    workspace = ["--workspace", str(tmp_path / "workspace")]
    assert main([*workspace, "ingest", *map(str, files), "--scheduler", asked]) == 2
    assert time.monotonic() - begun < 10
    said = capsys.readouterr().err
    *progress, error = said.splitlines()
    assert f"the Dask scheduler at {asked} cannot be reached: {reason}" in error
    assert all(line.startswith("reading the files of all ranks") for line in progress)


@pytest.mark.parametrize("sent", [None, 7, {"stated": 1}, "half a part"])
def test_a_result_that_is_no_part_of_a_run_is_refused(sent: object, files: list[Path]) -> None:
    part = read_part(files[0])
    assert part.is_whole
    half = [part, replace(part, stated=part.stated.select(["name"]))]
    outcome = half if sent == "half a part" else sent

    class Done:
        def result(self) -> object:
            return outcome

    told = cluster_module._result(Done(), "tcp://host:1")
    assert isinstance(told, InputError)
    assert "a worker of tcp://host:1 sent what is no part of a run" in told.message


def test_a_strangers_scheduler_is_refused(
    files: list[Path], monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """Whose workers answer with something else: here each task does another thing than it says."""
    monkeypatch.setattr(Task, "outcome", str)
    with pytest.raises(InputError, match=r"sent what is no part of a run \(str\)"):
        read_parts([Source(str(file)) for file in files], ALONE, read_all=read_on(address))


def test_tls(files: list[Path], tmp_path: Path) -> None:
    authority = trustme.CA()
    own = authority.issue_cert("localhost", "127.0.0.1")
    named = {name: str(tmp_path / f"{name}.pem") for name in ("ca", "key", "cert")}
    authority.cert_pem.write_to_path(named["ca"])
    own.private_key_pem.write_to_path(named["key"])
    own.cert_chain_pems[0].write_to_path(named["cert"])
    settings = {"distributed.comm.tls.ca-file": named["ca"], "distributed.comm.require-encryption": True}
    for role in ("client", "worker", "scheduler"):
        settings |= {f"distributed.comm.tls.{role}.{name}": named[name] for name in ("key", "cert")}
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=1,
            processes=False,
            protocol="tls://",
            security=Security(),
            dashboard_address=None,
            memory_limit=0,
        ) as cluster,
    ):
        assert cluster.scheduler_address.startswith("tls://")
        parts = read_parts([Source(str(files[0]))], ALONE, read_all=read_on(cluster.scheduler_address))
        assert [part.rank for part in parts] == [0]


def test_a_scheduler_without_workers_is_one_line(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "PATIENCE_S", 0.5)
    with (
        LocalCluster(n_workers=0, dashboard_address=None, processes=True) as empty,
        pytest.raises(InputError, match="has no worker; start one: dask worker tcp://"),
    ):
        list(read_on(empty.scheduler_address)([]))


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(cluster_module, "import_module", refuse)
    with pytest.raises(InputError, match=r"not installed; pip install 'tracegraph\[dask\]'"):
        list(read_on("tcp://127.0.0.1:1")([]))
