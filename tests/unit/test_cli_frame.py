"""Rows as table, CSV, JSON and Parquet: machines get every value unchanged, people get harmless text."""

import csv
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tracegraph.base.errors import InputError
from tracegraph.cli.options import parse_assignments
from tracegraph.cli.reporters.frame import readable_name, write_frame
from tracegraph.cli.reporters.layout import open_console
from tracegraph.queries.catalog import queries
from tracegraph.queries.module import Column
from tracegraph.workbench.text import csv_rows
from tracegraph.workbench.text.csv_rows import frame_csv, many_rows_csv

HOSTILE = [
    "plain",
    'quote " comma , semicolon ;',
    "line\nbreak\r\nreturn",
    "=HYPERLINK(1)",
    "\x1b[31mred\x07",
    "[bold]markup[/bold]",
    "\u202eright to left\u200b",
    "naïve 核",
    "",
]
FRAME = pd.DataFrame(
    {
        "name": HOSTILE,
        "start_ns": range(2**60, 2**60 + len(HOSTILE)),
        "source_index": pd.array([None, *range(1, len(HOSTILE))], dtype="Int64"),
        "share": [None, *([0.25] * (len(HOSTILE) - 1))],
    }
)
Shown = Callable[[pd.DataFrame, str], str]


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Shown:
    def show(frame: pd.DataFrame, form: str) -> str:
        write_frame(frame, form, None)
        return capsys.readouterr().out

    return show


def test_raw_csv_holds_every_value(capsys: pytest.CaptureFixture[str]) -> None:
    write_frame(FRAME, "csv", None, raw=True)
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out, newline="")))
    assert [row["name"] for row in rows] == HOSTILE
    assert [row["start_ns"] for row in rows] == [str(value) for value in FRAME["start_ns"]]
    assert (rows[0]["source_index"], rows[0]["share"], rows[1]["source_index"]) == ("", "", "1")


def test_csv_is_harmless(shown: Shown) -> None:
    names = ["=1", "\ufeff\u200b=1", "name\r=HYPERLINK(1)", "\x1b[31mred", "plain", "-5", None]
    values = [1, "=1", {"a": "=1"}, [1, "\x1b"], None, True, -5]
    frame = pd.DataFrame({"name": names, "=column": values, "ns": range(7)})
    text = shown(frame, "csv")
    assert not {"\x1b", "\x07"} & set(text)
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header == ["name", "'=column", "ns"]
    told = ["'=1", "'\ufeff\u200b=1", "name\r=HYPERLINK(1)", "\\x1b[31mred", "plain", "'-5", ""]
    assert [row[0] for row in rows] == told
    assert [row[1] for row in rows] == ["1", "'=1", '{"a": "=1"}', '[1, "\\u001b"]', "", "true", "-5"]


@settings(max_examples=200)
@given(st.lists(st.text(st.sampled_from("=+-@ab\t\r\n\0\x1b\x85\"',\ufeff\u200b\u00a0")), min_size=1))
def test_no_line_of_a_csv_begins_with_a_formula(texts: list[str]) -> None:
    """Also to a reader that takes a carriage return for the end of a line, but in quotes."""
    frame = pd.DataFrame({"name": texts, "again": texts})
    for raw in (False, True):
        read = csv.reader(io.StringIO(frame_csv(frame, raw=raw), newline=None))
        assert len(list(read)) == 1 + len(texts)
    for row in csv.reader(io.StringIO(frame_csv(frame), newline="")):
        for cell in row:
            assert not cell.lstrip("\ufeff\u200b\u00a0 \t\r\n").startswith(("=", "+", "-", "@"))
            assert not {"\0", "\x1b", "\x85"} & set(cell)


@settings(max_examples=50)
@given(st.lists(st.text(st.sampled_from('=-a\t\r\n\0\x1b",\u200b')) | st.none(), max_size=7))
def test_many_rows_are_the_same_csv(texts: list[str | None]) -> None:
    numbers = pd.array([None if text is None else len(text) for text in texts], dtype="Int64")
    shares = [None if text is None else len(text) / 3 for text in texts]
    columns = {"name": pd.Series(texts, dtype=object).astype("category"), "ns": numbers, "share": shares}
    frame = pd.DataFrame(columns).astype({"share": float})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(csv_rows, "_ROWS_AT_ONCE", 2)
        assert b"".join(many_rows_csv(frame)).decode() == frame_csv(frame)


def test_csv_on_a_terminal_without_utf8_is_utf8_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    write_frame(pd.DataFrame({"name": ["naïve 核"]}), "csv", None)
    assert written.getvalue().decode() == "name\nnaïve 核\n"


def test_json_holds_every_value(shown: Shown) -> None:
    text = shown(FRAME, "json")
    rows = json.loads(text)
    assert text.isascii()
    assert [row["name"] for row in rows] == HOSTILE
    assert rows[0] == {"name": "plain", "start_ns": 2**60, "source_index": None, "share": None}


def test_parquet_holds_every_value(tmp_path: Path) -> None:
    write_frame(FRAME, "parquet", tmp_path / "rows.parquet")
    table = pq.read_table(tmp_path / "rows.parquet")
    assert table["name"].to_pylist() == HOSTILE
    assert table["start_ns"].to_pylist() == FRAME["start_ns"].tolist()
    assert table["source_index"].to_pylist() == [None, *range(1, len(HOSTILE))]


def test_table_is_harmless(shown: Shown) -> None:
    text = shown(FRAME, "table")
    assert sum(str(2**60)[:9] in line for line in text.splitlines()) == len(HOSTILE)
    assert "\\x1b[31mred\\x07" in text
    assert "[bold]markup[/bold]" in text
    assert "line\\x0abreak" in text
    assert not {"\x1b", "\x07", "\u202e", "\u200b"} & set(text)


LISTED = pd.DataFrame(
    {
        "name": ["gemm", "add"],
        "lane": [12345, 2],
        "start_ns": [5_000_000_000_000, 5_000_000_000_001],
        "duration_ns": pd.array([12_345_000, None], dtype="Int64"),
        "confidence": [0.75, 0.5],
        "share": [0.4567, 0.0001],
        "count": [12345, 1],
    }
)
HEADER = (
    Column("name", "STRING", False, "name of the events"),
    Column("lane", "INTEGER", False, "lane id"),
    Column("start_ns", "INTEGER", False, "start, ns"),
    Column("duration_ns", "INTEGER", True, "time on the path, ns"),
    Column("confidence", "FLOAT", False, "how sure the rule is, 0..1"),
    Column("share", "FLOAT", False, "share of the path's length, 0..1"),
    Column("count", "INTEGER", False, "distinct events on the path"),
)


def test_the_table_of_a_query_has_units(capsys: pytest.CaptureFixture[str]) -> None:
    write_frame(LISTED, "table", None, HEADER)
    header, _, first, second, *_ = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert header == ["name", "lane", "start_ns", "duration", "confidence", "share", "count"]
    assert " ".join(first) == "gemm 12345 5000000000000 12.345 ms 0.75 45.7 % 12,345"
    assert " ".join(second) == "add 2 5000000000001 0.5 < 0.1 % 1"
    write_frame(LISTED, "csv", None, HEADER)
    assert capsys.readouterr().out == LISTED.to_csv(index=False)
    write_frame(LISTED, "table", None)
    assert " 12345000 " in capsys.readouterr().out


def test_every_column_of_a_query_is_a_place_or_a_length_by_its_words() -> None:
    columns = {(one.name, one.meaning): one for query in queries().values() for one in query.columns}
    for (name, meaning), column in columns.items():
        assert name.endswith("_ns") == (meaning.endswith(", ns") and not name.endswith("_drift_ppb")), name
        place = re.match("(its )?(start|end|when|where|later)\\b", meaning) is not None
        assert (readable_name(column) == name) == (place or not name.endswith("_ns")), (name, meaning)


@pytest.mark.parametrize(("stated", "width"), [("40", 40), ("0", 200), ("wide", 200), ("", 200)])
def test_a_pipe_is_as_wide_as_columns_says(stated: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", stated)
    assert open_console(200).width == width


def test_a_table_in_a_pipe_is_100_cells_wide(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    wide = pd.DataFrame({"name": ["核" * 90, "a" * 90], "start_ns": [1, 2], "why": ["b" * 90] * 2})
    write_frame(wide, "table", None)
    out, err = capsys.readouterr()
    assert max(cell_len(line.rstrip()) for line in out.splitlines()) <= 100
    assert "…" in out
    assert err == "texts are cut; --format csv shows all, COLUMNS=200 more\n"
    numbers = pd.DataFrame({"name": ["a" * 90], **{f"number_{n}": [10**15 + n] for n in range(9)}})
    write_frame(numbers, "table", None)
    out, err = capsys.readouterr()
    assert max(map(len, out.splitlines())) <= 100
    assert str(10**15) in out
    assert "left out: number_4, number_5, number_6, number_7, number_8" in err
    monkeypatch.setenv("COLUMNS", "400")
    write_frame(numbers, "table", None)
    assert str(10**15 + 8) in capsys.readouterr().out


def test_long_name_is_cut_in_the_table_only(shown: Shown) -> None:
    frame = pd.DataFrame({"name": ["x" * 100_000]})
    assert len(shown(frame, "table")) < 1000
    assert shown(frame, "csv") == "name\n" + "x" * 100_000 + "\n"


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_no_rows_keep_the_columns(form: str, shown: Shown) -> None:
    text = shown(FRAME.head(0), form)
    assert text == "[]\n" if form == "json" else "start_ns" in text


@pytest.mark.parametrize("form", ["table", "csv", "json", "parquet"])
def test_file_in_no_folder(form: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"):
        write_frame(FRAME, form, tmp_path / "none" / "rows")


def test_parquet_refuses(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name a file with -o"):
        write_frame(FRAME, "parquet", None)
    with pytest.raises(InputError, match="column mixed"):
        write_frame(pd.DataFrame({"mixed": [1, "a"]}), "parquet", tmp_path / "rows.parquet")


def test_assignments() -> None:
    assert parse_assignments(("a=1", "b=x=y", "c=")) == {"a": "1", "b": "x=y", "c": ""}
    for wrong in (("a",), ("=1",), ("a=1", "a=2")):
        with pytest.raises(InputError):
            parse_assignments(wrong)
