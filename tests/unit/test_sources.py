"""Files, folders, patterns and URLs as sources, and reading them wherever they lie."""

import gzip
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import fsspec
import pytest
from rank_parts import read_part
from tiny_job import rows_of_rank, write_trace

from tracegraph.base.errors import InputError
from tracegraph.base.progress import silent
from tracegraph.cli.main import main
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.limits import Limits
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.ingest.ranks.agreement import agree
from tracegraph.ingest.sources.expand import find_sources
from tracegraph.ingest.sources.fetch import local_copy
from tracegraph.ingest.sources.reading import read_source
from tracegraph.ingest.sources.source import Source, Url
from tracegraph.workbench.findings.findings import Source as StoredSource
from tracegraph.workbench.output.overlay import _open


def names(*arguments: str | Path) -> list[str]:
    return ["/".join(source.shown.split("/")[-2:]) for source in find_sources(arguments)]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in ("rank10.json", "rank2.json.gz", "rank1.pt.trace.json", "notes.txt", ".hidden.json"):
        (folder / name).write_text("[]")
    (folder / "summary.json").write_text("{}")
    return folder


@pytest.fixture
def bucket() -> Iterator[str]:
    system = fsspec.filesystem("memory")
    yield "memory://bucket"
    system.rm("/bucket", recursive=True)


def put(url: str, content: bytes) -> str:
    with fsspec.open(url, "wb") as stream:
        stream.write(content)
    return url


def test_a_folder_stands_for_its_traces_in_natural_order(logs: Path) -> None:
    assert names(logs) == ["logs/rank1.pt.trace.json", "logs/rank2.json.gz", "logs/rank10.json"]


def test_a_folder_of_folders_stands_for_the_traces_in_these(tmp_path: Path) -> None:
    for rank in (10, 2, 0):
        folder = tmp_path / "logs" / f"rank_{rank}"
        folder.mkdir(parents=True)
        (folder / "trace.json.gz").write_bytes(b"")
    assert names(tmp_path / "logs") == [f"rank_{rank}/trace.json.gz" for rank in (0, 2, 10)]


def test_a_pattern_that_the_shell_left_alone_is_followed(logs: Path) -> None:
    assert names(f"{logs}/rank*") == names(logs)
    assert names(f"{logs}/rank[0-9].*") == names(logs)[:2]
    assert names(f"{logs}/*") == names(logs)
    assert names(f"{logs.parent}/log?") == names(logs)
    assert names(f"{logs}/notes.*") == ["logs/notes.txt"]


def test_what_exists_under_its_very_name_is_no_pattern_and_no_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "rank[2].json"
    odd.write_text("[]")
    assert find_sources([odd]) == [Source(str(odd))]
    monkeypatch.chdir(tmp_path)
    Path("memory:").mkdir()
    Path("memory:/x.json").write_text("[]")
    assert not Source("memory://x.json").is_remote
    assert find_sources([f"file://{odd}"]) == [Source(str(odd))]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("nothing*.json", "nothing matches"),
        ("empty", "holds no traces"),
        ("", "path of the trace is empty"),
        ("memory://nobody/*.json", "nothing matches"),
        ("nosuch://bucket/x.json", "no driver knows nosuch"),
    ],
)
def test_nothing_found_is_one_line(
    tmp_path: Path, argument: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    with pytest.raises(InputError, match=message) as raised:
        find_sources([argument])
    assert raised.value.hint
    assert "\n" not in str(raised.value)


def test_a_missing_driver_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(url: str) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("tracegraph.ingest.sources.remote.fsspec.core.url_to_fs", refuse)
    with pytest.raises(InputError, match="pip install s3fs"):
        find_sources(["s3://bucket/logs"])


def test_urls_are_looked_into_as_folders_are(bucket: str) -> None:
    for rank in (10, 2):
        put(f"{bucket}/logs/rank{rank}.json.gz", b"")
    put(f"{bucket}/logs/readme.md", b"")
    expected = ["memory://bucket/logs/rank2.json.gz", "memory://bucket/logs/rank10.json.gz"]
    for argument in (f"{bucket}/logs", f"{bucket}/logs/rank*", f"{bucket}/logs/"):
        found = find_sources([argument])
        assert [source.shown.replace(":///", "://") for source in found] == expected


def test_a_remote_trace_is_read_and_nothing_is_left(bucket: str, tmp_path: Path) -> None:
    content = write_trace(tmp_path / "rank1.json", rows_of_rank(100), 1).read_bytes()
    url = put(f"{bucket}/rank1.json.gz", gzip.compress(content))
    before = set(os.listdir("/dev/fd"))
    trace = read_source(Source(url), Integrity("x"))
    assert (trace.path, trace.rank, trace.events.num_rows) == (url, 1, 12)
    assert set(os.listdir("/dev/fd")) == before


def test_errors_of_a_remote_trace_name_its_url(bucket: str) -> None:
    url = put(f"{bucket}/rank1.json", b'{"nodes": []}')
    with pytest.raises(InputError, match=re.escape(url)) as raised:
        read_source(Source(url), Integrity("x"))
    assert "/dev/fd" not in str(raised.value)
    with pytest.raises(InputError, match="does not exist; check the spelling"):
        read_source(Source(f"{bucket}/none.json"), Integrity("x"))
    with (
        pytest.raises(InputError, match="holds more than 5 bytes"),
        local_copy(Source(url), Integrity("x", Limits(unpacked=5))),
    ):
        pytest.fail("it was copied")


def test_what_gives_access_is_not_shown() -> None:
    url = Url("https://me:secret@host/rank0.json?signature=secret")
    assert url.shown == str(url) == f"{url}" == "https://host/rank0.json"
    assert "secret" not in repr(url)
    assert Url("zip://a.json::https://host/x.zip?secret").shown == "zip://a.json::https://host/x.zip"
    assert Url("s3://bucket/what?.json").shown == "s3://bucket/what?.json"
    assert Source("s3://key:secret@bucket/a/rank0.json").shown == "s3://bucket/a/rank0.json"
    assert Source("s3://key:secret@bucket/a/rank0.json").name == "rank0.json"


def test_the_rank_that_is_said_counts(tmp_path: Path) -> None:
    files = [
        write_trace(tmp_path / "one.json", rows_of_rank(100), 0),
        write_trace(tmp_path / "two.json", rows_of_rank(60), 0),
    ]
    sources = find_sources(files, {"two.json": 1})
    assert [part.rank for part in agree([read_part(source) for source in sources])] == [0, 1]
    assert find_sources(files, {str(files[0]): 7})[0].rank == 7


def test_whose_rank_is_said_must_be_clear(tmp_path: Path) -> None:
    sources = [Source(f"/logs/{folder}/trace.json") for folder in ("a", "b")]
    assert find_sources(sources, {"b/trace.json": 3})[1].rank == 3
    with pytest.raises(InputError, match=r"may be /logs/a/trace\.json or /logs/b/trace\.json"):
        find_sources(sources, {"trace.json": 3})
    with pytest.raises(InputError, match="there is no such file"):
        find_sources(sources, {"other.json": 3})
    with pytest.raises(InputError, match="give the file"):
        find_sources([], {"other.json": 3})


@pytest.mark.parametrize("value", ["3", "=3", "a.json=", "a.json=-1", "a.json=x", "a.json=1234567"])
def test_a_rank_has_a_form(tmp_path: Path, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "a.json"
    trace.touch()
    assert main(["--workspace", str(tmp_path), "ingest", str(trace), "--rank-of", value]) == 2
    said = capsys.readouterr().err
    assert "--rank-of" in said
    assert said.count("\n") == 1


def test_a_run_of_folders_and_urls_names_them(tmp_path: Path, bucket: str) -> None:
    folder = tmp_path / "rank_0"
    folder.mkdir()
    content = write_trace(folder / "trace.json", rows_of_rank(100), None).read_bytes().replace(b"100", b"101")
    url = put(f"{bucket}/logs/rank_1/trace.json", content)
    _, manifest = ingest_run(find_sources([tmp_path, url]), None, silent)
    sources = manifest["sources"]
    assert isinstance(sources, list)
    assert [(one["path"], one["rank"]) for one in sources] == [(f"{folder}/trace.json", 0), (url, 1)]
    findings = manifest["integrity"]
    assert isinstance(findings, list)
    assert {one["file"] for one in findings} >= {"rank_0/trace.json", "rank_1/trace.json"}
    assert "rank_missing" not in {one["code"] for one in findings}


def test_a_trace_is_drawn_into_where_it_lies(tmp_path: Path, bucket: str) -> None:
    content = write_trace(tmp_path / "rank1.json", rows_of_rank(100), 1).read_bytes()
    url = put(f"{bucket}/rank1.json", content)
    stored = StoredSource(**{field.name: None for field in fields(StoredSource)})
    text = _open(replace(stored, file=url, sha256=hashlib.sha256(content).hexdigest()))
    assert bytes(text.text) == content
