"""The limits on a file follow the memory, and what has many entries is counted before it is kept."""

import gzip
from pathlib import Path

import pytest
from click.testing import CliRunner

from tracegraph.base.errors import InputError
from tracegraph.cli.main import cli
from tracegraph.ingest import limits
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.limits import Limits
from tracegraph.ingest.readers import read_trace, unpacking
from tracegraph.ingest.readers.kineto import strict_document

EVENT = '{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": %d, "dur": 1, "args": %s}'
EVENTS = ", ".join(EVENT % (k, '{"x": [{}, {}, ",[{"], "y": {}}') for k in range(20))
PIECE = 64


@pytest.mark.parametrize(
    ("mib", "unpacked", "events"),
    [
        (2048, 357_913_941, 1_048_576),
        (4096, 715_827_882, 2_097_152),
        (24 * 1024, 4 * 2**30, 12_582_912),
        (1 << 20, 4 * 2**30, 20_000_000),
    ],
)
def test_the_defaults_follow_the_memory(
    mib: int, unpacked: int, events: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "memory_mib", lambda: mib)
    assert (Limits().unpacked, Limits().events) == (unpacked, events)


def test_in_a_small_container_a_refusal_says_the_number_and_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "memory_mib", lambda: 2048)
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(bytes(400_000_000), 1))
    doctor = ["--workspace", str(tmp_path / "workspace"), "doctor"]
    refused = CliRunner().invoke(cli, [*doctor, str(path)])
    assert isinstance(refused.exception, InputError)
    assert "holds more than 357,913,941 bytes of text" in refused.exception.message
    assert "--limit unpacked=SIZE" in refused.exception.hint
    raised = CliRunner().invoke(cli, [*doctor, "--limit", "unpacked=1GiB", str(path)])
    assert isinstance(raised.exception, InputError)
    assert "holds no list traceEvents" in raised.exception.message


def _read(tmp_path: Path, text: str, some: Limits = Limits()) -> tuple[int, set[str]]:  # noqa: B008
    (tmp_path / "trace.json").write_text(text)
    integrity = Integrity("trace.json", some)
    events = read_trace(tmp_path / "trace.json", integrity).events
    assert events["source_index"].to_pylist() == list(range(events.num_rows))
    return events.num_rows, {one.code for one in integrity if one.level == "error" or "json" in one.code}


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (f"[{EVENTS}]", set()),
        (f'{{"traceEvents": [{EVENTS}], "deviceProperties": []}}', set()),
        (f'{{"traceEvents": [{EVENTS}], "rest": [{EVENTS}]}}', set()),
        (f'{{"x": "\\"traceEvents\\": [", "traceEvents": [{EVENTS}]}}', set()),
        (f'{{"x": {{"traceEvents": [{EVENTS}]}}, "traceEvents": [{EVENTS}]}}', {"list_repeated"}),
        (f'{{"traceEvents": [{EVENTS}, {EVENTS}], "traceEvents": [{EVENTS}]}}', {"list_repeated"}),
        (f'{{"traceEvents": [{EVENTS}], "a": [], "traceEvents":\n[{EVENTS}]}}', {"list_repeated"}),
        (f'{{"traceEvents": [{EVENTS},]}}', {"json_repaired"}),
        (f'{{"traceEvents": [{EVENTS}', {"json_cut"}),
    ],
)
def test_a_list_taken_apart_in_pieces_is_the_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, codes: set[str]
) -> None:
    whole = _read(tmp_path, text)
    monkeypatch.setattr(strict_document, "PIECE", PIECE)
    assert _read(tmp_path, text) == whole == (20, codes)


def test_entries_are_counted_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict_document, "PIECE", PIECE)
    for entries in ("0," * 2000 + "0", "{}," * 2000 + "0", '{"ph":' * 2000, '["},{",' * 500):
        with pytest.raises(InputError, match=r"holds more than 100 entries|no event with a duration"):
            _read(tmp_path, f'{{"traceEvents": [{entries}]}}', Limits(events=100))


def test_a_long_entry_is_skipped_and_counted(tmp_path: Path) -> None:
    long = EVENT % (1, '{"x": "%s"}' % ("a" * 5000))
    for end in ("]", ",]"):
        (tmp_path / "long").write_text(f"[{EVENT % (0, '{}')}, {long}, {EVENT % (2, '{}')}{end}")
        integrity = Integrity("long", Limits(entry=4000))
        trace = read_trace(tmp_path / "long", integrity)
        assert trace.events["source_index"].to_pylist() == [0, 2]
        assert {one.count for one in integrity if one.code == "event_broken"} == {1}


def test_a_large_content_is_unpacked_twice_into_the_room_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "_KEPT", 1000)
    text = f"[{EVENTS}]".encode()
    for packed in (gzip.compress(text), gzip.compress(text[:999]) + gzip.compress(text[999:])):
        (tmp_path / "packed").write_bytes(packed)
        assert read_trace(tmp_path / "packed", Integrity("packed")).events.num_rows == 20
    (tmp_path / "packed").write_bytes(gzip.compress(b"[" * 1_000_000))
    with pytest.raises(InputError, match=r"unpacks to 1,000,000 bytes, [0-9]+ times its size") as caught:
        read_trace(tmp_path / "packed", Integrity("packed"))
    assert "gunzip" in caught.value.hint
