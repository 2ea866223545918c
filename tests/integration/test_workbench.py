"""The workbench against managed servers: what it answers, refuses and leaves behind."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest
from pandas.testing import assert_frame_equal

from tracegraph.queries.catalog import queries
from tracegraph.store.session import find_server
from tracegraph.store.workspace import Workspace, open_workspace
from tracegraph.workbench import InputError, Run, StoreError, Workbench

EXAMPLES = Path(__file__).parents[2] / "examples" / "traces"
GPU, CPU = EXAMPLES / "simulated_gpu.json.gz", EXAMPLES / "slow_loader.json.gz"
_ENDS_WITHOUT_CLOSE = """
import os, signal, sys
from tracegraph.store.session import find_server
from tracegraph.workbench import Workbench
bench = Workbench.open(workspace=sys.argv[1], progress=False)
assert len(bench.runs()) == 0
print(find_server(bench.workspace).pid, flush=True)
if sys.argv[2] == "fails":
    raise RuntimeError("a cell that fails")
if sys.argv[2] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def bench(workspace: Workspace, database: object) -> Iterator[Workbench]:
    """A workbench on the shared server."""
    with Workbench.open(workspace=workspace.root, progress=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def run(bench: Workbench) -> Run:
    """The example run with steps, ingested through the workbench."""
    return bench.ingest(GPU, "workbench")


@pytest.mark.parametrize("name", [name for name, query in queries().items() if query.takes("run")])
def test_a_method_answers_as_ask_does_with_the_columns_of_the_header(run: Run, name: str) -> None:
    needed = {"name": "aten::item", "source_index": 0, "number": 2, "beginnings": "aten", "pixel_ns": 1000}
    needed |= {"occurrence": 1}
    query = queries()[name]
    given = {one.name: needed[one.name] for one in query.parameters if one.name in needed}
    rows = getattr(run, name)(**given)
    assert_frame_equal(rows, run.bench.ask(name, run=run.name, **given))
    assert list(rows) == [column.name for column in query.columns]


def test_a_step_a_limit_and_a_window_reach_the_query(bench: Workbench, run: Run) -> None:
    step = run.steps().iloc[1]
    assert_frame_equal(run.hotspots(step=3), run.ask("hotspots", step=3))
    assert len(run.hotspots(limit=3)) == 3
    assert not run.hotspots(step=3).equals(run.hotspots(step=2))
    path = run.critical_path(step=3)
    window = run.step_window(3).iloc[0]
    assert (path["start_ns"].iloc[0], path["end_ns"].iloc[-1]) == (window["start_ns"], window["end_ns"])
    # What a frame holds is numpy's.
    assert isinstance(step["number"], np.integer)
    assert_frame_equal(run.hotspots(step=step["number"], limit=np.int64(4)), run.hotspots(step=3, limit=4))
    of_window = run.critical_path(**{name: window[name] for name in ("start_ns", "end_ns", "chain")})
    assert_frame_equal(of_window, path)
    assert_frame_equal(run.critical_path(step=3, rank=0), path)
    assert_frame_equal(bench.ask("hotspots", run=run.name, step=3), run.hotspots(step=3))


def test_cypher_knows_the_run_and_refuses_writes(bench: Workbench, run: Run) -> None:
    count = "MATCH (k:Kernel {run: $run}) WHERE k.duration_ns > $least RETURN count(k) AS kernels"
    assert run.cypher(count, least=0)["kernels"].tolist() == [123]
    assert run.cypher(count, least=run.hotspots(limit=1)["duration_ns"].iloc[0])["kernels"].tolist() == [0]
    assert bench.cypher("RETURN $run AS run", run="x")["run"].tolist() == ["x"]
    for ask in (run.cypher, bench.cypher):
        with pytest.raises(InputError, match="the query writes"):
            ask("CREATE (n:Own)")
    rows, changed = bench.change("CREATE (n:Own) RETURN 1 AS one")
    assert (rows["one"].tolist(), changed["nodes_created"]) == ([1], 1)
    bench.change("MATCH (n:Own) DELETE n")


@pytest.mark.parametrize(
    ("wrong", "message", "hint"),
    [
        (lambda run: run.bench.run("absent"), "no run named 'absent'", "tracegraph runs"),
        (lambda run: run.bench.delete("absent"), "no run named 'absent'", "tracegraph runs"),
        (lambda run: Run(run.bench, "absent").hotspots(), "no run named 'absent'", "tracegraph runs"),
        (lambda run: run.hotspots(step=9), "has no step 9", "present: 2, 3"),
        (lambda run: run.hotspots(step=2, rank=7), "has no step 2 of rank 7", "ranks with steps: 0"),
        (lambda run: run.hotspots(step="2"), "step='2' is not allowed", "INTEGER"),
        (lambda run: run.hotspots(step=2.0), r"step=2\.0 is not allowed", "INTEGER"),
        (lambda run: run.hotspots(rank=0), "the rank is that of a step or phase", "give that"),
        (lambda run: run.hotspots(limit=0), "limit=0 is not allowed", r"1\.\.1000000"),
        (lambda run: run.hotspots(start_ns=0, step=2), "a step or phase gives", "give it or them"),
        (lambda run: run.ask("hotspot"), "no query named 'hotspot'", "tracegraph query --list lists all"),
        (lambda run: run.ask("hotspots", stpe=2), "no parameter stpe", "hotspots takes: "),
        (lambda run: run.cypher("MATCH"), "the server refuses", "correct the query"),
        (lambda run: run.picture("absent"), "no picture 'absent'", "critical_path"),
        (lambda run: run.picture().write("path.gif"), "names no picture format", r"\.svg"),
        (lambda run: run.bench.ingest("absent.json"), "absent.json", ""),
        (lambda run: run.bench.ingest(CPU, run.name), "holds another file", "another name"),
    ],
)
def test_what_cannot_be_used_is_said_with_what_to_do(
    run: Run, wrong: object, message: str, hint: str
) -> None:
    assert callable(wrong)
    with pytest.raises(InputError, match=message) as caught:
        wrong(run)
    assert caught.value.message
    assert re.search(hint, caught.value.hint)


def test_an_interrupted_question_leaves_the_workbench_as_it_was(run: Run) -> None:
    assert interrupted(run, 1) < 2
    assert len(run.hotspots(limit=2)) == 2


def test_a_picture_shows_itself_and_is_written(run: Run, tmp_path: Path) -> None:
    picture = run.picture("critical_path", step=np.int64(3))
    shown = picture._repr_mimebundle_()
    assert shown["image/svg+xml"].lstrip().startswith("<?xml")
    assert re.fullmatch(r"<Picture, \d+ lines of DOT>", shown["text/plain"])
    picture.write(tmp_path / "path.svg")
    assert "<svg" in (tmp_path / "path.svg").read_text()
    event = run.events_named("aten::item")["source_index"].iloc[0]
    for drawn in (
        run.picture("hotspot", run.hotspots(limit=1)["name"].iloc[0], step=3),
        run.picture("event", event, depth=2),
        run.picture("step", 3),
        run.picture("cypher", "MATCH p=(:Trace {run: $run})<-[:OF_TRACE]-(:Lane) RETURN p"),
    ):
        assert drawn.source.startswith("digraph")


def test_a_report_is_saved(run: Run, tmp_path: Path) -> None:
    report = run.report(step=run.steps()["number"].iloc[1])
    assert repr(report) == f"<Report on {run.name}, step 3: 2.596 ms>"
    assert report.summary()["run"] == run.name
    written = report.save(tmp_path / "report")
    assert set(written.files) == {path.name for path in (tmp_path / "report").iterdir()}
    assert set(written.left_out) == {"steps.csv", "phases.csv"}


def interrupted(run: Run, within_s: float) -> float:
    """Seconds from the interrupt of an endless question to its end."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(within_s, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            run.cypher("UNWIND range(1, 100000000000) AS i RETURN sum(i)")
        return time.monotonic() - begun - within_s
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


def test_a_small_question_is_answered_in_a_moment(bench: Workbench, run: Run) -> None:
    def seconds(count: int = 10) -> float:
        begun = time.perf_counter()
        for _ in range(count):
            assert run.cypher("RETURN 1 AS one")["one"].tolist() == [1]
        return (time.perf_counter() - begun) / count

    with bench.answers(), pytest.raises(InputError, match="a bulk load restarts the server"):
        bench.ingest(CPU, load="bulk")
    run.steps()
    begun = time.perf_counter()
    run.steps()
    method = time.perf_counter() - begun
    own = seconds()
    with bench.answers():
        held = seconds()
    print(f"a call: cypher {own * 1e3:.0f} ms, held {held * 1e3:.1f} ms; steps() {method * 1e3:.0f} ms")
    assert max(own, method) < 1


@pytest.mark.exhaustive
def test_one_workspace_under_two_benches(tmp_path: Path) -> None:
    """The story of two notebooks: one server, rebuilt under the other's feet, stopped by the last."""
    own = open_workspace(tmp_path)
    first = Workbench.open(workspace=tmp_path, progress=False)
    second = Workbench.open(workspace=tmp_path, progress=False)
    assert find_server(own) is None  # nobody asked yet
    with pytest.raises(InputError, match="no run is stored") as caught:
        second.run()
    assert "ingest a trace first" in caught.value.hint
    old = first.ingest(GPU)
    state = find_server(own)
    assert state is not None
    assert second.run().name == old.name
    mine = Run(second, old.name)
    before = mine.hotspots(step=3)
    assert find_server(own) == state  # the same server
    # A rebuild restarts it under the other bench, which goes on asking meanwhile; its kept answers stay.
    new = ingested_while_asked(first, mine)
    rebuilt = find_server(own)
    assert rebuilt is not None
    assert (rebuilt.pid, rebuilt.database) != (state.pid, state.database)
    assert_frame_equal(mine.hotspots(step=3), before)
    assert mine.lane_waits(step=2).equals(old.lane_waits(step=2))
    assert second.run().name == new.name
    assert second.runs()["name"].tolist() == [new.name, old.name]
    # `bolt` stores beside it; the newest run is that of the other's.
    third = second.ingest(GPU, "third", load="bolt")
    assert first.run().name == "third"
    third.delete()
    assert first.run().name == new.name
    with pytest.raises(InputError, match="no run named 'third'"):
        third.steps()
    assert find_server(own) == rebuilt
    # Somebody stops it, or it dies: the next question starts another.
    psutil.Process(rebuilt.pid).kill()
    while find_server(own) is not None:
        time.sleep(0.05)
    assert first.run().name == new.name
    state = find_server(own)
    assert state is not None
    assert state.pid != rebuilt.pid
    # The first close leaves it to the other; the last stops it.
    first.close()
    first.close()
    assert find_server(own) == state
    refuses(first, old)
    assert len(second.runs()) == 2
    with pytest.raises(RuntimeError), second:
        raise RuntimeError("a block that fails")
    assert find_server(own) is None
    assert not psutil.pid_exists(state.pid)


def ingested_while_asked(bench: Workbench, run: Run) -> Run:
    """A run that is imported while another bench asks one question after the other."""
    begun = time.monotonic()
    longest = asked = 0.0
    with ThreadPoolExecutor(1) as pool:
        storing = pool.submit(bench.ingest, CPU, load="bulk")
        while not storing.done():
            asked_at = time.monotonic()
            kernels = run.cypher("MATCH (k:Kernel {run: $run}) RETURN count(k) AS n")["n"]
            assert kernels.tolist() == [123]
            longest, asked = max(longest, time.monotonic() - asked_at), asked + 1
        stored = storing.result()
    seconds = time.monotonic() - begun
    print(f"rebuild: {seconds:.1f} s; {asked:.0f} questions meanwhile, the longest {longest:.1f} s")
    return stored


def refuses(bench: Workbench, run: Run) -> None:
    """Check that a closed bench answers nothing and stores nothing."""
    for refused in (bench.runs, run.steps, run.picture, run.report, run.delete, lambda: bench.ingest(GPU)):
        with pytest.raises(StoreError, match="the workbench is closed") as closed:
            refused()
        assert "Workbench.open()" in closed.value.hint


@pytest.mark.parametrize("how", ["ends", pytest.param("fails", marks=pytest.mark.exhaustive)])
def test_a_program_that_never_closes_leaves_no_server(tmp_path: Path, how: str) -> None:
    code, pid = program(tmp_path, how)
    assert code == (how == "fails")
    assert not psutil.pid_exists(pid)
    assert find_server(open_workspace(tmp_path)) is None


@pytest.mark.exhaustive
def test_what_a_killed_program_leaves_is_used_and_stopped_by_the_next(tmp_path: Path) -> None:
    code, pid = program(tmp_path, "killed")
    assert (code, psutil.pid_exists(pid)) == (-signal.SIGKILL, True)
    with Workbench.open(workspace=tmp_path, progress=False) as bench:
        assert bench.runs().empty
        state = find_server(bench.workspace)
        assert state is not None
        assert state.pid == pid
    assert find_server(open_workspace(tmp_path)) is None  # its process may be a zombie: its parent is gone


def program(workspace: Path, how: str) -> tuple[int, int]:
    """Exit code of a program that asks and never closes, and the process of the server it asked."""
    done = subprocess.run(
        [sys.executable, "-c", _ENDS_WITHOUT_CLOSE, str(workspace), how],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, int(done.stdout)


def test_the_workspace_is_that_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEGRAPH_WORKSPACE", str(tmp_path))
    with Workbench.open(progress=False) as bench:
        assert bench.workspace.root == tmp_path.resolve()
        assert repr(bench) == f"<Workbench {tmp_path.resolve()}>"


def test_a_server_by_its_address(workspace: Workspace, database: object, tmp_path: Path, run: Run) -> None:
    state = find_server(workspace)
    assert state is not None
    password = workspace.password_file.read_text().strip()
    uri = f"bolt://127.0.0.1:{state.bolt}"
    with Workbench.open(
        uri, workspace=tmp_path, password=password, database=state.database, progress=False
    ) as bench:
        same = bench.run(run.name)
        assert_frame_equal(same.hotspots(step=3), run.hotspots(step=3))
        assert interrupted(same, 1) < 2
        assert len(same.hotspots(limit=2)) == 2
        assert repr(bench) == f"<Workbench {uri}>"
    with pytest.raises(StoreError, match="the workbench is closed"):
        same.steps()
    assert find_server(workspace) == state  # it is not ours to stop
    assert find_server(open_workspace(tmp_path)) is None
    with pytest.raises(StoreError, match="127"):
        Workbench.open("bolt://127.0.0.1:1", workspace=tmp_path)
    with pytest.raises(InputError, match="not the address"):
        Workbench.open("nowhere", workspace=tmp_path)


def test_a_server_that_just_died_is_replaced(tmp_path: Path) -> None:
    with Workbench.open(workspace=tmp_path, progress=False) as bench:
        assert bench.runs().empty
        ending = find_server(bench.workspace)
        assert ending is not None
        psutil.Process(ending.pid).kill()
        assert bench.runs().empty
        replaced = find_server(bench.workspace)
        assert replaced is not None
        assert replaced.pid != ending.pid
