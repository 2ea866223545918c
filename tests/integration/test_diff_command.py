"""`tracegraph diff` and `run.diff`: what is compared, what is said, what is written, how it ends."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import tiny
from stored_traces import stored
from tiny import call, event, kernel, step

from tracegraph.base.errors import InputError
from tracegraph.cli.main import main
from tracegraph.ingest.trace import TraceFile
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import Workspace
from tracegraph.workbench.bench import Workbench

TRACES = Path(__file__).parents[2] / "examples" / "traces"
HOSTILE = "evil\x1b[2J\u202e\nsecond [bold]line"
NAMES = ("fast", "slow", "long", "plain", "usual", "longer", "other")
FAST, SLOW, LONG, PLAIN, USUAL, LONGER, OTHER = (f"answers-{name}" for name in NAMES)
VARYING = (100, 103, 99, 104, 98, 102, 97, 101)
Ask = Callable[..., tuple[int, str, str]]


def trained(name: str, *lengths: int, of: str = HOSTILE) -> TraceFile:
    """A step of each length, µs, most of it in a kernel that is waited for."""
    rows: list[tiny.Row] = []
    at = 0
    for number, length in enumerate(lengths, start=1):
        rows += [
            step(number, at, at + length),
            call("cudaLaunchKernel", at + 5, at + 10, number),
            kernel(of, at + 12, at + length - 10, number),
            call("cudaDeviceSynchronize", at + 10, at + length - 5, 100 + number),
        ]
        at += length
    return replace(tiny.trace(*rows), path=name)


@pytest.fixture(scope="module")
def bench(database: Database, workspace: Workspace) -> Iterator[Workbench]:
    with (
        stored(database, workspace, trained("fast", 100, 100)),
        stored(database, workspace, trained("slow", 100, 160)),
        stored(database, workspace, trained("long", 150, 151, 160)),
        stored(database, workspace, replace(tiny.trace(event("mm", 0, 90)), path="plain")),
        stored(database, workspace, trained("usual", *VARYING)),
        stored(database, workspace, trained("longer", *(length + 20 for length in VARYING))),
        stored(database, workspace, trained("other", 100, 300, of="another")),
        Workbench(workspace, ConnectionSettings()) as opened,
    ):
        yield opened


@pytest.fixture
def ask(bench: Workbench, capsys: pytest.CaptureFixture[str]) -> Ask:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["--quiet", "--workspace", str(bench.workspace.root), "diff", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def lines(text: str) -> str:
    return " ".join(text.split())


def test_two_runs(ask: Ask) -> None:
    code, out, err = ask(FAST, SLOW)
    assert (code, err) == (0, "")
    said = lines(out)
    assert f"A {FAST}: 200.000 µs B {SLOW}: 260.000 µs" in said
    assert "difference B is 60.000 µs (30.0 %) longer than A: 260.000 µs instead of 200.000 µs." in said
    assert "work of the GPU +60.000 µs" in said
    assert "evil\\x1b[2J\\u202e\\x0asecond [bold]line grew (+60.000 µs)" in said
    assert "slower 2 2" in said
    assert not {"\x1b", "\u202e"} & set(out)


def test_two_steps_of_a_run_as_json(ask: Ask) -> None:
    code, out, _ = ask(SLOW, "--step", "1:2", "--format", "json")
    found = json.loads(out)
    assert code == 0
    assert found["a"] == {"run": SLOW, "rank": None, "step": 1, "length_ns": 100_000}
    assert found["b"] == {"run": SLOW, "rank": None, "step": 2, "length_ns": 160_000}
    assert found["diff_ns"] == sum(row["diff_ns"] for row in found["path_diff"]) == 60_000
    assert found["path_diff"][0]["name"] == HOSTILE
    assert {row["name"]: row["change"] for row in found["trace_diff_matched"]}["ProfilerStep#"] == "slower"


def test_other_numbers_of_steps(ask: Ask) -> None:
    """A whole run is no measure then: a step of each is."""
    _, out, _ = ask(FAST, LONG)
    said = lines(out)
    assert f"A {FAST}, step 1: 100.000 µs B {LONG}, step 2: 151.000 µs" in said
    assert (
        "A has 2 steps and B 3: compared are one step of each, nearest to the median: 1 of A, 2 of B." in said
    )


def test_a_run_without_steps(ask: Ask) -> None:
    _, out, _ = ask(FAST, PLAIN)
    assert "B has no steps: compared is all that either recorded, whatever that is." in lines(out)


def test_files(ask: Ask, bench: Workbench, tmp_path: Path) -> None:
    """A trace is ingested first; the folder gets all rows."""
    trace = tmp_path / "some.json.gz"
    trace.write_bytes((TRACES / "simulated_gpu.json.gz").read_bytes())
    code, out, err = ask(str(trace), FAST, "--output", str(tmp_path / "out"))
    assert (code, err) == (0, "")
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {
        *("diff.html", "diff.json"),
        *("path_diff.csv", "path_inside_diff.csv", "trace_diff_matched.csv"),
    }
    assert lines(out).endswith("diff.html")
    rows = pd.read_csv(tmp_path / "out" / "path_diff.csv")
    found = json.loads((tmp_path / "out" / "diff.json").read_text())
    assert rows["diff_ns"].sum() == found["diff_ns"] == found["b"]["length_ns"] - found["a"]["length_ns"]
    bench.delete(found["a"]["run"])


@pytest.mark.parametrize(("most", "code"), [("59999", 1), ("60000", 0)])
def test_fail_above(ask: Ask, most: str, code: int) -> None:
    assert ask(FAST, SLOW, "--fail-above", most)[0] == code


def test_all_steps_tell_whether_it_is_chance(ask: Ask) -> None:
    """The interval of the eight steps together is 139.0 to 181.0 µs."""
    said = lines(ask(USUAL, LONGER)[1])
    assert "A step of B is on average 20.000 µs (19.9 %) longer than one of A, 95 % interval" in said
    code, out, _ = ask(USUAL, LONGER, "--format", "json", "--fail-above", "139000")
    compared = json.loads(out)["steps"]["compared"]
    assert (code, compared["told"], compared["low_ns"], compared["high_ns"]) == (0, True, 17_373, 22_627)
    assert ask(USUAL, LONGER, "--fail-above", "138000")[0] == 1


def test_markdown(ask: Ask) -> None:
    code, out, _ = ask(FAST, SLOW, "--format", "md")
    assert code == 0
    assert out.startswith(f"### {FAST} → {SLOW}\n\n- A: {FAST}: 200.000 µs\n")
    assert "- steps: Whether the difference is more than chance cannot be told: A has 2 steps" in out
    assert "evil&#92;x1b&#91;2J" in out
    assert not {"\x1b", "\u202e"} & set(out)


def test_different_programs_are_named_first(ask: Ask, bench: Workbench, tmp_path: Path) -> None:
    _, out, _ = ask(FAST, OTHER, "--output", str(tmp_path))
    said = lines(out)
    assert said.startswith("Difference different programs A and B look like different programs: A has 1 name")
    assert "longer than" not in said
    page = (tmp_path / "diff.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert page.index("look like different programs") < page.index("200.000 µs")
    assert bench.run(FAST).diff(OTHER).verdict.keys() == {"different programs"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((FAST,), f"{FAST} is the same as itself; name another run, or compare --rank R:R or --step N:M"),
        ((FAST, SLOW, "--step", "1:7"), f"run '{SLOW}' has no step 7; present: 1, 2"),
        ((FAST, SLOW, "--rank", "0:3"), f"run '{SLOW}' has no rank 3; ranks: 0"),
        ((FAST, "--step", "x"), "--step x is no number; write --step 3, or 3:5 for A and B"),
        (("answers-fasd", SLOW), "there is no run named 'answers-fasd'; did you mean answers-fast?"),
        (("no/such.json", SLOW), "no/such.json does not exist"),
    ],
)
def test_what_cannot_be_compared(ask: Ask, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = ask(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"tracegraph: {said}")


def test_hostile_names_on_the_page(bench: Workbench, tmp_path: Path) -> None:
    bench.run(FAST).diff(SLOW).save(tmp_path)
    page = (tmp_path / "diff.html").read_text()
    assert "evil\\x1b[2J\\u202e\\x0asecond [bold]line</td>" in page
    assert not {"\x1b", "\u202e"} & set(page)


def test_from_python(bench: Workbench) -> None:
    run = bench.run(FAST)
    found = run.diff(SLOW, step=1)
    assert repr(found) == f"<Difference from {FAST}, step 1 to {SLOW}, step 1: 0 ns>"
    assert found.verdict["path"] == "The critical paths are made of the same."
    assert run.diff(bench.run(SLOW)).diff_ns == 60_000
    assert run.diff(step=1, step_b=2).scope.lengths_ns == (100_000, 100_000)
    with pytest.raises(InputError, match="no run named"):
        run.diff("nothing")
