"""`tracegraph memory`: its table, its JSON, its page, and what it refuses; without a database."""

import json
import re
from pathlib import Path

import pytest

from tracegraph.cli.main import main

TIMELINE = Path(__file__).parents[2] / "examples" / "memory" / "memory_timeline.raw.json.gz"


def memory(tmp_path: Path, *arguments: object) -> int:
    return main(["--workspace", str(tmp_path / "workspace"), "--quiet", "memory", *map(str, arguments)])


def test_a_timeline_as_tables_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "memory.html"
    assert memory(tmp_path, TIMELINE, "-o", page) == 0
    said = capsys.readouterr().out
    assert "9.66 MB, of which activation is 52.9 %" in re.sub(r"\s+", " ", said)
    assert re.search(r"optimizer state +2\.1\d MB +21\.9 %", said)
    text = page.read_text()
    assert "Memory over time by class" in text
    assert "<script src" not in text


def test_a_timeline_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert memory(tmp_path, TIMELINE, "--format", "json", "--gpus", 8) == 0
    (found,) = json.loads(capsys.readouterr().out)["recordings"]
    classes = {row["class"]: row["bytes"] for row in found["classes"]}
    assert sum(classes.values()) == found["peak"]["bytes"]
    assert classes["parameter"] == 8 * (2 * 64 * 256 + 256 + 64) * 4
    (sharded,) = (fix for fix in found["fixes"] if fix["name"] == "ZeRO stage 1")
    assert sharded["saved_bytes"] == classes["optimizer state"] * 7 // 8


def test_a_file_that_is_no_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "model.pt"
    file.write_bytes(b"\x80\x02cposix\nsystem\n.")
    assert memory(tmp_path, file) == 2
    said = capsys.readouterr().err
    assert "is a pickle but no snapshot of the allocator" in said
    assert said.count("\n") == 1
