"""Hostile and damaged databases: each is read with findings, or ends in one line that names it."""

import gzip
import sqlite3
from pathlib import Path

import nsight_reports
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nsight_reports import CALL, KERNEL, PROCESS, Report, thread

from tracegraph.base.errors import InputError
from tracegraph.ingest.causal.rules.edges import OFF_CPU
from tracegraph.ingest.integrity_findings import Finding, Integrity
from tracegraph.ingest.limits import Limits
from tracegraph.ingest.ranks.rank_part import understand
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.trace import TraceFile

EXPORT = "nsys export --type sqlite --ts-normalize true"


def _launches(count: int) -> Report:
    """A report with kernels and the calls that launched them, on one thread and one stream."""
    report = Report()
    for k in range(count):
        place = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": PROCESS, "correlationId": k + 1}
        name = report.text(f"k{k % 40}" + "x" * 80)
        report.add(KERNEL, start=100 * k + 30, end=100 * k + 90, **place, demangledName=name)
        at = {"start": 100 * k, "end": 100 * k + 20, "globalTid": thread(5)}
        report.add(CALL, **at, eventClass=0, nameId=report.text("cudaLaunchKernel"), correlationId=k + 1)
    return report


def _read(path: Path, limits: Limits | None = None) -> tuple[TraceFile, dict[str, Finding]]:
    integrity = Integrity(path.name, limits or Limits())
    trace = read_trace(path, integrity)
    return trace, {finding.code: finding for finding in integrity}


def _refusal(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        _read(path)
    assert str(path) in caught.value.message
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return _launches(400).write(tmp_path_factory.mktemp("report") / "report.sqlite").read_bytes()


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("packed", [False, True])
def test_a_cut_database_ends_in_one_line(tmp_path: Path, database: bytes, share: float, packed: bool) -> None:
    path = tmp_path / "cut.sqlite"
    left = database[: int(share * len(database))]
    path.write_bytes(gzip.compress(left) if packed else left)
    assert "damaged SQLite database" in _refusal(path).message


def test_a_cut_packed_stream_ends_in_one_line(tmp_path: Path, database: bytes) -> None:
    path = tmp_path / "cut.sqlite.gz"
    path.write_bytes(gzip.compress(database)[:-3000])
    assert "the gzip stream is cut" in _refusal(path).message


def test_packed_and_plain_are_the_same(tmp_path: Path, database: bytes) -> None:
    found = []
    for name, content in (("a.sqlite", database), ("a.sqlite.gz", gzip.compress(database))):
        (tmp_path / name).write_bytes(content)
        found.append(_read(tmp_path / name)[0].events)
    assert found[0] == found[1]
    assert found[0].num_rows == 800


@given(st.data())
def test_flipped_bytes_never_end_in_more_than_one_line(
    tmp_path_factory: pytest.TempPathFactory, database: bytes, data: st.DataObject
) -> None:
    content = bytearray(database)
    for _ in range(data.draw(st.integers(1, 30))):
        content[data.draw(st.integers(16, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("flipped") / "report.sqlite"
    path.write_bytes(bytes(content))
    rows, refusal = 0, ""
    try:
        rows = _read(path)[0].events.num_rows
    except InputError as error:
        refusal = str(error)
    assert bool(rows) != bool(refusal)
    assert "\n" not in refusal


def test_a_schema_that_is_not_text_is_refused(database: bytes, tmp_path: Path) -> None:
    # SQLite names the word that it does not understand, which Python cannot read then.
    path = tmp_path / "report.sqlite"
    path.write_bytes(database.replace(b"CREATE TABLE", b"CREATE \xd7ABLE", 1))
    with pytest.raises(InputError, match="its schema is not text") as refused:
        _read(path)
    assert "\n" not in str(refused.value)


def test_a_database_that_another_program_locks_is_read(tmp_path: Path) -> None:
    path = _launches(2).write(tmp_path / "report.sqlite")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert _read(path)[0].events.num_rows == 4
    other.close()


def test_a_database_with_changes_beside_it_is_not_finished(tmp_path: Path) -> None:
    path = _launches(2).write(tmp_path / "report.sqlite")
    other = sqlite3.connect(path)
    other.execute("PRAGMA journal_mode = WAL")
    other.execute(f'DELETE FROM "{KERNEL}"')
    other.commit()
    assert "report.sqlite-wal holds changes" in _refusal(path).message
    other.close()


def test_a_database_of_another_program_is_named_by_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE urls (id, url)")
    connection.close()
    error = _refusal(path)
    assert "without the tables of a trace; it has urls" in error.message
    assert EXPORT in error.hint


def test_text_in_columns_of_numbers_is_counted(tmp_path: Path) -> None:
    report = _launches(3)
    odd = ({"start": "soon"}, {"correlationId": 1.5}, {"end": b"\xff"}, {"streamId": "7; DROP TABLE"})
    for k, cells in enumerate(odd):
        place = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": PROCESS, "correlationId": 9}
        row = {"start": 1000 + 10 * k, "end": 1005 + 10 * k, **place, "demangledName": report.text("odd")}
        report.add(KERNEL, **{**row, **cells})
    trace, findings = _read(report.write(tmp_path / "report.sqlite"))
    assert findings["cell_not_number"].count == 4
    dropped = ("start_missing", "duration_missing", "thread_missing")
    assert [findings[code].count for code in dropped] == [1, 1, 1]
    assert trace.events["name"].to_pylist().count("odd") == 1


@pytest.mark.parametrize(
    ("start", "end", "code"),
    [
        (2**63 - 1, 2**63 - 1, "start_absurd"),
        (-(2**63), 5, "start_missing"),
        (5, 2**63 - 1, "duration_absurd"),
        (500, 400, "duration_negative"),
        (None, 5, "start_missing"),
    ],
)
def test_impossible_times_are_dropped_and_counted(
    tmp_path: Path, start: int | None, end: int, code: str
) -> None:
    report = _launches(3)
    place = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": PROCESS, "correlationId": 9}
    report.add(KERNEL, start=start, end=end, **place, demangledName=1)
    trace, findings = _read(report.write(tmp_path / "report.sqlite"))
    assert (findings[code].count, trace.events.num_rows) == (1, 6)


@pytest.mark.parametrize("start", [-(2**63) + 2, 5, 150, 2**63 - 5])
def test_turns_at_any_time_harm_nothing(tmp_path: Path, start: int) -> None:
    report = _launches(3)
    for at, into in ((start, 0), (start + 2, 1), (2**63 - 1, 0), (-(2**63) + 7, 1)):
        at_all = {"start": at, "isSchedIn": into, "globalTid": thread(5), "threadState": 1}
        report.add("SCHED_EVENTS", **at_all)
    trace, _ = _read(report.write(tmp_path / "report.sqlite"))
    part = understand(trace, Integrity("report.sqlite"))
    assert trace.events.num_rows == 6
    waits = part.found["evidence"].waits
    held = list(
        zip(waits.start[waits.mechanism == OFF_CPU], waits.end[waits.mechanism == OFF_CPU], strict=True)
    )
    assert held == ([(start, start + 2)] if start in (5, 150) else [])


def test_names_may_be_anything(tmp_path: Path) -> None:
    report = _launches(1)
    names = ["'; DROP TABLE StringIds; --", 'a"b', "a\0b", "\u202eevil", "y" * 100_000, ""]
    for k, name in enumerate(names):
        at = {"start": 1000 + k, "end": 2000 - k, "globalTid": thread(5)}
        report.add("NVTX_EVENTS", **at, eventType=59, text=name, domainId=0)
    path = report.write(tmp_path / "report.sqlite")
    with sqlite3.connect(path) as connection:
        connection.execute(
            "INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, text, domainId) "
            "VALUES (1500, 1600, 59, ?, CAST(x'ff41' AS TEXT), 0)",
            (thread(5),),
        )
    connection.close()
    trace, findings = _read(path)
    found = trace.events["name"].to_pylist()
    assert [name for name in names if name in found] == [*names[:4], ""]
    assert "\ufffdA" in found
    assert findings["text_truncated"].count == 1


def test_rows_of_strangers_are_counted_and_left_out(tmp_path: Path) -> None:
    report = _launches(2)
    for k in range(3000):
        owner = PROCESS + (1 + k % 30 << 24)
        at = {"start": k, "end": k + 1, "globalTid": thread(k % 7, owner)}
        report.add("OSRT_API", **at, nameId=report.text("poll"))
    trace, findings = _read(report.write(tmp_path / "report.sqlite"), Limits(events=100))
    assert trace.events.num_rows == 4
    assert findings["strangers_left_out"].count == 3000
    assert "30 other processes" in findings["strangers_left_out"].message


def test_more_rows_than_the_limit_are_refused(tmp_path: Path) -> None:
    path = _launches(100).write(tmp_path / "report.sqlite")
    with pytest.raises(InputError, match="holds more than 150 entries"):
        _read(path, Limits(events=150))


@pytest.mark.parametrize("ending", [".nsys-rep", ".qdrep"])
def test_a_report_that_was_not_exported_is_refused_with_the_command(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"my report{ending}"
    path.write_bytes(b"\0\1\2")
    assert f"`{EXPORT} 'my report{ending}'`" in _refusal(path).hint


@pytest.mark.parametrize(
    "content",
    [
        b'{"Type":48,"CudaEvent":{"startNs":"1","endNs":"2"}}\n{"Type":59,"NvtxEvent":{}}\n',
        b'{"META_DATA_EXPORT": [], "StringIds": []}',
        b"Type: 48\nCudaEvent {\n  startNs: 1\n}\n",
    ],
)
def test_other_exports_are_refused_with_the_command(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(content)
    error = _refusal(path)
    assert "Nsight Systems as" in error.message
    assert EXPORT in error.hint


def test_a_report_without_events_says_what_to_record(tmp_path: Path) -> None:
    path = nsight_reports.Report().write(tmp_path / "report.sqlite")
    error = _refusal(path)
    assert "without any event" in error.message
    assert "nsys profile --trace=cuda,nvtx,osrt" in error.hint
