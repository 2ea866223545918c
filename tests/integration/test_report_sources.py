"""Where a report's numbers come from: modules and what is kept of them; the path's rows from the columns."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_type_hints

import pandas as pd
import pytest
from stored_traces import stored

from tracegraph.cli.reporters.first_screen import first_screen
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.queries.answers import Answers
from tracegraph.queries.catalog import ask, asking, find
from tracegraph.queries.run_part import RunPart
from tracegraph.queries.runs import find_window
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.kept_answers import KeptAnswers
from tracegraph.store.workspace import Workspace
from tracegraph.workbench.collect import collect_findings
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.section import Scope, questions

TRACE = Path(__file__).parents[2] / "examples" / "traces" / "simulated_gpu.json.gz"
FRAMES = {
    "gaps": "path_gaps",
    "gpu": "gpu_busy",
    "hotspots": "hotspots",
    "lanes": "lanes",
    "near_critical": "near_critical",
    "recurring": "recurring_hotspots",
    "second_causes": "second_causes",
    "silences": "path_silences",
    "step_paths": "step_paths",
    "steps": "steps",
    "timeline": "lane_timeline",
    "waits": "lane_waits",
}
"""The query behind each table of the findings but the path."""
STEP = 3
TOP = 4


@pytest.fixture
def run(database: Database, workspace: Workspace) -> Iterator[str]:
    with stored(database, workspace, read_trace(TRACE, Integrity(TRACE.name))) as (name, _):
        yield name


def collect(
    database: Database, workspace: Workspace, run: str, step: int | None = None, *, first_only: bool = False
) -> Findings:
    answers = Answers(database, KeptAnswers(workspace, ConnectionSettings(), database))
    return collect_findings(
        answers,
        workspace,
        run,
        part=RunPart(step),
        top=TOP,
        drawn=not first_only,
        timings_s={},
        first_only=first_only,
    )


def test_every_table_has_its_query() -> None:
    tables = {name for name, kind in get_type_hints(Findings).items() if kind is pd.DataFrame}
    assert tables == {*FRAMES, "path"}


def check_against_modules(database: Database, run: str, findings: Findings) -> None:
    window = find_window(asking(database), run, findings.part)
    asked = questions(Scope(run, window, findings.part, drawn=True))
    asked["hotspots"] = {**asked["hotspots"], "limit": TOP}
    for name, query in FRAMES.items():
        if query in asked:
            found = getattr(findings, name).reset_index(drop=True)
            rows = ask(database, query, **asked[query]).head(len(found))
            pd.testing.assert_frame_equal(found, rows, obj=name)
            assert len(found) or not len(rows)
    made_of = ask(database, "path_composition", run=run, **vars(window))
    assert findings.by_category_ns == dict(zip(made_of["category"], made_of["duration_ns"], strict=True))


@pytest.mark.parametrize("step", [None, STEP])
def test_the_first_screen_needs_only_the_first_questions(
    database: Database, workspace: Workspace, run: str, step: int | None
) -> None:
    first, whole = (
        collect(database, workspace, run, step, first_only=first_only) for first_only in (True, False)
    )
    assert len(first.answers) < len(whole.answers) / 3
    assert first_screen(first) == first_screen(whole)


@pytest.mark.parametrize("step", [None, STEP])
def test_only_the_rows_of_the_path_are_read_from_the_columns(
    run: str, step: int | None, database: Database, workspace: Workspace
) -> None:
    tables = [
        path for path in workspace.run_folder(run).glob("*.parquet") if path.stem != "rows.critical_path"
    ]
    assert len(tables) > 10
    for path in tables:
        path.unlink()
    for _ in ("asked", "kept"):
        findings = collect(database, workspace, run, step)
        check_against_modules(database, run, findings)
        window = find_window(asking(database), run, RunPart(step))
        rows = ask(database, "critical_path", run=run, **vars(window))
        same = findings.path.astype(dict.fromkeys(findings.path.select_dtypes("category"), object))
        for name in ("mechanism", "evidence"):
            rows[name] = rows[name].fillna("")
        pd.testing.assert_frame_equal(same, rows)


def test_a_changed_graph_is_a_changed_report(run: str, database: Database, workspace: Workspace) -> None:
    kernel = str(collect(database, workspace, run).hotspots["name"].iloc[0])
    for label in ("Segment", "Frame"):
        database.write(
            f"MATCH (n:{label} {{run: $run, name: $name}}) SET n.name = 'mine'", {"run": run, "name": kernel}
        )
    findings = collect(database, workspace, run)
    # Nobody knows what else was changed: the rows of the path come from the graph, too.
    assert findings.hotspots["name"].iloc[0] == "mine"
    assert (findings.path["name"] == "mine").any()
    check_against_modules(database, run, findings)


def test_a_second_report_asks_nothing_of_the_segments(
    run: str, database: Database, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    read = Database.read

    def recorded(self: Database, query: str, parameters: Mapping[str, object] | None = None) -> pd.DataFrame:
        sent.append(query)
        return read(self, query, parameters)

    first = collect(database, workspace, run)
    monkeypatch.setattr(Database, "read", recorded)
    second = collect(database, workspace, run)
    assert sent == [find("run_details").modules[0].text]
    for name in (*FRAMES, "path"):
        pd.testing.assert_frame_equal(getattr(first, name), getattr(second, name), obj=name)


def test_a_corrected_query_is_asked_again(run: str, database: Database, workspace: Workspace) -> None:
    collect(database, workspace, run)
    query = find("lane_waits")
    module = query.modules[0]
    # What the correction of a module does: other rows from another text.
    text = module.text.replace("duration_ns >= $least_ns", "duration_ns >= $least_ns AND false")
    assert text != module.text
    object.__setattr__(module, "text", text)
    try:
        assert collect(database, workspace, run).waits.empty
    finally:
        object.__setattr__(module, "text", text.replace(" AND false", ""))
    assert not collect(database, workspace, run).waits.empty
