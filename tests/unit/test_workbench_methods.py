"""Every query is a method, and what is generated from the headers is what is checked in."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tracegraph import workbench
from tracegraph.base import errors
from tracegraph.queries.catalog import queries
from tracegraph.queries.runs import RANK, parameters
from tracegraph.workbench import Run, Workbench
from tracegraph.workbench.bench_queries import BenchQueries
from tracegraph.workbench.generate import generated
from tracegraph.workbench.methods.methods import (
    Asking,
    add_methods,
    docstring,
    of_benches,
    of_runs,
    signature,
)
from tracegraph.workbench.run_queries import RunQueries

ROOT = Path(__file__).parents[2]
NOTHING = inspect.Parameter.empty
USER = """
from pathlib import Path

import pandas as pd

from tracegraph.workbench import InputError, Picture, Report, Run, StoreError, TracegraphError, Workbench


def ask(trace: Path) -> list[pd.DataFrame]:
    with Workbench.open(workspace="here", progress=False) as bench:
        run: Run = bench.ingest(trace, cross_thread="none", load="bolt")
        picture: Picture = run.picture("critical_path", step=3)
        picture.write("path.svg")
        report: Report = run.report(step=3, top=5)
        print(report.save("folder").files, report.summary()["run"])
        try:
            bench.run("absent")
        except (InputError, StoreError) as error:
            known: TracegraphError = error
            print(known.message, known.hint)
        return [
            bench.runs(),
            bench.newest_ready_run(),
            run.hotspots(step=3, limit=5),
            run.critical_path(start_ns=1, end_ns=2, chain=3),
            run.call_tree(12, depth=2),
            run.call_tree(source_index=12, rank=1),
            run.events_named("aten::mm"),
            run.steps(),
            run.lane_waits(start_ns=0),
            run.near_critical(),
            run.event_causes(12, rank=None),
            run.cypher("RETURN $run AS run, $n AS n", n=1),
        ]
"""
WRONG = {
    "run.hotspots(stpe=3)": 'Unexpected keyword argument "stpe"',
    'run.hotspots(limit="ten")': 'expected "int"',
    "run.hotspots(3)": "Too many positional arguments",
    "run.call_tree()": 'Missing positional argument "source_index"',
    "run.hotspot()": 'has no attribute "hotspot"',
}


@pytest.mark.parametrize("place", generated())
def test_what_is_generated_is_checked_in(place: str) -> None:
    same = (ROOT / place).read_text(encoding="utf-8") == generated()[place]
    assert same, f"{place} is old: run `python -m tracegraph.workbench.generate .`"


def test_every_query_is_a_method_of_exactly_one_class() -> None:
    assert sorted([*of_runs(), *of_benches()]) == sorted(queries())
    for name in queries():
        # One class says it; a run and a bench have it from there.
        assert [name in vars(cls) for cls in (RunQueries, BenchQueries)].count(True) == 1
        assert [name in dir(cls) for cls in (Run, Workbench)].count(True) == 1


@pytest.mark.parametrize("name", queries())
def test_a_method_says_what_the_header_says(name: str) -> None:
    query = queries()[name]
    cls = Run if query.takes("run") else Workbench
    method = getattr(cls, name)
    assert inspect.signature(method) == signature(query)
    taken = {one.name: one for one in parameters(query) if one.name != "run"}
    listed = dict(list(inspect.signature(method).parameters.items())[1:])
    assert sorted(listed) == sorted(taken)
    for given, one in taken.items():
        shown = listed[given]
        if shown.kind is shown.POSITIONAL_OR_KEYWORD:
            assert (shown.default, one.default) == (NOTHING, None)
        elif given == RANK.name:
            assert shown.default is None
        else:
            assert shown.default == one.default
    said = inspect.getdoc(method)
    assert said is not None
    assert said == docstring(query)
    assert said.startswith(query.summary)
    for field in (*taken.values(), *query.columns):
        assert f"    {field.name}" in said
        assert field.meaning in said


def test_the_first_rank_is_that_of_the_run_not_of_the_header() -> None:
    taken = [signature(query).parameters for query in queries().values()]
    defaults = [one["rank"].default for one in taken if "rank" in one]
    assert len(defaults) > 5
    assert set(defaults) == {None}


def test_a_method_passes_on_what_it_is_given() -> None:
    asked: list[tuple[str, dict[str, object]]] = []

    class Heard(Asking):
        def ask(self, query: str, /, **values: object) -> None:  # type: ignore[override]
            asked.append((query, values))

    add_methods(Heard, of_runs())
    heard = Heard()
    heard.call_tree(3, depth=2)  # type: ignore[attr-defined]
    heard.call_tree(source_index=3)  # type: ignore[attr-defined]
    heard.hotspots(step=None)  # type: ignore[attr-defined]
    assert asked == [
        ("call_tree", {"source_index": 3, "depth": 2}),
        ("call_tree", {"source_index": 3}),
        ("hotspots", {"step": None}),
    ]
    with pytest.raises(TypeError, match=r"call_tree\(\): .*source_index"):
        heard.call_tree()  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"hotspots\(\): .*stpe"):
        heard.hotspots(stpe=3)  # type: ignore[attr-defined]


def test_a_query_cannot_take_the_place_of_an_attribute() -> None:
    class Full(Asking):
        def hotspots(self) -> None:
            """Something else."""

    with pytest.raises(TypeError, match=r"Full\.hotspots is there already"):
        add_methods(Full, of_runs())


def test_no_own_method_hides_a_query() -> None:
    assert sorted(set(vars(Run)) & set(of_runs())) == []
    assert sorted(set(vars(Workbench)) & set(of_benches())) == []


def test_the_package_exports_its_classes_and_errors() -> None:
    assert {name: getattr(workbench, name).__name__ for name in workbench.__all__} == {
        name: name for name in workbench.__all__
    }
    assert (workbench.InputError, workbench.StoreError) == (errors.InputError, errors.StoreError)
    with pytest.raises(AttributeError, match="Bench"):
        workbench.Bench  # type: ignore[attr-defined]  # noqa: B018


def test_a_users_file_passes_mypy_and_mistakes_do_not(tmp_path: Path) -> None:
    good, page, bad = (tmp_path / f"{name}.py" for name in ("good", "page", "bad"))
    good.write_text(USER)
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL | re.M)
    page.write_text("\n".join(blocks))
    calls = "".join(f"    {call}\n" for call in WRONG)
    bad.write_text(f"from tracegraph.workbench import Run\n\n\ndef ask(run: Run) -> None:\n{calls}")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml")]
    done = subprocess.run(
        [*command, str(good), str(page), str(bad)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    assert [line for line in lines if ": error: " in line and "bad.py" not in line] == []
    found = {line.split(":")[1]: line for line in lines if "bad.py" in line and ": error: " in line}
    assert sorted(found) == [str(5 + at) for at in range(len(WRONG))], done.stdout + done.stderr
    for at, expected in enumerate(WRONG.values()):
        assert expected in found[str(5 + at)]
    assert done.returncode == 1


def test_an_installed_package_has_the_types() -> None:
    tools = pytest.importorskip("tomllib").loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    shipped = set()
    for package in tools["packages"]:
        folder = ROOT.joinpath(*package.split(".")[1:])
        patterns = (*tools["package-data"]["*"], *tools["package-data"].get(package, ()))
        shipped |= {
            path.relative_to(ROOT).as_posix() for pattern in patterns for path in folder.glob(pattern)
        }
    assert shipped >= {"workbench/run_queries.pyi", "workbench/bench_queries.pyi"}
    # tracegraph is a namespace package: each of its parts says that it has types.
    parts = {package.split(".")[1] for package in tools["packages"]}
    assert shipped >= {f"{part}/py.typed" for part in parts}


def test_every_folder_with_code_is_installed() -> None:
    tools = pytest.importorskip("tomllib").loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    parts = {package.split(".")[1] for package in tools["packages"]}
    files = [file.relative_to(ROOT) for part in parts for file in (ROOT / part).rglob("*.py")]
    assert set(tools["packages"]) == {".".join(("tracegraph", *file.parent.parts)) for file in files}
