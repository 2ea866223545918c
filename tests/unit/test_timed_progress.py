"""What a longer command says where there is no terminal, and what tasks.py says of pip."""

import importlib.util
import io
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from tracegraph.workbench import progress_bar
from tracegraph.workbench.progress_bar import timed_progress

ROOT = Path(__file__).parents[2]
LIMIT_S = 30.0


def wait_for(stream: io.StringIO, line: str) -> None:
    end = time.monotonic() + LIMIT_S
    while line not in stream.getvalue().splitlines():
        assert time.monotonic() < end, stream.getvalue()
        time.sleep(0.005)


def test_a_stage_that_takes_long_is_told_once_and_again_as_it_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress_bar, "_OFTEN_S", 0.01)
    stream = io.StringIO()
    with timed_progress(Console(file=stream, width=80)) as progress:
        progress("fetching [Neo4j], MB", 1, 155)
        wait_for(stream, "fetching [Neo4j], MB: 1 of 155")
        time.sleep(0.1)
        progress("fetching [Neo4j], MB", 2, 155)
        wait_for(stream, "fetching [Neo4j], MB: 2 of 155")
        progress("starting", 0, 0)
        wait_for(stream, "starting")
    assert len(stream.getvalue().splitlines()) == 3
    progress("later", 0, 0)
    time.sleep(0.05)
    assert len(stream.getvalue().splitlines()) == 3


def test_short_work_says_nothing() -> None:
    stream = io.StringIO()
    with timed_progress(Console(file=stream)) as progress:
        progress("reading", 1, 2)
    assert stream.getvalue() == ""


def test_some_lines_of_pip_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = importlib.util.spec_from_file_location("tasks", ROOT / "tasks.py")
    assert spec is not None
    assert spec.loader is not None
    tasks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tasks)
    now = [0.0]
    monkeypatch.setattr(tasks.time, "monotonic", lambda: now[0])

    def lines() -> Iterator[str]:
        for number in range(10):
            now[0] = float(number)
            yield f"Collecting {number}\n"

    tasks.print_at_times(lines())
    assert capsys.readouterr().out == "  Collecting 3\n  Collecting 6\n  Collecting 9\n"
