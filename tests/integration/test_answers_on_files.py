"""The modules' answers about every real file are those that the columns give: one import, one server."""

from pathlib import Path
from typing import NamedTuple

import column_answers
import pandas as pd
import pytest

from tracegraph.base.errors import InputError
from tracegraph.base.progress import silent
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.ranks.rank_part import build_checked
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.tables.graph import RunFacts, add_run, build_graph
from tracegraph.queries.catalog import ask, asking, find
from tracegraph.queries.module import in_types
from tracegraph.queries.run_part import WHOLE
from tracegraph.queries.runs import RunWindow, find_window
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.load.indexes import begin_schema, finish_schema
from tracegraph.store.managed.rebuild.offline_import import build_home
from tracegraph.store.session import open_database
from tracegraph.store.workspace import Workspace, open_workspace
from tracegraph.workbench.sections.section import Scope, questions

SHARED = Path(__file__).parents[3] / "shared" / "traces"
LEFT_OUT = {"gpt_1M.json.gz"}
"""The job of gpt_100k with more steps: as long to store and ask as all other files together."""


class Expected(NamedTuple):
    """What the columns of one file give: its window, and for each query the values and the rows."""

    window: RunWindow
    answers: dict[str, tuple[dict[str, object], pd.DataFrame]]


def keep(workspace: Workspace, path: Path, run: str) -> Expected:
    """Keep the tables of a file as a run; returns the oracle's answers about it."""
    trace = read_trace(path, Integrity(path.name))
    model = build_checked(trace, Integrity(path.name))
    with workspace.spool() as folder:
        graph = build_graph(trace, model, run, folder)
        add_run(graph, model, RunFacts("2026-01-01", "0", []))
        workspace.save_run(graph, {"run": run, "created": "2026-01-01"})
    window = column_answers.window_of(model)
    walked = {"run": run, **vars(window)}
    asked = questions(Scope(run, window, WHOLE, drawn=True))
    asked |= {"critical_path": walked, "path_composition": walked}
    asked["step_hotspots"] = {"run": run}
    asked["path_silences"] = {**asked["path_silences"], "least_ns": 1_000}
    return Expected(
        window,
        {
            name: (dict(asked[name]), column_answers.answer(name, model, asked[name]))
            for name in column_answers.ANSWERED
        },
    )


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, dict[str, Expected]]:
    """All shared files that hold a trace, as runs of one imported database."""
    workspace = open_workspace(tmp_path_factory.mktemp("files"))
    found: dict[str, Expected] = {}
    for path in sorted(path for path in SHARED.glob("**/*.json*") if path.name not in LEFT_OUT):
        run = str(path.relative_to(SHARED))
        try:
            found[run] = keep(workspace, path, run)
        except InputError:
            continue  # no trace, and other tests say why
    build_home(workspace, (workspace.load_run(run) for run in found), silent)
    return workspace, found


@pytest.mark.exhaustive
@pytest.mark.skipif(not SHARED.is_dir(), reason=f"no real traces in {SHARED}")
def test_all_files(expected: tuple[Workspace, dict[str, Expected]]) -> None:
    workspace, files = expected
    assert len(files) > 30
    with open_database(workspace, ConnectionSettings()) as database:
        begin_schema(database)
        finish_schema(database)
        for run, (window, answers) in files.items():
            assert find_window(asking(database), run) == window, run
            for name, (values, rows) in answers.items():
                columns = in_types(rows, find(name).columns)
                fresh = ask(database, name, **values)
                pd.testing.assert_frame_equal(columns, fresh, obj=f"{name} of {run}", check_like=True)
