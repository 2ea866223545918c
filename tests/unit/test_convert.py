"""JSON to Parquet and back: nothing is lost at the level of JSON values."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from mutations import as_parquet

from tracegraph.base.errors import InputError
from tracegraph.cli.commands.convert import convert
from tracegraph.ingest.convert import convert_trace
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.readers.kineto.parquet_file import ParquetDocument

NUMBERS = ["0", "-0", "1.50", "1e3", "1E+3", "-0.0", "12345678901234567890123", "1.695835542516374123e15"]
TEXT = st.text(st.characters(blacklist_categories=["Cs"]), max_size=8)
VALUE = st.recursive(
    st.sampled_from([*NUMBERS, "null", "true", "false"]) | TEXT.map(json.dumps),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.lists(st.tuples(TEXT.map(json.dumps), inner), max_size=3).map(
            lambda pairs: "{" + ",".join(f"{key} :{value}" for key, value in pairs) + "}"
        )
    ),
    max_leaves=6,
)
EVENT = st.lists(
    st.tuples(
        st.sampled_from(["ph", "name", "ts", "dur", "pid", "args", "ä", "name"]).map(json.dumps), VALUE
    ),
    max_size=6,
).map(lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}")
LIST = st.lists(EVENT | VALUE, max_size=4).map(lambda events: f"[ {' , '.join(events)} ]")
OTHER_KEYS = st.lists(st.tuples(TEXT.map(json.dumps), VALUE), max_size=2)
DOCUMENT = LIST | st.tuples(OTHER_KEYS, LIST, OTHER_KEYS).map(
    lambda parts: (
        "{"
        + ",\n".join(f"{key}: {value}" for key, value in [*parts[0], ('"traceEvents"', parts[1]), *parts[2]])
        + "}\n"
    )
)


@pytest.mark.parametrize("ending", [".json", ".json.gz"])
@given(document=DOCUMENT)
def test_any_document_comes_back_the_same(tmp_path: Path, ending: str, document: str) -> None:
    source, table, back = tmp_path / "in.json", tmp_path / "t.parquet", tmp_path / f"out{ending}"
    source.write_text(document, encoding="utf-8")
    convert_trace(source, table, replace=True)
    convert_trace(table, back, replace=True)
    data = back.read_bytes()
    assert _exact(gzip.decompress(data) if ending.endswith("gz") else data) == _exact(document.encode())


def test_columns_for_other_tools(tmp_path: Path) -> None:
    source, table = tmp_path / "in.json", tmp_path / "t.parquet"
    source.write_text(
        '[{"ph": "X", "name": "a", "cat": "cpu_op", "pid": 1, "tid": "x", "ts": 1.50, "dur": 2, "args": {}},'
        ' {"ph": "M", "name": "thread_name"}, 5]'
    )
    assert convert_trace(source, table).events == 3
    rows = pq.read_table(table).to_pylist()
    texts = [row.pop("json") for row in rows]
    assert texts[1:] == ['{"ph": "M", "name": "thread_name"}', "5"]
    assert [tuple(row.values()) for row in rows] == [
        (0, "X", "cpu_op", "a", "1", "x", 1500, 2000),
        (1, "M", None, "thread_name", None, None, None, None),
        (2, None, None, None, None, None, None, None),
    ]


@pytest.mark.parametrize(
    "name",
    [
        "a2_megatron_tp2_v100_2rank/rank0.pt.trace.json",
        "b1_hta_alexnet_cuda_sync.json.gz",
        "j4_hta_gpu_fragment_rank1.json.gz",
        "h2_hta_mi250_minitoy_train.json.gz",
        "j1_hta_uint64_arg.json.gz",
        "torch_cpu/gpt_10k.json.gz",
    ],
)
def test_both_forms_of_a_real_trace_read_the_same(
    tmp_path: Path, shared_trace: Callable[[str], Path], name: str
) -> None:
    source, table, back = shared_trace(name), tmp_path / "t.parquet", tmp_path / "out.json"
    convert_trace(source, table)
    convert_trace(table, back)
    data = source.read_bytes()
    assert _exact(back.read_bytes()) == _exact(gzip.decompress(data) if name.endswith("gz") else data)
    of_json, of_table = Integrity(""), Integrity("")
    first, second = read_trace(source, of_json), read_trace(table, of_table)
    assert first.events.equals(second.events)
    assert first.flows.equals(second.flows)
    assert of_json.rows() == of_table.rows()
    for field in ("rank", "thread_names", "process_names", "devices", "versions", "other_phases"):
        assert getattr(first, field) == getattr(second, field)


@pytest.mark.parametrize("document", ['[{"ts": NaN}]', '[{"ts": 1}', "[1] x", '{"traceEvents": 5}', "{}"])
def test_a_damaged_source_is_refused_and_leaves_nothing(tmp_path: Path, document: str) -> None:
    source = tmp_path / "in.json"
    source.write_text(document)
    with pytest.raises(InputError):
        convert_trace(source, tmp_path / "t.parquet")
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize("text", [b'[{"name": "\xff"}]', b'{"a": "\xff", "traceEvents": []}'])
def test_text_that_is_no_utf8_is_refused(tmp_path: Path, text: bytes) -> None:
    source = tmp_path / "in.json"
    source.write_bytes(text)
    with pytest.raises(InputError, match="without loss"):
        convert_trace(source, tmp_path / "t.parquet")


def test_gzip_with_a_wrong_checksum_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "in.json.gz"
    source.write_bytes(gzip.compress(b"[{}]")[:-8] + bytes(8))
    with pytest.raises(InputError, match="gzip stream damaged"):
        convert_trace(source, tmp_path / "t.parquet")


def test_an_existing_output_stays_unless_replaced(tmp_path: Path) -> None:
    source, target = tmp_path / "in.json", tmp_path / "t.parquet"
    source.write_text("[]")
    target.write_text("mine")
    with pytest.raises(InputError, match=r"exists already; .*--force"):
        convert_trace(source, target)
    assert target.read_text() == "mine"
    convert_trace(source, target, replace=True)
    assert pq.read_table(target).num_rows == 0


@pytest.mark.parametrize(
    ("target", "message"),
    [("out.txt", "name the output out.parquet"), ("absent/t.parquet", "absent is no folder")],
)
def test_an_output_that_cannot_be(tmp_path: Path, target: str, message: str) -> None:
    source = tmp_path / "in.json"
    source.write_text("[]")
    with pytest.raises(InputError, match=message):
        convert_trace(source, tmp_path / target)


def test_parquet_of_others_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    pq.write_table(pa.table({"json": ["{}"]}), path)
    with pytest.raises(InputError, match="no trace that tracegraph wrote"):
        read_trace(path, Integrity("other"))


def test_no_damaged_byte_of_parquet_is_more_than_a_refusal() -> None:
    events = [{"ph": "X", "name": f"op{k % 3}", "pid": 1, "tid": 1, "ts": k, "dur": 1} for k in range(12)]
    (whole,) = as_parquet([json.dumps({"traceEvents": events}).encode()])
    refused = 0
    for place in range(4, len(whole) - 4):
        damaged = whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]
        try:
            list(ParquetDocument(Path("t.parquet"), damaged).batches())
        except InputError:
            refused += 1
    assert refused > len(whole) / 4


def test_an_index_that_a_damaged_page_has_beside_its_dictionary_is_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(as_parquet([b'{"traceEvents": [{}, {}]}'])[0])
    column = pa.DictionaryArray.from_arrays(pa.array([0, 7]), pa.array(["{}"]), safe=False)
    batch = pa.RecordBatch.from_arrays([column], ["json"])
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", lambda *_, **__: iter([batch]))
    with pytest.raises(InputError, match="damaged Parquet after event 0"):
        read_trace(path, Integrity("t"))


def test_the_command_says_what_it_wrote(tmp_path: Path) -> None:
    source, target = tmp_path / "in.json", tmp_path / "t.parquet"
    source.write_text("[{}, {}]")
    result = CliRunner().invoke(convert, [str(source), str(target)], catch_exceptions=False)
    assert result.exit_code == 0
    assert result.output.startswith(f"{target}: 2 entries, ")


def _exact(data: bytes) -> object:
    """The document with its order, repeated keys and number literals."""
    return json.loads(
        data,
        object_pairs_hook=tuple,
        parse_float=lambda digits: ("number", digits),
        parse_int=lambda digits: ("number", digits),
    )
