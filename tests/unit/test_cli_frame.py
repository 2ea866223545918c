"""Rows as table, CSV, JSON and Parquet: machines get every value unchanged, people get harmless text."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from tracegraph.cli.options import parse_assignments
from tracegraph.cli.reporters.frame import write_frame
from tracegraph.store.errors import InputError

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


def test_csv_holds_every_value(shown: Shown) -> None:
    rows = list(csv.DictReader(io.StringIO(shown(FRAME, "csv"), newline="")))
    assert [row["name"] for row in rows] == HOSTILE
    assert [row["start_ns"] for row in rows] == [str(value) for value in FRAME["start_ns"]]
    assert (rows[0]["source_index"], rows[0]["share"], rows[1]["source_index"]) == ("", "", "1")


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
