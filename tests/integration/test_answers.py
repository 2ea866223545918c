"""One answer, three ways: kept = fresh from Cypher = an independent computation from the columns."""

from collections.abc import Iterator
from pathlib import Path

import column_answers
import pandas as pd
import pytest
import random_traces
import tiny
from column_answers.frames import off_path_by_stack, stacks_of, time_by_stack
from hypothesis import assume, given, settings
from stored_traces import stored, take_for_own
from verdict_checks import check_verdict

from tracegraph.ingest.causal.graph.path_rows import path_rows
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.trace import TraceFile
from tracegraph.queries.answers import Answers
from tracegraph.queries.catalog import ask, asking, find
from tracegraph.queries.module import in_types
from tracegraph.queries.run_part import WHOLE
from tracegraph.queries.runs import fill, find_window
from tracegraph.queries.shapes.derived import DERIVED
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.kept_answers import KeptAnswers
from tracegraph.store.workspace import Workspace
from tracegraph.workbench.collect import collect_findings
from tracegraph.workbench.sections.section import Scope, questions

TRACES = Path(__file__).parents[2] / "examples" / "traces"
TOP = 10
EXAMPLE = "simulated_gpu.json.gz"
TRACES_OF_OURS = [EXAMPLE, "two_threads.json.gz", "train_small.json.gz", "slow_loader.json.gz"]


def check(database: Database, workspace: Workspace, trace: TraceFile) -> None:
    """Ask all that a report asks, and compare."""
    with stored(database, workspace, trace) as (run, model):
        answers = Answers(database, KeptAnswers(workspace, ConnectionSettings(), database))
        window = find_window(answers.of, run)
        assert window == column_answers.window_of(model)
        walked = {"run": run, **vars(window)}
        asked = questions(Scope(run, window, WHOLE, drawn=True))
        asked |= {"critical_path": walked, "path_composition": walked}
        asked["step_hotspots"] = {"run": run}
        asked["path_silences"] = {**asked["path_silences"], "least_ns": 1}  # small traces have short ones
        first, kept = answers.of_all(asked), answers.of_all(asked)
        for name, values in asked.items():
            fresh = ask(database, name, **values)
            pd.testing.assert_frame_equal(first[name], fresh, obj=name)
            pd.testing.assert_frame_equal(kept[name], fresh, obj=f"{name}, kept")
            if name in column_answers.ANSWERED:
                columns = column_answers.answer(name, model, values)
                columns = in_types(columns, find(name).columns)
                pd.testing.assert_frame_equal(columns, fresh, obj=f"{name}, columns", check_like=True)
        assert set(column_answers.ANSWERED) <= set(asked)
        frames = ask(database, "path_frames", **walked)
        assert stacks_of(frames) == time_by_stack(model)
        assert frames["duration_ns"].sum() == window.end_ns - window.start_ns
        assert stacks_of(ask(database, "off_path_frames", **walked)) == off_path_by_stack(model)
        check_verdict(
            collect_findings(answers, workspace, run, top=TOP, drawn=True, timings_s={}),
        )


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", TRACES_OF_OURS)
def test_own_traces(database: Database, workspace: Workspace, name: str) -> None:
    check(database, workspace, read_trace(TRACES / name, Integrity(name)))


@settings(max_examples=max(1, settings.default.max_examples // 10))
@given(rows=random_traces.rows())
def test_random_traces(rows: list[tiny.Row], database: Database, workspace: Workspace) -> None:
    assume(any(row["start_ns"] != row["end_ns"] for row in rows))  # else there is nothing to store
    check(database, workspace, tiny.trace(*rows))


PASSED_BY = [
    tiny.call("cudaEventSynchronize", 7, 24, 7, thread=2),
    tiny.call("cudaStreamSynchronize", 15, 37, 4, thread=2),
    tiny.kernel("first", 23, 45, 7),
    tiny.kernel("overlaps", 37, 62, 5),
    tiny.call("cudaDeviceSynchronize", 35, 56, 5, thread=1),
    tiny.call("cudaEventSynchronize", 39, 57, 2, thread=1),
    tiny.kernel("empty", 54, 54, 2, stream=20),
    tiny.kernel("last", 67, 89, 1, stream=20),
]
"""Work launched from inside a call that has just stopped waiting."""


@pytest.mark.exhaustive
def test_wait_passed_by(database: Database, workspace: Workspace) -> None:
    check(database, workspace, tiny.trace(*PASSED_BY))


def test_both_lags_before_work_behind_a_wait_that_is_passed_by_have_a_name() -> None:
    path = path_rows(tiny.model(*PASSED_BY))
    assert list(zip(path["name"], path["end_ns"] // 1000, strict=True))[2:] == [
        ("first", 37),
        ("waiting for GPU", 45),
        ("launch latency", 54),
        ("stream queue", 67),
        ("last", 89),
    ]


class Watched(Answers):
    """Answers that note which modules they asked from the database."""

    def __init__(self, database: Database, kept: KeptAnswers) -> None:
        super().__init__(database, kept)
        self.asked: list[str] = []

    def get(self, name: str, **values: object) -> pd.DataFrame:
        return self.of_all({name: values}, lambda module, _: self.asked.append(module))[name]


@pytest.fixture
def watched(database: Database, workspace: Workspace) -> Iterator[tuple[str, Watched]]:
    trace = read_trace(TRACES / EXAMPLE, Integrity(EXAMPLE))
    with stored(database, workspace, trace) as (run, _):
        yield run, Watched(database, KeptAnswers(workspace, ConnectionSettings(), database))


def test_an_answer_is_asked_once(watched: tuple[str, Watched]) -> None:
    run, answers = watched
    for _ in range(2):
        answers.get("lanes", run=run)
        answers.get("steps", run=run)
    assert answers.asked == ["lanes", "steps"]


def test_a_shared_module_is_asked_once(watched: tuple[str, Watched]) -> None:
    run, answers = watched
    answers.of_all(
        {"step_paths": {"run": run}, "recurring_hotspots": {"run": run}},
        lambda module, _: answers.asked.append(module),
    )
    assert sorted(answers.asked) == ["step_hotspots", "steps"]


def test_what_a_run_does_not_hold_is_not_asked(database: Database, workspace: Workspace) -> None:
    trace = read_trace(TRACES / "two_threads.json.gz", Integrity("two_threads"))
    with stored(database, workspace, trace) as (run, _):
        window = vars(find_window(asking(database), run))
        between = {"run": run, "start_ns": window["start_ns"], "end_ns": window["end_ns"]}
        answers = Watched(database, KeptAnswers(workspace, ConnectionSettings(), database))
        found = answers.get("launch_stats", **between)
        assert not answers.asked
        pd.testing.assert_frame_equal(found, ask(database, "launch_stats", **between))
        # Somebody may have added what was not there.
        others = KeptAnswers(workspace, ConnectionSettings(uri="bolt://elsewhere"), database)
        external = Watched(database, others)
        external.get("launch_stats", **between)
        assert external.asked == ["launch_stats"]


@pytest.mark.parametrize("name", [one.name for one in DERIVED if one.due_if])
def test_what_the_first_module_decides_is_asked_no_further(
    database: Database, workspace: Workspace, name: str
) -> None:
    trace = read_trace(TRACES / "train_small.json.gz", Integrity("train_small"))
    with stored(database, workspace, trace) as (run, _):
        query = find(name)
        values = query.complete(fill(asking(database), query, {"run": run}))
        answers = Watched(database, KeptAnswers(workspace, ConnectionSettings(), database))
        assert answers.get(name, **values).empty
        assert answers.asked in ([], [query.modules[0].name])  # a rank alone has no node that some need
        # The first or others have rows here, of which none makes a row of this query.
        frames = [call.run(database) for call in query.calls(values)]
        assert query.derived is not None
        assert query.derived.due_if is not None
        assert not query.derived.due_if(values, frames[0])
        assert not all(frame.empty for frame in frames)
        pd.testing.assert_frame_equal(query.shaped(values, frames), query.shaped(values, frames[:1]))


def test_another_text_another_question(watched: tuple[str, Watched], monkeypatch: pytest.MonkeyPatch) -> None:
    run, answers = watched
    answers.get("lanes", run=run)
    query = find("lanes")
    changed = query.modules[0].text.replace("ORDER BY", "// mended\nORDER BY")
    monkeypatch.setattr(type(query), "source", property(lambda self: changed))
    answers.get("lanes", run=run)
    assert answers.asked == ["lanes", "lanes"]


def test_changes_of_ones_own_are_seen_at_once(
    watched: tuple[str, Watched], database: Database, workspace: Workspace
) -> None:
    run, answers = watched
    before = answers.get("lanes", run=run)
    database.write("MATCH (l:Lane {run: $run}) SET l.name = 'renamed by hand'", {"run": run})
    after = answers.get("lanes", run=run)
    assert set(after["name"]) == {"renamed by hand"} != set(before["name"])
    folder = workspace.run_folder(run) / "answers"
    kept = sorted(folder.iterdir())
    answers.get("steps", run=run)
    assert sorted(folder.iterdir()) == kept
    assert answers.asked == ["lanes", "lanes", "steps"]


def test_a_run_ingested_again_is_asked_again(
    watched: tuple[str, Watched], database: Database, workspace: Workspace
) -> None:
    run, answers = watched
    answers.get("lanes", run=run)
    database.write("MATCH (r:Run {name: $run}) SET r.created = 'later'", {"run": run})
    take_for_own(database, workspace)
    later = Watched(database, answers.kept)
    later.get("lanes", run=run)
    assert later.asked == ["lanes"]


def test_nothing_is_kept_of_a_server_that_others_may_write_to(
    watched: tuple[str, Watched], database: Database, workspace: Workspace
) -> None:
    run, answers = watched
    external = Watched(database, KeptAnswers(workspace, ConnectionSettings(uri="bolt://elsewhere"), database))
    for _ in range(2):
        external.get("lanes", run=run)
    assert external.asked == ["lanes", "lanes"]
    assert answers.get("lanes", run=run).equals(ask(database, "lanes", run=run))
    assert asking(database)("lanes", {"run": run}).equals(external.get("lanes", run=run))
